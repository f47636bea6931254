import { existsSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { basename, join, sep } from 'node:path'
import { z } from 'zod'
import { ScrapdeckError } from '../../../shared/errors.ts'
import type { Clock } from '../../runtime/clock.ts'
import { BuildLog, readBuildLog } from './build-log.ts'
import { checkPython, lastLine, pythonIn } from './check-python.ts'
import { childEnvironment } from '../processes/child-environment.ts'
import { addedRequirements, demandsHashes, maskCredentials } from './requirements.ts'
import { runCommand } from '../runs/run-command.ts'
import { writeWhole } from '../runs/run-directory.ts'

/**
 * A virtual environment that we make, and may make anew while spiders run in the one before. Its directory:
 *
 *   requirements.txt   what is installed
 *   build.log          what the last making said
 *   build-XXXXXX/      the environment itself, of each making another
 *   complete           which of them counts, written last. Builds that it does not name are left-overs
 *
 *   absent ──make──> making ──> made ──make──> making (the one before serves on) ──> made
 *     ^                │                                 └──> made (the one before), failure told
 *     └───failure──────┘
 */
export interface MadeEnvironment {
  readonly directory: string
  /** The one that counts; null: none was finished. */
  current(): MadePython | null
  /** How far the making under way is; null: none is. */
  progress(): Progress | null
  /** Why the last making made nothing, in words; null: it did, or there was none. */
  failure(): string | null
  /** Does its work in its `turn`. Rejects with PYTHON_MISSING and the words of `failure`, or the signal's reason. */
  make(base: { path: string; version: string }, requirements: string, signal?: AbortSignal, turn?: Turn): Promise<void>
  /** What the newest making was asked to install; null: never asked. */
  requirements(): Promise<string | null>
  hasLog(): boolean
  /** From its start; while a making is under way, until it ends. */
  log(signal?: AbortSignal): AsyncGenerator<{ text: string }, void, void>
  /** Builds that do not count, and are not being made. */
  leftOvers(): Promise<string[]>
  /** Deletes left-overs, unless `isInUse`. Not soon after another came to count: somebody may just be starting with it. */
  tidy(isInUse: (build: string) => boolean): Promise<void>
  delete(): Promise<void>
}

export interface MadePython {
  path: string
  version: string
  scrapyVersion: string
  madeAtMs: number
}

export interface Progress {
  text: string
  share: number | null
}

/** Calls the work when there is room for it. */
export type Turn = (work: () => Promise<void>) => Promise<void>

interface Making {
  progress: Progress
  /** Null until it is open. */
  log: BuildLog | null
}

const Complete = z.object({
  build: z.string().regex(/^build-\w+$/),
  version: z.string(),
  scrapyVersion: z.string(),
  madeAtMs: z.number()
})

const LIMIT_MS = 60 * 60_000
const BUILD_PREFIX = 'build-'
/** Longer than any listing of spiders takes; runs that have started are asked for. */
const REPLACED_GRACE_MS = 120_000
// No colours: FORCE_COLOR in the environment would put their codes before the word ERROR.
const PIP = ['-m', 'pip', 'install', '--no-input', '--disable-pip-version-check', '--progress-bar', 'off', '--no-color']
const PIP_WORDS =
  /^\s*((?:Collecting|Downloading|Using cached|Building|Preparing|Installing|Successfully).*?)(?: \(from .*)?$/

export function openMadeEnvironment(options: {
  directory: string
  clock: Clock
  onChange: () => void
}): MadeEnvironment {
  const { directory, clock, onChange } = options
  const logFile = join(directory, 'build.log')
  const requirementsFile = join(directory, 'requirements.txt')
  let current = readComplete(directory)
  let keptUntilMs = clock.monotonicMs()
  let making: Making | null = null
  let failure: string | null = null

  return {
    directory,
    current: () => current,
    progress: () => making && making.progress,
    failure: () => failure,
    make,
    requirements: () => readFile(requirementsFile, 'utf8').catch(() => null),
    hasLog: () => existsSync(logFile),
    log: (signal) => readBuildLog(logFile, making?.log ?? null, signal),
    leftOvers,
    async tidy(isInUse) {
      if (clock.monotonicMs() < keptUntilMs) return
      for (const build of await leftOvers()) if (!isInUse(build)) await remove(build)
    },
    async delete() {
      // First what makes it count: a crash in the middle leaves nothing that looks whole.
      await rm(join(directory, 'complete'), { force: true })
      current = null
      await remove(directory)
    }
  }

  async function leftOvers(): Promise<string[]> {
    const names = making === null ? await readdir(directory).catch(() => []) : []
    return names
      .filter((name) => name.startsWith(BUILD_PREFIX))
      .map((name) => join(directory, name))
      .filter((build) => !current?.path.startsWith(build + sep))
  }

  async function make(
    base: { path: string; version: string },
    requirements: string,
    signal?: AbortSignal,
    turn: Turn = (work) => work()
  ): Promise<void> {
    if (making !== null) throw new ScrapdeckError('BAD_INPUT', 'The environment is being made already.')
    const now: Making = { progress: { text: 'waiting for other builds', share: null }, log: null }
    making = now
    failure = null
    let build: string | null = null
    let ending = 'Stopped'
    const report = (text: string, share: number) => {
      now.progress = { text: maskCredentials(text), share }
      onChange()
    }
    const run = { report, signal, log: (line: string) => now.log?.write(line) }
    try {
      await mkdir(directory, { recursive: true, mode: 0o700 })
      await writeFile(requirementsFile, requirements, { mode: 0o600 })
      now.log = await BuildLog.open(logFile)
      await turn(async () => {
        signal?.throwIfAborted()
        build = await mkdtemp(join(directory, BUILD_PREFIX))
        report(`Starting from Python ${base.version}`, 0.05)
        run.log(`Making an environment with Python ${base.version} (${base.path})`)
        current = await fill(build, base, requirements, run)
      })
      keptUntilMs = clock.monotonicMs() + REPLACED_GRACE_MS
      ending = `Ready: Python ${current!.version} with Scrapy ${current!.scrapyVersion}`
    } catch (error) {
      if (build !== null) await remove(build)
      if (signal?.aborted) throw signal.reason
      failure = maskCredentials((error as Error).message)
      ending = failure
      throw new ScrapdeckError('PYTHON_MISSING', failure, { cause: error })
    } finally {
      await now.log?.end(ending)
      making = null
      onChange()
    }
  }

  async function fill(
    build: string,
    base: { path: string },
    requirements: string,
    run: { report: (text: string, share: number) => void; signal?: AbortSignal; log: (line: string) => void }
  ): Promise<MadePython> {
    await step(base.path, ['-m', 'venv', build], 'The environment could not be made', run)
    const python = pythonIn(build)
    // pip says neither how many packages will come nor how large they are: Scrapy has some 35.
    let lines = 0
    const install = (packages: string[]) =>
      step(python, [...PIP, ...packages], 'The packages could not be installed', run, (line) => {
        const [, words] = PIP_WORDS.exec(line) ?? []
        if (words) run.report(words, Math.min(95, 10 + ++lines) / 100)
      })
    const added = addedRequirements(requirements)
    const together = demandsHashes(requirements) ? [] : added
    await install(['-r', requirementsFile, ...together])
    if (together.length < added.length) await install(added)
    const { version, scrapyVersion, failure: why } = await checkPython(python, { directory, clock, signal: run.signal })
    if (version === null || scrapyVersion === null) throw new Error(`Scrapy does not import in it: ${why}`)
    const facts = { version, scrapyVersion, madeAtMs: clock.nowMs() }
    run.signal?.throwIfAborted()
    await writeWhole(directory, 'complete', { build: basename(build), ...facts })
    return { path: python, ...facts }
  }

  async function step(
    command: string,
    args: string[],
    failed: string,
    run: { signal?: AbortSignal; log: (line: string) => void },
    onLine?: (line: string) => void
  ): Promise<void> {
    const said: string[] = []
    const result = await runCommand({
      command,
      args,
      // `-m` imports from the working directory first: it must be one of ours.
      directory,
      environment: childEnvironment(process.env),
      timeLimitMs: LIMIT_MS,
      stdoutLimitBytes: 0,
      clock,
      signal: run.signal,
      onLine(line, isError) {
        run.log(line)
        if (!isError) onLine?.(line)
        said.push(line)
        if (said.length > 50) said.shift()
      }
    })
    run.signal?.throwIfAborted()
    if (result.code === 0) return
    throw new Error(`${failed}: ${result.stoppedFor === 'time' ? 'it took more than an hour' : reasonOf(said)}`)
  }

  async function remove(path: string): Promise<void> {
    // A killed pip may still be writing for a moment.
    await rm(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
  }
}

function readComplete(directory: string): MadePython | null {
  try {
    const { build, ...facts } = Complete.parse(JSON.parse(readFileSync(join(directory, 'complete'), 'utf8')))
    const path = pythonIn(join(directory, build))
    // A link to a Python that was uninstalled leads nowhere.
    return existsSync(path) ? { path, ...facts } : null
  } catch {
    return null
  }
}

const PIP_ERROR = /^\s*(ERROR|error): */

/** pip's last words are often advice; what went wrong stands before them. */
function reasonOf(lines: string[]): string {
  const text = lines.join('\n')
  if (/ensurepip is not\s+available/.test(text)) {
    return 'this Python has no venv module. Install it (on Debian and Ubuntu: apt install python3-venv)'
  }
  return lastLine(lines.findLast((line) => PIP_ERROR.test(line)) ?? text).replace(PIP_ERROR, '')
}
