import { existsSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import type { PythonState } from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import { childEnvironment } from './child-environment.ts'
import { runCommand } from './run-command.ts'

/** The Python that starts spiders: found, or made by us in the data directory. */
export interface PythonEnvironment {
  state(): PythonState
  /** The state once no search is under way. */
  settled(): Promise<PythonState>
  refresh(): Promise<PythonState>
  create(report: (text: string, share: number | null) => void, signal?: AbortSignal): Promise<void>
}

interface Finding {
  path: string
  version: string | null
  scrapyVersion: string | null
  /** The last line of what went wrong. */
  failure: string | null
}

const CHECK_LIMIT_MS = 30_000
const CREATE_LIMIT_MS = 20 * 60_000
const OLDEST_MINOR = 10
const CHECK = `
import json, sys
found = {"path": sys.executable, "version": "%d.%d.%d" % sys.version_info[:3], "scrapyVersion": None, "failure": None}
try:
    import scrapy
    found["scrapyVersion"] = scrapy.__version__
except ModuleNotFoundError as error:
    found["failure"] = None if error.name == "scrapy" else str(error)
except Exception as error:
    found["failure"] = "%s: %s" % (type(error).__name__, error)
print(json.dumps(found))
`

const COLD: PythonState['start'] = { mode: 'cold', text: 'A new Python is started for each spider' }

/** Begins the search at once and does not wait for it. */
export function openPythonEnvironment(options: {
  /** Pythons to try after our own environment, best first; `pythonPath` in front where the operator named one. */
  candidates: string[]
  pythonPath?: string
  dataDirectory: string
  resourcesDirectory: string
  clock: Clock
  logger: Logger
  onChange: () => void
}): PythonEnvironment {
  const { clock, logger, onChange } = options
  const pythonPath = options.pythonPath && absoluteUnlessBare(options.pythonPath)
  const ownDirectory = join(options.dataDirectory, 'python')
  // Written last: a directory without it is one that was never finished.
  const completeFile = join(ownDirectory, 'complete')
  const unknown = { path: null, version: null, scrapyVersion: null, start: COLD }
  let state: PythonState = { ...unknown, state: 'checking', problem: 'Looking for Python and Scrapy.' }
  let search: Promise<PythonState> = find()

  return {
    state: () => state,
    settled: () => search,
    refresh() {
      search = find()
      return search
    },
    async create(report, signal) {
      if (state.state === 'creating') throw new ScrapdeckError('BAD_INPUT', 'The environment is being made already.')
      const before = state
      set({ ...unknown, state: 'creating', problem: 'The Python environment is being made.' })
      try {
        await make(report, signal)
      } catch (error) {
        await rm(ownDirectory, { recursive: true, force: true })
        set(before)
        throw error
      }
      search = find()
      await search
    }
  }

  function set(next: PythonState): void {
    state = next
    onChange()
  }

  async function find(): Promise<PythonState> {
    await mkdir(options.dataDirectory, { recursive: true, mode: 0o700 })
    const findings: Finding[] = []
    for (const path of allCandidates()) {
      const finding = await check(path)
      if (finding === null) continue
      findings.push(finding)
      if (finding.scrapyVersion !== null) break
    }
    const found = findings.at(-1)
    if (found?.scrapyVersion) {
      logger.info({ python: found.path, scrapy: found.scrapyVersion }, 'Python with Scrapy was found')
      set({ ...unknown, ...found, state: 'ready', problem: null })
    } else {
      const best = findings.find((finding) => isNewEnough(finding)) ?? findings[0]
      set({ ...unknown, ...pick(best), state: 'missing', problem: wordsFor(best) })
    }
    return state
  }

  function allCandidates(): string[] {
    const named = pythonPath ? [pythonPath] : []
    const own = existsSync(completeFile) ? [pythonIn(ownDirectory)] : []
    return [...named, ...own, ...options.candidates]
  }

  async function check(path: string): Promise<Finding | null> {
    const isNamed = path === pythonPath
    try {
      const result = await run(path, ['-c', CHECK], CHECK_LIMIT_MS)
      if (result.code === 0) return JSON.parse(result.stdout.trim().split('\n').at(-1)!) as Finding
      return isNamed ? { path, version: null, scrapyVersion: null, failure: lastLine(result.stderr) } : null
    } catch (error) {
      // A name that is not on the path is no finding; the one that the operator named is.
      return isNamed ? { path, version: null, scrapyVersion: null, failure: (error as Error).message } : null
    }
  }

  async function make(report: (text: string, share: number | null) => void, signal?: AbortSignal): Promise<void> {
    report('Looking for a Python to start from', 0)
    const base = await findBase()
    await rm(ownDirectory, { recursive: true, force: true })
    report(`Making an environment with Python ${base.version}`, 0.05)
    await step(base.path, ['-m', 'venv', ownDirectory], 'The environment could not be made', signal)
    const python = pythonIn(ownDirectory)
    const requirements = join(options.resourcesDirectory, 'python', 'requirements.txt')
    const install = ['-m', 'pip', 'install', '--no-input', '--disable-pip-version-check', '--progress-bar', 'off']
    // pip says neither how many packages will come nor how large they are: Scrapy has some 35.
    let lines = 0
    await step(python, [...install, '-r', requirements], 'Scrapy could not be installed', signal, (line) => {
      const [, words] =
        /^\s*((?:Collecting|Downloading|Using cached|Installing|Successfully).*?)(?: \(from .*)?$/.exec(line) ?? []
      if (words) report(words, Math.min(95, 10 + ++lines) / 100)
    })
    await writeFile(completeFile, '')
    report('Python with Scrapy is ready', 1)
  }

  async function findBase(): Promise<Finding & { version: string }> {
    for (const path of [...(pythonPath ? [pythonPath] : []), ...options.candidates]) {
      const finding = await check(path)
      if (finding?.version && isNewEnough(finding)) return { ...finding, version: finding.version }
    }
    throw new ScrapdeckError('PYTHON_MISSING', wordsFor(undefined))
  }

  async function step(
    command: string,
    args: string[],
    failure: string,
    signal: AbortSignal | undefined,
    onLine?: (line: string) => void
  ): Promise<void> {
    const result = await run(command, args, CREATE_LIMIT_MS, signal, onLine)
    if (signal?.aborted) throw signal.reason
    if (result.code === 0) return
    const why = result.stoppedFor === 'time' ? 'it took more than 20 minutes' : lastLine(result.stderr || result.stdout)
    throw new ScrapdeckError('PYTHON_MISSING', `${failure}: ${why}`)
  }

  function run(
    command: string,
    args: string[],
    timeLimitMs: number,
    signal?: AbortSignal,
    onLine?: (line: string) => void
  ) {
    return runCommand({
      command,
      args,
      // `-c` and `-m` import from the working directory first, and ours may be one that somebody else filled.
      directory: options.dataDirectory,
      environment: childEnvironment(process.env),
      timeLimitMs,
      stdoutLimitBytes: 1_000_000,
      clock,
      signal,
      onLine
    })
  }
}

/**
 * Where a Python may be: the environment that set-up makes beside resources/, then what the system has; never
 * the working directory, where it may be anybody's. Programs started from a macOS dock do not have the shell's path.
 */
export function findPythons(resourcesDirectory: string): string[] {
  const environments = [pythonIn(join(resourcesDirectory, '..', '.venv'))]
  if (process.platform === 'win32') return [...environments.filter(existsSync), 'python', 'py']
  const homebrew = process.platform === 'darwin' ? ['/opt/homebrew/bin/python3', '/usr/local/bin/python3'] : []
  return [...environments.filter(existsSync), 'python3', 'python', ...homebrew]
}

/** A name alone is looked for on the PATH. */
function absoluteUnlessBare(command: string): string {
  return basename(command) === command ? command : resolve(command)
}

function pythonIn(environment: string): string {
  return join(environment, ...(process.platform === 'win32' ? ['Scripts', 'python.exe'] : ['bin', 'python']))
}

function isNewEnough(finding: Finding): boolean {
  const [major, minor] = (finding.version ?? '0.0').split('.').map(Number) as [number, number]
  return major > 3 || (major === 3 && minor >= OLDEST_MINOR)
}

function pick(finding: Finding | undefined): { path: string | null; version: string | null } {
  return { path: finding?.path ?? null, version: finding?.version ?? null }
}

function wordsFor(finding: Finding | undefined): string {
  const install = `Install Python 3.${OLDEST_MINOR} or newer, then press Create environment.`
  if (!finding) return `No Python was found. ${install}`
  if (finding.version === null) return `${finding.path} cannot be used as Python (${finding.failure}). ${install}`
  if (!isNewEnough(finding)) return `Python ${finding.version} was found but is too old. ${install}`
  const short = finding.version.split('.').slice(0, 2).join('.')
  if (finding.failure === null) {
    return `Python ${short} was found but Scrapy is not installed; press Create environment.`
  }
  return `Python ${short} was found but its Scrapy does not import (${finding.failure}); press Create environment.`
}

function lastLine(text: string): string {
  return text.trim().split('\n').at(-1)?.slice(0, 500) || 'it failed without a word'
}
