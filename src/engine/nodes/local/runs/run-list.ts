import { mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { ProjectName, VersionName } from '../../../../shared/contract/index.ts'
import { ENDING_SIGNALS, type NodeSignal } from '../../node-client.ts'
import { type Clock, sleep, type Timer } from '../../../runtime/clock.ts'
import type { Logger } from '../../../runtime/logger.ts'
import type { Isolation } from '../isolation/isolation.ts'
import { logFileOf, type RunDirectories, type RunNames, type RunSource } from './launch-plan.ts'
import { signalGroup } from '../processes/run-command.ts'
import { makeDirectoryLikeAbove } from '../../../runtime/private-directory.ts'
import { isAlive, type ProcessIdentity } from '../../../runtime/process-identity.ts'
import {
  acceptRun,
  claimRun,
  listRunDirectories,
  preventSpider,
  type RunChild,
  type RunExit,
  type RunFiles,
  type RunSpec,
  readRunFiles,
  removeRun,
  runDirectoryName,
  writeExit
} from './run-directory.ts'
import { startRun } from './start-run.ts'
import type { WarmPool } from '../warm/warm-pool.ts'

export interface Run {
  spec: RunSpec
  directory: string
  state: 'pending' | 'starting' | 'running' | 'finished'
  child: ProcessIdentity | null
  startedAtMs: number | null
  /** The location of the run's code. null: to be looked up when the run starts. */
  source: RunSource | null
  /** The Python that started the run. null: not started, or started by an earlier engine. */
  python: string | null
  exit: RunExit | null
  /** Whether the run's supervisor reports events to us. If so, we poll the run slowly, in case an event is lost. */
  supervised: boolean
  problem: string | null
  /** Whether the run was cancelled before its spider started. The list drops the run when the supervisor has ended. */
  isPrevented: boolean
  checking: Promise<void> | null
  timer: Timer | null
}

export interface RunListOptions {
  dataDirectory: string
  resourcesDirectory: string
  slots: () => number
  /** null: there is no Python yet, so the run waits. */
  python: (spec: RunSpec) => string | null
  /** null: the code no longer exists. */
  source: (project: ProjectName, version: VersionName) => Promise<RunSource | null>
  directories: RunDirectories
  pool: WarmPool | null
  isolation?: Isolation
  ownPython?: () => string | null
  finishedKept: number
  clock: Clock
  logger: Logger
  onChange: () => void
  onStart: (spec: RunSpec) => void
}

/** The poll interval of runs that an earlier engine started. Their supervisors do not report to us. */
const POLL_MS = 250
/** The poll interval of runs that an earlier engine started, while their processes are not yet visible. */
const UNSEEN_POLL_MS = 25
/** The poll interval of runs with a supervisor that reports to us, in case it dies or an event is lost. */
const SUPERVISED_POLL_MS = 2_000
/** How long a cancellation waits for a run's process, or for a run to end before its spider starts. */
const CHILD_WAIT_MS = 10_000

/**
 * The runs of the local node, from acceptance to end.
 *
 *   accept ──> pending ──> starting ──> running ──> finished ──> forgotten (all but the newest)
 *                 │            └───────────────────────^
 *                 └──> removed (cancelled)
 *
 * The run directories are the source of truth. After a kill, the next engine reads them. `started` is created only once
 * in a run directory, so a run starts at most once. The engine starts accepted runs without `started`.
 */
export class RunList {
  readonly #options: RunListOptions
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #runsDirectory: string
  readonly #runs = new Map<string, Run>()
  readonly #underWay = new Set<Promise<unknown>>()
  #isClosed = false
  // Whether all live runs of the last engine are known. While false, no slot counts as free.
  #isRead = false

  private constructor(options: RunListOptions) {
    this.#options = options
    this.#clock = options.clock
    this.#logger = options.logger
    this.#runsDirectory = join(options.dataDirectory, 'runs')
  }

  static async open(options: RunListOptions): Promise<RunList> {
    const list = new RunList(options)
    await mkdir(list.#runsDirectory, { recursive: true, mode: 0o700 })
    await list.#readRuns()
    list.#isRead = true
    list.fillSlots()
    list.#forgetOldest()
    return list
  }

  /** Resolves when the run is durable. Resolves with false if a run with this jobid is known. */
  async accept(spec: RunSpec, source: RunSource | null = null): Promise<boolean> {
    if (this.#runs.has(spec.jobid)) return false
    const directory = join(this.#runsDirectory, runDirectoryName(spec.jobid))
    if (!(await this.#track(this.#acceptDurably(directory, spec)))) return false
    const run = newRun(directory, spec)
    this.#runs.set(spec.jobid, run)
    run.source = source
    this.fillSlots()
    // A run that waits for a slot looks up its code again, because the version can be replaced or deleted.
    run.source = null
    this.#options.onChange()
    return true
  }

  endedDirectoryOf({ project, spider, jobid }: RunNames): string | null {
    const run = this.#runs.get(jobid)
    const isMeant = run?.state === 'finished' && run.spec.project === project && run.spec.spider === spider
    return isMeant ? run.directory : null
  }

  /** Starts pending runs while slots are free. Call this when a Python becomes available. */
  fillSlots(): void {
    if (this.#isClosed || !this.#isRead) return
    const free = this.freeSlots()
    if (free === 0) return
    const next = [...this.#runs.values()].filter(
      (run) => run.state === 'pending' && this.#options.python(run.spec) !== null
    )
    for (const run of next.sort(byOrderOfStarting).slice(0, free)) {
      void this.#track(this.#start(run, this.#options.python(run.spec)!))
    }
  }

  freeSlots(): number {
    return Math.max(0, this.#options.slots() - [...this.#runs.values()].filter(isLive).length)
  }

  async cancel(project: ProjectName, jobid: string, signal: NodeSignal): Promise<'pending' | 'running' | null> {
    const run = this.#runs.get(jobid)
    if (!run || run.spec.project !== project || run.state === 'finished') return null
    if (run.state === 'pending') {
      // Removed from the list first, so that the run does not start when a slot becomes free.
      this.#runs.delete(jobid)
      await this.#track(removeRun(run.directory))
      this.#options.onChange()
      return 'pending'
    }
    if (run.child === null && ENDING_SIGNALS.has(signal) && preventSpider(run.directory)) run.isPrevented = true
    if (run.isPrevented) await this.#waitWhile(() => isLive(run))
    else await this.signal(run, signal)
    return run.isPrevented && !isLive(run) ? 'pending' : 'running'
  }

  async signal(run: Run, signal: NodeSignal): Promise<void> {
    await this.#waitWhile(() => run.child === null && isLive(run))
    if (run.child && isLive(run) && (await isAlive(run.child))) await signalGroup(run.child.pid, signal)
  }

  async #waitWhile(isSo: () => boolean): Promise<void> {
    const deadlineMs = this.#clock.monotonicMs() + CHILD_WAIT_MS
    while (isSo() && this.#clock.monotonicMs() < deadlineMs) await sleep(this.#clock, UNSEEN_POLL_MS)
  }

  isKnown(jobid: string): boolean {
    return this.#runs.has(jobid)
  }

  /**
   * Pending runs in starting order, including those that are being started. Running runs oldest first. Finished
   * runs newest first.
   */
  list(): { pending: Run[]; running: Run[]; finished: Run[] } {
    const inState = (state: Run['state']) => [...this.#runs.values()].filter((run) => run.state === state)
    return {
      pending: [...inState('starting'), ...inState('pending').sort(byOrderOfStarting)],
      running: inState('running').sort((one, other) => one.startedAtMs! - other.startedAtMs!),
      finished: inState('finished').sort((one, other) => other.exit!.atMs - one.exit!.atMs)
    }
  }

  /** Detaches from the runs, which continue. Resolves when no start and no write is in progress. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const run of this.#runs.values()) run.timer?.cancel()
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay)
  }

  async #acceptDurably(directory: string, spec: RunSpec): Promise<boolean> {
    try {
      return await acceptRun(this.#runsDirectory, spec)
    } catch (error) {
      // The disk is probably full. A half-written run would start the next time the list opens.
      await removeRun(directory)
      throw error
    }
  }

  async #readRuns(): Promise<void> {
    const names = await listRunDirectories(this.#runsDirectory)
    for (let at = 0; at < names.length; at += 64) {
      await Promise.all(names.slice(at, at + 64).map((name) => this.#readOne(name)))
    }
  }

  async #readOne(name: string): Promise<void> {
    const directory = join(this.#runsDirectory, name)
    const files = await readRunFiles(directory)
    if (!files.spec || runDirectoryName(files.spec.jobid) !== name) {
      // There is nothing to start: the engine died while it wrote the spec of a new run or removed a cancelled one.
      await rm(directory, { recursive: true, force: true }).catch((error: unknown) => {
        this.#logger.warn({ directory, error: String(error) }, 'the files of a run cannot be removed')
      })
      return
    }
    const run = newRun(directory, files.spec)
    this.#runs.set(files.spec.jobid, run)
    if (files.exit && !(await isSurelyAlive(files.child))) {
      run.state = 'finished'
      run.startedAtMs = files.child?.atMs ?? files.exit.atMs
      run.exit = files.exit
    } else if (files.supervisor) {
      run.state = 'starting'
      run.startedAtMs = files.child?.atMs ?? this.#clock.nowMs()
      await this.#applyFiles(run, files)
      if (isLive(run)) {
        this.#logger.info({ jobid: name, pid: run.child?.pid }, 'a spider outlived the engine and was adopted')
        this.#checkIn(run, POLL_MS)
      }
    }
  }

  async #start(run: Run, python: string): Promise<void> {
    run.state = 'starting'
    run.python = python
    run.startedAtMs = this.#clock.nowMs()
    run.supervised = true
    this.#options.onStart(run.spec)
    try {
      const { project, version } = run.spec
      const source = run.source ?? (await this.#options.source(project, version))
      if (source === null) throw new Error(`The egg of ${project}, version ${version}, no longer exists.`)
      const events = {
        child: (child: RunChild) => this.#recordChild(run, child),
        exit: (exit: RunExit) => {
          if (isLive(run)) this.#end(run, exit)
        },
        supervisorEnded: () => {
          run.supervised = false
          this.#check(run)
        }
      }
      const { directory, spec } = run
      await startRun({
        ...this.#options,
        runDirectory: directory,
        spec,
        python,
        source,
        events,
        mayStart: () => !this.#isClosed
      })
      this.#checkIn(run, SUPERVISED_POLL_MS)
    } catch (error) {
      run.problem = (error as Error).message
      run.supervised = false
      this.#check(run)
    }
  }

  #recordChild(run: Run, child: RunChild): void {
    if (run.child !== null || run.state !== 'starting') return
    run.child = { pid: child.pid, startTime: child.startTime }
    run.startedAtMs = child.atMs
    run.state = 'running'
    this.#options.onChange()
  }

  #checkIn(run: Run, delayMs: number): void {
    run.timer?.cancel()
    if (!this.#isClosed && isLive(run)) run.timer = this.#clock.setTimer(delayMs, () => this.#check(run))
  }

  #check(run: Run): void {
    if (this.#isClosed || !isLive(run)) return
    const next = (run.checking ?? Promise.resolve())
      .then(async () => {
        if (!isLive(run)) return
        await this.#applyFiles(run, await readRunFiles(run.directory))
        this.#checkIn(run, run.supervised ? SUPERVISED_POLL_MS : run.child === null ? UNSEEN_POLL_MS : POLL_MS)
      })
      .catch((error: unknown) => {
        // The cause can be too many open files. The run still exists, so it is checked again.
        this.#logger.error({ jobid: run.spec.jobid, error: String(error) }, 'checking a run failed; retrying')
        this.#checkIn(run, POLL_MS)
      })
    run.checking = next
    void this.#track(next)
  }

  async #applyFiles(run: Run, files: RunFiles): Promise<void> {
    if (files.exit && !(await isSurelyAlive(run.child ?? files.child))) return this.#end(run, files.exit)
    if (files.child) this.#recordChild(run, files.child)
    if (!files.supervisor) {
      if (!run.supervised) await this.#endUnstarted(run)
      return
    }
    if ((await isAlive(files.supervisor)) || (files.child && (await isAlive(files.child)))) return
    // The supervisor may have written the exit and ended since the first read.
    const exit = (await readRunFiles(run.directory)).exit
    if (exit) return this.#end(run, exit)
    await this.#endUnseen(run)
  }

  async #endUnseen(run: Run): Promise<void> {
    await this.#endWith(run, { code: null, signal: null, atMs: this.#clock.nowMs() })
  }

  /**
   * Ends the run even if the exit cannot be recorded, because a spider can remove the directory and the slot must
   * become free.
   */
  async #endWith(run: Run, exit: RunExit): Promise<void> {
    await writeExit(run.directory, exit).catch((error: unknown) => {
      this.#logger.error({ jobid: run.spec.jobid, error: String(error) }, 'the end of a run could not be recorded')
    })
    this.#end(run, exit)
  }

  async #endUnstarted(run: Run): Promise<void> {
    const reason = `The spider could not be started: ${run.problem ?? 'its supervisor failed'}`
    let isOurs: boolean
    try {
      isOurs = await claimRun(run.directory)
    } catch (error) {
      // The directory no longer exists, so nothing can start the run.
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return this.#endUnseen(run)
      throw error
    }
    if (!isOurs) {
      // A supervisor of an earlier engine claimed the run first, so watch it. An unreadable claim proves nothing.
      if ((await readRunFiles(run.directory)).supervisor === null) await this.#endUnseen(run)
      return
    }
    this.#logger.error({ jobid: run.spec.jobid }, reason)
    const exit = { code: 1, signal: null, atMs: this.#clock.nowMs() }
    const logFile = logFileOf(this.#options.directories.logsDirectory, run.spec)
    try {
      makeDirectoryLikeAbove(dirname(logFile))
      await writeFile(logFile, `${reason}\n`, { flag: 'a' })
    } catch (error) {
      // The claim is ours and we are alive. If the run did not end here, it would look supervised forever.
      this.#logger.error({ jobid: run.spec.jobid, error: String(error) }, 'the log of a run could not be written')
    }
    await this.#endWith(run, exit)
  }

  #end(run: Run, exit: RunExit): void {
    if (run.state === 'finished') return
    run.timer?.cancel()
    run.state = 'finished'
    run.exit = exit
    if (run.isPrevented) {
      this.#runs.delete(run.spec.jobid)
      void this.#track(removeRun(run.directory))
    }
    this.#options.onChange()
    this.fillSlots()
    this.#forgetOldest()
  }

  #forgetOldest(): void {
    const finished = [...this.#runs.values()].filter((run) => run.state === 'finished')
    if (this.#isClosed || finished.length <= this.#options.finishedKept) return
    finished.sort((one, other) => other.exit!.atMs - one.exit!.atMs)
    for (const run of finished.slice(this.#options.finishedKept)) {
      this.#runs.delete(run.spec.jobid)
      void this.#track(removeRun(run.directory))
    }
  }

  #track<T>(work: Promise<T>): Promise<T> {
    const tracked: Promise<unknown> = work
      .catch((error: unknown) =>
        this.#logger.error({ error: String(error) }, 'the local node could not finish its work')
      )
      .finally(() => this.#underWay.delete(tracked))
    this.#underWay.add(tracked)
    return work
  }
}

function newRun(directory: string, spec: RunSpec): Run {
  const empty = {
    child: null,
    startedAtMs: null,
    source: null,
    python: null,
    exit: null,
    supervised: false,
    problem: null,
    isPrevented: false
  }
  return { spec, directory, state: 'pending', ...empty, checking: null, timer: null }
}

/** The exit is written after the process has ended. If the process is alive, the spider forged the exit. */
async function isSurelyAlive(child: ProcessIdentity | null): Promise<boolean> {
  return child !== null && child.startTime !== '' && (await isAlive(child))
}

function isLive(run: Run): boolean {
  return run.state === 'starting' || run.state === 'running'
}

function byOrderOfStarting(one: Run, other: Run): number {
  return (
    other.spec.priority - one.spec.priority ||
    one.spec.acceptedAtMs - other.spec.acceptedAtMs ||
    (one.spec.jobid < other.spec.jobid ? -1 : 1)
  )
}
