import { existsSync } from 'node:fs'
import { mkdir, readFile } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import type { Progress, PythonState, StartMode } from '../../../../shared/contract/index.ts'
import { ScrapdeckError } from '../../../../shared/errors.ts'
import { asSentence, type Message, render, say, written, writtenAs } from '../../../../shared/texts/message.ts'
import { type Clock, sleep } from '../../../runtime/clock.ts'
import type { Logger } from '../../../runtime/logger.ts'
import type { Isolation } from '../isolation/isolation.ts'
import { checkPython, type Finding, isNewEnough, OLDEST_PYTHON, pythonIn } from './check-python.ts'
import { alreadyBuilt, MadeEnvironment } from './made-environment.ts'

export const COLD: StartMode = { mode: 'cold', ...written(say('start.cold')) }

export interface PythonEnvironmentOptions {
  /** Tried in this order after our own environment. `pythonPath`, if set, comes first. */
  candidates: string[]
  pythonPath?: string
  dataDirectory: string
  resourcesDirectory: string
  clock: Clock
  logger: Logger
  isolation?: Isolation
  startOf?: (path: string) => StartMode
  onChange: () => void
}

type Report = (step: Omit<Progress, 'done'>) => void

const UNKNOWN = { path: null, version: null, scrapyVersion: null, start: COLD }

const AFTER_START_MS = 200

/** The default Python of projects, either found on the machine or built by us in the data directory. */
export class PythonEnvironment {
  readonly own: MadeEnvironment
  readonly #options: PythonEnvironmentOptions
  readonly #pythonPath: string | undefined
  #report: Report | null = null
  #state: PythonState = { ...UNKNOWN, state: 'checking', ...writtenAs('problem', say('python.looking')) }
  #findings: Finding[] = []
  #search: Promise<PythonState>
  readonly #isAwaited = new AbortController()
  #isClosed = false

  /** The search starts after a delay or when a caller waits for it, because startup needs the CPU first. */
  constructor(options: PythonEnvironmentOptions) {
    this.#options = options
    this.#pythonPath = options.pythonPath && absoluteUnlessBare(options.pythonPath)
    const directory = join(options.dataDirectory, 'environments', 'main')
    this.own = new MadeEnvironment({ directory, clock: options.clock, onChange: () => this.#publishProgress() })
    this.#search = this.#findAfterStart()
  }

  close(): void {
    this.#isClosed = true
    this.#isAwaited.abort()
  }

  path(): string | null {
    return this.#options.isolation?.problem ? null : this.#state.path
  }

  state(): PythonState {
    const { isolation } = this.#options
    if (isolation?.problem) return { ...UNKNOWN, state: 'missing', ...writtenAs('problem', isolation.problem) }
    const { path } = this.#state
    return path === null ? this.#state : { ...this.#state, start: this.#options.startOf?.(path) ?? COLD }
  }

  /** Resolves when no search is running. */
  settled(): Promise<PythonState> {
    this.#isAwaited.abort()
    return this.#search
  }

  /** The first Python found that is new enough to build environments, with or without Scrapy. */
  base(): { path: string; version: string } | null {
    return this.#findings.find(isNewEnough) ?? null
  }

  async create(report: Report, signal?: AbortSignal): Promise<void> {
    if (this.#report !== null) throw alreadyBuilt()
    this.#report = report
    try {
      report({ ...written(say('build.choosing')), share: 0 })
      await this.settled()
      await this.#build(signal)
      report({ ...written(say('build.ready')), share: 1 })
    } finally {
      this.#report = null
    }
    // The previous search has ended, so its result cannot replace the new one.
    this.#search = this.#find()
    await this.#search
  }

  #publishProgress(): void {
    const progress = this.own.progress()
    if (progress !== null) this.#report?.(progress)
    this.#options.onChange()
  }

  #set(next: PythonState): void {
    this.#state = next
    this.#options.onChange()
  }

  async #findAfterStart(): Promise<PythonState> {
    await sleep(this.#options.clock, AFTER_START_MS, this.#isAwaited.signal)
    return this.#isClosed ? this.#state : this.#find()
  }

  async #find(): Promise<PythonState> {
    const { dataDirectory, clock, logger } = this.#options
    await mkdir(dataDirectory, { recursive: true, mode: 0o700 })
    const found: Finding[] = []
    for (const path of this.#allCandidates()) {
      const finding = await checkPython(path, { directory: dataDirectory, clock })
      // Names that are not on the PATH are not reported, unless the operator configured them.
      if (finding.version === null && path !== this.#pythonPath) continue
      found.push(finding)
      if (hasScrapy(finding)) break
    }
    this.#findings = found
    const last = found.at(-1)
    if (last !== undefined && hasScrapy(last)) {
      logger.info({ python: last.path, scrapy: last.scrapyVersion }, 'Python with Scrapy was found')
      this.#set({ ...UNKNOWN, ...pick(last), scrapyVersion: last.scrapyVersion, state: 'ready', problem: null })
    } else {
      const best = found.find(isNewEnough) ?? found[0]
      const problem = problemWith(best)
      logger.warn({}, `No spider can run on this machine. ${render(problem)}`)
      this.#set({ ...UNKNOWN, ...pick(best), state: 'missing', ...writtenAs('problem', problem) })
    }
    return this.#state
  }

  #allCandidates(): string[] {
    const own = this.own.current()
    return [...(this.#pythonPath ? [this.#pythonPath] : []), ...(own ? [own.path] : []), ...this.#options.candidates]
  }

  async #build(signal?: AbortSignal): Promise<void> {
    const base = this.base()
    if (base === null) throw new ScrapdeckError('PYTHON_MISSING', asSentence(problemWith(this.#findings[0])))
    const requirements = await readFile(join(this.#options.resourcesDirectory, 'python', 'requirements.txt'), 'utf8')
    const before = this.#state
    // A ready Python remains in use.
    if (before.state !== 'ready') {
      this.#set({ ...UNKNOWN, state: 'creating', ...writtenAs('problem', say('python.being_built')) })
    }
    try {
      await this.own.build(base, requirements, signal)
    } catch (error) {
      this.#set(before)
      throw error
    }
  }
}

/**
 * The environment that setup creates next to resources/, then the system's Pythons. Never the working directory,
 * because any user could have put a Python there. Programs started from the macOS Dock do not have the shell's PATH.
 */
export function findPythons(resourcesDirectory: string): string[] {
  const environments = [pythonIn(join(resourcesDirectory, '..', '.venv'))]
  if (process.platform === 'win32') return [...environments.filter(existsSync), 'python', 'py']
  const homebrew = process.platform === 'darwin' ? ['/opt/homebrew/bin/python3', '/usr/local/bin/python3'] : []
  return [...environments.filter(existsSync), 'python3', 'python', ...homebrew]
}

export function absoluteUnlessBare(command: string): string {
  return basename(command) === command ? command : resolve(command)
}

const hasScrapy = (finding: Finding) => finding.scrapyVersion !== null && isNewEnough(finding)

function pick(finding: Finding | undefined): { path: string | null; version: string | null } {
  return { path: finding?.path ?? null, version: finding?.version ?? null }
}

function problemWith(finding: Finding | undefined): Message {
  const oldest = OLDEST_PYTHON
  if (!finding) return say('python.none', { oldest })
  const { path, failure: why } = finding
  if (finding.version === null) return say('python.none_usable', { path, oldest, why: why ?? '' })
  if (!isNewEnough(finding)) return say('python.too_old', { version: finding.version, oldest })
  const version = finding.version.split('.').slice(0, 2).join('.')
  if (why === null) return say('python.without_scrapy', { version })
  return say('python.with_broken_scrapy', { version, why })
}
