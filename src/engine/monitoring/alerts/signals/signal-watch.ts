import type {
  Figures,
  NodeId,
  Problem,
  ProjectName,
  SpiderFindings,
  Waiting
} from '../../../../shared/contract/index.ts'
import type { AlertWatch } from '../../../../shared/alert-watches.ts'
import { PATIENCE_MAX_MS } from '../../../jobs/dispatch/decide/watchdog.ts'
import type { LiveAttempt } from '../../../jobs/dispatch/live-attempts.ts'
import type { FleetNode } from '../../../nodes/fleet.ts'
import type { DiskState } from '../../../maintenance/retention/disk.ts'
import { Alarm, type Clock } from '../../../runtime/clock.ts'
import type { Logger } from '../../../runtime/logger.ts'
import type { StoredAlertFact } from '../../../model/records.ts'
import type { AlertFactStore, ErrorStore, FindingStore, JobReader, LaneReader } from '../../../storage/store.ts'
import type { Alerts } from '../alerts.ts'
import { type Signal, NO_LABELS } from '../signal.ts'
import { SignalHistory, RECORDED_WATCHES } from '../past/signal-history.ts'
import {
  certificateSignal,
  diskSignal,
  nodeSignals,
  queueSignal,
  runSignals,
  type SeenProblem,
  scheduleSignals,
  serviceSignals,
  stuckSignals,
  unusualSignals
} from './state-signals.ts'
import { errorSignals, overdueSignals, spiderSignals, waitingSignals } from './stored-signals.ts'

export interface SignalWatchParts {
  store: JobReader & LaneReader & ErrorStore & FindingStore & AlertFactStore
  clock: Clock
  logger: Logger
  alerts: Alerts
  nodes: () => readonly FleetNode[]
  nodeOf: (id: NodeId) => FleetNode['stored'] | undefined
  stuckSinceMs: (id: NodeId) => number | null
  live: () => readonly LiveAttempt[]
  findings: () => readonly SpiderFindings[]
  figures: () => Figures
  disk: () => DiskState | null
  certificateEndsMs: () => number | null
  otherCertificates: () => Promise<{ engine: string; endsAtMs: number }[]>
  /** The current problems. If two problems have the same id, the later one counts. */
  problems: () => readonly Problem[]
  waitingOf: (lane: string) => Waiting
}

interface Spider {
  project: ProjectName
  spider: string
}

const LOOK_AFTER_MS = 500
const LOOK_EVERY_MS = 15_000
const READ_EVERY_MS = 60_000
/**
 * How long the engine's state is incomplete after startup. During this time, a missing signal does not end an alert.
 */
const COMPLETE_AFTER_MS = 60_000
const SPIDERS_AT_ONCE = 50
const CATCH_UP_MS = 86_400_000
const CATCH_UP_JOBS = 1_000
const OF_RUNS: readonly AlertWatch[] = ['spider_fails', 'spider_items', 'spider_errors']

/**
 * Passes signals that a rule watches on to `alerts`. Records signals that no other table keeps, so that later rules can
 * be tested against them.
 */
export class SignalWatch {
  readonly #parts: SignalWatchParts
  readonly #ended = new Map<string, Spider>()
  readonly #history = new SignalHistory()
  #problemsSeenMs = new Map<string, number>()
  #unwritten: StoredAlertFact[] = []
  #otherCertificates: { engine: string; endsAtMs: number }[] = []
  #errorsAreOld = true
  #readAtMs = Number.NEGATIVE_INFINITY
  readonly #alarm: Alarm
  #completeAtMs = Number.POSITIVE_INFINITY
  #judgedAtMs = Number.POSITIVE_INFINITY
  /** Nodes that were found stuck at least once after startup. Later signals of these nodes are reliable. */
  readonly #wereStuck = new Set<string>()
  #looking: Promise<void> = Promise.resolve()
  #stopped = false

  constructor(parts: SignalWatchParts) {
    this.#parts = parts
    this.#alarm = new Alarm(parts.clock, () => {
      this.#looking = this.#looking.then(() => this.#look())
    })
  }

  start(): void {
    this.#completeAtMs = this.#parts.clock.monotonicMs() + COMPLETE_AFTER_MS
    this.#judgedAtMs = this.#parts.clock.monotonicMs() + PATIENCE_MAX_MS
    this.#looking = this.#begin()
  }

  async #begin(): Promise<void> {
    const { store } = this.#parts
    const newest = await this.#tryTo('read what was recorded', () => store.listNewestAlertFacts())
    this.#history.restore(newest ?? [])
    await this.catchUp()
  }

  /** Evaluates spiders that ran recently. An earlier engine may not have evaluated them, or had no rule for them. */
  async catchUp(): Promise<void> {
    const { store, clock, alerts } = this.#parts
    this.#readAtMs = Number.NEGATIVE_INFINITY
    this.#errorsAreOld = true
    this.#alarm.set(LOOK_AFTER_MS)
    if (!OF_RUNS.some((watch) => alerts.isWatched(watch))) return
    await this.#tryTo('read the newest runs', async () => {
      const filter = {
        status: ['succeeded', 'failed', 'lost'] as ('succeeded' | 'failed' | 'lost')[],
        sinceMs: clock.nowMs() - CATCH_UP_MS
      }
      for (const job of await store.listJobs(filter, { before: null, limit: CATCH_UP_JOBS })) this.noteEnd(job)
    })
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#alarm.stop()
    await this.#looking
  }

  lookSoon(): void {
    this.#alarm.set(LOOK_AFTER_MS)
  }

  noteEnd({ project, spider }: Spider): void {
    const labels = { ...NO_LABELS, project, spider }
    if (!OF_RUNS.some((watch) => this.#parts.alerts.isAbout(watch, labels))) return
    this.#ended.set(`${project}/${spider}`, { project, spider })
    this.#alarm.set(LOOK_AFTER_MS)
  }

  noteErrors(): void {
    this.#errorsAreOld = true
    this.#alarm.set(LOOK_AFTER_MS)
  }

  async #look(): Promise<void> {
    if (this.#stopped) return
    this.#lookAtState()
    await this.#record()
    await this.#readEnds()
    await this.#readOthers()
    this.#alarm.set(this.#ended.size > 0 ? LOOK_AFTER_MS : LOOK_EVERY_MS)
  }

  #lookAtState(): void {
    const { clock, nodes, nodeOf, stuckSinceMs, live, findings, figures, disk, certificateEndsMs } = this.#parts
    const nowMs = clock.nowMs()
    const problems = this.#problemsAt(nowMs)
    const fleet = nodes()
    const { signals, unknown } = nodeSignals(fleet)
    this.#report('node_down', () => signals, unknown)
    this.#report('job_runs_long', () => runSignals(live(), nodeOf))
    this.#report('queue_length', () => [queueSignal(figures())])
    const measured = disk()
    if (measured !== null) this.#report('disk_free', () => [diskSignal(measured)])
    const stuck = stuckSignals(fleet, stuckSinceMs)
    this.#report('node_stuck', () => stuck, new Set([...unknown, ...this.#notJudged(fleet, stuck)]))
    const endsMs = certificateEndsMs()
    this.#reportOnceComplete('certificate_days', () => [
      ...(endsMs === null ? [] : [certificateSignal(endsMs, nowMs)]),
      ...this.#otherCertificates.map(({ engine, endsAtMs }) => certificateSignal(endsAtMs, nowMs, engine))
    ])
    this.#reportOnceComplete('spider_unusual', () => unusualSignals(findings()))
    this.#reportOnceComplete('schedule_misses', () => scheduleSignals(problems))
    this.#reportOnceComplete('service_problem', () => serviceSignals(problems))
  }

  /** Nodes that an earlier engine may have found stuck, but that this engine has not observed long enough. */
  #notJudged(fleet: readonly FleetNode[], stuck: readonly Signal[]): string[] {
    for (const { key } of stuck) this.#wereStuck.add(key)
    if (this.#parts.clock.monotonicMs() >= this.#judgedAtMs) return []
    return fleet.flatMap(({ stored }) => (this.#wereStuck.has(stored.id) ? [] : [stored.id]))
  }

  /**
   * Problems without a start time keep the time they were first seen, because a later time would restart their alerts.
   */
  #problemsAt(nowMs: number): SeenProblem[] {
    const found = [...new Map(this.#parts.problems().map((problem) => [problem.id, problem])).values()]
    const seenMs = new Map(found.map(({ id }) => [id, this.#problemsSeenMs.get(id) ?? nowMs]))
    this.#problemsSeenMs = seenMs
    return found.map((problem) => ({ ...problem, sinceMs: problem.sinceMs ?? seenMs.get(problem.id)! }))
  }

  async #readEnds(): Promise<void> {
    const { store, nodeOf, alerts } = this.#parts
    for (const [key, spider] of [...this.#ended].slice(0, SPIDERS_AT_ONCE)) {
      this.#ended.delete(key)
      await this.#tryTo('read the runs of a spider', async () => {
        for (const signal of await spiderSignals(store, spider, { nodeOf })) alerts.receive(signal)
      })
    }
  }

  async #readOthers(): Promise<void> {
    const { store, clock, alerts, waitingOf, nodeOf } = this.#parts
    const isDue = clock.monotonicMs() - this.#readAtMs >= READ_EVERY_MS
    if (isDue) this.#readAtMs = clock.monotonicMs()
    if (isDue && alerts.isWatched('job_waits_long')) {
      const signals = await this.#tryTo('read how long jobs wait', () => waitingSignals(store, waitingOf, { nodeOf }))
      if (signals !== null) alerts.receiveAll('job_waits_long', signals)
    }
    if (isDue && alerts.isWatched('spider_overdue')) {
      const signals = await this.#tryTo('read when spiders succeeded', () =>
        overdueSignals(store, alerts.rules(), clock.nowMs())
      )
      if (signals !== null) alerts.receiveAll('spider_overdue', signals)
    }
    if (isDue && alerts.isWatched('certificate_days')) {
      const { otherCertificates } = this.#parts
      const others = await this.#tryTo('read when the certificates of engines expire', otherCertificates)
      if (others !== null) this.#otherCertificates = others
    }
    if ((isDue || this.#errorsAreOld) && alerts.isWatched('error_appears')) {
      this.#errorsAreOld = false
      const signals = await this.#tryTo('read new errors', () => errorSignals(store, clock.nowMs()))
      if (signals !== null) alerts.receiveAll('error_appears', signals)
    }
  }

  #report(watch: AlertWatch, signalsNow: () => Signal[], unknown: ReadonlySet<string> = new Set()): void {
    const { alerts, clock } = this.#parts
    const [isWatched, isRecorded] = [alerts.isWatched(watch), RECORDED_WATCHES.has(watch)]
    if (!isWatched && !isRecorded) return
    const signals = signalsNow()
    if (isWatched) alerts.receiveAll(watch, signals, unknown)
    if (isRecorded) this.#unwritten.push(...this.#history.changesOf(watch, signals, unknown, clock.nowMs()))
  }

  async #record(): Promise<void> {
    const { store } = this.#parts
    const signals = this.#unwritten
    this.#unwritten = []
    if (signals.length === 0) return
    await this.#tryTo('record signals', async () => {
      await store.recordAlertFacts(signals)
      this.#history.written(signals)
    })
  }

  #reportOnceComplete(watch: AlertWatch, signals: () => Signal[]): void {
    const { alerts, clock } = this.#parts
    if (clock.monotonicMs() >= this.#completeAtMs) return this.#report(watch, signals)
    if (alerts.isWatched(watch)) for (const signal of signals()) alerts.receive(signal)
  }

  async #tryTo<Result>(words: string, read: () => Promise<Result>): Promise<Result | null> {
    try {
      return await read()
    } catch (error) {
      if (!this.#stopped) this.#parts.logger.error({ error }, `failed to ${words} for alerts`)
      return null
    }
  }
}
