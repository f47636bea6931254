import { type Job, type Progress, ProjectName, VersionName } from '../../../shared/contract/index.ts'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { say, written } from '../../../shared/texts/message.ts'
import { sentence } from '../../../shared/texts/errors/api.ts'
import type { Dispatch } from '../../jobs/dispatch/dispatch.ts'
import type { LocalNode } from '../../nodes/local/local-node.ts'
import type { Projects } from '../../projects/projects.ts'
import { reportsOf } from '../../runtime/reports.ts'
import type { SettingStore } from '../../storage/store.ts'
import type { JobCommands } from './job-commands.ts'
import type { ProjectCommands } from './project-commands.ts'

const DEMO = { project: ProjectName.parse('demo'), version: VersionName.parse('1'), spider: 'quotes' }

export interface SystemCommandsParts {
  store: SettingStore
  dispatch: Dispatch
  projects: Projects
  jobCommands: JobCommands
  projectCommands: ProjectCommands
  localNode: LocalNode | null
  buildDemoEgg: () => Promise<Uint8Array>
}

export class SystemCommands {
  readonly #parts: SystemCommandsParts
  #paused = false
  /** null: there is no server, or it does not listen yet. */
  address: string | null = null
  plainHttpOn: string | null = null
  /** null: the server does not use TLS, or there is no server yet. */
  certificate: { readonly endsAtMs: number } | null = null

  constructor(parts: SystemCommandsParts) {
    this.#parts = parts
  }

  get isPaused(): boolean {
    return this.#paused
  }

  async readPaused(): Promise<boolean> {
    this.#paused = (await this.#parts.store.getSetting('paused')) ?? false
    return this.#paused
  }

  async setPaused(paused: boolean): Promise<void> {
    await this.#parts.store.putSetting('paused', paused)
    this.#paused = paused
    this.#parts.dispatch.setPaused(paused)
  }

  /** Deploys the bundled project unless it is deployed, and runs its spider. */
  async runDemo(): Promise<Job> {
    const { projects, projectCommands, jobCommands } = this.#parts
    if (projects.catalog.versionNames(DEMO.project)?.includes(DEMO.version) !== true) {
      await projectCommands.upload(await this.#parts.buildDemoEgg(), { project: DEMO.project, version: DEMO.version })
    }
    const [job] = await jobCommands.run(
      { project: DEMO.project, version: DEMO.version, spiders: [DEMO.spider] },
      { source: 'demo' }
    )
    return job!
  }

  async *createEnvironment(signal: AbortSignal | undefined): AsyncGenerator<Progress, void> {
    const { localNode, dispatch } = this.#parts
    if (localNode === null) {
      throw new ScrapdeckError('BAD_INPUT', sentence('api.local_node_turned_off'))
    }
    yield* reportsOf<Progress>((report) => localNode.python.create((step) => report({ ...step, done: false }), signal))
    dispatch.wake()
    yield { ...written(say('build.ready')), share: 1, done: true }
  }
}
