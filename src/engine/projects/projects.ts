import type { Readable } from 'node:stream'
import pLimit from 'p-limit'
import {
  DEFAULT_PROJECT_SETTINGS,
  type Deployment,
  type Project,
  ProjectSettings,
  type NodeId,
  type ProjectName,
  type VersionName
} from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/projects.ts'
import { LOCAL_NODE_ID } from '../../shared/ids.ts'
import { maskDefaults } from '../../shared/job-defaults.ts'
import type { BlobStore } from '../storage/blobs/blob-store.ts'
import type { IncomingFiles } from '../storage/blobs/incoming-files.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { StoredVersion } from '../model/records.ts'
import type { AttemptReader, ProjectSettingsStore, VersionStore } from '../storage/store.ts'
import { Catalog, WITHOUT_EGG } from './catalog.ts'
import { EggFiles } from './egg-files.ts'
import { type Archive, checkProjectName, EggIntake, type VersionNames } from './egg-intake.ts'
import { EggKeeping } from './egg-keeping.ts'
import type { OpenEgg } from './egg-opening.ts'
import type { EggTree } from './egg-tree.ts'
import { problemOfPathPart, problemOfSpiderName } from './names.ts'
import { type KeptNoun, SeenOnNodes } from './seen-on-nodes.ts'
import { SettingsProjects, type SettingsSource } from './settings-projects.ts'
import { canDisagree, orderWarnings } from './version-order.ts'

/** `allow`, as in Scrapyd: running jobs keep their egg; queued jobs run the new one, or wait if there is none. */
export interface InUse {
  inUse?: 'refuse' | 'allow'
}

export interface EggToSend {
  sha256: string
  sizeBytes: number
  open(): Promise<Readable>
}

/** A settings module runs without an egg. If there is an egg too, the egg is on Python's path, as in Scrapyd. */
export type ProjectSource = { egg: string } | SettingsSource

export interface ProjectsOptions {
  store: VersionStore & ProjectSettingsStore & AttemptReader
  blobs: BlobStore
  incoming: IncomingFiles
  openEgg?: OpenEgg
  eggDirectory: string
  /** Keeps the same eggs in Scrapyd's layout. */
  tree?: Pick<EggTree, keyof EggTree>
  /** Projects that run without an egg, by name (`[settings]` of scrapyd.conf). */
  settingsProjects?: Record<string, SettingsSource>
  listSpidersOfSettings?: ((project: ProjectName) => Promise<string[]>) | null
  /** Uses a separate process. Throws EGG_IMPORT_FAILED or PYTHON_MISSING. null: there is no local node. */
  listSpidersOfEgg: ((eggPath: string, project: ProjectName) => Promise<string[]>) | null
  listSpidersOnNodes?: (project: ProjectName, version: VersionName) => Promise<string[]>
  /** The release that the node's probe found (nodes/scrapyd/scrapyd-client.ts); null: unknown. */
  scrapydVersionOf?: (nodeId: NodeId) => string | null
  /** False for removed nodes, for which nothing is recorded. Default: no node was removed. */
  hasNode?: (nodeId: NodeId) => boolean
  clock: Clock
  logger: Logger
}

/** Imports egg-opening.ts only for the first egg. */
const openHere: OpenEgg = async (...egg) => {
  const { openEgg } = await import('./egg-opening.ts')
  return openEgg(...egg)
}

/**
 * Projects with their versions, spiders and eggs, including versions known only from nodes (`sha256` null).
 * Everything is in memory, so reads need no I/O. Every change is in the store before it is visible here.
 */
export class Projects {
  readonly #options: ProjectsOptions
  readonly catalog = new Catalog((project) => this.settingsOf(project).pinnedVersion ?? null)
  readonly #files: EggFiles
  readonly #keeping: EggKeeping
  readonly #intake: EggIntake
  readonly #seen: SeenOnNodes
  readonly #withoutEgg: SettingsProjects
  readonly #settings: Map<string, ProjectSettings>
  readonly #hasNode: (nodeId: NodeId) => boolean
  /** Serializes version changes: recording a node's listing must not overwrite an upload in progress. */
  readonly #exclusively = pLimit(1)
  readonly #warnings = new WeakMap<readonly StoredVersion[], ReadonlyMap<string, string>>()

  private constructor(options: ProjectsOptions, settings: Map<string, ProjectSettings>) {
    const { eggDirectory, blobs } = options
    this.#options = options
    this.#settings = settings
    this.#files = new EggFiles({ directory: eggDirectory, blobs })
    this.#hasNode = options.hasNode ?? (() => true)
    const parts = { ...options, files: this.#files, catalog: this.catalog }
    this.#keeping = new EggKeeping(parts)
    this.#intake = new EggIntake({
      openEgg: openHere,
      ...parts,
      keeping: this.#keeping,
      exclusively: this.#exclusively
    })
    this.#seen = new SeenOnNodes({
      ...parts,
      exclusively: this.#exclusively,
      hasNode: this.#hasNode
    })
    this.#withoutEgg = new SettingsProjects(parts)
  }

  /** Reads the store and removes unused eggs. Throws BAD_INPUT for invalid `settingsProjects`. */
  static async open(options: ProjectsOptions): Promise<Projects> {
    const { store } = options
    const projects = new Projects(options, await readSettings(store))
    for (const stored of await store.listVersions()) {
      // The result of an interrupted upload is unknown, so the egg is sent again.
      const sure = stored.deployments.filter((deployment) => deployment.state !== 'sending')
      for (const { nodeId, state } of stored.deployments) {
        if (state === 'sending') await store.deleteDeployment(nodeId, stored.project, stored.version)
      }
      projects.catalog.remember({ ...stored, deployments: sure })
    }
    await projects.#keeping.removeLeft()
    return projects
  }

  listUnusedEggs(): Promise<string[]> {
    return this.#keeping.listUnused()
  }

  /** Returns false if a version uses the egg now, or if the egg was stored too recently. */
  deleteUnusedEgg(name: string): Promise<boolean> {
    return this.#keeping.deleteUnused(name)
  }

  /**
   * Accepts an egg or a zip of a project's folder. Throws EGG_ errors for the archive, BAD_INPUT for invalid names,
   * and VERSION_IN_USE if jobs need another egg of this version. Stores nothing of a rejected upload.
   */
  upload(archive: Archive, names: VersionNames, { inUse }: InUse = {}): Promise<StoredVersion> {
    return this.#intake.upload(archive, names, inUse === 'allow')
  }

  describe(): Project[] {
    return this.catalog.names().map((name) => {
      const versions = this.catalog.ascending(name)
      const warnings = this.#warningsOf(name)
      const latestVersion = versions.at(-1)?.version ?? null
      const described = versions.map((stored) => ({ ...stored, orderWarning: warnings.get(stored.version) ?? null }))
      const activeVersion = this.catalog.activeVersion(name)
      const settings = maskDefaults(this.settingsOf(name))
      return { name, latestVersion, activeVersion, settings, versions: described.toReversed() }
    })
  }

  /** Projects for which the Scrapyd releases on nodes disagree about the latest version, and why (version-order.ts). */
  orderWarnings(): { project: ProjectName; text: string }[] {
    return this.catalog.names().flatMap((project) => {
      const text = [...this.#warningsOf(project).values()][0]
      return text === undefined ? [] : [{ project, text }]
    })
  }

  /** Also returns settings for unknown projects. Secret values in the defaults are sealed. */
  settingsOf(project: ProjectName): ProjectSettings {
    return this.#settings.get(project) ?? DEFAULT_PROJECT_SETTINGS
  }

  /** Also accepts an unknown project, so that its Python can be prepared. Throws BAD_INPUT for an invalid name. */
  async configure(project: ProjectName, settings: ProjectSettings): Promise<void> {
    if (!this.catalog.isKnown(project)) checkProjectName(project)
    const { pinnedVersion = this.settingsOf(project).pinnedVersion ?? null } = settings
    const next = { ...settings, pinnedVersion }
    await this.#options.store.putProjectSettings(project, next)
    this.#settings.set(project, next)
  }

  isPinned({ project, version }: Pick<StoredVersion, 'project' | 'version'>): boolean {
    const { pinnedVersion = null } = this.settingsOf(project)
    return pinnedVersion !== null && this.catalog.find(project, pinnedVersion)?.version === version
  }

  async eggFile(project: ProjectName, version: VersionName): Promise<string | null> {
    const stored = this.catalog.find(project, version)
    return stored?.sha256 ? this.#files.pathOf({ ...stored, sha256: stored.sha256 }) : null
  }

  /** What Python imports to run this version locally; null if there is neither an egg nor a settings module. */
  async source(project: ProjectName, version: VersionName): Promise<ProjectSource | null> {
    const egg = await this.eggFile(project, version)
    const configured = this.#withoutEgg.sourceOf(project)
    if (configured === undefined) return egg === null ? null : { egg }
    if (egg === null) return version === WITHOUT_EGG ? configured : null
    return { ...configured, path: [egg, ...configured.path] }
  }

  /** Restores the egg tree (egg-tree.ts) from the store and imports the eggs that operators copied into it. */
  async followTree(): Promise<void> {
    const { tree, logger } = this.#options
    if (tree === undefined) return
    const ours = this.catalog.all().flatMap(({ project, version, sha256 }) => {
      const file = () => this.eggFile(project, version)
      return sha256 === null ? [] : [{ project, version, sha256, file }]
    })
    const found = await tree.repair(ours)
    for (const { project, version, path } of found) {
      if (this.catalog.find(project, version)?.sha256) continue
      try {
        await this.upload(path, { project, version })
        logger.info({ path }, 'an egg that was copied into eggs_dir was added')
      } catch (error) {
        logger.warn({ path, error: String(error) }, 'an egg that was copied into eggs_dir cannot be used')
      }
    }
  }

  eggToSend(project: ProjectName, version: VersionName): EggToSend {
    const { sha256, sizeBytes } = this.catalog.requireEgg(project, version)
    return { sha256: sha256!, sizeBytes: sizeBytes!, open: () => this.#options.blobs.openRead(`eggs/${sha256}`) }
  }

  async listMissingSpiders(): Promise<void> {
    await this.#withoutEgg.listSpiders()
    for (const stored of this.catalog.all()) {
      if (stored.spiders === null && stored.sha256 !== null) await this.#intake.listAgain(stored)
    }
  }

  /**
   * Records the versions that a node lists, in the node's spelling and order; `spiders` belong to the newest version.
   * `askedAtMs`: time of the request (default: now). Returns the kinds of names that exceed what Scrapdeck keeps.
   */
  async recordSeenOnNode(
    nodeId: NodeId,
    project: ProjectName,
    versions: VersionName[],
    spiders: string[] | null = null,
    askedAtMs = this.#options.clock.nowMs()
  ): Promise<KeptNoun[]> {
    if (nodeId === LOCAL_NODE_ID || problemOfPathPart(project)) return []
    return this.#seen.recordSeen({ nodeId, project, versions, spiders, askedAtMs })
  }

  async recordProjectsOnNode(nodeId: NodeId, listed: string[], askedAtMs = this.#options.clock.nowMs()): Promise<void> {
    if (nodeId !== LOCAL_NODE_ID) await this.#seen.recordProjects(nodeId, listed, askedAtMs)
  }

  /** Stores the spiders that a node listed for this egg, unless the egg was replaced or already has a list. */
  recordSpiders(
    { project, version, sha256 }: Pick<StoredVersion, 'project' | 'version' | 'sha256'>,
    spiders: string[]
  ): Promise<void> {
    return this.#exclusively(async () => {
      const stored = this.catalog.find(project, version)
      if (stored === null || stored.sha256 !== sha256 || stored.spiders !== null) return
      const listed = { ...stored, spiders: spiders.filter((name) => problemOfSpiderName(name) === null) }
      await this.#options.store.putVersion(listed)
      this.catalog.remember(listed)
    })
  }

  recordDeployment(project: ProjectName, version: VersionName, deployment: Deployment): Promise<void> {
    return this.#exclusively(async () => {
      if (!this.#hasNode(deployment.nodeId)) return
      await this.#options.store.putDeployment(project, version, deployment)
      this.catalog.apply([{ kind: 'deploy', project, version, deployment }])
    })
  }

  recordMissing(nodeId: NodeId, project: ProjectName, version: VersionName): Promise<void> {
    return this.#seen.recordMissing(nodeId, project, version)
  }

  /** Call this after the node has left the fleet. Removes what only that node had. */
  forgetNode(nodeId: NodeId): Promise<void> {
    return this.#seen.forgetNode(nodeId)
  }

  /** Does not check for nodes or jobs that need the version: see ProjectCommands. */
  async deleteVersion(project: ProjectName, version: VersionName): Promise<void> {
    const stored = this.catalog.requireVersion(project, version)
    if (stored.version === WITHOUT_EGG) {
      throw new ScrapdeckError('VERSION_NOT_FOUND', sentence('projects.runs_without_egg', { project }))
    }
    await this.#exclusively(() => this.#forget(stored))
  }

  async deleteProject(project: ProjectName): Promise<void> {
    const versions = this.catalog.requireProject(project).filter(({ version }) => version !== WITHOUT_EGG)
    if (versions.length === 0) {
      throw new ScrapdeckError('PROJECT_NOT_FOUND', sentence('projects.runs_without_any_egg', { project }))
    }
    for (const { version } of versions) await this.deleteVersion(project, version)
  }

  #warningsOf(project: ProjectName): ReadonlyMap<string, string> {
    const versions = this.catalog.ascending(project)
    const warnings = this.#possibleWarnings(project, versions)
    if (warnings.size === 0 || this.settingsOf(project).pinnedVersion != null) return NO_WARNINGS
    const holders = new Set(
      versions.flatMap(({ deployments }) => deployments.filter(isOnNode).map(({ nodeId }) => nodeId))
    )
    const releases = [...holders].map((nodeId) => this.#options.scrapydVersionOf?.(nodeId) ?? null)
    return canDisagree(releases) ? warnings : NO_WARNINGS
  }

  #possibleWarnings(project: ProjectName, versions: readonly StoredVersion[]): ReadonlyMap<string, string> {
    const known = this.#warnings.get(versions)
    if (known !== undefined) return known
    const onNodes = versions.filter(({ sha256, deployments }) => sha256 !== null && deployments.some(isOnNode))
    const made = orderWarnings(
      onNodes.map(({ version }) => version),
      this.catalog.latestVersion(project)
    )
    this.#warnings.set(versions, made)
    return made
  }

  async #forget(stored: StoredVersion): Promise<void> {
    const { store, tree } = this.#options
    // Removed from the tree first, because an egg that is only in the tree would be imported again.
    if (stored.sha256) await tree?.remove(stored)
    await store.deleteVersion(stored.project, stored.version)
    this.catalog.forget(stored)
    if (stored.sha256) await this.#keeping.removeUnused(stored.sha256, stored)
  }
}

const NO_WARNINGS: ReadonlyMap<string, string> = new Map()

/** Whether Scrapyd on the node can choose this version. The local node never chooses. */
const isOnNode = ({ nodeId, state }: Deployment): boolean =>
  nodeId !== LOCAL_NODE_ID && (state === 'present' || state === 'foreign')

/** Fields that an earlier Scrapdeck did not have get their defaults. */
async function readSettings(
  store: VersionStore & ProjectSettingsStore & AttemptReader
): Promise<Map<string, ProjectSettings>> {
  const stored = await store.listProjectSettings()
  return new Map([...stored].map(([project, settings]) => [project, ProjectSettings.parse(settings)]))
}
