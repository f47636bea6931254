import pLimit from 'p-limit'
import type { AlertRuleSettings, NodeId } from '../../../../shared/contract/index.ts'
import { type Message, say, writtenAs } from '../../../../shared/texts/message.ts'
import type { Clock } from '../../../runtime/clock.ts'
import type { StoredNode } from '../../../model/records.ts'
import { eventsOfRunning, eventsOfRuns, eventsOfWaiting } from './events-of-jobs.ts'
import { DAY_MS, eventOfRecorded, eventsOfErrors, eventsOfFirings, eventsOfSuccesses } from './events-of-others.ts'
import { type PastStore, readErrors, readFirings, readJobs, readRecorded, readSuccesses } from './read-past.ts'
import { type PastAlert, type PastEvent, replay } from './replay.ts'

export interface RulePreviewsParts {
  store: PastStore
  clock: Clock
  nodeOf: (id: NodeId) => StoredNode | undefined
  giveWay?: () => Promise<void>
}

export interface RulePreview {
  fired: number
  alerts: PastAlert[]
  fromMs: number
  isComplete: boolean
  note: string
  noteCode?: string
  noteParams?: Message['params']
}

interface Past {
  events: Iterable<PastEvent>
  isComplete: boolean
  note: Message | null
}

const LISTED_MAX = 50
/**
 * Runs are read from this long before the previewed period, because a series of failures or a wait can have begun
 * earlier.
 */
const BEFORE_MS = 7 * DAY_MS
const WAITING_AT_MOST = 10

/** Tests rules against the past without sending anything. Runs one test at a time, because each reads a lot of data. */
export class RulePreviews {
  readonly #parts: RulePreviewsParts
  readonly #giveWay: () => Promise<void>
  readonly #oneAtATime = pLimit(1)

  constructor(parts: RulePreviewsParts) {
    this.#parts = parts
    this.#giveWay = parts.giveWay ?? (() => new Promise((resolve) => setImmediate(resolve)))
  }

  get isBusy(): boolean {
    return this.#oneAtATime.pendingCount >= WAITING_AT_MOST
  }

  preview(settings: AlertRuleSettings, days: number): Promise<RulePreview> {
    return this.#oneAtATime(async () => {
      const untilMs = this.#parts.clock.nowMs()
      const fromMs = untilMs - days * DAY_MS
      const { events, isComplete, note } = await this.#read(settings, fromMs, untilMs)
      const said = note === null ? { note: '' } : writtenAs('note', note)
      const alerts = await replay(settings, events, { fromMs, untilMs, giveWay: this.#giveWay })
      return { fired: alerts.length, alerts: alerts.slice(0, LISTED_MAX), fromMs, isComplete, ...said }
    })
  }

  async #read(settings: AlertRuleSettings, fromMs: number, untilMs: number): Promise<Past> {
    const { store } = this.#parts
    const { watch, project, spider, scheduleId } = settings
    switch (watch) {
      case 'spider_fails':
      case 'spider_items':
      case 'spider_errors': {
        const { rows, isComplete } = await this.#readJobs(settings, fromMs)
        return { events: eventsOfRuns(watch, rows, this.#parts), isComplete, note: notes(isComplete) }
      }
      case 'job_runs_long': {
        const { rows, isComplete } = await this.#readJobs(settings, fromMs)
        const note = notes(isComplete, say('preview.last_runs'))
        return { events: eventsOfRunning(rows, this.#parts), isComplete, note }
      }
      case 'job_waits_long': {
        const { rows, isComplete } = await this.#readJobs(settings, fromMs)
        const note = notes(isComplete, say('preview.some_waits'))
        return { events: eventsOfWaiting(rows, this.#parts), isComplete, note }
      }
      case 'spider_overdue': {
        const { rows, isComplete } = await readSuccesses(store, settings, fromMs)
        const events = eventsOfSuccesses({ project: project!, spider: spider! }, rows, { fromMs, untilMs })
        return {
          events,
          isComplete,
          note: notes(isComplete, rows.length === 0 ? say('preview.never_succeeded') : null)
        }
      }
      case 'error_appears': {
        const { rows, isComplete } = await readErrors(store, { project: project ?? undefined }, fromMs - DAY_MS)
        const note = notes(isComplete, say('preview.errors_resolved'))
        return { events: eventsOfErrors(rows), isComplete, note }
      }
      case 'schedule_misses': {
        const { rows, schedules, fired, isComplete } = await readFirings(store, scheduleId, fromMs)
        const note = notes(isComplete, say('preview.pauses'))
        return { events: eventsOfFirings(rows, fired, schedules), isComplete, note }
      }
      default: {
        const { rows, isComplete } = await readRecorded(store, watch, fromMs)
        const first = rows[0]?.atMs
        const isSince = first !== undefined && first <= fromMs
        const since =
          first === undefined ? say('preview.not_recorded') : say('preview.recorded_since', { sinceMs: first })
        return {
          events: rows.map(eventOfRecorded),
          isComplete: isComplete && isSince,
          note: notes(isComplete, isSince ? null : since)
        }
      }
    }
  }

  #readJobs({ project, spider }: AlertRuleSettings, fromMs: number) {
    const filter = { ...(project !== null && { project }), ...(spider !== null && { spider }) }
    return readJobs(this.#parts.store, filter, { sinceMs: fromMs - BEFORE_MS, wantedMs: fromMs })
  }
}

function notes(isComplete: boolean, note: Message | null = null): Message | null {
  if (isComplete) return note
  const cut = say('preview.cut')
  return note === null ? cut : say('preview.and', { one: cut, other: note })
}
