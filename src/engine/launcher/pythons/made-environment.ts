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

interface Building {
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

/** What a build tells while it runs, and what stops it. */
interface BuildRun {
  report: (text: string, share: number) => void
  signal?: AbortSignal
  log: (line: string) => void
}

const LIMIT_MS = 60 * 60_000
const BUILD_PREFIX = 'build-'
/** Longer than any listing of spiders takes; runs that have started are asked for. */
const REPLACED_GRACE_MS = 120_000
// No colours: FORCE_COLOR in the environment would put their codes before the word ERROR.
const PIP = ['-m', 'pip', 'install', '--no-input', '--disable-pip-version-check', '--progress-bar', 'off', '--no-color']
const PIP_WORDS =
  /^\s*((?:Collecting|Downloading|Using cached|Building|Preparing|Installing|Successfully).*?)(?: \(from .*)?$/

/**
 * A virtual environment that we build, and may build again while spiders run in the one before. Its directory:
 *
 *   requirements.txt   what is installed
 *   build.log          what the last build said
 *   build-XXXXXX/      the environment itself, of each build another
 *   complete           which of them counts, written last. Builds that it does not name are left-overs
 *
 *   absent ──build──> building ──> built ──build──> building (the one before serves on) ──> built
 *     ^                 │                                  └──> built (the one before), failure told
 *     └─────failure─────┘
 */
export class MadeEnvironment {
  readonly directory: string
  readonly #clock: Clock
  readonly #onChange: () => void
  readonly #logFile: string
  readonly #requirementsFile: string
  #current: MadePython | null
  #keptUntilMs: number
  #building: Building | null = null
  #failure: string | null = null

  constructor({ directory, clock, onChange }: { directory: string; clock: Clock; onChange: () => void }) {
    this.directory = directory
    this.#clock = clock
    this.#onChange = onChange
    this.#logFile = join(directory, 'build.log')
    this.#requirementsFile = join(directory, 'requirements.txt')
    this.#current = readComplete(directory)
    this.#keptUntilMs = clock.monotonicMs()
  }

  /** The one that counts; null: none was finished. */
  current(): MadePython | null {
    return this.#current
  }

  /** How far the build under way is; null: none is. */
  progress(): Progress | null {
    return this.#building && this.#building.progress
  }

  /** Why the last build failed, in words; null: it did not, or there was none. */
  failure(): string | null {
    return this.#failure
  }

  /** Does its work in its `turn`. Rejects with PYTHON_MISSING and the words of `failure`, or the signal's reason. */
  async build(
    base: { path: string; version: string },
    requirements: string,
    signal?: AbortSignal,
    turn: Turn = (work) => work()
  ): Promise<void> {
    if (this.#building !== null) throw alreadyBuilt()
    const now: Building = { progress: { text: 'waiting for other builds', share: null }, log: null }
    this.#building = now
    this.#failure = null
    let build: string | null = null
    let ending = 'Stopped'
    const report = (text: string, share: number) => {
      now.progress = { text: maskCredentials(text), share }
      this.#onChange()
    }
    const run = { report, signal, log: (line: string) => now.log?.write(line) }
    try {
      await mkdir(this.directory, { recursive: true, mode: 0o700 })
      await writeFile(this.#requirementsFile, requirements, { mode: 0o600 })
      now.log = await BuildLog.open(this.#logFile)
      await turn(async () => {
        signal?.throwIfAborted()
        build = await mkdtemp(join(this.directory, BUILD_PREFIX))
        report(`Starting from Python ${base.version}`, 0.05)
        run.log(`Building an environment with Python ${base.version} (${base.path})`)
        this.#current = await this.#fill(build, base, requirements, run)
      })
      this.#keptUntilMs = this.#clock.monotonicMs() + REPLACED_GRACE_MS
      ending = `Ready: Python ${this.#current!.version} with Scrapy ${this.#current!.scrapyVersion}`
    } catch (error) {
      if (build !== null) await remove(build)
      if (signal?.aborted) throw signal.reason
      this.#failure = maskCredentials((error as Error).message)
      ending = this.#failure
      throw new ScrapdeckError('PYTHON_MISSING', this.#failure, { cause: error })
    } finally {
      await now.log?.end(ending)
      this.#building = null
      this.#onChange()
    }
  }

  /** What the newest build was asked to install; null: never asked. */
  requirements(): Promise<string | null> {
    return readFile(this.#requirementsFile, 'utf8').catch(() => null)
  }

  hasLog(): boolean {
    return existsSync(this.#logFile)
  }

  /** From its start; while a build is under way, until it ends. */
  log(signal?: AbortSignal): AsyncGenerator<{ text: string }, void, void> {
    return readBuildLog(this.#logFile, this.#building?.log ?? null, signal)
  }

  /** Builds that do not count, and are not under way. */
  async leftOvers(): Promise<string[]> {
    const names = this.#building === null ? await readdir(this.directory).catch(() => []) : []
    return names
      .filter((name) => name.startsWith(BUILD_PREFIX))
      .map((name) => join(this.directory, name))
      .filter((build) => !this.#current?.path.startsWith(build + sep))
  }

  /** Deletes left-overs, unless `isInUse`; not soon after a build was replaced: something may be starting with it. */
  async tidy(isInUse: (build: string) => boolean): Promise<void> {
    if (this.#clock.monotonicMs() < this.#keptUntilMs) return
    for (const build of await this.leftOvers()) if (!isInUse(build)) await remove(build)
  }

  async delete(): Promise<void> {
    // First what makes it count: a crash in the middle leaves nothing that looks whole.
    await rm(join(this.directory, 'complete'), { force: true })
    this.#current = null
    await remove(this.directory)
  }

  async #fill(build: string, base: { path: string }, requirements: string, run: BuildRun): Promise<MadePython> {
    const here = { directory: this.directory, clock: this.#clock }
    await runStep(base.path, ['-m', 'venv', build], 'The environment could not be built', { ...run, ...here })
    const python = pythonIn(build)
    // pip says neither how many packages will come nor how large they are: Scrapy has some 35.
    let lines = 0
    const install = (packages: string[]) =>
      runStep(python, [...PIP, ...packages], 'The packages could not be installed', { ...run, ...here }, (line) => {
        const [, words] = PIP_WORDS.exec(line) ?? []
        if (words) run.report(words, Math.min(95, 10 + ++lines) / 100)
      })
    const added = addedRequirements(requirements)
    const together = demandsHashes(requirements) ? [] : added
    await install(['-r', this.#requirementsFile, ...together])
    if (together.length < added.length) await install(added)
    const { version, scrapyVersion, failure: why } = await checkPython(python, { ...here, signal: run.signal })
    if (version === null || scrapyVersion === null) throw new Error(`Scrapy cannot be imported in it: ${why}`)
    const facts = { version, scrapyVersion, madeAtMs: this.#clock.nowMs() }
    run.signal?.throwIfAborted()
    await writeWhole(this.directory, 'complete', { build: basename(build), ...facts })
    return { path: python, ...facts }
  }
}

/** Why nobody builds an environment twice at once. */
export function alreadyBuilt(): ScrapdeckError {
  return new ScrapdeckError('BAD_INPUT', 'The environment is already being built.')
}

async function runStep(
  command: string,
  args: string[],
  failed: string,
  run: { directory: string; clock: Clock; signal?: AbortSignal; log: (line: string) => void },
  onLine?: (line: string) => void
): Promise<void> {
  const said: string[] = []
  const result = await runCommand({
    command,
    args,
    // `-m` imports from the working directory first: it must be one of ours.
    directory: run.directory,
    environment: childEnvironment(process.env),
    timeLimitMs: LIMIT_MS,
    stdoutLimitBytes: 0,
    clock: run.clock,
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
