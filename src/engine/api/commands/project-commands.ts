import pLimit from 'p-limit'
import {
  DEFAULT_PROJECT_SETTINGS,
  type Deployment,
  type JobDefaults,
  type NodeId,
  type Project,
  type ProjectName,
  ProjectSettings,
  type ProjectSettingsChange,
  type VersionName
} from '../../../shared/contract/index.ts'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/api.ts'
import { maskDefaults, withSettingsChange } from '../../../shared/job-defaults.ts'
import { problemOfRunLimits } from '../../../shared/run-limits.ts'
import { requireOfActor } from '../../access/acting.ts'
import { type EggTarget, NodeError } from '../../nodes/node-client.ts'
import type { Environments } from '../../nodes/local/pythons/environments.ts'
import type { Fleet } from '../../nodes/fleet.ts'
import type { Distribution } from '../../projects/distribution.ts'
import type { Archive } from '../../projects/egg-intake.ts'
import { refuseInUse } from '../../projects/catalog.ts'
import type { InUse, Projects } from '../../projects/projects.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { SecretBox } from '../../runtime/secret-box.ts'
import type { StoredVersion } from '../../model/records.ts'
import type { VersionStore } from '../../storage/store.ts'
import { checkArguments, checkNames, checkNode } from './prepare-jobs.ts'
import { sealDefaults } from './template-secrets.ts'

export interface ProjectCommandsParts {
  store: VersionStore
  fleet: Fleet
  projects: Projects
  distribution: Distribution
  environments: Environments
  secretBox: Pick<SecretBox, 'seal'>
  clock: Clock
  wakeDispatcher: () => void
  /** Starts sending the eggs of projects that deploy to all nodes immediately. */
  spreadAtOnce: () => void
  onUploaded: (version: StoredVersion) => void
  logger: Logger
}

const DELETE = 'delete it'

type Values = Pick<JobDefaults, 'settings' | 'args' | 'env'>
type CheckedSettings = Pick<ProjectSettings, 'limits' | 'python'> & {
  defaults: Values
  spiderDefaults: Record<string, Values>
}

function allDefaults<T extends Values>(settings: { defaults: T; spiderDefaults: Record<string, T> }): T[] {
  return [settings.defaults, ...Object.values(settings.spiderDefaults)]
}

function raisesPriority(settings: ProjectSettings, former: ProjectSettings): boolean {
  const priorityOf = (of: ProjectSettings, spider: string | null) =>
    (spider === null ? null : of.spiderDefaults[spider]?.priority) ?? of.defaults.priority ?? 0
  return [null, ...Object.keys({ ...settings.spiderDefaults, ...former.spiderDefaults })].some(
    (spider) => priorityOf(settings, spider) > Math.max(0, priorityOf(former, spider))
  )
}

export class ProjectCommands {
  readonly #parts: ProjectCommandsParts
  /** Each change is computed from the settings that the previous one stored. */
  readonly #exclusively = pLimit(1)

  constructor(parts: ProjectCommandsParts) {
    this.#parts = parts
  }

  async upload(
    archive: Archive,
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
   * Configures a project, deployed or not, and starts to build its Python environment. Throws BAD_INPUT if the project
   * could not run with that Python.
   */
  async configure(project: ProjectName, settings: ProjectSettings): Promise<Project> {
    await this.check(settings)
    this.#checkNodes(settings)
    return this.#exclusively(() => this.#configure(project, settings))
  }

  async changeSettings(project: ProjectName, change: ProjectSettingsChange): Promise<Project> {
    const { projects } = this.#parts
    const changed = withSettingsChange(DEFAULT_PROJECT_SETTINGS, change)
    await this.check(changed)
    this.#checkNodes(changed)
    return this.#exclusively(() => {
      const settings = withSettingsChange(maskDefaults(projects.settingsOf(project)), change)
      const { data, error } = ProjectSettings.safeParse(settings)
      if (data === undefined) throw new ScrapdeckError('BAD_INPUT', `${error.issues[0]!.message}.`)
      return this.#configure(project, data)
    })
  }

  #checkNodes(settings: ProjectSettings): void {
    for (const { nodeId } of allDefaults(settings)) if (nodeId !== null) checkNode(nodeId, this.#parts.fleet)
  }

  async #configure(project: ProjectName, settings: ProjectSettings): Promise<Project> {
    const { projects, environments, secretBox, logger } = this.#parts
    const former = projects.settingsOf(project)
    if (settings.weight !== former.weight) requireOfActor(null, 'projects.change', 'Another weight of a project')
    if (raisesPriority(settings, former)) requireOfActor(null, 'projects.change', 'A priority above 0')
    await projects.configure(project, await sealDefaults(settings, former, secretBox))
    environments.refresh(project)
    // The new environment may be able to list spiders that are still unknown.
    projects.listMissingSpiders().catch((error: unknown) => logger.error({ error }, 'listing spiders failed'))
    this.#wakeSending()
    return this.#describe(project)
  }

  /** Rejects like `configure`, but does not check nodes or the secrets in defaults. */
  async check(settings: CheckedSettings): Promise<void> {
    const problem = problemOfRunLimits(settings.limits)
    if (problem !== null) throw new ScrapdeckError('BAD_INPUT', problem)
    for (const { settings: values, args, env } of allDefaults(settings)) {
      checkNames(values, 'settings')
      checkArguments(args)
      checkNames(env, 'variables')
    }
    await this.#parts.environments.verify(settings.python)
  }

  /** While a project is paused, none of its jobs are sent. Rejects with PROJECT_NOT_FOUND. */
  async setPaused(project: ProjectName, paused: boolean): Promise<Project> {
    const { projects } = this.#parts
    projects.catalog.requireProject(project)
    await this.#exclusively(async () => {
      const settings = projects.settingsOf(project)
      if (settings.paused !== paused) await projects.configure(project, { ...settings, paused })
    })
    this.#wakeSending()
    return this.#describe(project)
  }

  /**
   * Sets the version for jobs that name none. null: the latest. Rejects with PROJECT_NOT_FOUND or VERSION_NOT_FOUND.
   */
  async pinVersion(project: ProjectName, version: VersionName | null): Promise<Project> {
    const { projects } = this.#parts
    projects.catalog.requireProject(project)
    const pinnedVersion = version === null ? null : projects.catalog.requireVersion(project, version).version
    await this.#exclusively(() => projects.configure(project, { ...projects.settingsOf(project), pinnedVersion }))
    this.#wakeSending()
    return this.#describe(project)
  }

  #describe(project: ProjectName): Project {
    const { projects } = this.#parts
    const known = projects.describe().find(({ name }) => name === project)
    const none = { latestVersion: null, activeVersion: null, versions: [] }
    return known ?? { name: project, settings: maskDefaults(projects.settingsOf(project)), ...none }
  }

  /** Waiting jobs may be able to run now, and eggs may need sending. */
  #wakeSending(): void {
    this.#parts.wakeDispatcher()
    this.#parts.spreadAtOnce()
  }

  /** Yields each step. By default, sends the version to all active nodes that respond. */
  async *deploy(
    project: ProjectName,
    version: VersionName,
    nodeIds: NodeId[] | undefined
  ): AsyncGenerator<Deployment, void> {
    const { projects, distribution, fleet } = this.#parts
    await projects.catalog.requireEgg(project, version)
    const targets = nodeIds ?? fleet.activeIds()
    const unknown = targets.find((id) => fleet.get(id) === undefined)
    if (unknown !== undefined) throw new ScrapdeckError('NODE_NOT_FOUND', sentence('api.no_node', { unknown }))
    yield* distribution.deployToAll(project, version, targets)
    this.#parts.wakeDispatcher()
  }

  /**
   * Deletes the version here and on every node that has it. Returns the failed deployments. Rejects with
   * VERSION_PINNED, and with VERSION_IN_USE while jobs need it.
   */
  async deleteVersion(project: ProjectName, version: VersionName, options: InUse = {}): Promise<Deployment[]> {
    const { store, projects } = this.#parts
    const stored = projects.catalog.requireVersion(project, version)
    if (projects.isPinned(stored)) {
      throw new ScrapdeckError('VERSION_PINNED', sentence('api.version_pinned', { project, version: stored.version }))
    }
    // Jobs without a version use the newest remaining one, so deleting the last version affects them all.
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
    // Removes the pin, because a later project of this name must not wait for a version of this one.
    await this.#exclusively(async () => {
      const settings = projects.settingsOf(project)
      if (settings.pinnedVersion != null) await projects.configure(project, { ...settings, pinnedVersion: null })
    })
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

  #eggTarget(nodeId: NodeId): EggTarget | null {
    const node = this.#parts.fleet.get(nodeId)
    if (node === undefined)
      throw new ScrapdeckError('NODE_NOT_FOUND', sentence('api.node_no_longer_exists', { nodeId }))
    return node.client.eggTarget
  }
}
