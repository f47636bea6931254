import { existsSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { basename, join, sep } from 'node:path'
import { z } from 'zod'
import { ScrapdeckError } from '../../../../shared/errors.ts'
import { sentence } from '../../../../shared/texts/errors/nodes.ts'
import { asSentence, mapStrings, type Message, plain, render, say, written } from '../../../../shared/texts/message.ts'
import type { Clock } from '../../../runtime/clock.ts'
import { SaidError, saidOf } from '../../../runtime/said-error.ts'
import { type Isolation, NO_ISOLATION } from '../isolation/isolation.ts'
import { BuildLog, readBuildLog } from './build-log.ts'
import { checkPython, pythonIn, reasonIn } from './check-python.ts'
import { environmentOfBuild } from '../processes/child-environment.ts'
import { maskCredentials } from '../../../../shared/secret-values.ts'
import { addedRequirements, demandsHashes } from './requirements.ts'
import { runCommand } from '../processes/run-command.ts'
import { writeWhole } from '../runs/run-directory.ts'

export interface MadePython {
  path: string
  version: string
  scrapyVersion: string
  madeAtMs: number
}

interface Progress extends ReturnType<typeof written> {
  share: number | null
}

export type Turn = (work: () => Promise<void>) => Promise<void>

interface Building {
  progress: Progress
  /** null until the log file is open. */
  log: BuildLog | null
}

const Complete = z.object({
  build: z.string().regex(/^build-\w+$/),
  version: z.string(),
  scrapyVersion: z.string(),
  madeAtMs: z.number()
})

interface BuildRun {
  report: (step: Message, share: number) => void
  signal?: AbortSignal
  log: (line: string) => void
}

const LIMIT_MS = 60 * 60_000
const BUILD_PREFIX = 'build-'
/** A replaced build is kept for longer than any spider listing takes. Started runs are checked separately. */
const REPLACED_GRACE_MS = 120_000
// Without `--no-color`, FORCE_COLOR in the environment would put color codes before the word ERROR.
const PIP = ['-m', 'pip', 'install', '--no-input', '--disable-pip-version-check', '--progress-bar', 'off', '--no-color']
const PIP_WORDS =
  /^\s*((?:Collecting|Downloading|Using cached|Building|Preparing|Installing|Successfully).*?)(?: \(from .*)?$/

/**
 * A virtual environment that we build, and can rebuild while spiders run in the previous build. Its directory:
 *
 *   requirements.txt   the packages
 *   build.log          the output of the last build
 *   build-XXXXXX/      the environment itself, a new one for each build
 *   complete           names the current build; written last. All other builds are leftovers
 *
 *   absent ──build──> building ──> built ──build──> building (the previous one stays in use) ──> built
 *     ^                 │                                  └──> built (the previous one), failure reported
 *     └─────failure─────┘
 */
export class MadeEnvironment {
  readonly directory: string
  readonly #isolation: Isolation
  readonly #clock: Clock
  readonly #onChange: () => void
  readonly #logFile: string
  readonly #requirementsFile: string
  #current: MadePython | null
  #keptUntilMs: number
  #building: Building | null = null
  #failure: Message | null = null

  constructor(options: { directory: string; isolation?: Isolation; clock: Clock; onChange: () => void }) {
    const { directory, clock, onChange } = options
    this.directory = directory
    this.#isolation = options.isolation ?? NO_ISOLATION
    this.#clock = clock
    this.#onChange = onChange
    this.#logFile = join(directory, 'build.log')
    this.#requirementsFile = join(directory, 'requirements.txt')
    this.#current = readComplete(directory)
    this.#keptUntilMs = clock.monotonicMs()
  }

  current(): MadePython | null {
    return this.#current
  }

  progress(): Progress | null {
    return this.#building && this.#building.progress
  }

  failure(): Message | null {
    return this.#failure
  }

  /**
   * Builds when `turn` allows it. Rejects with PYTHON_MISSING and the text of `failure`, or with the signal's reason.
   */
  async build(
    base: { path: string; version: string },
    requirements: string,
    signal?: AbortSignal,
    turn: Turn = (work) => work()
  ): Promise<void> {
    if (this.#building !== null) throw alreadyBuilt()
    const now: Building = { progress: { ...written(say('build.queued')), share: null }, log: null }
    this.#building = now
    this.#failure = null
    let build: string | null = null
    let ending = 'Stopped'
    const report = (step: Message, share: number) => {
      now.progress = { ...written(mapStrings(step, maskCredentials)), share }
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
        report(say('build.started', { version: base.version }), 0.05)
        run.log(`Building an environment with Python ${base.version} (${base.path})`)
        this.#current = await this.#fill(build, base, requirements, run)
      })
      this.#keptUntilMs = this.#clock.monotonicMs() + REPLACED_GRACE_MS
      ending = `Ready: Python ${this.#current!.version} with Scrapy ${this.#current!.scrapyVersion}`
    } catch (error) {
      // `tidy` removes the remains.
      if (build !== null) await this.#remove(build).catch(() => {})
      if (signal?.aborted) throw signal.reason
      const said = saidOf(error)
      this.#failure = mapStrings(typeof said === 'string' ? plain(said) : said, maskCredentials)
      ending = render(this.#failure)
      throw new ScrapdeckError('PYTHON_MISSING', asSentence(this.#failure), { cause: error })
    } finally {
      await now.log?.end(ending)
      this.#building = null
      this.#onChange()
    }
  }

  requirements(): Promise<string | null> {
    return readFile(this.#requirementsFile, 'utf8').catch(() => null)
  }

  hasLog(): boolean {
    return existsSync(this.#logFile)
  }

  log(signal?: AbortSignal): AsyncGenerator<{ text: string }, void, void> {
    return readBuildLog(this.#logFile, this.#building?.log ?? null, signal)
  }

  async leftOvers(): Promise<string[]> {
    const names = this.#building === null ? await readdir(this.directory).catch(() => []) : []
    return names
      .filter((name) => name.startsWith(BUILD_PREFIX))
      .map((name) => join(this.directory, name))
      .filter((build) => !this.#current?.path.startsWith(build + sep))
  }

  /** Deletes unused leftovers, but waits after a rebuild, because a start may still use the old build. */
  async tidy(isInUse: (build: string) => boolean): Promise<void> {
    if (this.#clock.monotonicMs() < this.#keptUntilMs) return
    for (const build of await this.leftOvers()) if (!isInUse(build)) await this.#remove(build)
  }

  async delete(): Promise<void> {
    // Removes `complete` first, because a crash must not leave a directory that looks complete.
    await rm(join(this.directory, 'complete'), { force: true })
    this.#current = null
    for (const build of await this.leftOvers()) await this.#remove(build)
    await remove(this.directory)
  }

  /** First ends the build's remaining processes, which could replace the directory with a link to our files. */
  async #remove(build: string): Promise<void> {
    await this.#isolation.takeBack(this.#user, build)
    await remove(build)
  }

  get #user(): string {
    return `environment/${basename(this.directory)}`
  }

  async #fill(build: string, base: { path: string }, requirements: string, run: BuildRun): Promise<MadePython> {
    const [name, isolation] = [this.#user, this.#isolation]
    const here = { directory: this.directory, clock: this.#clock, isolation, name, build }
    // Packages can run code during their installation. This code sees only the new environment.
    const file = join(build, 'requirements.txt')
    await writeFile(file, requirements, { mode: 0o600, flag: 'wx' })
    await runStep(base.path, ['-m', 'venv', build], 'build.no_environment', { ...run, ...here })
    const python = pythonIn(build)
    // pip reports neither the number of packages nor their size in advance. Scrapy needs about 35 packages.
    let lines = 0
    const install = (packages: string[]) =>
      runStep(python, [...PIP, ...packages], 'build.no_packages', { ...run, ...here }, (line) => {
        const [, words] = PIP_WORDS.exec(line) ?? []
        if (words) run.report(plain(words), Math.min(95, 10 + ++lines) / 100)
      })
    const added = addedRequirements(requirements)
    const together = demandsHashes(requirements) ? [] : added
    await install(['-r', file, ...together])
    if (together.length < added.length) await install(added)
    const {
      version,
      scrapyVersion,
      failure: why
    } = await checkPython(python, {
      directory: this.directory,
      clock: this.#clock,
      signal: run.signal,
      isolation: { isolation, name, directory: build }
    })
    await isolation.takeBack(name, build)
    if (version === null || scrapyVersion === null) throw new SaidError(say('build.no_scrapy', { why: why ?? 'null' }))
    const facts = { version, scrapyVersion, madeAtMs: this.#clock.nowMs() }
    run.signal?.throwIfAborted()
    await writeWhole(this.directory, 'complete', { build: basename(build), ...facts })
    return { path: python, ...facts }
  }
}

export function alreadyBuilt(): ScrapdeckError {
  return new ScrapdeckError('BAD_INPUT', sentence('nodes.environment_being_built'))
}

async function runStep(
  command: string,
  args: string[],
  failed: 'build.no_environment' | 'build.no_packages',
  run: {
    directory: string
    isolation: Isolation
    name: string
    build: string
    clock: Clock
    signal?: AbortSignal
    log: (line: string) => void
  },
  onLine?: (line: string) => void
): Promise<void> {
  const said: string[] = []
  const result = await runCommand({
    ...(await run.isolation.command(run.name, run.build, command, args)),
    // `-m` imports from the working directory first, so that directory must be ours.
    directory: run.directory,
    environment: run.isolation.isOn ? environmentOfBuild(process.env, run.build) : run.isolation.environment(),
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
  throw new SaidError(say(failed, { why: result.stoppedFor === 'time' ? say('build.late') : reasonOf(said) }))
}

async function remove(path: string): Promise<void> {
  // A killed pip can still write for a moment.
  await rm(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
}

function readComplete(directory: string): MadePython | null {
  try {
    const { build, ...facts } = Complete.parse(JSON.parse(readFileSync(join(directory, 'complete'), 'utf8')))
    const path = pythonIn(join(directory, build))
    // The link may point to a Python that was uninstalled.
    return existsSync(path) ? { path, ...facts } : null
  } catch {
    return null
  }
}

const PIP_ERROR = /^\s*(ERROR|error): */

/** pip's last lines are often advice. The actual error precedes them. */
function reasonOf(lines: string[]): Message | string {
  const text = lines.join('\n')
  if (/ensurepip is not\s+available/.test(text)) {
    return say('build.no_venv')
  }
  const reason = reasonIn(lines.findLast((line) => PIP_ERROR.test(line)) ?? text)
  return typeof reason === 'string' ? reason.replace(PIP_ERROR, '') : reason
}
