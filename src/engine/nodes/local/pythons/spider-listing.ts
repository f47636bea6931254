import type { Sentence } from '../../../../shared/texts/sentence.ts'
import type { ProjectName } from '../../../../shared/contract/index.ts'
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { ScrapdeckError } from '../../../../shared/errors.ts'
import { sentence } from '../../../../shared/texts/errors/nodes.ts'
import { wordsOfZodError } from '../../../../shared/issue-words.ts'
import type { Clock } from '../../../runtime/clock.ts'
import { childEnvironment } from '../processes/child-environment.ts'
import type { LaunchPlan, RunSource } from '../runs/launch-plan.ts'
import { type Isolation, NO_ISOLATION } from '../isolation/isolation.ts'
import { startLaunch } from '../runs/start-run.ts'
import { signalGroup, runCommand } from '../processes/run-command.ts'
import { readFileRange } from '../runs/file-range.ts'
import type { RunEvents } from '../runs/run-events.ts'
import type { RunExit } from '../runs/run-directory.ts'
import type { WarmPool } from '../warm/warm-pool.ts'

const LIMIT_MS = 60_000
const FOLDER_PREFIX = 'listing-'
const STDOUT_LIMIT_BYTES = 1024 * 1024
const STDERR_KEPT_BYTES = 16_384
const SHOWN_LINES = 20
const Spiders = z.array(z.string()).max(10_000)

interface Listing {
  code: number | null
  signal: string | null
  answer: string
  stderr: string
  stoppedFor: 'time' | 'output' | 'abort' | null
}

interface ListingOptions {
  project: ProjectName
  workDirectory: string
  isolation?: Isolation
  ownPython?: () => string | null
  python: string
  source: RunSource
  dataDirectory: string
  resourcesDirectory: string
  pool: WarmPool | null
  clock: Clock
  signal?: AbortSignal
}

/**
 * Lists a project's spiders by importing its code in a separate process (a fork if a warm parent is ready), with
 * limits on time, memory and output. Rejects with EGG_IMPORT_FAILED and the end of the traceback.
 */
export async function listSpiders(options: ListingOptions): Promise<string[]> {
  const directory = join(options.dataDirectory, 'work')
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const listing = options.isolation?.isOn
    ? (await listSupervised(options, join(options.workDirectory, options.project)))!
    : ((await listWarm(options, directory)) ?? (await listCold(options, directory)))
  options.signal?.throwIfAborted()
  const { answer, stderr, stoppedFor } = listing
  if (stoppedFor === 'time') fail(sentence('nodes.listing_late', { seconds: LIMIT_MS / 1000 }), stderr)
  if (stoppedFor === 'output') fail(sentence('nodes.listing_implausible'), stderr)
  const how = howItEnded(listing)
  if (how !== null) fail(how, stderr, how.code === 'nodes.egg_not_importable')
  try {
    return Spiders.parse(JSON.parse(answer))
  } catch (error) {
    const why = error instanceof z.ZodError ? wordsOfZodError(error) : (error as Error).message
    return fail(sentence('nodes.listing_unreadable', { why: why.slice(0, 200) }), stderr)
  }
}

/** Removes the folders that a killed engine left behind while it listed spiders. */
export async function clearListings(dataDirectory: string): Promise<void> {
  const names = (await readdir(dataDirectory)).filter((name) => name.startsWith(FOLDER_PREFIX))
  // Removal fails if a process still writes to the folder. The next engine removes it.
  await Promise.allSettled(names.map((name) => rm(join(dataDirectory, name), { recursive: true, force: true })))
}

async function listCold(options: ListingOptions, directory: string): Promise<Listing> {
  const result = await runCommand({
    command: options.python,
    args: [join(options.resourcesDirectory, 'python', 'crawl.py'), '--list', JSON.stringify(options.source)],
    directory,
    environment: childEnvironment(process.env),
    timeLimitMs: LIMIT_MS,
    stdoutLimitBytes: STDOUT_LIMIT_BYTES,
    clock: options.clock,
    signal: options.signal
  })
  return { ...result, answer: result.stdout }
}

async function listWarm(options: ListingOptions, workingDirectory: string): Promise<Listing | null> {
  const { pool, python } = options
  if (pool?.mode(python).mode === 'warm') return listSupervised(options, workingDirectory)
  pool?.prepare(python)
  return null
}

/** Lists spiders under a supervisor, as for a run. Isolation requires a supervisor. null: no parent is ready. */
async function listSupervised(options: ListingOptions, workingDirectory: string): Promise<Listing | null> {
  const { pool, isolation = NO_ISOLATION, clock, signal, python, project, source } = options
  const directory = await mkdtemp(join(options.dataDirectory, FOLDER_PREFIX))
  const launch: LaunchPlan = {
    id: directory,
    python,
    project,
    spider: '',
    arguments: [],
    source,
    environment: {},
    workingDirectory,
    logFile: '',
    directories: [],
    secrets: [],
    resourceLimits: null
  }
  let stoppedFor: Listing['stoppedFor'] = null
  let stop: () => void = () => {}
  const stopFor = (reason: NonNullable<Listing['stoppedFor']>) => {
    stoppedFor ??= reason
    stop()
  }
  const onAbort = () => stopFor('abort')
  const timer = clock.setTimer(LIMIT_MS, () => stopFor('time'))
  signal?.addEventListener('abort', onAbort, { once: true })
  if (signal?.aborted) onAbort()
  try {
    const { promise: ended, resolve } = Promise.withResolvers<RunExit | null>()
    const events: RunEvents = {
      child({ pid }) {
        stop = () => void signalGroup(pid, 'KILL').catch(() => resolve(null))
        if (stoppedFor) stop()
      },
      exit: resolve,
      supervisorEnded: () => resolve(null)
    }
    if (isolation.isOn) {
      const isolatedLaunch = await isolation.plan({ ...launch, lists: true }, directory)
      await startLaunch({ ...options, runDirectory: directory, mayStart: () => true }, 'list', isolatedLaunch, events)
    } else if (!(await pool!.start({ do: 'list', directory, launch }, events))) return null
    const exit = await ended
    const answer = await readPart(join(directory, 'spiders.json'), STDOUT_LIMIT_BYTES)
    return {
      code: exit?.code ?? null,
      signal: exit?.signal ?? null,
      answer,
      stderr: await readPart(join(directory, 'output.txt'), -STDERR_KEPT_BYTES),
      stoppedFor
    }
  } finally {
    timer.cancel()
    signal?.removeEventListener('abort', onAbort)
    await rm(directory, { recursive: true, force: true })
  }
}

/** How the process failed. null: it succeeded. */
function howItEnded({ code, signal, answer }: Listing): Sentence | null {
  if (signal !== null) return sentence('nodes.egg_killed', { signal })
  // Python exits with 1 after an error, and the traceback says more.
  if (code === 1) return sentence('nodes.egg_not_importable')
  return code === 0 && answer.trim() !== '' ? null : sentence('nodes.egg_ended', { exitCode: code })
}

/** The first bytes of a file, or the last if `count` is negative. The project's code may have written the file. */
async function readPart(path: string, count: number): Promise<string> {
  const range = { offset: Math.min(0, count), limitBytes: Math.abs(count) }
  const part = await readFileRange(path, range).catch(() => null)
  return part === null ? '' : Buffer.from(part.bytes).toString()
}

/** `stderr` ends with the cause, because Scrapyd's clients see nothing else. */
function fail(cause: Sentence, output: string, hasTraceback = false): never {
  const end = output.trimEnd().split('\n').slice(-SHOWN_LINES).join('\n')
  const text = end ? sentence('nodes.listing_failed', { cause, end }) : cause
  const stderr = hasTraceback && end ? end : `${end}\n${cause.text}`.trim()
  throw new ScrapdeckError('EGG_IMPORT_FAILED', text, { data: { stderr } })
}
