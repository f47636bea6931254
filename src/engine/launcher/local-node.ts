import { mkdir } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import type { ProjectPython, PythonState, UsageSample } from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { CANCEL_WAITS_MS, type CancelWaitsMs } from '../../shared/run-limits.ts'
import { LAST_STEP, signalOfStep, stepDue } from '../../shared/stop-ladder.ts'
import {
  type NodeClient,
  NodeError,
  type NodeSignal,
  type RefusalKind,
  type ScheduleRequest,
  type SeenJob
} from '../nodes/node-client.ts'
import { LOCAL_TRAITS } from '../nodes/node-traits.ts'
import { problemOfPathPart } from '../projects/names.ts'
import { type Clock, sleep } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import { LocalEnvironments } from './pythons/environments.ts'
import { itemsFileOf, logFileOf, type RunDirectories, type RunSource } from './runs/launch-plan.ts'
import { readLogRange } from './runs/log-range.ts'
import { openProcessTable } from './processes/process-table.ts'
import { findPythons, openPythonEnvironment } from './pythons/python-environment.ts'
import { type Run, RunList } from './runs/run-list.ts'
import { RunWatch } from './runs/run-watch.ts'
import { clearListings, listSpiders } from './pythons/spider-listing.ts'
import { WarmPool } from './warm/warm-pool.ts'

/**
 * The node inside the engine: a NodeClient whose spiders are child processes. They outlive the engine; after a restart
 * (even kill -9) `openLocalNode` finds them again by their run directories: still running, ended with their exit
 * status, or accepted and not yet started (then it starts them). A jobid is accepted once as long as its run is
 * remembered (the newest 1,000 that ended): a second schedule with it is refused. In a snapshot, an `exit` whose code
 * and signal are both null means that nobody saw the run end: the machine went down, or its supervisor was killed.
 */
export interface LocalNode extends NodeClient {
  readonly eggTarget: null
  python(): PythonState
  environments: LocalEnvironments
  /** Calls the listener when `python()` or `environments` changes. */
  onPythons(listener: () => void): () => void
  /** Calls the listener when a job starts or ends: no poll needed. */
  onChange(listener: () => void): () => void
  /** Looks for Python and Scrapy again (after an environment was made). */
  refreshPython(): Promise<PythonState>
  /** Makes an environment with resources/python/requirements.txt; reports each step. */
  createEnvironment(report: (text: string, share: number | null) => void, signal?: AbortSignal): Promise<void>
  /** The spiders of an egg, by importing it with its project's Python in a process of its own. Throws EGG_IMPORT_FAILED with the traceback's end, PYTHON_MISSING. */
  listSpidersOfEgg(eggPath: string, project: string, signal?: AbortSignal): Promise<string[]>
  /** What a run used, oldest sample first; kept until shortly after its end. Empty on a system that does not tell. */
  usageOf(jobid: string): UsageSample[]
  newestUsage(jobid: string): UsageSample | null
  /** Calls the listener when there are new samples: while something runs, every 2 s. */
  onUsage(listener: () => void): () => void
  /** Jobs running now: what quitting must ask about. */
  runningCount(): number
  /** INT, then KILL after a wait, to every running spider. */
  stopAll(): Promise<void>
}

export interface LocalNodeOptions {
  /** The data directory: logs/, items/, runs/, work/ and python/ are made in it. */
  directory: string
  resourcesDirectory: string
  /** Spiders at once; asked at each start, for the operator may change it. */
  slots: () => number
  pythonPath?: string
  /** Projects that can be run, and the Python that each is set to run with; default: the main one for all. */
  projectPythons?: { names: () => string[]; of: (project: string) => ProjectPython }
  /** Where the code of a project is; null when we have none. Eggs live in the projects room, not here. */
  source: (project: string, version: string) => Promise<RunSource | null>
  /** Where runs leave what they make; what is not given is in the data directory, and there is no JOBDIR. */
  directories?: Partial<RunDirectories>
  /** Between INT, the second INT, KILL, and KILL again, for a run that hit a limit. */
  cancelWaitsMs?: CancelWaitsMs
  clock: Clock
  logger: Logger
}

const FINISHED_KEPT = 1000
const ENDING_SIGNALS = new Set<NodeSignal>(['INT', 'TERM', 'KILL'])
/** How long stopAll waits for spiders to end by themselves before it kills them: who quits does not wait for a second INT. */
const QUIT_WAITS_MS: CancelWaitsMs = [10_000, 0, 0]

/** Opens the local node of a data directory that no other engine uses. Goes on with the runs of earlier engines. */
export async function openLocalNode(options: LocalNodeOptions): Promise<LocalNode> {
  const { clock, logger } = options
  // Logs and items are for this user only, also in a data directory that others may read.
  await mkdir(options.directory, { recursive: true, mode: 0o700 })
  await clearListings(options.directory)
  const paths = { dataDirectory: options.directory, resourcesDirectory: options.resourcesDirectory }
  const listeners = new Set<() => void>()
  const pythonListeners = new Set<() => void>()
  const usageListeners = new Set<() => void>()
  const changed = () => {
    watch?.wake()
    for (const listener of listeners) listener()
  }
  const directories: RunDirectories = {
    logsDirectory: join(options.directory, 'logs'),
    itemsDirectory: join(options.directory, 'items'),
    jobsDirectory: null,
    workDirectory: join(options.directory, 'work'),
    ...options.directories
  }
  const closing = new AbortController()
  const pool = new WarmPool({ ...paths, clock, logger, onChange: () => pythonsChanged() })
  const python = openPythonEnvironment({
    ...paths,
    pythonPath: options.pythonPath,
    candidates: findPythons(options.resourcesDirectory),
    clock,
    logger,
    startOf: (path) => pool.mode(path),
    onChange() {
      const { state, path } = python.state()
      if (state === 'ready') pool.prepare(path!)
      environments?.refreshMain()
    }
  })
  let runs: RunList | null = null
  let watch: RunWatch | null = null
  let environments: LocalEnvironments | null = null
  const openedEnvironments = await LocalEnvironments.open({
    dataDirectory: options.directory,
    main: python,
    projects: () => options.projectPythons?.names() ?? [],
    settingOf: (project) => options.projectPythons?.of(project) ?? { kind: 'default' },
    pythonsInUse,
    startOf: (path) => pool.mode(path),
    clock,
    logger,
    onChange: pythonsChanged
  })
  environments = openedEnvironments
  const openedRuns = await RunList.open({
    ...paths,
    slots: options.slots,
    python: ({ project }) => openedEnvironments.pythonOf(project).path,
    source: options.source,
    directories,
    pool,
    finishedKept: FINISHED_KEPT,
    clock,
    logger,
    onChange: changed
  })
  runs = openedRuns
  watch = await RunWatch.open({
    runs: () => openedRuns.list(),
    signal: (run, signal) => openedRuns.cancel(run.spec.project, run.spec.jobid, signal),
    logFileOf: (run) => logFileOf(directories.logsDirectory, run.spec),
    processes: await openProcessTable(),
    cancelWaitsMs: options.cancelWaitsMs ?? CANCEL_WAITS_MS,
    clock,
    logger,
    onSample() {
      for (const listener of usageListeners) listener()
    }
  })
  const openedWatch = watch
  openedRuns.fillSlots()

  const node: LocalNode = {
    traits: LOCAL_TRAITS,
    // Every egg of the projects room is here at once.
    eggTarget: null,
    python: python.state,
    environments: openedEnvironments,
    whyNotReady(project) {
      const found = openedEnvironments.pythonOf(project)
      return found.path === null ? found.waiting : null
    },
    onPythons(listener) {
      pythonListeners.add(listener)
      return () => pythonListeners.delete(listener)
    },
    onChange(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    refreshPython: python.refresh,
    createEnvironment: python.create,
    listSpidersOfEgg: (egg, project, signal) => listSpidersIn(project, { egg }, signal),
    usageOf: (jobid) => openedWatch.usageOf(jobid),
    newestUsage: (jobid) => openedWatch.newestUsage(jobid),
    onUsage(listener) {
      usageListeners.add(listener)
      return () => usageListeners.delete(listener)
    },
    runningCount: () => liveRuns().length,
    async stopAll() {
      const sinceMs = clock.monotonicMs()
      const due = () => stepDue(clock.monotonicMs() - sinceMs, QUIT_WAITS_MS)
      await signalAll(signalOfStep(0))
      while (node.runningCount() > 0 && due() < LAST_STEP) await sleep(clock, 50)
      await signalAll(signalOfStep(LAST_STEP))
    },

    async daemonStatus() {
      refuseWhenClosed()
      const { pending, running, finished } = openedRuns.list()
      return {
        pending: pending.length,
        running: running.length,
        finished: finished.length,
        nodeName: hostname(),
        clockOffsetMs: 0
      }
    },
    async listJobs() {
      refuseWhenClosed()
      const begunAtMs = clock.monotonicMs()
      const { pending, running, finished } = openedRuns.list()
      return {
        begunAtMs,
        pending: pending.map(seen),
        running: running.map(seen),
        finished: finished.map(seen)
      }
    },
    async schedule(request) {
      refuseWhenClosed()
      refuseBadNames(request)
      const found = await openedEnvironments.settledPythonOf(request.project)
      if (found.path === null) throw refusal(found.problem)
      await refuseWithoutEgg(request)
      refuseWhenClosed()
      const { project, version, isVersionAsked, spider, jobid, settings, args, secretNames, limits, priority } = request
      const names = { project, version, isVersionAsked, spider, jobid }
      const spec = { ...names, settings, args, secretNames, limits, priority, acceptedAtMs: clock.nowMs() }
      let isAccepted: boolean
      try {
        isAccepted = await openedRuns.accept(spec)
      } catch (error) {
        // What is on the disk after such an error only the next look can tell.
        const message = `The local node could not write the run to the data directory: ${(error as Error).message}`
        throw new NodeError('reset', message, { delivered: 'unknown', cause: error })
      }
      if (!isAccepted) throw refusal(`job '${jobid}' was taken before`)
      return { jobid }
    },
    async cancel(request) {
      refuseWhenClosed()
      // Other signals end nothing by themselves: the limits go on.
      if (ENDING_SIGNALS.has(request.signal)) openedWatch.forgetLimits(request.jobid)
      return { wasState: await openedRuns.cancel(request.project, request.jobid, request.signal) }
    },

    async listSpiders(project, version, signal) {
      const source = await options.source(project, version)
      if (source === null) throw refusal(`version '${version}' not found`, 'unknown_version')
      return listSpidersIn(project, source, signal)
    },

    async readLog(run, range) {
      refuseBadNames(run)
      return readLogRange(logFileOf(directories.logsDirectory, run), range)
    },
    async readItems(run, range) {
      refuseBadNames(run)
      const file = itemsFileOf(directories.itemsDirectory, run)
      return file === null ? null : readLogRange(file, range)
    },
    async close() {
      closing.abort(new NodeError('aborted', 'The local node is closing.', { delivered: 'unknown' }))
      listeners.clear()
      pythonListeners.clear()
      await openedEnvironments.close()
      usageListeners.clear()
      await openedWatch.close()
      await openedRuns.close()
      await pool.close()
    }
  }
  return node

  function pythonsChanged(): void {
    runs?.fillSlots()
    for (const listener of pythonListeners) listener()
  }

  /** Null while it is not known of each run: an earlier engine started some. */
  function pythonsInUse(): string[] | null {
    const pythons = runs === null ? [null] : liveRuns().map((run) => run.python)
    return pythons.includes(null) ? null : pythons.filter((path) => path !== null)
  }

  async function listSpidersIn(project: string, source: RunSource, signal?: AbortSignal): Promise<string[]> {
    const found = await openedEnvironments.settledPythonOf(project)
    if (found.path === null) throw new ScrapdeckError('PYTHON_MISSING', found.problem)
    const { path } = found
    const signals = AbortSignal.any(signal ? [closing.signal, signal] : [closing.signal])
    return listSpiders({ ...paths, python: path, source, pool, clock, signal: signals })
  }

  function seen(run: Run): SeenJob {
    return toSeenJob(run, openedWatch)
  }

  /** Started, their processes seen or not. */
  function liveRuns(): Run[] {
    const { pending, running } = openedRuns.list()
    return [...pending.filter((run) => run.state === 'starting'), ...running]
  }

  async function signalAll(signal: 'INT' | 'KILL'): Promise<void> {
    for (const run of liveRuns()) openedWatch.forgetLimits(run.spec.jobid)
    await Promise.all(liveRuns().map((run) => openedRuns.cancel(run.spec.project, run.spec.jobid, signal)))
  }

  async function refuseWithoutEgg({ project, version }: ScheduleRequest): Promise<void> {
    let source: RunSource | null
    try {
      source = await options.source(project, version)
    } catch (error) {
      throw refusal(`the egg of ${project}, version ${version}, cannot be read: ${(error as Error).message}`)
    }
    if (source === null) throw refusal(`version '${version}' not found`, 'unknown_version')
  }

  function refuseWhenClosed(): void {
    if (closing.signal.aborted) throw new NodeError('aborted', 'The local node is closed.', { delivered: 'no' })
  }
}

function refuseBadNames(run: Pick<ScheduleRequest, 'project' | 'spider' | 'jobid'>): void {
  for (const [noun, name] of Object.entries({ project: run.project, spider: run.spider, jobid: run.jobid })) {
    const problem = problemOfPathPart(name)
    if (problem) throw refusal(`the ${noun} ${JSON.stringify(name)} ${problem}`)
  }
}

function refusal(nodeMessage: string, refusal: RefusalKind = 'other'): NodeError {
  return new NodeError('refused', `The local node refused: ${nodeMessage}`, { delivered: 'no', nodeMessage, refusal })
}

function toSeenJob(run: Run, watch: RunWatch): SeenJob {
  return {
    project: run.spec.project,
    spider: run.spec.spider,
    jobid: run.spec.jobid,
    pid: run.child?.pid ?? null,
    ...timesOf(run),
    exit: run.exit && { code: run.exit.code, signal: run.exit.signal, ...watch.endOf(run) }
  }
}

type Times = Pick<SeenJob, 'startTime' | 'endTime'>
/** Up to a thousand ended runs are listed at each look, several looks a job: writing their times anew took 9 ms each time. */
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

/** `2026-11-21 01:02:03.004000`: what Scrapyd's times look like. */
function naiveLocalTime(atMs: number): string {
  const time = new Date(atMs)
  const two = (value: number) => String(value).padStart(2, '0')
  const date = [time.getFullYear(), two(time.getMonth() + 1), two(time.getDate())].join('-')
  const ofDay = [two(time.getHours()), two(time.getMinutes()), two(time.getSeconds())].join(':')
  return `${date} ${ofDay}.${String(time.getMilliseconds()).padStart(3, '0')}000`
}
