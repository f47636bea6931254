import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import {
  DEFAULT_PROJECT_SETTINGS,
  type Deployment,
  type Project,
  type ProjectSettings
} from '../../shared/contract/index.ts'
import { isScrapdeckError, ScrapdeckError } from '../../shared/errors.ts'
import { LOCAL_NODE_ID, sanitiseVersion } from '../../shared/ids.ts'
import type { BlobStore } from '../blobs/blob-store.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { Store, StoredVersion } from '../store/store.ts'
import { buildEggFromArchive } from './egg-builder.ts'
import { createEggFiles } from './egg-files.ts'
import { type EggFacts, inspectArchive, inspectEgg, isModuleName } from './egg-inspection.ts'
import type { EggTree } from './egg-tree.ts'
import { hasControlCharacters, problemOfPathPart } from './names.ts'
import { suggestNear } from './near-matches.ts'
import { versionOrder } from './version-order.ts'
import { openZipArchive } from './zip-archive.ts'

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
  requireProject(project: string): StoredVersion[]
  /** Version null: the latest. */
  requireVersion(project: string, version: string | null): StoredVersion
  /** As requireVersion, and VERSION_NOT_FOUND where we have no egg of it. */
  requireEgg(project: string, version: string): StoredVersion
  find(project: string, version: string): StoredVersion | null
  /** Empty where they are not known. */
  spidersOf(project: string, version: string | null): string[]
  /** Of all its versions. */
  allSpidersOf(project: string): string[]
  knowsSpiders(project: string, version: string): boolean
  describe(): Project[]
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
   * What a node has of a project, as it spells and orders versions; `spiders` are the newest version's. Of versions that we
   * have an egg for, a node's word proves nothing but absence: its egg may be another one under the same name.
   */
  recordSeenOnNode(nodeId: string, project: string, versions: string[], spiders?: string[] | null): Promise<void>
  /** All projects that a node has: what we believed of others is dropped. */
  recordProjectsOnNode(nodeId: string, projects: string[]): Promise<void>
  /** What a node listed of a version that has no list yet. */
  recordSpiders(project: string, version: string, spiders: string[]): Promise<void>
  recordDeployment(project: string, version: string, deployment: Deployment): Promise<void>
  dropDeployment(project: string, version: string, nodeId: string): Promise<void>
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

/** What stands for the version of a project that runs without an egg: its code has no versions. Scrapyd's clients never see it. */
export const WITHOUT_EGG = '(settings)'

export interface ProjectsOptions {
  store: Store
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

/** A node that lists a version may have been asked before our egg arrived: younger deployments are not doubted. */
const DOUBT_AFTER_MS = 60_000

/** Names that build tools give to eggs when nobody chose one. */
const GENERIC_NAMES = new Set(['project', 'unknown', 'scrapy-project'])

export async function createProjects(options: ProjectsOptions): Promise<Projects> {
  const { store, blobs, clock, logger } = options
  const files = createEggFiles({ directory: options.eggDirectory, blobs })
  const known = new Map<string, Map<string, StoredVersion>>()
  const settings = await store.listProjectSettings()
  const settingsProjects = new Map(Object.entries(options.settingsProjects ?? {}))
  const withoutEgg = new Map<string, StoredVersion>()
  for (const [project, { settingsModule }] of settingsProjects) {
    checkSettingsProject(project, settingsModule)
    const empty = { sha256: null, sizeBytes: null, spiders: null, createdAtMs: clock.nowMs() }
    withoutEgg.set(project, { project, version: WITHOUT_EGG, ...empty, deployments: [presentOn(LOCAL_NODE_ID)] })
  }
  /** Changes of versions go one after another: what a node shows must not overwrite what is being uploaded. */
  let lastChange: Promise<unknown> = Promise.resolve()
  let lastUpload: Promise<unknown> = Promise.resolve()
  /** Eggs that no version names any more, with the versions they were: spiders may still run from them. */
  const retired = new Map<string, Pick<StoredVersion, 'project' | 'version'>>()

  for (const stored of await store.listVersions()) {
    // Whoever was sending is gone, and what became of it is not known: it will be sent again.
    const sure = stored.deployments.filter((deployment) => deployment.state !== 'sending')
    for (const { nodeId, state } of stored.deployments) {
      if (state === 'sending') await store.deleteDeployment(stored.project, stored.version, nodeId)
    }
    remember({ ...stored, deployments: sure })
  }

  await removeLeftEggs()

  const projects: Projects = {
    upload(archive, names, options) {
      const uploaded = lastUpload.then(() => upload(archive, names, options?.inUse === 'allow'))
      lastUpload = uploaded.catch(() => {
        // Its own caller hears of it; the next upload must go on.
      })
      return uploaded
    },
    names: () => [...new Set([...known.keys(), ...settingsProjects.keys()])].sort(),
    versionNames(project) {
      if (!isKnown(project)) return null
      return ascending(project).flatMap(({ version }) => (version === WITHOUT_EGG ? [] : [version]))
    },
    latestVersion: (project) => ascending(project).at(-1)?.version ?? null,
    versionToRun(project, version) {
      return version === null ? projects.latestVersion(project) : (find(project, version)?.version ?? null)
    },
    resolve(project, version, spider) {
      const stored = projects.requireVersion(project, version)
      if (stored.spiders !== null && !stored.spiders.includes(spider)) {
        const near = suggestNear(spider, stored.spiders)
        throw new ScrapdeckError(
          'SPIDER_NOT_FOUND',
          `Version ${stored.version} of ${project} has no spider "${spider}".${near}`,
          { data: { spiders: stored.spiders.slice(0, 100) } }
        )
      }
      return stored
    },
    requireProject(project) {
      if (!isKnown(project)) {
        const near = suggestNear(project, projects.names())
        throw new ScrapdeckError('PROJECT_NOT_FOUND', `No node and no upload has a project "${project}".${near}`)
      }
      return ascending(project)
    },
    requireVersion(project, version) {
      const versions = projects.requireProject(project)
      const stored = version === null ? versions.at(-1)! : find(project, version)
      if (!stored) {
        const near = suggestNear(
          version!,
          versions.map((one) => one.version)
        )
        throw new ScrapdeckError('VERSION_NOT_FOUND', `The project ${project} has no version "${version}".${near}`)
      }
      return stored
    },
    requireEgg(project, version) {
      const stored = projects.requireVersion(project, version)
      if (stored.sha256 === null) {
        throw new ScrapdeckError(
          'VERSION_NOT_FOUND',
          `Version ${stored.version} of ${project} was only seen on nodes; there is no egg to send. Upload it first.`
        )
      }
      return stored
    },
    find,
    spidersOf: (project, version) => projects.requireVersion(project, version).spiders ?? [],
    allSpidersOf: (project) => [...new Set(ascending(project).flatMap(({ spiders }) => spiders ?? []))].sort(),
    knowsSpiders: (project, version) => (find(project, version)?.spiders ?? null) !== null,
    describe: () =>
      projects.names().map((name) => {
        const versions = ascending(name)
        const latestVersion = versions.at(-1)?.version ?? null
        const described = versions.reverse().map((version) => ({ ...version, orderWarning: null }))
        return { name, latestVersion, settings: projects.settingsOf(name), versions: described }
      }),
    settingsOf: (project) => settings.get(project) ?? DEFAULT_PROJECT_SETTINGS,
    async configure(project, next) {
      if (!isKnown(project)) checkProjectName(project)
      await store.putProjectSettings(project, next)
      settings.set(project, next)
    },
    async eggFile(project, version) {
      const stored = find(project, version)
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
      if (options.tree === undefined) return
      const ours = [...known.values()].flatMap((versions) =>
        [...versions.values()].filter((one) => one.sha256 !== null)
      )
      const found = await options.tree.repair(
        ours.map(({ project, version }) => ({ project, version, file: () => projects.eggFile(project, version) }))
      )
      for (const { project, version, path } of found) {
        if (find(project, version)?.sha256) continue
        try {
          await projects.upload(await readFile(path), { project, version })
          logger.info({ path }, 'an egg that was copied into eggs_dir was taken up')
        } catch (error) {
          logger.warn({ path, error: String(error) }, 'an egg that was copied into eggs_dir cannot be used')
        }
      }
    },
    async eggBytes(project, version) {
      return blobs.read(`eggs/${projects.requireEgg(project, version).sha256}`)
    },
    async listMissingSpiders() {
      await listSettingsProjects()
      const missing = [...known.values()].flatMap((versions) => [...versions.values()])
      for (const stored of missing.filter(({ spiders, sha256 }) => spiders === null && sha256 !== null)) {
        await listAgain(stored)
      }
    },
    recordSeenOnNode(nodeId, project, versions, spiders = null) {
      if (nodeId === LOCAL_NODE_ID || problemOfPathPart(project)) return Promise.resolve()
      return exclusively(() => recordSeen(nodeId, project, versions, spiders))
    },
    recordProjectsOnNode(nodeId, listed) {
      if (nodeId === LOCAL_NODE_ID) return Promise.resolve()
      return exclusively(async () => {
        for (const project of [...known.keys()].filter((name) => !listed.includes(name))) {
          await recordSeen(nodeId, project, [], null)
        }
      })
    },
    recordSpiders(project, version, spiders) {
      return exclusively(async () => {
        const stored = find(project, version)
        if (stored === null || stored.spiders !== null) return
        await store.putVersion({ ...stored, spiders })
        remember({ ...stored, spiders })
      })
    },
    recordDeployment(project, version, deployment) {
      return exclusively(async () => {
        await store.putDeployment(project, version, deployment)
        const stored = find(project, version)
        if (stored) remember({ ...stored, deployments: [...without(stored, deployment.nodeId), deployment] })
      })
    },
    dropDeployment: (project, version, nodeId) => exclusively(() => drop(project, version, nodeId)),
    forgetNode(nodeId) {
      return exclusively(async () => {
        for (const project of projects.names()) {
          for (const { version } of ascending(project)) await drop(project, version, nodeId)
        }
      })
    },
    async deleteVersion(project, version, { inUse = 'refuse' } = {}) {
      const stored = projects.requireVersion(project, version)
      if (stored.version === WITHOUT_EGG) {
        throw new ScrapdeckError(
          'VERSION_NOT_FOUND',
          `${project} runs without an egg: there is no version to delete. Take it out of [settings] of the configuration.`
        )
      }
      if (inUse === 'refuse') await refuseInUse(stored, 'delete')
      await exclusively(() => forget(stored))
    },
    async deleteProject(project, inUse) {
      const versions = projects.requireProject(project).filter(({ version }) => version !== WITHOUT_EGG)
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

  async function upload(
    archive: Uint8Array,
    names: { project?: string; version?: string },
    mayReplaceInUse: boolean
  ): Promise<StoredVersion> {
    const { egg, facts } = await takeEgg(archive, names)
    const project = projectNameFor(names.project, facts)
    const sha256 = createHash('sha256').update(egg).digest('hex')
    const before = names.version === undefined ? null : find(project, checkVersion(names.version))
    const version = before?.version ?? names.version ?? nextDefaultVersion(project)
    if (before?.sha256 === sha256) return before.spiders === null ? listAgain(before) : before
    if (before && !mayReplaceInUse) await refuseInUse(before, 'replace')

    const path = await files.write({ sha256, project, version }, egg)
    try {
      const spiders = await listSpiders(path, project)
      await blobs.write(`eggs/${sha256}`, egg)
      const createdAtMs = clock.nowMs()
      const deployments = options.listSpidersOfEgg === null ? [] : [presentOn(LOCAL_NODE_ID)]
      const stored = { project, version, sha256, sizeBytes: egg.byteLength, spiders, createdAtMs, deployments }
      await exclusively(async () => {
        await store.putVersion(stored)
        remember(stored)
      })
      await copyToTree(stored, path)
      if (before?.sha256) await removeUnusedEgg(before.sha256, before)
      logger.info({ project, version, sha256, spiders: spiders?.length }, 'an egg was taken')
      return stored
    } catch (error) {
      await removeUnusedEgg(sha256, { project, version })
      throw error
    }
  }

  /** Null where there is no Python to ask: the version is kept and listed later. */
  async function listSpiders(path: string, project: string): Promise<string[] | null> {
    if (options.listSpidersOfEgg === null) return null
    try {
      return await options.listSpidersOfEgg(path, project)
    } catch (error) {
      if (isScrapdeckError(error, 'PYTHON_MISSING')) return null
      throw error
    }
  }

  async function listAgain(stored: StoredVersion): Promise<StoredVersion> {
    const path = await projects.eggFile(stored.project, stored.version)
    let spiders: string[] | null
    try {
      spiders = path === null ? null : await listSpiders(path, stored.project)
    } catch (error) {
      if (!isScrapdeckError(error, 'EGG_IMPORT_FAILED')) throw error
      logger.warn({ project: stored.project, version: stored.version, error: error.message }, 'an egg does not import')
      return stored
    }
    return exclusively(async () => {
      const current = find(stored.project, stored.version)
      if (spiders === null || current?.sha256 !== stored.sha256) return stored
      const listed = { ...current, spiders }
      await store.putVersion(listed)
      remember(listed)
      return listed
    })
  }

  async function recordSeen(nodeId: string, project: string, versions: string[], spiders: string[] | null) {
    const spellings = new Set(versions.map(sanitiseVersion))
    for (const stored of ascending(project)) {
      const deployment = stored.deployments.find((one) => one.nodeId === nodeId)
      const isListed = spellings.has(sanitiseVersion(stored.version))
      if (!deployment || deployment.state !== 'present' || isListed) continue
      if (clock.nowMs() - deployment.changedAtMs > DOUBT_AFTER_MS) await drop(project, stored.version, nodeId)
    }
    for (const [index, version] of versions.entries()) {
      if (version === '' || version.length > 200 || hasControlCharacters(version)) continue
      const isNewest = index === versions.length - 1
      const before = find(project, version)
      const isOurs = before !== null && before.sha256 !== null
      const isPresent = before?.deployments.some((one) => one.nodeId === nodeId)
      const isListing = isNewest && spiders !== null && (before?.spiders ?? null) === null
      if (isOurs ? !isListing : isPresent && !isListing) continue
      // Together they came to be known; the node's order is kept.
      const createdAtMs = clock.nowMs() - (versions.length - 1 - index)
      const empty = { project, version, sha256: null, sizeBytes: null, spiders: null, createdAtMs, deployments: [] }
      const stored: StoredVersion = before ?? empty
      const seen = {
        ...stored,
        spiders: isListing ? spiders : stored.spiders,
        deployments: isOurs || isPresent ? stored.deployments : [...stored.deployments, presentOn(nodeId)]
      }
      await store.putVersion(seen)
      remember(seen)
    }
  }

  async function drop(project: string, version: string, nodeId: string): Promise<void> {
    const stored = find(project, version)
    if (!stored?.deployments.some((one) => one.nodeId === nodeId)) return
    const rest = without(stored, nodeId)
    // Seen on nodes only, and now on none: there is nothing left of it.
    if (stored.sha256 === null && rest.length === 0) return forget(stored)
    await store.deleteDeployment(stored.project, stored.version, nodeId)
    remember({ ...stored, deployments: rest })
  }

  /** The egg is kept, whatever becomes of its copy: the next start repairs it. */
  async function copyToTree(egg: StoredVersion, path: string): Promise<void> {
    try {
      await options.tree?.put(egg, path)
    } catch (error) {
      logger.error({ project: egg.project, version: egg.version, error: String(error) }, 'eggs_dir cannot be written')
    }
  }

  async function listSettingsProjects(): Promise<void> {
    const { listSpidersOfSettings = null } = options
    if (listSpidersOfSettings === null) return
    for (const [project, stored] of withoutEgg) {
      try {
        withoutEgg.set(project, { ...stored, spiders: await listSpidersOfSettings(project) })
      } catch (error) {
        const { message } = error as Error
        logger.warn({ project, error: message }, 'a project of [settings] does not import; check its module')
      }
    }
  }

  async function forget(stored: StoredVersion): Promise<void> {
    // From the tree first: what is in the tree alone would be taken up again.
    if (stored.sha256) await options.tree?.remove(stored)
    await store.deleteVersion(stored.project, stored.version)
    const versions = known.get(stored.project)
    versions?.delete(stored.version)
    if (versions?.size === 0) known.delete(stored.project)
    if (stored.sha256) await removeUnusedEgg(stored.sha256, stored)
  }

  /** Two versions may be the same egg, and a running spider imports from it until its end: then a later call removes it. */
  async function removeUnusedEgg(sha256: string, was: Pick<StoredVersion, 'project' | 'version'>): Promise<void> {
    retired.set(sha256, was)
    const live = await store.listLiveAttempts()
    const needed = eggsNeeded()
    for (const [old, { project, version }] of retired) {
      const isRunning = live.some((attempt) => attempt.project === project && attempt.version === version)
      if (isRunning && !needed.has(old)) continue
      retired.delete(old)
      if (!needed.has(old)) await removeEgg(old)
    }
  }

  /** What an earlier engine left for spiders that ran then. While any runs, the next start looks again. */
  async function removeLeftEggs(): Promise<void> {
    if ((await store.listLiveAttempts()).length > 0) return
    const needed = eggsNeeded()
    for (const { name } of await blobs.list('eggs/')) {
      const sha256 = name.slice('eggs/'.length)
      if (!needed.has(sha256)) await removeEgg(sha256)
    }
  }

  function eggsNeeded(): Set<string | null> {
    return new Set([...known.values()].flatMap((versions) => [...versions.values()].map((one) => one.sha256)))
  }

  async function removeEgg(sha256: string): Promise<void> {
    await files.remove(sha256)
    await blobs.delete(`eggs/${sha256}`)
  }

  async function refuseInUse(stored: StoredVersion, verb: 'delete' | 'replace'): Promise<void> {
    const count = await store.countJobsNeeding(stored.project, stored.version)
    if (count === 0) return
    const jobs = count === 1 ? '1 job that has not ended needs' : `${count} jobs that have not ended need`
    throw new ScrapdeckError(
      'VERSION_IN_USE',
      `${jobs} version ${stored.version} of ${stored.project}. Cancel or wait, then ${verb} it` +
        (verb === 'replace' ? ', or upload under another version.' : '.'),
      { data: { count } }
    )
  }

  function nextDefaultVersion(project: string): string {
    for (let atMs = clock.nowMs(); ; atMs += 1000) {
      const version = new Date(atMs).toISOString().replace(/[-:]/g, '').slice(0, 15)
      if (!find(project, version)) return version
    }
  }

  function isKnown(project: string): boolean {
    return known.has(project) || settingsProjects.has(project)
  }

  /** Not where there is an egg: then that is what runs. */
  function versionWithoutEgg(project: string): StoredVersion | null {
    const hasEgg = [...(known.get(project)?.values() ?? [])].some(({ sha256 }) => sha256 !== null)
    return hasEgg ? null : (withoutEgg.get(project) ?? null)
  }

  function find(project: string, version: string): StoredVersion | null {
    if (version === WITHOUT_EGG) return versionWithoutEgg(project)
    const versions = known.get(project)
    if (!versions) return null
    const spelling = sanitiseVersion(version)
    return (
      versions.get(version) ?? [...versions.values()].find((one) => sanitiseVersion(one.version) === spelling) ?? null
    )
  }

  function ascending(project: string): StoredVersion[] {
    const own = (stored: StoredVersion) => (stored.sha256 === null && stored.version !== WITHOUT_EGG ? 0 : 1)
    const settingsVersion = versionWithoutEgg(project)
    const versions = [...(known.get(project)?.values() ?? []), ...(settingsVersion ? [settingsVersion] : [])]
    // A node's own versions keep the node's order: it is what its Scrapyd takes for the latest.
    const byName = versionOrder(versions.filter(own).map(({ version }) => version))
    return versions.sort(
      (one, other) =>
        own(one) - own(other) ||
        (own(one) === 1 ? (byName?.(one.version, other.version) ?? 0) : 0) ||
        one.createdAtMs - other.createdAtMs ||
        (one.version < other.version ? -1 : 1)
    )
  }

  function remember(stored: StoredVersion): void {
    const versions = known.get(stored.project) ?? new Map<string, StoredVersion>()
    known.set(stored.project, versions.set(stored.version, stored))
  }

  function presentOn(nodeId: string): Deployment {
    return { nodeId, state: 'present', sha256: null, error: null, changedAtMs: clock.nowMs() }
  }

  function exclusively<T>(change: () => Promise<T>): Promise<T> {
    const changed = lastChange.then(change)
    lastChange = changed.catch(() => {
      // Its own caller hears of it; the next change must go on.
    })
    return changed
  }
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

async function takeEgg(
  archive: Uint8Array,
  names: { project?: string; version?: string }
): Promise<{ egg: Uint8Array; facts: EggFacts }> {
  const opened = await openZipArchive(archive)
  if (!opened.names.includes('EGG-INFO/PKG-INFO')) {
    const egg = await buildEggFromArchive(opened, names)
    if (egg !== null) return { egg, facts: await inspectEgg(egg) }
  }
  return { egg: archive, facts: await inspectArchive(opened) }
}

function projectNameFor(asked: string | undefined, facts: EggFacts): string {
  const name = asked ?? facts.name ?? ''
  if (asked === undefined && (name === '' || GENERIC_NAMES.has(name.toLowerCase()))) {
    const suggestion = facts.settingsModule.split('.')[0]!
    throw new ScrapdeckError(
      'BAD_INPUT',
      `The egg does not say what its project is called. Name the project, for example ${suggestion}.`,
      { data: { field: 'project', suggestion } }
    )
  }
  checkProjectName(name)
  return name
}

function checkProjectName(name: string): void {
  const problem = problemOfPathPart(name)
  if (problem) throw new ScrapdeckError('BAD_INPUT', `The project name ${JSON.stringify(name)} ${problem}.`)
}

function checkVersion(version: string): string {
  if (version === '' || version.length > 200 || hasControlCharacters(version)) {
    throw new ScrapdeckError('BAD_INPUT', `${JSON.stringify(version)} is no name for a version.`)
  }
  return version
}

function without(stored: StoredVersion, nodeId: string): Deployment[] {
  return stored.deployments.filter((one) => one.nodeId !== nodeId)
}
