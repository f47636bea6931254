import { createHash } from 'node:crypto'
import { mkdir, readdir } from 'node:fs/promises'
import { join, sep } from 'node:path'
import type { Environment, ProjectPython, StartMode } from '../../../shared/contract/index.ts'
import { ScrapdeckError } from '../../../shared/errors.ts'
import type { Clock, Timer } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import { checkPython, type Finding, isNewEnough, OLDEST_PYTHON } from './check-python.ts'
import { type MadeEnvironment, openMadeEnvironment } from './made-environment.ts'
import { absoluteUnlessBare, COLD, type PythonEnvironment } from './python-environment.ts'
import { environmentId, normaliseRequirements } from './requirements.ts'

/** The Pythons that run projects: the main one, those that projects name, and those made from their requirements. */
export interface Environments {
  list(): Environment[]
  /** The log of an environment's making, from its start, as it grows. Throws NOT_FOUND. */
  log(id: string, signal?: AbortSignal): AsyncGenerator<{ text: string }, void, void>
  /** Begins to make it anew and resolves at once. Throws NOT_FOUND, BAD_INPUT for a Python that is not ours to make. */
  rebuild(id: string): Promise<Environment>
  /** Throws NOT_FOUND, BAD_INPUT where projects or running spiders use it. */
  remove(id: string): Promise<void>
  /** Throws BAD_INPUT with what was found, where a project could not run with this. */
  verify(python: ProjectPython): Promise<void>
  /** Projects came or went, or were given another Python: begins to make what they lack, also for one that is not deployed yet. */
  refresh(project?: string): void
}

/** The Python that a project's spiders start with now; `waiting` in words that follow a node's name (`is making …`). */
export type PythonOfProject = { path: string } | { path: null; problem: string; waiting: string }

export interface LocalEnvironments extends Environments {
  /** Begins to make it where it is not there. Cheap: asked for every job that could be placed. */
  pythonOf(project: string): PythonOfProject
  /** The same once no look at a Python is under way. Makings are not waited for. */
  settledPythonOf(project: string): Promise<PythonOfProject>
  /** The main Python changed, or how far its making is. */
  noteMain(): void
  /** Ends what is being made; it is made afresh by the next engine. */
  close(): Promise<void>
}

export interface EnvironmentsOptions {
  dataDirectory: string
  main: PythonEnvironment
  /** Projects that can be run. */
  projects: () => string[]
  settingOf: (project: string) => ProjectPython
  /** The interpreters of live runs; null where one is not known: then nothing that may be theirs is deleted. */
  pythonsInUse: () => string[] | null
  startOf?: (path: string) => StartMode
  clock: Clock
  logger: Logger
  onChange: () => void
}

interface Interpreter {
  id: string
  /** As the project names it. */
  command: string
  finding: Finding | null
  check: Promise<Finding>
}

interface Made {
  id: string
  environment: MadeEnvironment
  /** Set while it is being made or waits for its turn. */
  work: { done: Promise<void>; abort: AbortController } | null
}

const AT_ONCE = 2
const PROGRESS_EVERY_MS = 500
const TIDY_EVERY_MS = 60_000
const ID = /^[0-9a-f]{12}$/

/** Where there is no local node there are no environments. */
export const NO_ENVIRONMENTS: Environments = {
  list: () => [],
  log: () => notThere(),
  rebuild: async () => notThere(),
  remove: async () => notThere(),
  verify: async (python) => refuseEmpty(python),
  refresh() {}
}

/** Reads what earlier engines made in `environments/`, and begins at once to make what projects lack. */
export async function openEnvironments(options: EnvironmentsOptions): Promise<LocalEnvironments> {
  const { main, clock, logger, startOf = () => COLD } = options
  const directory = join(options.dataDirectory, 'environments')
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const interpreters = new Map<string, Interpreter>()
  const made = new Map<string, Made>()
  const idsOfTexts = new Map<string, string>()
  const queue = new Set<() => void>()
  let making = 0
  let isClosed = false
  let progressTimer: Timer | null = null
  let tidyTimer: Timer | null = null

  for (const id of (await readdir(directory)).filter((name) => ID.test(name))) addMade(id)
  // The search may have ended while the directory was read.
  refresh()
  tidyLater(TIDY_EVERY_MS)

  return {
    list,
    log(id, signal) {
      const environment = id === 'main' ? main.own : made.get(id)?.environment
      if (!environment?.hasLog()) throw new ScrapdeckError('NOT_FOUND', `The environment ${id} has no log.`)
      return environment.log(signal)
    },
    async rebuild(id) {
      if (id === 'main') rebuildMain()
      else if (interpreters.has(id)) look(interpreters.get(id)!.command)
      else await rebuildMade(id)
      return list().find((environment) => environment.id === id) ?? Promise.reject(unknownEnvironment(id))
    },
    async remove(id) {
      const listed = list().find((environment) => environment.id === id)
      if (listed === undefined) throw unknownEnvironment(id)
      if (listed.kind === 'main') throw new ScrapdeckError('BAD_INPUT', 'The main Python cannot be removed.')
      if (listed.projects.length > 0) {
        const names = listed.projects.join(', ')
        throw new ScrapdeckError('BAD_INPUT', `${names} runs with it. Choose another Python there first.`)
      }
      const one = made.get(id)
      if (one !== undefined) await removeMade(one)
      interpreters.delete(id)
      options.onChange()
    },
    async verify(python) {
      refuseEmpty(python)
      if (python.kind !== 'interpreter') return
      const { id, check } = look(python.path)
      const problem = problemOfInterpreter(python.path, await check)
      if (problem === null) return
      // One that another project names stays, with what was found now.
      if (!projectsOf().has(id)) interpreters.delete(id)
      throw new ScrapdeckError('BAD_INPUT', problem, { data: { field: 'python' } })
    },
    refresh,
    pythonOf,
    async settledPythonOf(project) {
      await main.settled()
      const setting = options.settingOf(project)
      if (setting.kind === 'interpreter') await interpreterOf(setting.path).check
      return pythonOf(project)
    },
    noteMain() {
      if (main.own.progress() !== null) noteProgress()
      else refresh()
    },
    async close() {
      isClosed = true
      progressTimer?.cancel()
      tidyTimer?.cancel()
      const work = [...made.values()].flatMap((one) => one.work ?? [])
      for (const { abort } of work) abort.abort(new Error('Scrapdeck is stopping'))
      await Promise.allSettled(work.map(({ done }) => done))
    }
  }

  // --- which Python a project has ---------------------------------------------------------------------------------

  function pythonOf(project: string): PythonOfProject {
    const setting = options.settingOf(project)
    const state = main.state()
    if (setting.kind === 'default') {
      if (state.state === 'ready') return { path: state.path! }
      return missing(state.problem ?? 'Python is not ready yet.', 'has no Python with Scrapy yet')
    }
    if (setting.kind === 'interpreter') {
      const { finding } = interpreterOf(setting.path)
      if (finding === null) return missing(`${setting.path} is being checked.`, `is checking ${setting.path}`)
      const problem = problemOfInterpreter(setting.path, finding)
      return problem === null ? { path: finding.path } : missing(problem, `cannot run ${project}: ${problem}`)
    }
    const one = madeFor(setting.text)
    if (one === null) return missing(state.problem ?? 'Python is not ready yet.', 'has no Python yet')
    const current = one.environment.current()
    if (current !== null) return { path: current.path }
    if (one.work === null && one.environment.failure() === null) begin(one, setting.text)
    if (one.work !== null) {
      const { text } = progressOf(one)
      return missing(
        `The Python environment of ${project} is being made (${text}).`,
        `is making the Python environment of ${project} (${text})`
      )
    }
    const failure = one.environment.failure() ?? 'Scrapdeck is stopping'
    return missing(
      `The Python environment of ${project} could not be made. ${failure}`,
      `could not make the Python environment of ${project} (${failure})`
    )
  }

  function missing(problem: string, waiting: string): PythonOfProject {
    return { path: null, problem, waiting }
  }

  function refresh(project?: string): void {
    if (isClosed) return
    for (const name of project === undefined ? options.projects() : [project]) pythonOf(name)
    options.onChange()
  }

  /** Null while there is no Python to make one from. */
  function madeFor(text: string): Made | null {
    const id = idOf(text)
    return id === null ? null : (made.get(id) ?? addMade(id))
  }

  function idOf(text: string): string | null {
    const base = main.base()
    if (base === null) return null
    const key = `${base.version} ${text}`
    let id = idsOfTexts.get(key)
    if (id === undefined) {
      if (idsOfTexts.size > 1000) idsOfTexts.clear()
      idsOfTexts.set(key, (id = environmentId(text, base.version)))
    }
    return id
  }

  function idOfSetting(setting: ProjectPython): string | null {
    if (setting.kind === 'default') return 'main'
    return setting.kind === 'interpreter' ? interpreterId(setting.path) : idOf(setting.text)
  }

  function projectsOf(): Map<string, string[]> {
    const projects = new Map<string, string[]>()
    for (const project of options.projects()) {
      const id = idOfSetting(options.settingOf(project))
      if (id === null) continue
      const names = projects.get(id)
      if (names === undefined) projects.set(id, [project])
      else names.push(project)
    }
    return projects
  }

  // --- interpreters -----------------------------------------------------------------------------------------------

  function interpreterOf(command: string): Interpreter {
    return interpreters.get(interpreterId(command)) ?? look(command)
  }

  function look(command: string): Interpreter {
    const id = interpreterId(command)
    const check = checkPython(absoluteUnlessBare(command), { directory: options.dataDirectory, clock })
    const interpreter: Interpreter = { id, command, finding: null, check }
    interpreters.set(id, interpreter)
    void check.then((finding) => {
      interpreter.finding = finding
      options.onChange()
    })
    options.onChange()
    return interpreter
  }

  // --- environments that we make ------------------------------------------------------------------------------------

  function addMade(id: string): Made {
    const environment = openMadeEnvironment({ directory: join(directory, id), clock, onChange: noteProgress })
    const one: Made = { id, environment, work: null }
    made.set(id, one)
    return one
  }

  async function rebuildMade(id: string): Promise<void> {
    const one = made.get(id)
    const requirements = (await one?.environment.requirements()) ?? null
    if (one === undefined || requirements === null) throw unknownEnvironment(id)
    if (main.base() === null) {
      throw new ScrapdeckError('PYTHON_MISSING', main.state().problem ?? 'There is no Python to make it from.')
    }
    begin(one, requirements)
  }

  /** Two are made at a time. Who asks while it is being made already gets that one. */
  function begin(one: Made, requirements: string): void {
    const base = main.base()
    if (one.work !== null || base === null || isClosed) return
    const abort = new AbortController()
    const done = one.environment
      .make(base, requirements, abort.signal, (work) => inTurn(work, abort.signal))
      .then(() => logger.info({ environment: one.id }, 'a Python environment was made'))
      .catch((error: unknown) => {
        if (!abort.signal.aborted) logger.warn({ environment: one.id, error }, 'a Python environment could not be made')
      })
      .finally(() => {
        one.work = null
        if (isClosed) return
        tidyLater(TIDY_EVERY_MS)
        options.onChange()
      })
    one.work = { done, abort }
    options.onChange()
  }

  async function inTurn(work: () => Promise<void>, signal: AbortSignal): Promise<void> {
    if (making < AT_ONCE) making += 1
    else {
      await new Promise<void>((resolve, reject) => {
        queue.add(resolve)
        const giveUp = () => queue.delete(resolve) && reject(signal.reason)
        signal.addEventListener('abort', giveUp, { once: true })
      })
    }
    try {
      await work()
    } finally {
      // Who is next gets the place; nobody can take it in between.
      const [next] = queue
      if (next === undefined) making -= 1
      else {
        queue.delete(next)
        next()
      }
    }
  }

  async function removeMade(one: Made): Promise<void> {
    const inUse = options.pythonsInUse()
    if (inUse === null || inUse.some((path) => path.startsWith(one.environment.directory + sep))) {
      throw new ScrapdeckError('BAD_INPUT', `Spiders still run with the environment ${one.id}. Wait until they end.`)
    }
    one.work?.abort.abort(new Error('The environment is removed'))
    await one.work?.done
    made.delete(one.id)
    await one.environment.delete()
  }

  function rebuildMain(): void {
    const { state, path } = main.state()
    if (state === 'ready' && path !== main.own.current()?.path) {
      const text = `The main Python is ${path}, which Scrapdeck has not made and cannot make anew.`
      throw new ScrapdeckError('BAD_INPUT', text)
    }
    if (main.own.progress() !== null) return
    main.create(() => {}).catch((error: unknown) => logger.warn({ error }, 'the main environment could not be made'))
  }

  /** Left-overs: of makings that a killed engine did not end, and of those that were replaced. */
  function tidyLater(delayMs: number): void {
    if (isClosed) return
    tidyTimer ??= clock.setTimer(delayMs, () => {
      tidyTimer = null
      tidy().catch((error: unknown) => logger.warn({ error }, 'deleting old Python environments failed'))
    })
  }

  async function tidy(): Promise<void> {
    const environments = [main.own, ...[...made.values()].map((one) => one.environment)]
    const leftOvers = await Promise.all(environments.map((environment) => environment.leftOvers()))
    if (leftOvers.flat().length === 0) return
    const inUse = options.pythonsInUse()
    const isInUse = (build: string) => inUse === null || inUse.some((path) => path.startsWith(build + sep))
    for (const environment of environments) if (!isClosed) await environment.tidy(isInUse)
    tidyLater(TIDY_EVERY_MS)
  }

  function noteProgress(): void {
    if (isClosed) return
    progressTimer ??= clock.setTimer(PROGRESS_EVERY_MS, () => {
      progressTimer = null
      options.onChange()
    })
  }

  function progressOf(one: Made) {
    return one.environment.progress() ?? { text: 'ends', share: 1 }
  }

  // --- the list -----------------------------------------------------------------------------------------------------

  function list(): Environment[] {
    const projects = projectsOf()
    const named = [...interpreters.values()].filter(({ id }) => projects.has(id))
    return [
      describeMain(projects.get('main') ?? []),
      ...named.map((one) => describeInterpreter(one, projects.get(one.id)!)),
      ...[...made.values()].map((one) => describeMade(one, projects.get(one.id) ?? []))
    ]
  }

  function describeMain(projects: string[]): Environment {
    const { state, path, version, scrapyVersion, start, problem } = main.state()
    const progress = main.own.progress()
    const isOwn = path !== null && path === main.own.current()?.path
    return {
      id: 'main',
      kind: 'main',
      state: progress !== null || state === 'checking' ? 'building' : state === 'ready' ? 'ready' : 'failed',
      path,
      version,
      scrapyVersion,
      projects,
      start,
      problem: main.own.failure() !== null && state !== 'ready' ? main.own.failure() : problem,
      progress: progress ?? (state === 'checking' ? { text: 'Looking for Python and Scrapy', share: null } : null),
      hasLog: main.own.hasLog(),
      madeAtMs: isOwn ? main.own.current()!.madeAtMs : null
    }
  }

  function describeInterpreter({ id, command, finding }: Interpreter, projects: string[]): Environment {
    const problem = finding === null ? null : problemOfInterpreter(command, finding)
    return {
      id,
      kind: 'interpreter',
      state: finding === null ? 'building' : problem === null ? 'ready' : 'failed',
      path: finding?.path ?? command,
      version: finding?.version ?? null,
      scrapyVersion: finding?.scrapyVersion ?? null,
      projects,
      start: finding === null ? COLD : startOf(finding.path),
      problem,
      progress: finding === null ? { text: `Looking at ${command}`, share: null } : null,
      hasLog: false,
      madeAtMs: null
    }
  }

  function describeMade(one: Made, projects: string[]): Environment {
    const current = one.environment.current()
    const failure = one.environment.failure()
    const next = current === null ? '' : ' The one that was made before is still in use.'
    return {
      id: one.id,
      kind: 'requirements',
      state: one.work !== null ? 'building' : failure === null && current !== null ? 'ready' : 'failed',
      path: current?.path ?? null,
      version: current?.version ?? null,
      scrapyVersion: current?.scrapyVersion ?? null,
      projects,
      start: current === null ? COLD : startOf(current.path),
      problem: one.work !== null ? null : problemOfMade(failure, current === null, next),
      progress: one.work === null ? null : progressOf(one),
      hasLog: one.environment.hasLog(),
      madeAtMs: current?.madeAtMs ?? null
    }
  }
}

function problemOfMade(failure: string | null, isAbsent: boolean, next: string): string | null {
  if (failure !== null) return `${failure}. Mend the requirements, or try again.${next}`
  return isAbsent ? 'It was never finished: delete it, or make it anew.' : null
}

/** What keeps spiders from running with it, and what to do; null: nothing. */
function problemOfInterpreter(command: string, finding: Finding): string | null {
  const { path, version, scrapyVersion, failure } = finding
  if (version === null)
    return `${command} cannot be used as Python (${failure}). Name a Python ${OLDEST_PYTHON} or newer.`
  if (!isNewEnough(finding)) return `${command} is Python ${version}. Name a Python ${OLDEST_PYTHON} or newer.`
  if (scrapyVersion !== null) return null
  const install = `Install it there (${path} -m pip install Scrapy), or give the project requirements instead.`
  if (failure === null) return `${command} is Python ${version} without Scrapy. ${install}`
  return `${command} is Python ${version}, but its Scrapy does not import (${failure}). ${install}`
}

function interpreterId(command: string): string {
  return `interpreter-${createHash('sha256').update(absoluteUnlessBare(command)).digest('hex').slice(0, 12)}`
}

function refuseEmpty(python: ProjectPython): void {
  if (python.kind === 'interpreter' && python.path.includes('\0')) bad('A path has no NUL character.')
  if (python.kind !== 'requirements') return
  if (python.text.includes('\0')) bad('Requirements have no NUL character.')
  if (normaliseRequirements(python.text) === '') bad('The requirements name no package. Write one a line, as for pip.')
}

function bad(message: string): never {
  throw new ScrapdeckError('BAD_INPUT', message, { data: { field: 'python' } })
}

function unknownEnvironment(id: string): ScrapdeckError {
  return new ScrapdeckError('NOT_FOUND', `There is no environment ${id}; it may have been deleted.`)
}

function notThere(): never {
  throw new ScrapdeckError('NOT_FOUND', 'The local node is turned off; it has no environments.')
}
