import type {
  Deployment,
  NodeId,
  Project,
  ProjectName,
  ProjectSettings,
  VersionName
} from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { problemOfLimits } from '../../shared/run-limits.ts'
import { type EggTarget, NodeError } from '../nodes/node-client.ts'
import type { Environments } from '../launcher/pythons/environments.ts'
import type { Fleet } from '../nodes/fleet.ts'
import type { Distribution } from '../projects/distribution.ts'
import { refuseInUse } from '../projects/in-use.ts'
import type { InUse, Projects } from '../projects/projects.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { StoredVersion } from '../store/records.ts'
import type { VersionStore } from '../store/store.ts'

export interface ProjectCommandsParts {
  store: VersionStore
  fleet: Fleet
  projects: Projects
  distribution: Distribution
  environments: Environments
  clock: Clock
  wakeDispatcher: () => void
  /** Looks what is to be sent of projects that are distributed at once. */
  spreadAtOnce: () => void
  onUploaded: (version: StoredVersion) => void
  logger: Logger
}

const DELETE = 'delete it'

/** Orders about projects and their versions. */
export class ProjectCommands {
  readonly #parts: ProjectCommandsParts

  constructor(parts: ProjectCommandsParts) {
    this.#parts = parts
  }

  async upload(
    archive: Uint8Array,
    names: { project?: ProjectName | undefined; version?: VersionName | undefined },
    options: InUse = {}
  ): Promise<StoredVersion> {
    const stored = await this.#parts.projects.upload(archive, names, options)
    this.#parts.environments.refresh()
    this.#parts.onUploaded(stored)
    this.#wakeSending()
    return stored
  }

  /**
   * Replaces the settings of a project, deployed or not, and begins to build the Python it needs. Throws BAD_INPUT with
   * the reason where it could not run with that Python.
   */
  async configure(project: ProjectName, settings: ProjectSettings): Promise<Project> {
    const { projects, environments, logger } = this.#parts
    await this.check(settings)
    await projects.configure(project, settings)
    environments.refresh(project)
    // Eggs whose spiders are not known may import now.
    projects.listMissingSpiders().catch((error: unknown) => logger.error({ error }, 'listing spiders failed'))
    this.#wakeSending()
    return this.#describe(project)
  }

  /** What configure would refuse, with its codes. */
  async check(settings: ProjectSettings): Promise<void> {
    const problem = problemOfLimits(settings.limits)
    if (problem !== null) throw new ScrapdeckError('BAD_INPUT', problem)
    await this.#parts.environments.verify(settings.python)
  }

  /** While it is paused, no job of the project is sent. Of a project that nobody knows: PROJECT_NOT_FOUND. */
  async setPaused(project: ProjectName, paused: boolean): Promise<Project> {
    const { projects } = this.#parts
    projects.catalog.requireProject(project)
    const settings = projects.settingsOf(project)
    if (settings.paused !== paused) await projects.configure(project, { ...settings, paused })
    this.#wakeSending()
    return this.#describe(project)
  }

  #describe(project: ProjectName): Project {
    const { projects } = this.#parts
    const known = projects.describe().find(({ name }) => name === project)
    return known ?? { name: project, latestVersion: null, settings: projects.settingsOf(project), versions: [] }
  }

  /** Jobs may go that waited, and eggs that are sent at once. */
  #wakeSending(): void {
    this.#parts.wakeDispatcher()
    this.#parts.spreadAtOnce()
  }

  /** Sends a version to these nodes (none named: all that answer and take jobs), and tells each step. */
  async *deploy(
    project: ProjectName,
    version: VersionName,
    nodeIds: NodeId[] | undefined
  ): AsyncGenerator<Deployment, void> {
    const { projects, distribution, fleet } = this.#parts
    await projects.catalog.requireEgg(project, version)
    const targets = nodeIds ?? fleet.activeIds()
    const unknown = targets.find((id) => fleet.get(id) === undefined)
    if (unknown !== undefined)
      throw new ScrapdeckError('NODE_NOT_FOUND', `There is no node ${unknown}; nothing was sent`)
    yield* distribution.deployToAll(project, version, targets)
    this.#parts.wakeDispatcher()
  }

  /** Deletes here and on every node that has it; returns the nodes that failed. VERSION_IN_USE while jobs need it. */
  async deleteVersion(project: ProjectName, version: VersionName, options: InUse = {}): Promise<Deployment[]> {
    const { store, projects } = this.#parts
    const stored = projects.catalog.requireVersion(project, version)
    // Jobs without a version need whichever is left: the last one is the project.
    const isLast = projects.catalog.requireProject(project).length === 1
    if (options.inUse !== 'allow') await refuseInUse(store, project, isLast ? null : stored.version, DELETE)
    const failed = await this.#deleteOnNodes(stored)
    await projects.deleteVersion(project, stored.version)
    this.#parts.environments.refresh()
    return failed
  }

  async deleteProject(project: ProjectName, options: InUse = {}): Promise<Deployment[]> {
    const { store, projects } = this.#parts
    const versions = projects.catalog.requireProject(project)
    if (options.inUse !== 'allow') await refuseInUse(store, project, null, DELETE)
    const failed = (await Promise.all(versions.map((stored) => this.#deleteOnNodes(stored)))).flat()
    await projects.deleteProject(project)
    this.#parts.environments.refresh()
    return failed
  }

  async #deleteOnNodes(stored: StoredVersion): Promise<Deployment[]> {
    const present = stored.deployments.filter(({ state }) => state === 'present')
    const results = await Promise.all(
      present.map(async ({ nodeId }): Promise<Deployment | null> => {
        try {
          await this.#eggTarget(nodeId)?.deleteVersion(stored.project, stored.version)
          return null
        } catch (error) {
          if (error instanceof NodeError && error.isUnknownThere) return null
          const text = error instanceof Error ? error.message : String(error)
          return { nodeId, state: 'failed', sha256: null, error: text, changedAtMs: this.#parts.clock.nowMs() }
        }
      })
    )
    return results.filter((result) => result !== null)
  }

  /** null: it runs the eggs that are here. */
  #eggTarget(nodeId: NodeId): EggTarget | null {
    const node = this.#parts.fleet.get(nodeId)
    if (node === undefined) throw new ScrapdeckError('NODE_NOT_FOUND', `Node ${nodeId} no longer exists`)
    return node.client.eggTarget
  }
}
