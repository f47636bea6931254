import { mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { NodeSignal } from '../../nodes/node-client.ts'
import { type Clock, sleep, type Timer } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import { logFileOf, type RunDirectories, type RunSource } from './launch-plan.ts'
import { signalGroup } from '../processes/process-group.ts'
import { isAlive, type ProcessIdentity } from '../processes/process-identity.ts'
import {
  acceptRun,
  claimRun,
  listRunDirectories,
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

/**
 * The runs of the local node, from acceptance to end.
 *
 *   accept ──> pending ──> starting ──> running ──> finished ──> forgotten (all but the newest)
 *                 │            └───────────────────────^
 *                 └──> removed (cancelled)
 *
 * The run directories are the truth: what a killed engine knew of a run, the next one reads there. `started` in a run
 * directory is made once for ever, so a run starts at most once; without it, an accepted run starts.
 */
export interface RunList {
  /** Resolves once the run is on the disk; false when a run of this jobid is known. */
  accept(spec: RunSpec): Promise<boolean>
  /** Starts pending runs while slots are free. Called by itself when one ends; call it when Python appears. */
  fillSlots(): void
  cancel(project: string, jobid: string, signal: NodeSignal): Promise<'pending' | 'running' | null>
  /** Pending in the order of starting, those whose process is not seen yet included; running oldest first, finished newest first. */
  list(): { pending: Run[]; running: Run[]; finished: Run[] }
  /** Lets go of the runs; they go on. Resolves when no start and no write is under way. */
  close(): Promise<void>
}

export interface Run {
  spec: RunSpec
  directory: string
  state: 'pending' | 'starting' | 'running' | 'finished'
  child: ProcessIdentity | null
  startedAtMs: number | null
  /** The Python it was started with; null: not started, or by an earlier engine. */
  python: string | null
  exit: RunExit | null
  /** Its supervisor tells us what happens, and we look only in case a word was lost; else it is polled. */
  supervised: boolean
  /** Why no process could be started for it. */
  problem: string | null
  looking: Promise<void> | null
  timer: Timer | null
}

export interface RunListOptions {
  dataDirectory: string
  resourcesDirectory: string
  /** Asked at each start: the operator may change it. */
  slots: () => number
  /** The Python to start a run with; null while there is none: it then waits. */
  python: (spec: RunSpec) => string | null
  /** Where the code of a project is; null when it is not there any more. */
  source: (project: string, version: string) => Promise<RunSource | null>
  directories: RunDirectories
  /** null: every start is cold. */
  pool: WarmPool | null
  /** Ended runs that are remembered; their logs and items stay longer. */
  finishedKept: number
  clock: Clock
  logger: Logger
  onChange: () => void
}

/** How often a run is looked at whose supervisor does not tell us: an engine before us started it. */
const POLL_MS = 250
/** The same while its process is not there yet. */
const FIRST_LOOK_MS = 25
/** How often a run is looked at whose supervisor tells us what happens, should it die or not get through. */
const UNTOLD_MS = 2_000
/** A cancel that meets a run without a process yet waits for it this long. */
const CHILD_WAIT_MS = 10_000

/** Reads what earlier engines left in `runs/` and goes on with it. */
export async function openRunList(options: RunListOptions): Promise<RunList> {
  const { clock, logger } = options
  const runsDirectory = join(options.dataDirectory, 'runs')
  await mkdir(runsDirectory, { recursive: true, mode: 0o700 })
  const runs = new Map<string, Run>()
  const underWay = new Set<Promise<unknown>>()
  let closed = false
  // Slots are counted only when every live run of the last engine is known.
  let isRead = false

  await readRuns()
  isRead = true
  fillSlots()
  forgetOldest()

  return {
    async accept(spec) {
      if (runs.has(spec.jobid)) return false
      const directory = join(runsDirectory, runDirectoryName(spec.jobid))
      if (!(await track(acceptDurably(directory, spec)))) return false
      runs.set(spec.jobid, newRun(directory, spec))
      options.onChange()
      fillSlots()
      return true
    },
    fillSlots,
    cancel,
    list() {
      const all = [...runs.values()]
      return {
        pending: [
          ...all.filter((run) => run.state === 'starting'),
          ...all.filter((run) => run.state === 'pending').sort(byOrderOfStarting)
        ],
        running: all
          .filter((run) => run.state === 'running')
          .sort((one, other) => one.startedAtMs! - other.startedAtMs!),
        finished: all.filter((run) => run.state === 'finished').sort((one, other) => other.exit!.atMs - one.exit!.atMs)
      }
    },
    async close() {
      closed = true
      for (const run of runs.values()) run.timer?.cancel()
      while (underWay.size > 0) await Promise.allSettled(underWay)
    }
  }

  async function acceptDurably(directory: string, spec: RunSpec): Promise<boolean> {
    try {
      return await acceptRun(runsDirectory, spec)
    } catch (error) {
      // A full disk, most likely. What was begun must not start after the next open.
      await removeRun(directory)
      throw error
    }
  }

  async function readRuns(): Promise<void> {
    const names = await listRunDirectories(runsDirectory)
    for (let at = 0; at < names.length; at += 64) {
      await Promise.all(names.slice(at, at + 64).map(readOne))
    }
  }

  async function readOne(name: string): Promise<void> {
    const directory = join(runsDirectory, name)
    const files = await readRunFiles(directory)
    if (!files.spec || runDirectoryName(files.spec.jobid) !== name) {
      // Never acknowledged: the engine died while it wrote the spec, or while it removed a cancelled run.
      await rm(directory, { recursive: true, force: true }).catch((error: unknown) => {
        logger.warn({ directory, error: String(error) }, 'what is left of a run cannot be removed')
      })
      return
    }
    const run = newRun(directory, files.spec)
    runs.set(files.spec.jobid, run)
    if (files.exit && !(await isSurelyAlive(files.child))) {
      run.state = 'finished'
      run.startedAtMs = files.child?.atMs ?? files.exit.atMs
      run.exit = files.exit
    } else if (files.supervisor) {
      run.state = 'starting'
      run.startedAtMs = files.child?.atMs ?? clock.nowMs()
      await settle(run, files)
      if (isLive(run)) {
        logger.info({ jobid: name, pid: run.child?.pid }, 'a spider outlived the engine and was adopted')
        lookIn(run, POLL_MS)
      }
    }
  }

  function fillSlots(): void {
    if (closed || !isRead) return
    const all = [...runs.values()]
    const free = options.slots() - all.filter(isLive).length
    if (free <= 0) return
    const next = all.filter((run) => run.state === 'pending' && options.python(run.spec) !== null)
    for (const run of next.sort(byOrderOfStarting).slice(0, free)) void track(start(run, options.python(run.spec)!))
  }

  async function start(run: Run, python: string): Promise<void> {
    run.state = 'starting'
    run.python = python
    run.startedAtMs = clock.nowMs()
    run.supervised = true
    try {
      const { project, version } = run.spec
      const source = await options.source(project, version)
      if (source === null) throw new Error(`The egg of ${project}, version ${version}, is not there any more.`)
      const events = {
        child: (child: RunChild) => noteChild(run, child),
        exit(exit: RunExit) {
          if (isLive(run)) end(run, exit)
        },
        gone() {
          run.supervised = false
          look(run)
        }
      }
      const { directory, spec } = run
      await startRun({ ...options, runDirectory: directory, spec, python, source, events, mayStart: () => !closed })
      lookIn(run, UNTOLD_MS)
    } catch (error) {
      run.problem = (error as Error).message
      run.supervised = false
      look(run)
    }
  }

  function noteChild(run: Run, child: RunChild): void {
    if (run.child !== null || run.state !== 'starting') return
    run.child = { pid: child.pid, startTime: child.startTime }
    run.startedAtMs = child.atMs
    run.state = 'running'
    options.onChange()
  }

  function lookIn(run: Run, delayMs: number): void {
    run.timer?.cancel()
    if (!closed && isLive(run)) run.timer = clock.setTimer(delayMs, () => look(run))
  }

  /** Looks at the run's files and processes once, one look at a time, and plans the next look. */
  function look(run: Run): void {
    if (closed || !isLive(run)) return
    const next = (run.looking ?? Promise.resolve())
      .then(async () => {
        if (!isLive(run)) return
        await settle(run, await readRunFiles(run.directory))
        lookIn(run, run.supervised ? UNTOLD_MS : run.child === null ? FIRST_LOOK_MS : POLL_MS)
      })
      .catch((error: unknown) => {
        // Too many open files, say: the run is still there, so look again.
        logger.error({ jobid: run.spec.jobid, error: String(error) }, 'a run could not be looked at')
        lookIn(run, POLL_MS)
      })
    run.looking = next
    void track(next)
  }

  /** Takes over what the files of a started run say. */
  async function settle(run: Run, files: RunFiles): Promise<void> {
    if (files.exit && !(await isSurelyAlive(run.child ?? files.child))) return end(run, files.exit)
    if (files.child) noteChild(run, files.child)
    if (!files.supervisor) {
      if (!run.supervised) await endUnstarted(run)
      return
    }
    if ((await isAlive(files.supervisor)) || (files.child && (await isAlive(files.child)))) return
    // Between the first read and now the supervisor may have written the exit and gone.
    const exit = (await readRunFiles(run.directory)).exit
    if (exit) return end(run, exit)
    await endUnseen(run)
  }

  async function endUnseen(run: Run): Promise<void> {
    await endWith(run, { code: null, signal: null, atMs: clock.nowMs() })
  }

  /** It has ended, whether that can be written down or not: a spider can have removed the directory, and nobody gives back its slot. */
  async function endWith(run: Run, exit: RunExit): Promise<void> {
    await writeExit(run.directory, exit).catch((error: unknown) => {
      logger.error({ jobid: run.spec.jobid, error: String(error) }, 'the end of a run could not be written down')
    })
    end(run, exit)
  }

  /** Ends a run that has no process, with a log that says why. */
  async function endUnstarted(run: Run): Promise<void> {
    const reason = `The spider could not be started: ${run.problem ?? 'its supervisor failed'}`
    let isOurs: boolean
    try {
      isOurs = await claimRun(run.directory)
    } catch (error) {
      // Without its directory nothing can start it any more.
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return endUnseen(run)
      throw error
    }
    if (!isOurs) {
      // A supervisor that an earlier engine started came first: there is something to watch after all. Unless its claim
      // cannot be read; then nothing about this run can be known.
      if ((await readRunFiles(run.directory)).supervisor === null) await endUnseen(run)
      return
    }
    logger.error({ jobid: run.spec.jobid }, reason)
    const exit = { code: 1, signal: null, atMs: clock.nowMs() }
    const logFile = logFileOf(options.directories.logsDirectory, run.spec)
    try {
      await mkdir(dirname(logFile), { recursive: true })
      await writeFile(logFile, `${reason}\n`, { flag: 'a' })
    } catch (error) {
      // The claim is ours, and we live: a run that did not end here would look as if it had a supervisor for ever.
      logger.error({ jobid: run.spec.jobid, error: String(error) }, 'the log of a run could not be written')
    }
    await endWith(run, exit)
  }

  function end(run: Run, exit: RunExit): void {
    if (run.state === 'finished') return
    run.timer?.cancel()
    run.state = 'finished'
    run.exit = exit
    options.onChange()
    fillSlots()
    forgetOldest()
  }

  function forgetOldest(): void {
    const finished = [...runs.values()].filter((run) => run.state === 'finished')
    if (closed || finished.length <= options.finishedKept) return
    finished.sort((one, other) => other.exit!.atMs - one.exit!.atMs)
    for (const run of finished.slice(options.finishedKept)) {
      runs.delete(run.spec.jobid)
      void track(removeRun(run.directory))
    }
  }

  async function cancel(project: string, jobid: string, signal: NodeSignal) {
    const run = runs.get(jobid)
    if (!run || run.spec.project !== project || run.state === 'finished') return null
    if (run.state === 'pending') {
      // Out of the list first: no slot that frees in the meantime may start it.
      runs.delete(jobid)
      await track(removeRun(run.directory))
      options.onChange()
      return 'pending'
    }
    const deadlineMs = clock.monotonicMs() + CHILD_WAIT_MS
    while (run.child === null && isLive(run) && clock.monotonicMs() < deadlineMs) await sleep(clock, FIRST_LOOK_MS)
    if (run.child && isLive(run) && (await isAlive(run.child))) await signalGroup(run.child.pid, signal)
    return 'running'
  }

  function track<T>(work: Promise<T>): Promise<T> {
    const settled: Promise<unknown> = work.then(
      () => underWay.delete(settled),
      (error: unknown) => {
        underWay.delete(settled)
        logger.error({ error: String(error) }, 'the local node could not finish a piece of work')
      }
    )
    underWay.add(settled)
    return work
  }
}

function newRun(directory: string, spec: RunSpec): Run {
  const empty = { child: null, startedAtMs: null, python: null, exit: null, supervised: false, problem: null }
  return { spec, directory, state: 'pending', ...empty, looking: null, timer: null }
}

/** An exit is written after the process is gone: one beside a live process was written by the spider, to be forgotten with its slot. */
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
