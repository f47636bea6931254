import { existsSync } from 'node:fs'
import { mkdir, readFile } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import type { PythonState, StartMode } from '../../../shared/contract/index.ts'
import { ScrapdeckError } from '../../../shared/errors.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import { checkPython, type Finding, isNewEnough, OLDEST_PYTHON, pythonIn } from './check-python.ts'
import { type MadeEnvironment, openMadeEnvironment } from './made-environment.ts'

/** The main Python: found, or made by us in the data directory. Spiders start with it where their project names no other. */
export interface PythonEnvironment {
  state(): PythonState
  /** The state once no search is under way. */
  settled(): Promise<PythonState>
  refresh(): Promise<PythonState>
  create(report: (text: string, share: number | null) => void, signal?: AbortSignal): Promise<void>
  /** What environments are made from: the first Python of the last search that is new enough, with Scrapy or without. */
  base(): { path: string; version: string } | null
  /** The one that `create` makes. */
  own: MadeEnvironment
}

export const COLD: StartMode = { mode: 'cold', text: 'A new Python is started for each spider' }

/** Begins the search at once and does not wait for it. */
export function openPythonEnvironment(options: {
  /** Pythons to try after our own environment, best first; `pythonPath` in front where the operator named one. */
  candidates: string[]
  pythonPath?: string
  dataDirectory: string
  resourcesDirectory: string
  clock: Clock
  logger: Logger
  /** How spiders start with this interpreter. */
  startOf?: (path: string) => StartMode
  onChange: () => void
}): PythonEnvironment {
  const { clock, logger, onChange, startOf = () => COLD } = options
  const pythonPath = options.pythonPath && absoluteUnlessBare(options.pythonPath)
  let reporting: ((text: string, share: number | null) => void) | null = null
  const own = openMadeEnvironment({
    directory: join(options.dataDirectory, 'environments', 'main'),
    clock,
    onChange() {
      const progress = own.progress()
      if (progress !== null) reporting?.(progress.text, progress.share)
      onChange()
    }
  })
  const unknown = { path: null, version: null, scrapyVersion: null, start: COLD }
  let state: PythonState = { ...unknown, state: 'checking', problem: 'Looking for Python and Scrapy.' }
  let findings: Finding[] = []
  let search: Promise<PythonState> = find()

  return {
    own,
    state: () => (state.path === null ? state : { ...state, start: startOf(state.path) }),
    settled: () => search,
    refresh() {
      search = find()
      return search
    },
    base: () => findings.find(isNewEnough) ?? null,
    async create(report, signal) {
      if (reporting !== null) throw new ScrapdeckError('BAD_INPUT', 'The environment is being made already.')
      reporting = report
      try {
        report('Looking for a Python to start from', 0)
        await search
        await make(signal)
        report('Python with Scrapy is ready', 1)
      } finally {
        reporting = null
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
    const found: Finding[] = []
    for (const path of allCandidates()) {
      const finding = await checkPython(path, { directory: options.dataDirectory, clock })
      // A name that is not on the path is no finding; the one that the operator named is.
      if (finding.version === null && path !== pythonPath) continue
      found.push(finding)
      if (finding.scrapyVersion !== null) break
    }
    findings = found
    const last = found.at(-1)
    if (last?.scrapyVersion) {
      logger.info({ python: last.path, scrapy: last.scrapyVersion }, 'Python with Scrapy was found')
      set({ ...unknown, ...pick(last), scrapyVersion: last.scrapyVersion, state: 'ready', problem: null })
    } else {
      const best = found.find(isNewEnough) ?? found[0]
      const problem = wordsFor(best)
      logger.warn({}, `No spider can run on this machine. ${problem}`)
      set({ ...unknown, ...pick(best), state: 'missing', problem })
    }
    return state
  }

  function allCandidates(): string[] {
    const made = own.current()
    return [...(pythonPath ? [pythonPath] : []), ...(made ? [made.path] : []), ...options.candidates]
  }

  async function make(signal?: AbortSignal): Promise<void> {
    const base = findings.find(isNewEnough)
    if (base === undefined) throw new ScrapdeckError('PYTHON_MISSING', wordsFor(findings[0]))
    const requirements = await readFile(join(options.resourcesDirectory, 'python', 'requirements.txt'), 'utf8')
    const before = state
    // A Python that is ready goes on serving.
    if (before.state !== 'ready') {
      set({ ...unknown, state: 'creating', problem: 'The Python environment is being made.' })
    }
    try {
      await own.make(base, requirements, signal)
    } catch (error) {
      set(before)
      throw error
    }
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
export function absoluteUnlessBare(command: string): string {
  return basename(command) === command ? command : resolve(command)
}

function pick(finding: Finding | undefined): { path: string | null; version: string | null } {
  return { path: finding?.path ?? null, version: finding?.version ?? null }
}

function wordsFor(finding: Finding | undefined): string {
  const install = `Install Python ${OLDEST_PYTHON} or newer, then press Create environment.`
  if (!finding) return `No Python was found. ${install}`
  if (finding.version === null) return `${finding.path} cannot be used as Python (${finding.failure}). ${install}`
  if (!isNewEnough(finding)) return `Python ${finding.version} was found but is too old. ${install}`
  const short = finding.version.split('.').slice(0, 2).join('.')
  if (finding.failure === null) {
    return `Python ${short} was found but Scrapy is not installed; press Create environment.`
  }
  return `Python ${short} was found but its Scrapy does not import (${finding.failure}); press Create environment.`
}
