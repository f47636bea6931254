import { readFile } from 'node:fs/promises'
import pLimit from 'p-limit'
import {
  DEFAULT_PROJECT_SETTINGS,
  type Deployment,
  type Project,
  ProjectSettings
} from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { LOCAL_NODE_ID } from '../../shared/ids.ts'
import type { BlobStore } from '../blobs/blob-store.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { StoredVersion } from '../store/records.ts'
import type { AttemptReader, ProjectSettingsStore, VersionStore } from '../store/store.ts'
import { Catalog, WITHOUT_EGG } from './catalog.ts'
import { createEggFiles } from './egg-files.ts'
import { isModuleName } from './egg-inspection.ts'
import { checkProjectName, createEggIntake } from './egg-intake.ts'
import { createEggKeeping } from './egg-keeping.ts'
import type { EggTree } from './egg-tree.ts'
import { problemOfPathPart } from './names.ts'
import { createSeenOnNodes } from './seen-on-nodes.ts'
import { orderWarnings } from './version-order-warnings.ts'

/**
 * What can be run: projects, their versions and spiders, with the eggs we keep. Versions that were only seen on nodes
 * are known too, without an egg to send (`sha256` null). All of it is in memory, so questions are answered at once;
 * every change is in the store before it shows here. Versions are found under either spelling, as uploaded or as
 * Scrapyd stores them (`1.0` and `1_0`).
 */
export interface Projects {
  /**
   * An egg, or a zip of a project's folder. Throws the EGG_ codes for what is wrong with it, BAD_INPUT for names,
   * VERSION_IN_USE when another egg of this version is needed by jobs. Nothing is kept of what was refused.
   */
  upload(archive: Uint8Array, names: { project?: string; version?: string }, options?: InUse): Promise<StoredVersion>
  names(): string[]
  /** Ascending, the latest last; null for an unknown project. */
  versionNames(project: string): string[] | null
  /** The version that a job without one gets: our highest (version-order.ts), or newest where names tell no order, else a node's latest. */
  latestVersion(project: string): string | null
  /** The version a job gets when sent now, in our spelling; null when there is none. */
  versionToRun(project: string, version: string | null): string | null
  /** Throws PROJECT_NOT_FOUND, VERSION_NOT_FOUND, SPIDER_NOT_FOUND, with near names. Where the spiders are not known, any is right. */
  resolve(project: string, version: string | null, spider: string): StoredVersion
  requireProject(project: string): readonly StoredVersion[]
  /** Version null: the latest. */
  requireVersion(project: string, version: string | null): StoredVersion
  /** As requireVersion, and VERSION_NOT_FOUND where we have no egg of it. */
  requireEgg(project: string, version: string): StoredVersion
  find(project: string, version: string): StoredVersion | null
  /** What we know of a version on one node. */
  deploymentOn(nodeId: string, stored: StoredVersion): Deployment | undefined
  /** Empty where they are not known. */
  spidersOf(project: string, version: string | null): string[]
  /** Of all its versions. */
  allSpidersOf(project: string): string[]
  knowsSpiders(project: string, version: string): boolean
  describe(): Project[]
  /** Projects whose versions Scrapyds order differently, and why (version-order-warnings.ts). */
  orderWarnings(): { project: string; text: string }[]
  /** What an operator set for a project; the default where nothing was set, also for a project that is not known. */
  settingsOf(project: string): ProjectSettings
  /** Also for a project that is not known yet: what it needs can be there before its first egg. Throws BAD_INPUT for a name that none can have. */
  configure(project: string, settings: ProjectSettings): Promise<void>
  /** A local file for Python to import; null when we have no egg of it. */
  eggFile(project: string, version: string): Promise<string | null>
  /** What Python imports to run this version here; null when we have neither an egg nor a settings module of it. */
  source(project: string, version: string): Promise<ProjectSource | null>
  /** Makes the tree of eggs (egg-tree.ts) follow the store, and takes up eggs that were copied into it by hand. */
  followTree(): Promise<void>
  /** The egg, to send. Throws as requireEgg does. */
  eggBytes(project: string, version: string): Promise<Uint8Array>
  /** Lists the spiders of eggs that came while there was no Python. */
  listMissingSpiders(): Promise<void>
  /**
   * What a node has of a project, as it spells and orders versions; `spiders` are the newest version's. What its word proves of
   * versions that we have an egg of: seen-on-nodes.ts. `askedAtMs`: when it was asked, where that is not now.
   */
  recordSeenOnNode(
    nodeId: string,
    project: string,
    versions: string[],
    spiders?: string[] | null,
    askedAtMs?: number
  ): Promise<void>
  /** All projects that a node has: of others it has no version. */
  recordProjectsOnNode(nodeId: string, projects: string[], askedAtMs?: number): Promise<void>
  /** What a node listed of a version that has no list yet. */
  recordSpiders(project: string, version: string, spiders: string[]): Promise<void>
  recordDeployment(project: string, version: string, deployment: Deployment): Promise<void>
  /** The node says that it does not have this version. */
  noteMissing(project: string, version: string, nodeId: string): Promise<void>
  /** The node was removed, and the store knows: forgets what was on it. */
  forgetNode(nodeId: string): Promise<void>
  /** Deletes the version and its egg. Nodes are not asked. Throws VERSION_IN_USE. */
  deleteVersion(project: string, version: string, options?: InUse): Promise<void>
  deleteProject(project: string, options?: InUse): Promise<void>
}

/**
 * What becomes of a version that jobs which have not ended need. `refuse` (the default): VERSION_IN_USE. `allow`, as Scrapyd
 * does: running jobs keep the egg they started with, queued ones run with the new egg, or wait while there is none.
 */
export interface InUse {
  inUse?: 'refuse' | 'allow'
}

/** A settings module runs without an egg, or with the egg on the path where both are there, as in Scrapyd. */
export type ProjectSource = { egg: string } | SettingsSource

export interface SettingsSource {
  settingsModule: string
  /** Folders, and eggs, that Python looks in first. */
  path: string[]
}

export interface ProjectsOptions {
  store: VersionStore & ProjectSettingsStore & AttemptReader
  blobs: BlobStore
  /** For local copies of eggs. */
  eggDirectory: string
  /** The same eggs in Scrapyd's layout. */
  tree?: EggTree
  /** Projects that run without an egg, by name (`[settings]` of scrapyd.conf). */
  settingsProjects?: Record<string, SettingsSource>
  /** As listSpidersOfEgg, for a project without one. */
  listSpidersOfSettings?: ((project: string) => Promise<string[]>) | null
  /** Imports the egg in a process of its own; throws EGG_IMPORT_FAILED, PYTHON_MISSING. Null: there is no local node. */
  listSpidersOfEgg: ((eggPath: string, project: string) => Promise<string[]>) | null
  clock: Clock
  logger: Logger
}

export async function createProjects(options: ProjectsOptions): Promise<Projects> {
  const { store, blobs, clock, logger } = options
  const files = createEggFiles({ directory: options.eggDirectory, blobs })
  const catalog = new Catalog()
  const settings = await readSettings(store)
  const settingsProjects = new Map(Object.entries(options.settingsProjects ?? {}))
  for (const [project, { settingsModule }] of settingsProjects) {
    checkSettingsProject(project, settingsModule)
    const nowMs = clock.nowMs()
    const empty = { sha256: null, sizeBytes: null, spiders: null, createdAtMs: nowMs }
    const here = { nodeId: LOCAL_NODE_ID, state: 'present', sha256: null, error: null, changedAtMs: nowMs } as const
    catalog.rememberWithoutEgg({ project, version: WITHOUT_EGG, ...empty, deployments: [here] })
  }
  for (const stored of await store.listVersions()) {
    // Whoever was sending is gone, and what became of it is not known: it will be sent again.
    const sure = stored.deployments.filter((deployment) => deployment.state !== 'sending')
    for (const { nodeId, state } of stored.deployments) {
      if (state === 'sending') await store.deleteDeployment(stored.project, stored.version, nodeId)
    }
    catalog.remember({ ...stored, deployments: sure })
  }

  /** Changes of versions go one after another: what a node shows must not overwrite what is being uploaded. */
  const exclusively = pLimit(1)
  const warnings = new WeakMap<readonly StoredVersion[], ReadonlyMap<string, string>>()
  const keeping = createEggKeeping({ store, blobs, files, catalog })
  const seen = createSeenOnNodes({ store, catalog, forget, clock })
  const { tree, listSpidersOfEgg } = options
  const intake = createEggIntake({
    store,
    blobs,
    files,
    tree,
    catalog,
    keeping,
    listSpidersOfEgg,
    exclusively,
    clock,
    logger
  })
  await keeping.removeLeft()

  const projects: Projects = {
    upload: (archive, names, options) => intake.upload(archive, names, options?.inUse === 'allow'),
    names: () => catalog.names(),
    versionNames(project) {
      if (!catalog.isKnown(project)) return null
      return catalog.ascending(project).flatMap(({ version }) => (version === WITHOUT_EGG ? [] : [version]))
    },
    latestVersion: (project) => catalog.latestVersion(project),
    versionToRun(project, version) {
      return version === null ? catalog.latestVersion(project) : (catalog.find(project, version)?.version ?? null)
    },
    resolve: (project, version, spider) => catalog.resolve(project, version, spider),
    requireProject: (project) => catalog.requireProject(project),
    requireVersion: (project, version) => catalog.requireVersion(project, version),
    requireEgg: (project, version) => catalog.requireEgg(project, version),
    find: (project, version) => catalog.find(project, version),
    deploymentOn: (nodeId, stored) => catalog.deploymentOn(nodeId, stored),
    spidersOf: (project, version) => catalog.requireVersion(project, version).spiders ?? [],
    allSpidersOf: (project) => [...new Set(catalog.ascending(project).flatMap(({ spiders }) => spiders ?? []))].sort(),
    knowsSpiders: (project, version) => (catalog.find(project, version)?.spiders ?? null) !== null,
    describe: () =>
      catalog.names().map((name) => {
        const versions = catalog.ascending(name)
        const latestVersion = versions.at(-1)?.version ?? null
        const orderWarning = warningsOf(name)
        const described = versions
          .toReversed()
          .map((stored) => ({ ...stored, orderWarning: orderWarning.get(stored.version) ?? null }))
        return { name, latestVersion, settings: projects.settingsOf(name), versions: described }
      }),
    orderWarnings: () =>
      catalog.names().flatMap((project) => {
        const text = [...warningsOf(project).values()][0]
        return text === undefined ? [] : [{ project, text }]
      }),
    settingsOf: (project) => settings.get(project) ?? DEFAULT_PROJECT_SETTINGS,
    async configure(project, next) {
      if (!catalog.isKnown(project)) checkProjectName(project)
      await store.putProjectSettings(project, next)
      settings.set(project, next)
    },
    async eggFile(project, version) {
      const stored = catalog.find(project, version)
      return stored?.sha256 ? files.pathOf({ ...stored, sha256: stored.sha256 }) : null
    },
    async source(project, version) {
      const egg = await projects.eggFile(project, version)
      const configured = settingsProjects.get(project)
      if (configured === undefined) return egg === null ? null : { egg }
      if (egg === null) return version === WITHOUT_EGG ? configured : null
      return { ...configured, path: [egg, ...configured.path] }
    },
    async followTree() {
      if (tree === undefined) return
      const ours = catalog.all().filter((one) => one.sha256 !== null)
      const found = await tree.repair(
        ours.map(({ project, version }) => ({ project, version, file: () => projects.eggFile(project, version) }))
      )
      for (const { project, version, path } of found) {
        if (catalog.find(project, version)?.sha256) continue
        try {
          await projects.upload(await readFile(path), { project, version })
          logger.info({ path }, 'an egg that was copied into eggs_dir was taken up')
        } catch (error) {
          logger.warn({ path, error: String(error) }, 'an egg that was copied into eggs_dir cannot be used')
        }
      }
    },
    async eggBytes(project, version) {
      return blobs.read(`eggs/${catalog.requireEgg(project, version).sha256}`)
    },
    async listMissingSpiders() {
      await listSettingsProjects()
      for (const stored of catalog.all().filter(({ spiders, sha256 }) => spiders === null && sha256 !== null)) {
        await intake.listAgain(stored)
      }
    },
    recordSeenOnNode(nodeId, project, versions, spiders = null, askedAtMs = clock.nowMs()) {
      if (nodeId === LOCAL_NODE_ID || problemOfPathPart(project)) return Promise.resolve()
      return exclusively(() => seen.recordSeen({ nodeId, project, versions, spiders, askedAtMs }))
    },
    recordProjectsOnNode(nodeId, listed, askedAtMs = clock.nowMs()) {
      if (nodeId === LOCAL_NODE_ID) return Promise.resolve()
      return exclusively(async () => {
        for (const project of catalog.stored().filter((name) => !listed.includes(name))) {
          await seen.recordSeen({ nodeId, project, versions: [], spiders: null, askedAtMs })
        }
      })
    },
    recordSpiders(project, version, spiders) {
      return exclusively(async () => {
        const stored = catalog.find(project, version)
        if (stored === null || stored.spiders !== null) return
        await store.putVersion({ ...stored, spiders })
        catalog.remember({ ...stored, spiders })
      })
    },
    recordDeployment(project, version, deployment) {
      return exclusively(async () => {
        await store.putDeployment(project, version, deployment)
        const stored = catalog.find(project, version)
        if (stored === null) return
        const others = stored.deployments.filter(({ nodeId }) => nodeId !== deployment.nodeId)
        catalog.remember({ ...stored, deployments: [...others, deployment] })
      })
    },
    noteMissing: (project, version, nodeId) => exclusively(() => seen.noteMissing(project, version, nodeId)),
    forgetNode(nodeId) {
      return exclusively(async () => {
        for (const project of catalog.names()) {
          for (const { version } of catalog.ascending(project)) await seen.drop(project, version, nodeId)
        }
      })
    },
    async deleteVersion(project, version, { inUse = 'refuse' } = {}) {
      const stored = catalog.requireVersion(project, version)
      if (stored.version === WITHOUT_EGG) {
        throw new ScrapdeckError(
          'VERSION_NOT_FOUND',
          `${project} runs without an egg: there is no version to delete. Take it out of [settings] of the configuration.`
        )
      }
      if (inUse === 'refuse') await intake.refuseInUse(stored, 'delete')
      await exclusively(() => forget(stored))
    },
    async deleteProject(project, inUse) {
      const versions = catalog.requireProject(project).filter(({ version }) => version !== WITHOUT_EGG)
      if (versions.length === 0) {
        throw new ScrapdeckError(
          'PROJECT_NOT_FOUND',
          `${project} has no egg to delete. Take it out of [settings] of the configuration.`
        )
      }
      for (const { version } of versions) await projects.deleteVersion(project, version, inUse)
    }
  }
  return projects

  /** By version. Asked for with every change of a problem: made anew only when the versions are others. */
  function warningsOf(project: string): ReadonlyMap<string, string> {
    const versions = catalog.ascending(project)
    const known = warnings.get(versions)
    if (known !== undefined) return known
    const ours = versions.filter(({ sha256 }) => sha256 !== null).map(({ version }) => version)
    const made = orderWarnings(ours, catalog.latestVersion(project))
    warnings.set(versions, made)
    return made
  }

  async function listSettingsProjects(): Promise<void> {
    const { listSpidersOfSettings = null } = options
    if (listSpidersOfSettings === null) return
    for (const stored of catalog.withoutEgg()) {
      const { project } = stored
      try {
        catalog.rememberWithoutEgg({ ...stored, spiders: await listSpidersOfSettings(project) })
      } catch (error) {
        const { message } = error as Error
        logger.warn({ project, error: message }, 'a project of [settings] does not import; check its module')
      }
    }
  }

  async function forget(stored: StoredVersion): Promise<void> {
    // From the tree first: what is in the tree alone would be taken up again.
    if (stored.sha256) await tree?.remove(stored)
    await store.deleteVersion(stored.project, stored.version)
    catalog.forget(stored)
    if (stored.sha256) await keeping.removeUnused(stored.sha256, stored)
  }
}

/** What an earlier Scrapdeck wrote has none of the younger fields: they have their defaults. */
async function readSettings(
  store: VersionStore & ProjectSettingsStore & AttemptReader
): Promise<Map<string, ProjectSettings>> {
  const stored = await store.listProjectSettings()
  return new Map([...stored].map(([project, settings]) => [project, ProjectSettings.parse(settings)]))
}

function checkSettingsProject(project: string, settingsModule: string): void {
  const problem = problemOfPathPart(project)
  if (problem) throw new ScrapdeckError('BAD_INPUT', `[settings]: the project ${JSON.stringify(project)} ${problem}.`)
  if (!isModuleName(settingsModule)) {
    throw new ScrapdeckError(
      'BAD_INPUT',
      `[settings]: ${project} = ${settingsModule} is not the name of a Python module. Write "${project} = package.settings".`
    )
  }
}
