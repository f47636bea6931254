import { rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { UsageSample } from '../../../../shared/contract/index.ts'
import type { CancelWaitsMs } from '../../../../shared/run-limits.ts'
import { signalOfStep, stepDue } from '../../../../shared/stop-ladder.ts'
import { maskSecrets } from '../../../../shared/secret-values.ts'
import type { Clock, Timer } from '../../../runtime/clock.ts'
import type { Logger } from '../../../runtime/logger.ts'
import { findLimitHit, limitOfExit, type RunFacts } from './run-limits.ts'
import type { ProcessIdentity } from '../../../runtime/process-identity.ts'
import type { ProcessRow, ProcessTable } from '../processes/process-table.ts'
import { readLimit, readRunFiles, writeLimit, writeWhole } from './run-directory.ts'
import type { Run } from './run-list.ts'
import { type RunProcesses, type RunUsage, sumUsage, UsageHistory } from './usage.ts'
import { decode, encode, type Message, render } from '../../../../shared/texts/message.ts'

export interface RunWatchOptions {
  runs: () => { running: Run[]; finished: Run[] }
  signal: (run: Run, signal: 'INT' | 'KILL') => Promise<unknown>
  logFileOf: (run: Run) => string
  /** null: this system does not report resource usage. */
  processes: ProcessTable | null
  limitWaitsMs: CancelWaitsMs
  clock: Clock
  logger: Logger
  onSample: () => void
}

/**
 * The smallest shift between the wall clock and the monotonic clock that counts as a jump: the clock was set or the
 * machine slept.
 */
const JUMP_MS = 1_000
export const SAMPLE_INTERVAL_MS = 2_000
const ENDED_KEPT = 50

interface Watched extends RunProcesses {
  run: Run
  isCancelled: boolean
  /** The limit that was hit (encoded), and when (wall clock). */
  limit: { text: string; atMs: number } | null
  steps: number
  history: UsageHistory
  peakMemoryBytes: number | null
  cpuSeconds: number | null
  sampledAtMs: number
  /** The sum of wall clock jumps since we started watching. The run's own time is wall time minus this sum. */
  jumpsMs: number
  /** The time of the last jump, in the run's own time. Silence before the jump does not count. */
  jumpedAtMs: number
}

/**
 * Watches running runs: samples memory and CPU time of all runs in one pass, and ends those that hit a limit.
 *
 *   running --limit hit--> limit.json written --> the stop ladder (shared/stop-ladder.ts) ... until the run has ended
 *
 * All runs share one timer, which stops while nothing runs. limit.json is written before the first signal, so that the
 * next engine knows why a run is being stopped and continues the ladder.
 */
export class RunWatch {
  readonly #options: RunWatchOptions
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #watched = new Map<string, Watched>()
  /** By jobid: the limits that ended runs, including those of an earlier engine. */
  readonly #limits = new Map<string, { text: string; atMs: number }>()
  readonly #hidden = new WeakSet<Run>()
  readonly #underWay = new Set<Promise<unknown>>()
  #timer: Timer | null = null
  #isClosed = false
  #isBlind = false
  #clocksApartMs: number

  private constructor(options: RunWatchOptions) {
    const { clock, logger } = options
    this.#options = options
    this.#clock = clock
    this.#logger = logger
    this.#clocksApartMs = clock.nowMs() - clock.monotonicMs()
  }

  /**
   * Takes over from an earlier engine: reads the limits that were hit, and masks the secrets of runs that have
   * since ended.
   */
  static async open(options: RunWatchOptions): Promise<RunWatch> {
    const watch = new RunWatch(options)
    const { running, finished } = options.runs()
    for (const { spec, directory } of [...running, ...finished]) {
      const limit = spec.limits === null ? null : await readLimit(directory)
      if (limit !== null) watch.#limits.set(spec.jobid, limit)
    }
    watch.wake()
    return watch
  }

  /** Call this when a run starts or ends. */
  wake(): void {
    // If a timer is set, the next sample notices the change.
    if (this.#isClosed || this.#timer !== null) return
    const { running, finished } = this.#options.runs()
    for (const run of finished) if (run.spec.secretNames.length > 0) this.#hideSecrets(run)
    if (running.length > 0)
      this.#timer = this.#clock.setTimer(SAMPLE_INTERVAL_MS, () => void this.#track(this.#sample()))
  }

  /** Records that the run was cancelled, so that its end is not attributed to a limit. */
  forgetLimits(jobid: string): void {
    const one = this.#watched.get(jobid)
    if (one !== undefined) one.isCancelled = true
  }

  /** Oldest first. Empty for a run that is unknown or was never sampled. */
  usageOf(jobid: string): UsageSample[] {
    return this.#watched.get(jobid)?.history.list() ?? []
  }

  newestUsage(jobid: string): UsageSample | null {
    return this.#watched.get(jobid)?.history.newest ?? null
  }

  endOf({ spec, exit }: Run): { limit: Message | null; peakMemoryBytes: number | null; cpuSeconds: number | null } {
    const one = this.#watched.get(spec.jobid)
    const hit = this.#limits.get(spec.jobid)
    const peaks = [one?.peakMemoryBytes, exit?.maxRssBytes].filter((bytes) => bytes != null)
    return {
      limit: hit !== undefined ? decode(hit.text) : exit === null ? null : limitOfExit(spec.limits, exit),
      // Our samples add up all processes of a run, but only at intervals. The system's maximum misses no peak, but
      // covers only one process.
      peakMemoryBytes: peaks.length === 0 ? null : Math.max(...peaks),
      cpuSeconds: exit?.cpuSeconds ?? one?.cpuSeconds ?? null
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#timer?.cancel()
    await Promise.allSettled(this.#underWay)
  }

  async #sample(): Promise<void> {
    try {
      this.#adjustForJump()
      const { running, finished } = this.#options.runs()
      const isNew = await this.#addNew(running)
      this.#forget(running, finished)
      const usage = await this.#measure(running, isNew)
      await Promise.all(running.map((run) => this.#enforce(this.#watched.get(run.spec.jobid)!, usage)))
      if (usage !== null) this.#options.onSample()
    } catch (error) {
      this.#logger.error({ error: String(error) }, 'sampling resource usage failed; retrying')
    }
    this.#timer = null
    this.wake()
  }

  /** Excludes the machine's sleep and clock changes, because limits count only the time when spiders could run. */
  #adjustForJump(): void {
    const apartMs = this.#clock.nowMs() - this.#clock.monotonicMs()
    const jumpMs = apartMs - this.#clocksApartMs
    this.#clocksApartMs = apartMs
    if (Math.abs(jumpMs) < JUMP_MS) return
    for (const one of this.#watched.values()) {
      one.jumpsMs += jumpMs
      one.jumpedAtMs = this.#ownTimeOf(one)
    }
  }

  #ownTimeOf({ jumpsMs }: Watched): number {
    return this.#clock.nowMs() - jumpsMs
  }

  async #addNew(running: Run[]): Promise<boolean> {
    const news = running.filter((run) => !this.#watched.has(run.spec.jobid))
    const supervisors = await Promise.all(news.map(async (run) => (await readRunFiles(run.directory)).supervisor))
    const shared = new Set<number>()
    const seen = new Set([...this.#watched.values()].flatMap(({ supervisor }) => supervisor?.pid ?? []))
    for (const supervisor of supervisors) {
      if (supervisor !== null && seen.has(supervisor.pid)) shared.add(supervisor.pid)
      if (supervisor !== null) seen.add(supervisor.pid)
    }
    for (const [index, run] of news.entries()) {
      const { memoryMegabytes, cpuSeconds } = run.spec.limits ?? {}
      if (this.#options.processes === null && (memoryMegabytes ?? cpuSeconds) != null) {
        this.#logger.warn(
          { jobid: run.spec.jobid },
          'this system does not report resource usage, so memory and CPU limits are not enforced'
        )
      }
      this.#watched.set(
        run.spec.jobid,
        this.#newWatched(run, supervisors[index] ?? null, this.#limits.get(run.spec.jobid) ?? null)
      )
    }
    // A supervisor that several runs share does not show which run an orphan belongs to.
    for (const one of this.#watched.values()) if (shared.has(one.supervisor?.pid ?? 0)) one.supervisor = null
    return news.length > 0
  }

  #forget(running: Run[], finished: Run[]): void {
    const kept = new Set([...running, ...finished.slice(0, ENDED_KEPT)].map((run) => run.spec.jobid))
    for (const jobid of this.#watched.keys()) if (!kept.has(jobid)) this.#watched.delete(jobid)
    if (this.#limits.size === 0) return
    const known = new Set([...running, ...finished].map((run) => run.spec.jobid))
    for (const jobid of this.#limits.keys()) if (!known.has(jobid)) this.#limits.delete(jobid)
  }

  async #measure(running: Run[], isNew: boolean): Promise<Map<Watched, RunUsage> | null> {
    if (this.#options.processes === null) return null
    const live = running.map((run) => this.#watched.get(run.spec.jobid)!)
    const wanted = new Set(live.flatMap((one) => [one.child.pid, one.supervisor?.pid ?? 0, ...one.members.keys()]))
    let rows: ProcessRow[]
    try {
      rows = await this.#options.processes.read((pid) => wanted.has(pid), isNew)
    } catch (error) {
      // Limits on time, silence and log size do not need the process list.
      if (!this.#isBlind) this.#logger.warn({ error: String(error) }, 'the processes of this system cannot be listed')
      this.#isBlind = true
      return null
    }
    this.#isBlind = false
    const usage = sumUsage(rows, live)
    for (const [one, used] of usage) if (used.processes > 0) this.#recordUsage(one, used)
    return usage
  }

  #recordUsage(one: Watched, used: RunUsage): void {
    const nowMs = this.#clock.monotonicMs()
    const before = one.cpuSeconds ?? 0
    // The sum drops when a process ends that nobody waited for, but the recorded total must not decrease.
    one.cpuSeconds = Math.max(before, used.cpuSeconds)
    one.peakMemoryBytes = Math.max(one.peakMemoryBytes ?? 0, used.memoryBytes)
    const elapsedSeconds = (nowMs - one.sampledAtMs) / 1000
    one.sampledAtMs = nowMs
    one.history.add({
      atMs: this.#clock.nowMs(),
      memoryBytes: used.memoryBytes,
      cpuShare: elapsedSeconds > 0 ? Math.round(((one.cpuSeconds - before) / elapsedSeconds) * 1000) / 1000 : 0,
      processes: used.processes
    })
  }

  async #enforce(one: Watched, usage: Map<Watched, RunUsage> | null): Promise<void> {
    const { run } = one
    if (run.spec.limits === null || one.isCancelled) return
    const nowMs = this.#ownTimeOf(one)
    if (one.limit === null) {
      const hit = findLimitHit(run.spec.limits, await this.#factsOf(one, usage?.get(one) ?? null), nowMs)
      if (hit === null || this.#isClosed || run.state !== 'running' || one.isCancelled) return
      const limit = { text: encode(hit.hit), atMs: nowMs }
      // A spider cannot escape its limits by removing the directory. Only the next engine will not know why the run
      // was stopped.
      await writeLimit(run.directory, { ...limit, atMs: this.#clock.nowMs() }).catch((error: unknown) => {
        this.#logger.error({ jobid: run.spec.jobid, error: String(error) }, 'an exceeded limit could not be recorded')
      })
      one.limit = limit
      this.#limits.set(run.spec.jobid, limit)
      this.#logger.info({ jobid: run.spec.jobid, limit: render(hit.hit) }, 'a run exceeded a limit; stopping it')
    }
    if (stepDue(nowMs - one.limit.atMs, this.#options.limitWaitsMs) < one.steps || this.#isClosed) return
    const step = one.steps
    one.steps += 1
    await this.#options.signal(run, signalOfStep(step))
  }

  async #factsOf(one: Watched, usage: RunUsage | null): Promise<RunFacts> {
    const { run, cpuSeconds } = one
    const { silentSeconds, logMegabytes } = run.spec.limits!
    const log =
      silentSeconds == null && logMegabytes == null ? null : await stat(this.#options.logFileOf(run)).catch(() => null)
    return {
      startedAtMs: run.startedAtMs!,
      memoryBytes: usage?.memoryBytes ?? null,
      cpuSeconds,
      logBytes: log?.size ?? null,
      loggedAtMs: log === null ? null : this.#loggedAtOf(one, log.mtimeMs)
    }
  }

  /**
   * When the run last logged, in the run's own time. A line from before a jump can appear to be from any time, even the
   * future.
   */
  #loggedAtOf(one: Watched, wallMs: number): number {
    if (one.jumpsMs === 0) return wallMs
    const ownMs = wallMs - one.jumpsMs
    return ownMs > this.#ownTimeOf(one) + JUMP_MS ? one.jumpedAtMs : Math.max(ownMs, one.jumpedAtMs)
  }

  #hideSecrets(run: Run): void {
    if (this.#hidden.has(run)) return
    this.#hidden.add(run)
    run.spec = maskSecrets(run.spec)
    void this.#track(
      (async () => {
        await writeWhole(run.directory, 'spec.json', run.spec)
        // launch.json can contain secrets, and output.txt can contain anything that the spider printed.
        for (const name of ['launch.json', 'output.txt']) await rm(join(run.directory, name), { force: true })
      })()
    )
  }

  #track(work: Promise<unknown>): Promise<unknown> {
    const tracked = work
      .catch((error: unknown) => this.#logger.error({ error: String(error) }, 'a step of a run failed'))
      .finally(() => this.#underWay.delete(tracked))
    this.#underWay.add(tracked)
    return tracked
  }

  #newWatched(run: Run, supervisor: ProcessIdentity | null, limit: Watched['limit']): Watched {
    // Skips the steps that an earlier engine took.
    const steps = limit === null ? 0 : stepDue(this.#clock.nowMs() - limit.atMs, this.#options.limitWaitsMs)
    const ofRun = { run, child: run.child!, supervisor, members: new Map(), limit, steps, isCancelled: false }
    const sampledAtMs = this.#clock.monotonicMs() - Math.max(0, this.#clock.nowMs() - run.startedAtMs!)
    const jumps = { jumpsMs: 0, jumpedAtMs: run.startedAtMs! }
    return { ...ofRun, ...jumps, history: new UsageHistory(), peakMemoryBytes: null, cpuSeconds: null, sampledAtMs }
  }
}
