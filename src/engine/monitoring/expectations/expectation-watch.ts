import { EventEmitter } from 'node:events'
import type { JobExpectations, JobId, ProjectName, SpiderFindings } from '../../../shared/contract/index.ts'
import { isScrapdeckError } from '../../../shared/errors.ts'
import { Alarm, type Clock, sleep } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { FilledFields, PastRun, StoredFindings } from '../../model/records.ts'
import { requireJob } from '../../storage/require-job.ts'
import type { FindingStore, JobReader } from '../../storage/store.ts'
import {
  type ExpectedFields,
  expectationsOf,
  HISTORY_RUNS,
  judgeRun,
  metricOf,
  sharesOf,
  weekdayOf
} from './expectations.ts'

interface WatchParts {
  store: FindingStore & JobReader
  clock: Clock
  logger: Logger
  isOn: (project: ProjectName) => boolean
  /** Rejects with an ITEMS_ or NODE_ code if the items cannot be read. */
  countFilled: ((jobId: JobId, signal: AbortSignal) => Promise<FilledFields>) | null
}

interface Spider {
  project: ProjectName
  spider: string
}

/** The wait between the end of a run and its evaluation. Runs end in bursts, and dispatch has priority. */
const JUDGE_AFTER_MS = 2_000
const PAUSE_MS = 50
/** How long to wait before counting again if files are being copied from a node. */
const COUNT_AGAIN_MS = 5_000
const COUNT_TRIES = 5
/** On startup, judges runs of this period that the previous engine did not judge, one per spider. */
const CATCH_UP_MS = 86_400_000
const CATCH_UP_JOBS = 500
const SHOWN_MAX = 1_000
const FIELDS_SHOWN = 200

/** Compares each spider's newest successful run with its earlier runs. Findings last until a run is as expected. */
export class ExpectationWatch {
  readonly events = new EventEmitter<{ changed: [] }>()
  readonly #parts: WatchParts
  readonly #due = new Map<string, Spider>()
  readonly #stopping = new AbortController()
  #current = new Map<string, StoredFindings>()
  readonly #alarm: Alarm
  #isWorking = false

  constructor(parts: WatchParts) {
    this.#parts = parts
    this.#alarm = new Alarm(parts.clock, () => void this.#judgeDue())
  }

  /** Reads the findings of an earlier engine in the background. Never rejects. */
  async start(): Promise<void> {
    const { store, clock, logger } = this.#parts
    const filter = { status: ['succeeded' as const], sinceMs: clock.nowMs() - CATCH_UP_MS }
    try {
      const known = await store.listFindings()
      // Runs judged during the read have newer findings.
      this.#current = new Map([...known.map((one) => [keyOf(one), one] as const), ...this.#current])
      if (known.length > 0) this.events.emit('changed')
      for (const job of await store.listJobs(filter, { before: null, limit: CATCH_UP_JOBS })) this.refresh(job)
    } catch (error) {
      if (!this.#stopping.signal.aborted) logger.error({ error }, 'what was unusual about runs could not be read')
    }
  }

  stop(): void {
    this.#stopping.abort()
    this.#alarm.stop()
  }

  refresh({ project, spider }: Spider): void {
    if (!this.#parts.isOn(project)) return
    this.#due.set(keyOf({ project, spider }), { project, spider })
    this.#schedule()
  }

  current(): SpiderFindings[] {
    const shown = [...this.#current.values()].filter(
      ({ project, isDismissed }) => !isDismissed && this.#parts.isOn(project)
    )
    return shown
      .sort((one, other) => other.endedAtMs - one.endedAtMs)
      .slice(0, SHOWN_MAX)
      .map(({ isDismissed: _isDismissed, ...findings }) => findings)
  }

  async ofJob(jobId: JobId): Promise<JobExpectations> {
    const { store, isOn } = this.#parts
    const job = await requireJob(store, jobId)
    const nothing = { neededRuns: 0, comparedRuns: 0, weekday: null, metrics: [], fields: null, findings: [] }
    const page = { upTo: jobId, limit: HISTORY_RUNS + 1 }
    const [run, ...history] = await store.listSuccessfulRuns(job.project, job.spider, page)
    if (run?.jobId !== jobId) return { state: 'not_succeeded', ...nothing }
    if (!isOn(job.project)) return { state: 'off', ...nothing }
    const expectations = expectationsOf(history, weekdayOf(run))
    const { neededRuns, comparedRuns, weekday, of } = expectations
    return {
      state: neededRuns > 0 ? 'learning' : 'judged',
      neededRuns,
      comparedRuns,
      weekday,
      metrics: (['items', 'pages', 'runtime', 'errors'] as const).flatMap((metric) => {
        const expected = of[metric]
        return expected === undefined ? [] : [{ metric, value: metricOf(run, metric), usual: expected.usual }]
      }),
      fields: describeFields(run, expectations.fields),
      findings: judgeRun(run, expectations)
    }
  }

  async dismiss({ project, spider, jobId }: Spider & { jobId: JobId }): Promise<boolean> {
    const isDismissed = await this.#parts.store.dismissFindings(project, spider, jobId)
    const known = this.#current.get(keyOf({ project, spider }))
    if (!isDismissed || known?.jobId !== jobId) return isDismissed
    this.#current.set(keyOf(known), { ...known, isDismissed })
    this.events.emit('changed')
    return true
  }

  #schedule(): void {
    if (!this.#isWorking) this.#alarm.set(JUDGE_AFTER_MS)
  }

  async #judgeDue(): Promise<void> {
    const { clock, logger } = this.#parts
    const { signal } = this.#stopping
    this.#isWorking = true
    let isChanged = false
    for (const [key, spider] of [...this.#due]) {
      if (signal.aborted) break
      this.#due.delete(key)
      try {
        isChanged = (await this.#judge(spider)) || isChanged
        await sleep(clock, PAUSE_MS, signal)
      } catch (error) {
        if (!signal.aborted) logger.error({ error, ...spider }, 'a run could not be compared with earlier ones')
      }
    }
    this.#isWorking = false
    if (isChanged && !signal.aborted) this.events.emit('changed')
    if (this.#due.size > 0) this.#schedule()
  }

  async #judge({ project, spider }: Spider): Promise<boolean> {
    const { store } = this.#parts
    const runs = await store.listSuccessfulRuns(project, spider, { upTo: null, limit: HISTORY_RUNS + 1 })
    const [last, ...history] = runs
    if (last === undefined) return false
    const newest = last.filledFields === null ? await this.#count(last) : last
    const key = keyOf({ project, spider })
    const known = this.#current.get(key)
    const findings = judgeRun(newest, expectationsOf(history, weekdayOf(newest)))
    if (known === undefined ? findings.length === 0 : isSame(known, { jobId: newest.jobId, findings })) return false
    const isDismissed = known?.jobId === newest.jobId && known.isDismissed
    const next = { project, spider, jobId: newest.jobId, endedAtMs: newest.endedAtMs ?? 0, findings, isDismissed }
    await store.putFindings(next)
    if (findings.length === 0) this.#current.delete(key)
    else this.#current.set(key, next)
    return true
  }

  async #count(run: PastRun): Promise<PastRun> {
    const { store, clock, logger, countFilled } = this.#parts
    if (run.items === 0 || countFilled === null) return run
    const { signal } = this.#stopping
    for (let tries = 1; ; tries += 1) {
      try {
        const filledFields = await countFilled(run.jobId, signal)
        await store.recordFilledFields(run.jobId, filledFields)
        return { ...run, filledFields }
      } catch (error) {
        signal.throwIfAborted()
        const isBusy = isScrapdeckError(error, 'ITEMS_COPYING') || isScrapdeckError(error, 'TOO_MANY_REQUESTS')
        if (isBusy && tries < COUNT_TRIES) {
          await sleep(clock, COUNT_AGAIN_MS, signal)
          continue
        }
        const isUsual = isScrapdeckError(error) && error.code !== 'ITEMS_FAILED'
        logger[isUsual ? 'debug' : 'warn']({ error, jobId: run.jobId }, 'the items of a run could not be counted')
        return run
      }
    }
  }
}

function describeFields(run: PastRun, { neededRuns, comparedRuns, of }: ExpectedFields): JobExpectations['fields'] {
  const shares = sharesOf(run)
  if (shares === null) return null
  const names = new Set([...shares.of.keys(), ...of.keys()])
  const shown = [...names].slice(0, FIELDS_SHOWN).map((field) => ({
    field,
    value: shares.of.get(field) ?? shares.others,
    usual: of.get(field)?.usual ?? null
  }))
  return { neededRuns, comparedRuns, shown }
}

const keyOf = ({ project, spider }: Spider) => `${project}/${spider}`

function isSame(known: StoredFindings, { jobId, findings }: Pick<StoredFindings, 'jobId' | 'findings'>): boolean {
  return known.jobId === jobId && JSON.stringify(known.findings) === JSON.stringify(findings)
}
