import { EventEmitter } from 'node:events'
import { hostname } from 'node:os'
import { join } from 'node:path'
import type { ProjectName, ProjectPython, StartMode, VersionName } from '../../../shared/contract/index.ts'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { asSentence, type Message, messageOf, render, say, written } from '../../../shared/texts/message.ts'
import { CANCEL_WAITS_MS, type CancelWaitsMs, limitWaitsOf } from '../../../shared/run-limits.ts'
import { LAST_STEP, signalOfStep, stepDue } from '../../../shared/stop-ladder.ts'
import {
  type DaemonStatus,
  type LogRange,
  type NodeClient,
  NodeError,
  ENDING_SIGNALS,
  type NodeSignal,
  type RefusalKind,
  type ScheduleRequest,
  type Snapshot,
  type SeenJob
} from '../node-client.ts'
import { failure } from '../node-failure.ts'
import { LOCAL_TRAITS } from '../node-traits.ts'
import { problemOfRun } from '../node-checks.ts'
import { problemOfPathPart } from '../../projects/names.ts'
import { type Clock, sleep } from '../../runtime/clock.ts'
import { type IsolationSettings, ISOLATION_OFF } from '../../runtime/isolation-settings.ts'
import type { Logger } from '../../runtime/logger.ts'
import { makePrivateDirectory } from '../../runtime/private-directory.ts'
import { Isolation } from './isolation/isolation.ts'
import { LocalEnvironments } from './pythons/environments.ts'
import { itemsFileOf, logFileOf, type RunDirectories, type RunNames, type RunSource } from './runs/launch-plan.ts'
import { watchFile, readFileRange } from './runs/file-range.ts'
import { openProcessTable } from './processes/process-table.ts'
import { findPythons, PythonEnvironment } from './pythons/python-environment.ts'
import type { Pruner } from './runs/prune-files.ts'
import { type Run, RunList } from './runs/run-list.ts'
import { RunWatch } from './runs/run-watch.ts'
import { clearListings, listSpiders } from './pythons/spider-listing.ts'
import { WarmPool, type WarmStarts } from './warm/warm-pool.ts'

export interface LocalNodeOptions {
  /** Contains logs/, items/, runs/, work/ and python/. */
  directory: string
  resourcesDirectory: string
  /** The maximum number of concurrent spiders. Read at each start, because the operator can change it. */
  slots: () => number
  pythonPath?: string
  warmStarts?: WarmStarts
  dataDirectory?: string
  isolation?: IsolationSettings
  /** Projects that can run, and their Pythons. Default: the main Python for all. */
  projectPythons?: { names: () => readonly ProjectName[]; of: (project: ProjectName) => ProjectPython }
  source: (project: ProjectName, version: VersionName) => Promise<RunSource | null>
  /** Where runs write files. Default: in the data directory, without JOBDIR. */
  directories?: Partial<RunDirectories>
  oldFiles?: Pick<Pruner, 'prune'> | null
  /** Delays between INT, the second INT, KILL and the second KILL for a run that hit a limit. */
  limitWaitsMs?: CancelWaitsMs
  clock: Clock
  logger: Logger
}

const FINISHED_KEPT = 1000
/** When the user quits, spiders get INT and, after 10 s, KILL. They get no second INT. */
const QUIT_WAITS_MS: CancelWaitsMs = [10_000, 0, 0]

interface LocalNodeEvents {
  runs: []
  pythons: []
  /** Emitted with new samples, every 2 s while a spider runs. */
  usage: []
}

interface LocalNodeParts extends Pick<LocalNodeOptions, 'resourcesDirectory' | 'source' | 'clock' | 'logger'> {
  dataDirectory: string
  directories: RunDirectories
  pool: WarmPool
  isolation: Isolation
  python: PythonEnvironment
  environments: LocalEnvironments
  runs: RunList
  watch: RunWatch
  events: EventEmitter<LocalNodeEvents>
}

/**
 * The node inside the engine. Its spiders are child processes that outlive the engine. When an engine starts, even
 * after its predecessor was killed, `open` finds them by their run directories and starts accepted runs that have not
 * started. A jobid is accepted only once while its run is remembered (the latest 1,000 ended runs). An `exit` with
 * neither a code nor a signal means that we did not observe the end of the run: the machine crashed, or the supervisor
 * was killed.
 */
export class LocalNode implements NodeClient {
  readonly traits = LOCAL_TRAITS
  readonly eggTarget = null
  readonly events: EventEmitter<LocalNodeEvents>
  readonly python: PythonEnvironment
  readonly environments: LocalEnvironments
  readonly usage: Pick<RunWatch, 'usageOf' | 'newestUsage'>
  readonly #parts: LocalNodeParts
  readonly #closing = new AbortController()

  private constructor(parts: LocalNodeParts) {
    this.#parts = parts
    this.events = parts.events
    this.python = parts.python
    this.environments = parts.environments
    this.usage = parts.watch
  }

  /** No other engine may use the data directory at the same time. */
  static async open(options: LocalNodeOptions): Promise<LocalNode> {
    const { directory, resourcesDirectory, slots, source, projectPythons, oldFiles, clock, logger } = options
    // Logs and items are private to this user, even in a data directory that others can read.
    makePrivateDirectory(directory)
    await clearListings(directory)
    const directories: RunDirectories = {
      logsDirectory: join(directory, 'logs'),
      itemsDirectory: join(directory, 'items'),
      jobsDirectory: null,
      workDirectory: join(directory, 'work'),
      ...options.directories
    }
    const shared = { dataDirectory: directory, resourcesDirectory, clock, logger }
    const isolation = await Isolation.open(options.isolation ?? ISOLATION_OFF, {
      dataDirectory: options.dataDirectory ?? directory,
      directory,
      resourcesDirectory,
      directories,
      clock
    })
    const events = new EventEmitter<LocalNodeEvents>()
    // The parts can call back before all of them exist.
    let known: LocalEnvironments | null = null
    let runs: RunList | null = null
    const onPythons = () => void events.emit('pythons')
    const freeSlots = () => runs?.freeSlots() ?? 0
    if (isolation.problem === null && isolation.unavailable !== null)
      options.logger.warn(
        { why: render(isolation.unavailable) },
        'spiders are not kept apart: this system does not allow it'
      )
    const environment = () => isolation.environment()
    const pool = new WarmPool({ ...shared, ...options.warmStarts, environment, freeSlots, onChange: onPythons })
    const ownPython = () => python.path()
    const startOf = (path: string) => (isolation.isOn && path !== ownPython() ? COLD_ISOLATED : pool.mode(path))
    const python = new PythonEnvironment({
      ...shared,
      pythonPath: options.pythonPath,
      isolation,
      candidates: findPythons(resourcesDirectory),
      startOf,
      onChange() {
        const { state, path } = python.state()
        if (state === 'ready') pool.prepare(path!)
        known?.refreshMain()
      }
    })
    const environments = await LocalEnvironments.open({
      ...shared,
      main: python,
      isolation,
      projects: () => projectPythons?.names() ?? [],
      settingOf: (project) => projectPythons?.of(project) ?? { kind: 'default' },
      pythonsInUse: () => runs && pythonsInUse(runs),
      startOf,
      onChange: onPythons
    })
    known = environments
    const list = await RunList.open({
      ...shared,
      slots,
      python: ({ project }) => environments.pythonOf(project).path,
      source,
      directories,
      pool,
      isolation,
      ownPython,
      finishedKept: FINISHED_KEPT,
      onChange: () => void events.emit('runs'),
      onStart: ({ project, spider }) => oldFiles?.prune(project, spider)
    })
    runs = list
    const watch = await RunWatch.open({
      runs: () => list.list(),
      signal: (run, signal) => list.signal(run, signal),
      logFileOf: (run) => logFileOf(directories.logsDirectory, run.spec),
      processes: await openProcessTable(),
      limitWaitsMs: options.limitWaitsMs ?? limitWaitsOf(CANCEL_WAITS_MS),
      clock,
      logger,
      onSample: () => void events.emit('usage')
    })
    events.on('runs', () => watch.wake()).on('runs', () => pool.slotsChanged())
    events.on('pythons', () => list.fillSlots())
    // Catches up on what the parts reported before the listeners were set.
    watch.wake()
    list.fillSlots()
    const parts = { ...shared, source, directories, pool, isolation, python, environments, watch, events }
    return new LocalNode({ ...parts, runs: list })
  }

  /**
   * Why spiders run with Scrapdeck's permissions although isolation was preferred. null: they are isolated, isolation
   * is off, or nothing can start.
   */
  get notIsolated(): Message | null {
    const { isolation } = this.#parts
    return isolation.problem === null ? isolation.unavailable : null
  }

  whyNotReady(project: ProjectName): Message | null {
    const found = this.environments.pythonOf(project)
    return found.path === null ? found.waiting : null
  }

  /** Imports the egg in a separate process. Rejects with EGG_IMPORT_FAILED or PYTHON_MISSING. */
  listSpidersOfEgg(egg: string, project: ProjectName, signal?: AbortSignal): Promise<string[]> {
    return this.#listSpidersIn(project, { egg }, signal)
  }

  runningCount(): number {
    return liveRuns(this.#parts.runs).length
  }

  liveDirectories(): string[] {
    return liveRuns(this.#parts.runs).map(({ directory }) => directory)
  }

  isKnown(jobid: string): boolean {
    return this.#parts.runs.isKnown(jobid)
  }

  async stopAll(): Promise<void> {
    const { clock } = this.#parts
    const sinceMs = clock.monotonicMs()
    const due = () => stepDue(clock.monotonicMs() - sinceMs, QUIT_WAITS_MS)
    await this.#signalAll(signalOfStep(0))
    while (this.runningCount() > 0 && due() < LAST_STEP) await sleep(clock, 50)
    await this.#signalAll(signalOfStep(LAST_STEP))
  }

  async daemonStatus(): Promise<DaemonStatus> {
    this.#refuseWhenClosed()
    const { pending, running, finished } = this.#parts.runs.list()
    const counts = { pending: pending.length, running: running.length, finished: finished.length }
    return { ...counts, nodeName: hostname(), clockOffsetMs: 0 }
  }

  async listJobs(): Promise<Snapshot> {
    this.#refuseWhenClosed()
    const { runs, watch, clock } = this.#parts
    const begunAtMs = clock.monotonicMs()
    const { pending, running, finished } = runs.list()
    const seen = (run: Run) => toSeenJob(run, watch)
    return { begunAtMs, pending: pending.map(seen), running: running.map(seen), finished: finished.map(seen) }
  }

  async schedule(request: ScheduleRequest): Promise<{ jobid: string }> {
    this.#refuseWhenClosed()
    const problem = problemOfRun(request, this.traits)
    if (problem !== null) throw refusal(problem, 'unrunnable')
    refuseBadNames(request)
    const found = await this.environments.checkedPythonOf(request.project)
    if (found.path === null) throw refusal(found.problem)
    const { runs, pool, clock } = this.#parts
    if (!this.#parts.isolation.isOn || found.path === this.python.path()) pool.expectStart(found.path)
    const source = await this.#sourceOf(request)
    this.#refuseWhenClosed()
    let isAccepted: boolean
    try {
      isAccepted = await runs.accept({ ...request, acceptedAtMs: clock.nowMs() }, source)
    } catch (error) {
      // The next snapshot shows whether the run was written.
      const said = say('node_error.local_not_written', { why: (error as Error).message })
      throw failure('reset', said, 'unknown', error)
    }
    if (!isAccepted) throw refusal(say('run_problem.already_accepted', { jobid: request.jobid }))
    return { jobid: request.jobid }
  }

  async cancel(request: {
    project: ProjectName
    jobid: string
    signal: NodeSignal
  }): Promise<{ wasState: 'pending' | 'running' | null }> {
    this.#refuseWhenClosed()
    const { runs, watch } = this.#parts
    // Other signals do not end a run, so its limits still apply.
    if (ENDING_SIGNALS.has(request.signal)) watch.forgetLimits(request.jobid)
    return { wasState: await runs.cancel(request.project, request.jobid, request.signal) }
  }

  async listSpiders(project: ProjectName, version: VersionName, signal?: AbortSignal): Promise<string[]> {
    const source = await this.#parts.source(project, version)
    if (source === null) throw refusal(say('run_problem.version_unknown', { version }), 'unknown_version')
    return this.#listSpidersIn(project, source, signal)
  }

  async readLog(run: RunNames, range: { offset: number; limitBytes: number }): Promise<LogRange | null> {
    refuseBadNames(run)
    const { logsDirectory } = this.#parts.directories
    return readFileRange(logFileOf(logsDirectory, run), range, logsDirectory)
  }

  watchLog(run: RunNames, onChange: () => void): () => void {
    refuseBadNames(run)
    return watchFile(logFileOf(this.#parts.directories.logsDirectory, run), onChange)
  }

  logPath(run: RunNames): string {
    refuseBadNames(run)
    return logFileOf(this.#parts.directories.logsDirectory, run)
  }

  async readPrinted(run: RunNames, range: { offset: number; limitBytes: number }): Promise<LogRange | null> {
    const directory = this.#parts.runs.endedDirectoryOf(run)
    return directory === null ? null : readFileRange(join(directory, 'printed.txt'), range)
  }

  async readItems(run: RunNames, range: { offset: number; limitBytes: number }): Promise<LogRange | null> {
    refuseBadNames(run)
    const { itemsDirectory } = this.#parts.directories
    const file = itemsFileOf(itemsDirectory, run)
    return file === null ? null : readFileRange(file, range, itemsDirectory)
  }

  async close(): Promise<void> {
    const { watch, runs, pool } = this.#parts
    this.#closing.abort(failure('aborted', say('node_error.local_closing'), 'unknown'))
    this.events.removeAllListeners()
    this.python.close()
    await this.environments.close()
    await watch.close()
    await runs.close()
    await pool.close()
  }

  async #listSpidersIn(project: ProjectName, source: RunSource, signal?: AbortSignal): Promise<string[]> {
    const found = await this.environments.checkedPythonOf(project)
    if (found.path === null) throw new ScrapdeckError('PYTHON_MISSING', asSentence(found.problem))
    const closing = this.#closing.signal
    return listSpiders({
      ...this.#parts,
      ownPython: () => this.python.path(),
      project,
      workDirectory: this.#parts.directories.workDirectory,
      python: found.path,
      source,
      signal: signal ? AbortSignal.any([closing, signal]) : closing
    })
  }

  async #signalAll(signal: 'INT' | 'KILL'): Promise<void> {
    const { runs, watch } = this.#parts
    const live = liveRuns(runs)
    for (const run of live) watch.forgetLimits(run.spec.jobid)
    await Promise.all(live.map((run) => runs.signal(run, signal)))
  }

  async #sourceOf({ project, version }: ScheduleRequest): Promise<RunSource> {
    let source: RunSource | null
    try {
      source = await this.#parts.source(project, version)
    } catch (error) {
      throw refusal(say('run_problem.egg_unreadable', { project, version, why: (error as Error).message }))
    }
    if (source === null) throw refusal(say('run_problem.version_unknown', { version }), 'unknown_version')
    return source
  }

  #refuseWhenClosed(): void {
    if (this.#closing.signal.aborted) throw failure('aborted', say('node_error.local_closed'), 'no')
  }
}

const COLD_ISOLATED: StartMode = {
  mode: 'cold',
  ...written(say('start.cold_apart'))
}

function liveRuns(runs: RunList): Run[] {
  const { pending, running } = runs.list()
  return [...pending.filter((run) => run.state === 'starting'), ...running]
}

/** null: an earlier engine started one of the live runs, so that run's Python is unknown. */
function pythonsInUse(runs: RunList): string[] | null {
  const pythons = liveRuns(runs).map((run) => run.python)
  return pythons.includes(null) ? null : pythons.filter((path) => path !== null)
}

function refuseBadNames(run: RunNames): void {
  for (const [noun, name] of Object.entries({ project: run.project, spider: run.spider, jobid: run.jobid })) {
    const problem = problemOfPathPart(name)
    if (problem === null) continue
    const fault = messageOf(problem)
    throw refusal(say('run_problem.name_unusable', { noun, name: JSON.stringify(name), fault }))
  }
}

export function refusal(why: Message | string, refusal: RefusalKind = 'other'): NodeError {
  const said = say('node_error.local_rejected', { why })
  return new NodeError('refused', said, { delivered: 'no', nodeMessage: why, refusal })
}

function toSeenJob(run: Run, watch: Pick<RunWatch, 'endOf'>): SeenJob {
  return {
    project: run.spec.project,
    spider: run.spec.spider,
    jobid: run.spec.jobid,
    pid: run.child?.pid ?? null,
    ...timesOf(run),
    exit: run.exit && {
      code: run.exit.code,
      signal: run.exit.signal,
      finishReason: run.exit.finishReason,
      ...watch.endOf(run)
    }
  }
}

type Times = Pick<SeenJob, 'startTime' | 'endTime'>
/** Caches the formatted times of ended runs. Formatting those of a snapshot with a thousand ended runs took 9 ms. */
const timesOfEnded = new WeakMap<Run, Times>()

function timesOf(run: Run): Times {
  const kept = timesOfEnded.get(run)
  if (kept !== undefined) return kept
  const times = {
    startTime: run.startedAtMs === null ? null : naiveLocalTime(run.startedAtMs),
    endTime: run.exit === null ? null : naiveLocalTime(run.exit.atMs)
  }
  if (run.exit !== null) timesOfEnded.set(run, times)
  return times
}

/** Scrapyd's format: `2026-11-21 01:02:03.004000`. */
function naiveLocalTime(atMs: number): string {
  const time = new Date(atMs)
  const two = (value: number) => String(value).padStart(2, '0')
  const date = [time.getFullYear(), two(time.getMonth() + 1), two(time.getDate())].join('-')
  const ofDay = [two(time.getHours()), two(time.getMinutes()), two(time.getSeconds())].join(':')
  return `${date} ${ofDay}.${String(time.getMilliseconds()).padStart(3, '0')}000`
}
