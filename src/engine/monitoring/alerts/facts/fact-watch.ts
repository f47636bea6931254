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
import { type Fact, NO_LABELS } from '../fact.ts'
import { FactHistory, RECORDED_WATCHES } from '../past/fact-history.ts'
import {
  certificateFact,
  diskFact,
  nodeFacts,
  queueFact,
  runFacts,
  type SeenProblem,
  scheduleFacts,
  serviceFacts,
  stuckFacts,
  unusualFacts
} from './state-facts.ts'
import { errorFacts, overdueFacts, spiderFacts, waitingFacts } from './stored-facts.ts'

export interface FactWatchParts {
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
  /** null: the service has none. */
  certificateEndsMs: () => number | null
  otherCertificates: () => Promise<{ engine: string; endsAtMs: number }[]>
  /** Of two with the same id, the later one counts. */
  problems: () => readonly Problem[]
  waitingOf: (lane: string) => Waiting
}

interface Spider {
  project: ProjectName
  spider: string
}

/** Changes come in bursts. */
const LOOK_AFTER_MS = 500
/** What grows with time alone is looked at this often. */
const LOOK_EVERY_MS = 15_000
const READ_EVERY_MS = 60_000
/** After a start, some of what the engine knows is still missing: until then, nothing ends because it is not there. */
const COMPLETE_AFTER_MS = 60_000
const SPIDERS_AT_ONCE = 50
const CATCH_UP_MS = 86_400_000
const CATCH_UP_JOBS = 1_000
const OF_RUNS: readonly AlertWatch[] = ['spider_fails', 'spider_items', 'spider_errors']

/**
 * Gives alerts their facts: what changed soon after it has, the rest from time to time, and nothing that no rule
 * watches. What nothing else keeps is recorded, so that later rules can be tried on it.
 */
export class FactWatch {
  readonly #parts: FactWatchParts
  readonly #ended = new Map<string, Spider>()
  readonly #history = new FactHistory()
  /** When problems were seen first. */
  #problemsSeenMs = new Map<string, number>()
  #unwritten: StoredAlertFact[] = []
  #otherCertificates: { engine: string; endsAtMs: number }[] = []
  #errorsAreOld = true
  #readAtMs = Number.NEGATIVE_INFINITY
  readonly #alarm: Alarm
  #completeAtMs = Number.POSITIVE_INFINITY
  #judgedAtMs = Number.POSITIVE_INFINITY
  /** Were stuck since the start: what the engine says of them from then on is so. */
  readonly #wereStuck = new Set<string>()
  #looking: Promise<void> = Promise.resolve()
  #stopped = false

  constructor(parts: FactWatchParts) {
    this.#parts = parts
    this.#alarm = new Alarm(parts.clock, () => {
      this.#looking = this.#looking.then(() => this.#look())
    })
  }

  /** Nothing waits for what it reads: a start is not longer for it. */
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

  /** Reads which spiders ran lately: an earlier engine may not have told of them, or no rule was about them. */
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

  /** Call when something that is watched may have changed. */
  lookSoon(): void {
    this.#alarm.set(LOOK_AFTER_MS)
  }

  /** A run of this spider has ended. */
  noteEnd({ project, spider }: Spider): void {
    const labels = { ...NO_LABELS, project, spider }
    if (!OF_RUNS.some((watch) => this.#parts.alerts.isAbout(watch, labels))) return
    this.#ended.set(`${project}/${spider}`, { project, spider })
    this.#alarm.set(LOOK_AFTER_MS)
  }

  /** Errors were recorded, or their states set. */
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
    const { facts, unknown } = nodeFacts(fleet)
    this.#tell('node_down', () => facts, unknown)
    this.#tell('job_runs_long', () => runFacts(live(), nodeOf))
    this.#tell('queue_length', () => [queueFact(figures())])
    const measured = disk()
    if (measured !== null) this.#tell('disk_free', () => [diskFact(measured)])
    const stuck = stuckFacts(fleet, stuckSinceMs)
    this.#tell('node_stuck', () => stuck, new Set([...unknown, ...this.#notJudged(fleet, stuck)]))
    const endsMs = certificateEndsMs()
    this.#tellOnceComplete('certificate_days', () => [
      ...(endsMs === null ? [] : [certificateFact(endsMs, nowMs)]),
      ...this.#otherCertificates.map(({ engine, endsAtMs }) => certificateFact(endsAtMs, nowMs, engine))
    ])
    this.#tellOnceComplete('spider_unusual', () => unusualFacts(findings()))
    this.#tellOnceComplete('schedule_misses', () => scheduleFacts(problems))
    this.#tellOnceComplete('service_problem', () => serviceFacts(problems))
  }

  /** Nodes that may be stuck, as an earlier engine knew: this one has to see that they start nothing. */
  #notJudged(fleet: readonly FleetNode[], stuck: readonly Fact[]): string[] {
    for (const { key } of stuck) this.#wereStuck.add(key)
    if (this.#parts.clock.monotonicMs() >= this.#judgedAtMs) return []
    return fleet.flatMap(({ stored }) => (this.#wereStuck.has(stored.id) ? [] : [stored.id]))
  }

  /** Since when is known of some only: of the others since they were seen, as a later time would begin them anew. */
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
        for (const fact of await spiderFacts(store, spider, { nodeOf })) alerts.receive(fact)
      })
    }
  }

  async #readOthers(): Promise<void> {
    const { store, clock, alerts, waitingOf, nodeOf } = this.#parts
    const isDue = clock.monotonicMs() - this.#readAtMs >= READ_EVERY_MS
    if (isDue) this.#readAtMs = clock.monotonicMs()
    if (isDue && alerts.isWatched('job_waits_long')) {
      const facts = await this.#tryTo('read how long jobs wait', () => waitingFacts(store, waitingOf, { nodeOf }))
      if (facts !== null) alerts.receiveAll('job_waits_long', facts)
    }
    if (isDue && alerts.isWatched('spider_overdue')) {
      const facts = await this.#tryTo('read when spiders succeeded', () =>
        overdueFacts(store, alerts.rules(), clock.nowMs())
      )
      if (facts !== null) alerts.receiveAll('spider_overdue', facts)
    }
    if (isDue && alerts.isWatched('certificate_days')) {
      const { otherCertificates } = this.#parts
      const others = await this.#tryTo('read when the certificates of engines expire', otherCertificates)
      if (others !== null) this.#otherCertificates = others
    }
    if ((isDue || this.#errorsAreOld) && alerts.isWatched('error_appears')) {
      this.#errorsAreOld = false
      const facts = await this.#tryTo('read new errors', () => errorFacts(store, clock.nowMs()))
      if (facts !== null) alerts.receiveAll('error_appears', facts)
    }
  }

  #tell(watch: AlertWatch, factsNow: () => Fact[], unknown: ReadonlySet<string> = new Set()): void {
    const { alerts, clock } = this.#parts
    const [isWatched, isRecorded] = [alerts.isWatched(watch), RECORDED_WATCHES.has(watch)]
    if (!isWatched && !isRecorded) return
    const facts = factsNow()
    if (isWatched) alerts.receiveAll(watch, facts, unknown)
    if (isRecorded) this.#unwritten.push(...this.#history.changesOf(watch, facts, unknown, clock.nowMs()))
  }

  /** What fails is decided anew with the next look. */
  async #record(): Promise<void> {
    const { store } = this.#parts
    const facts = this.#unwritten
    this.#unwritten = []
    if (facts.length === 0) return
    await this.#tryTo('record facts', async () => {
      await store.recordAlertFacts(facts)
      this.#history.written(facts)
    })
  }

  /** What is found out only some time after a start. */
  #tellOnceComplete(watch: AlertWatch, facts: () => Fact[]): void {
    const { alerts, clock } = this.#parts
    if (clock.monotonicMs() >= this.#completeAtMs) return this.#tell(watch, facts)
    if (alerts.isWatched(watch)) for (const fact of facts()) alerts.receive(fact)
  }

  /** null: it failed, which is logged. */
  async #tryTo<Result>(words: string, read: () => Promise<Result>): Promise<Result | null> {
    try {
      return await read()
    } catch (error) {
      if (!this.#stopped) this.#parts.logger.error({ error }, `failed to ${words} for alerts`)
      return null
    }
  }
}
