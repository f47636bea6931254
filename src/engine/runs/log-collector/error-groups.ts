import { EventEmitter } from 'node:events'
import type {
  AttemptNumber,
  ErrorFilter,
  ErrorGroup,
  ErrorGroupDetail,
  ErrorGroupId,
  ErrorState,
  JobId
} from '../../../shared/contract/index.ts'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/runs.ts'
import { Alarm, type Clock } from '../../runtime/clock.ts'
import type { StoredErrorGroup, OnlyProjects } from '../../model/records.ts'
import { requireJob } from '../../storage/require-job.ts'
import type { ErrorStore, JobReader } from '../../storage/store.ts'

const HOUR_MS = 3_600_000
const WIDTH_MS = 6 * HOUR_MS
const POINTS = 28
const CHANGED_EVERY_MS = 2_000

export class ErrorGroups {
  /** `changed`: errors were recorded or a state was set. Emitted at most every two seconds for recorded errors. */
  readonly events = new EventEmitter<{ changed: [] }>()
  readonly #parts: { store: ErrorStore & JobReader; clock: Clock }
  readonly #alarm: Alarm
  #saidAtMs = Number.NEGATIVE_INFINITY

  constructor(parts: { store: ErrorStore & JobReader; clock: Clock }) {
    this.#parts = parts
    this.#alarm = new Alarm(parts.clock, () => {
      this.#saidAtMs = parts.clock.monotonicMs()
      this.events.emit('changed')
    })
  }

  async list({
    before,
    limit,
    ...filter
  }: ErrorFilter & OnlyProjects & { before?: string | undefined; limit: number }): Promise<{
    groups: ErrorGroup[]
    nextBefore: string | null
  }> {
    const startMs = this.#startMs()
    const page = { before: parseBefore(before), limit: limit + 1, sinceMs: startMs }
    const rows = await this.#parts.store.listErrorGroups(filter, page)
    const groups = rows.slice(0, limit)
    const last = groups.at(-1)
    return {
      groups: groups.map((row) => describe(row, startMs)),
      nextBefore: rows.length > limit && last !== undefined ? `${last.lastSeenMs}-${last.id}` : null
    }
  }

  /** Rejects with ERROR_GROUP_NOT_FOUND. */
  async get(id: ErrorGroupId): Promise<ErrorGroupDetail> {
    const startMs = this.#startMs()
    const found = await this.#parts.store.getErrorGroup(id, startMs)
    if (found === null) throw noErrorGroup(id)
    return { ...found, group: describe(found.group, startMs) }
  }

  /** Rejects with JOB_NOT_FOUND. */
  async ofJob(jobId: JobId, attemptNumber?: AttemptNumber) {
    await requireJob(this.#parts.store, jobId)
    const startMs = this.#startMs()
    const errors = await this.#parts.store.listErrorsOfJob(jobId, attemptNumber ?? null, startMs)
    return { errors: errors.map(({ group, occurrence }) => ({ group: describe(group, startMs), occurrence })) }
  }

  async setState(ids: ErrorGroupId[], state: ErrorState): Promise<{ changed: ErrorGroupId[] }> {
    const { store, clock } = this.#parts
    const changed = await store.setErrorState(ids, state, clock.nowMs())
    if (changed.length > 0) this.events.emit('changed')
    return { changed }
  }

  /** Each change makes clients reload their lists, so hundreds of runs share one event. */
  noticeRecorded(): void {
    if (this.#alarm.isSet) return
    this.#alarm.set(Math.max(0, this.#saidAtMs + CHANGED_EVERY_MS - this.#parts.clock.monotonicMs()))
  }

  stop(): void {
    this.#alarm.stop()
  }

  /** The start of the series. All points of the series are complete except the last. */
  #startMs(): number {
    return (Math.floor(this.#parts.clock.nowMs() / WIDTH_MS) - POINTS + 1) * WIDTH_MS
  }
}

function describe({ hours, ...group }: StoredErrorGroup, startMs: number): ErrorGroup {
  const counts = Array.from({ length: POINTS }, () => 0)
  for (const { hour, count } of hours) {
    const point = Math.floor((hour * HOUR_MS - startMs) / WIDTH_MS)
    if (point >= 0 && point < POINTS) counts[point]! += count
  }
  return { ...group, series: { startMs, widthMs: WIDTH_MS, counts } }
}

export const noErrorGroup = (id: ErrorGroupId): ScrapdeckError =>
  new ScrapdeckError('ERROR_GROUP_NOT_FOUND', sentence('runs.no_error_group', { id }))

function parseBefore(before: string | undefined): { lastSeenMs: number; id: ErrorGroupId } | null {
  if (before === undefined) return null
  const [lastSeenMs, id] = before.split('-').map(Number)
  return { lastSeenMs: lastSeenMs!, id: id as ErrorGroupId }
}
