import { join } from 'node:path'
import type { Environment, ProjectName, ProjectPython, StartMode } from '../../../../shared/contract/index.ts'
import { ScrapdeckError } from '../../../../shared/errors.ts'
import { sentence } from '../../../../shared/texts/errors/nodes.ts'
import { asParam, asSentence, type Message, messageOf, problemOf, say } from '../../../../shared/texts/message.ts'
import type { Sentence } from '../../../../shared/texts/sentence.ts'
import type { Clock } from '../../../runtime/clock.ts'
import type { Logger } from '../../../runtime/logger.ts'
import type { Isolation } from '../isolation/isolation.ts'
import { describeInterpreter, describeMade, describeMain, progressOf } from './describe-environments.ts'
import { type Made, MadeEnvironments } from './made-environments.ts'
import { interpreterId, NamedInterpreters, problemOfInterpreter } from './named-interpreters.ts'
import { COLD, type PythonEnvironment } from './python-environment.ts'
import { environmentId, normaliseRequirements } from './requirements.ts'

/** The Pythons of projects: the main one, those that projects name, and those built from their requirements. */
export interface Environments {
  list(): Environment[]
  /** Yields a build log from its start and follows it as it grows. Throws NOT_FOUND. */
  log(id: string, signal?: AbortSignal): AsyncGenerator<{ text: string }, void, void>
  /** Does not wait for the build. Rejects with NOT_FOUND, or BAD_INPUT for a Python that we did not build. */
  rebuild(id: string): Promise<Environment>
  /** Rejects with NOT_FOUND, or BAD_INPUT while projects or running spiders use the environment. */
  remove(id: string): Promise<void>
  /** Rejects with BAD_INPUT if a project could not run with this Python. */
  verify(python: ProjectPython): Promise<void>
  /** Call this when projects or their Pythons have changed. Starts missing builds. */
  refresh(project?: ProjectName): void
}

/** The Python that starts a project's spiders now. `waiting` is phrased to follow a node's name (`is building …`). */
export type PythonOfProject = { path: string } | { path: null; problem: Message; waiting: Message }

export interface EnvironmentsOptions {
  dataDirectory: string
  main: PythonEnvironment
  isolation?: Isolation
  projects: () => readonly ProjectName[]
  settingOf: (project: ProjectName) => ProjectPython
  /** The interpreters of live runs. null: at least one is unknown, so no environment can be deleted. */
  pythonsInUse: () => string[] | null
  startOf?: (path: string) => StartMode
  clock: Clock
  logger: Logger
  onChange: () => void
}

export const NO_ENVIRONMENTS: Environments = {
  list: () => [],
  log: () => notThere(),
  rebuild: async () => notThere(),
  remove: async () => notThere(),
  verify: async (python) => refuseEmpty(python),
  refresh() {}
}

export class LocalEnvironments implements Environments {
  readonly #options: EnvironmentsOptions
  readonly #startOf: (path: string) => StartMode
  readonly #interpreters: NamedInterpreters
  readonly #made: MadeEnvironments
  readonly #idsOfTexts = new Map<string, string>()

  private constructor(options: EnvironmentsOptions, made: MadeEnvironments) {
    const { dataDirectory, isolation, clock, onChange, startOf = () => COLD } = options
    this.#options = options
    this.#startOf = startOf
    this.#made = made
    this.#interpreters = new NamedInterpreters({ directory: dataDirectory, isolation, clock, onChange })
  }

  /** Loads the environments of earlier engines and starts missing builds. */
  static async open(options: EnvironmentsOptions): Promise<LocalEnvironments> {
    const { main, isolation, pythonsInUse, clock, logger, onChange } = options
    const directory = join(options.dataDirectory, 'environments')
    const made = await MadeEnvironments.open({
      directory,
      main: main.own,
      isolation,
      pythonsInUse,
      clock,
      logger,
      onChange
    })
    const environments = new LocalEnvironments(options, made)
    // The search for the main Python may have ended while the environments were loaded.
    environments.refresh()
    return environments
  }

  list(): Environment[] {
    const projects = this.#projectsById()
    const named = this.#interpreters.list().filter(({ id }) => projects.has(id))
    return [
      describeMain(this.#options.main, projects.get('main') ?? []),
      ...named.map((one) => describeInterpreter(one, projects.get(one.id)!, this.#startOf)),
      ...this.#made.list().map((one) => describeMade(one, projects.get(one.id) ?? [], this.#startOf))
    ]
  }

  log(id: string, signal?: AbortSignal): AsyncGenerator<{ text: string }, void, void> {
    const environment = id === 'main' ? this.#options.main.own : this.#made.find(id)?.environment
    if (!environment?.hasLog()) throw new ScrapdeckError('NOT_FOUND', sentence('nodes.environment_no_log', { id }))
    return environment.log(signal)
  }

  async rebuild(id: string): Promise<Environment> {
    const interpreter = this.#interpreters.find(id)
    if (id === 'main') this.#rebuildMain()
    else if (interpreter !== undefined) this.#interpreters.check(interpreter.command)
    else await this.#rebuildMade(id)
    return this.#require(id)
  }

  async remove(id: string): Promise<void> {
    const { kind, projects } = this.#require(id)
    if (kind === 'main') throw new ScrapdeckError('BAD_INPUT', sentence('nodes.main_python_not_removable'))
    if (projects.length > 0) {
      const text = sentence('nodes.python_in_use', { projects })
      throw new ScrapdeckError('BAD_INPUT', text)
    }
    const one = this.#made.find(id)
    if (one !== undefined) await this.#made.remove(one)
    this.#interpreters.forget(id)
    this.#options.onChange()
  }

  async verify(python: ProjectPython): Promise<void> {
    refuseEmpty(python)
    if (python.kind !== 'interpreter') return
    const { id, check } = this.#interpreters.check(python.path)
    const problem = problemOfInterpreter(python.path, await check)
    if (problem === null) return
    // If another project uses this Python, the new result is kept.
    if (!this.#projectsById().has(id)) this.#interpreters.forget(id)
    throw new ScrapdeckError('BAD_INPUT', asSentence(problem), { data: { field: 'python' } })
  }

  refresh(project?: ProjectName): void {
    if (this.#made.isClosed) return
    for (const name of project === undefined ? this.#options.projects() : [project]) this.pythonOf(name)
    this.#options.onChange()
  }

  /** Starts a missing build. Must be cheap, because it is called for every job that could be placed. */
  pythonOf(project: ProjectName): PythonOfProject {
    const { main, isolation, settingOf } = this.#options
    if (isolation?.problem)
      return missing(isolation.problem, say('not_ready.not_apart', { why: asParam(isolation.problem) }))
    const setting = settingOf(project)
    const now = main.state()
    const problem = problemOf(now) ?? say('python.not_ready')
    if (setting.kind === 'default') {
      if (now.state === 'ready') return { path: now.path! }
      return missing(problem, say('not_ready.no_scrapy'))
    }
    if (setting.kind === 'interpreter') return this.#pythonOfInterpreter(project, setting.path)
    const one = this.#madeFor(setting.text)
    if (one === null) return missing(problem, say('not_ready.no_python'))
    return this.#pythonOfMade(project, one, setting.text)
  }

  /** Like pythonOf, but waits for running checks (not for builds). */
  async checkedPythonOf(project: ProjectName): Promise<PythonOfProject> {
    await this.#options.main.settled()
    const setting = this.#options.settingOf(project)
    if (setting.kind === 'interpreter') await this.#interpreters.of(setting.path).check
    return this.pythonOf(project)
  }

  refreshMain(): void {
    if (this.#options.main.own.progress() !== null) this.#made.announceProgress()
    else this.refresh()
  }

  close(): Promise<void> {
    return this.#made.close()
  }

  #pythonOfInterpreter(project: ProjectName, command: string): PythonOfProject {
    const { finding } = this.#interpreters.of(command)
    if (finding === null)
      return missing(say('python.checking', { command }), say('not_ready.checking_python', { command }))
    const problem = problemOfInterpreter(command, finding)
    return problem === null
      ? { path: finding.path }
      : missing(problem, say('not_ready.python_unusable', { project, why: problem }))
  }

  #pythonOfMade(project: ProjectName, one: Made, requirements: string): PythonOfProject {
    const { environment } = one
    const current = environment.current()
    if (current !== null) return { path: current.path }
    if (one.work === null && environment.failure() === null) {
      this.#made.begin(one, this.#options.main.base(), requirements)
    }
    if (one.work !== null) {
      const of = { project, progress: asParam(messageOf(progressOf(one))) }
      return missing(say('python.building', of), say('not_ready.building', of))
    }
    const of = { project, why: asParam(environment.failure() ?? say('python.scrapdeck_stopping')) }
    return missing(say('python.not_built', of), say('not_ready.not_built', of))
  }

  #madeFor(text: string): Made | null {
    const id = this.#idOf(text)
    return id === null ? null : this.#made.of(id)
  }

  #idOf(text: string): string | null {
    const base = this.#options.main.base()
    if (base === null) return null
    const key = `${base.version} ${text}`
    let id = this.#idsOfTexts.get(key)
    if (id === undefined) {
      if (this.#idsOfTexts.size > 1000) this.#idsOfTexts.clear()
      this.#idsOfTexts.set(key, (id = environmentId(text, base.version)))
    }
    return id
  }

  #idOfSetting(setting: ProjectPython): string | null {
    if (setting.kind === 'default') return 'main'
    return setting.kind === 'interpreter' ? interpreterId(setting.path) : this.#idOf(setting.text)
  }

  #projectsById(): Map<string | null, ProjectName[]> {
    const { projects, settingOf } = this.#options
    return Map.groupBy(projects(), (project) => this.#idOfSetting(settingOf(project)))
  }

  async #rebuildMade(id: string): Promise<void> {
    const { main } = this.#options
    const one = this.#made.find(id)
    const requirements = (await one?.environment.requirements()) ?? null
    if (one === undefined || requirements === null) throw noEnvironment(id)
    const base = main.base()
    if (base === null) {
      const problem = problemOf(main.state())
      throw new ScrapdeckError('PYTHON_MISSING', problem ? asSentence(problem) : sentence('nodes.no_python_build'))
    }
    this.#made.begin(one, base, requirements)
  }

  #rebuildMain(): void {
    const { main, logger } = this.#options
    const { state, path } = main.state()
    if (state === 'ready' && path !== main.own.current()?.path) {
      const text = sentence('nodes.main_python_not_ours', { path })
      throw new ScrapdeckError('BAD_INPUT', text)
    }
    if (main.own.progress() !== null) return
    main.create(() => {}).catch((error: unknown) => logger.warn({ error }, 'the main environment could not be built'))
  }

  #require(id: string): Environment {
    const environment = this.list().find((one) => one.id === id)
    if (environment === undefined) throw noEnvironment(id)
    return environment
  }
}

function missing(problem: Message, waiting: Message): PythonOfProject {
  return { path: null, problem, waiting }
}

function refuseEmpty(python: ProjectPython): void {
  if (python.kind === 'interpreter' && python.path.includes('\0')) bad(sentence('nodes.python_path_has_nul'))
  if (python.kind !== 'requirements') return
  if (python.text.includes('\0')) bad(sentence('nodes.requirements_have_nul'))
  if (normaliseRequirements(python.text) === '') bad(sentence('nodes.requirements_empty'))
}

function bad(text: Sentence): never {
  throw new ScrapdeckError('BAD_INPUT', text, { data: { field: 'python' } })
}

export function noEnvironment(id: string): ScrapdeckError {
  return new ScrapdeckError('NOT_FOUND', sentence('nodes.no_environment', { id }))
}

function notThere(): never {
  throw new ScrapdeckError('NOT_FOUND', sentence('nodes.local_node_turned_off'))
}
