import { rm } from 'node:fs/promises'
import { Readable } from 'node:stream'
import pLimit from 'p-limit'
import type { Deployment, ProjectName, VersionName } from '../../shared/contract/index.ts'
import { isScrapdeckError, ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/projects.ts'
import { showUnseen } from '../../shared/unseen.ts'
import { LOCAL_NODE_ID, sanitiseVersion } from '../../shared/ids.ts'
import type { IncomingFile, IncomingFiles } from '../storage/blobs/incoming-files.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { StoredVersion } from '../model/records.ts'
import type { VersionStore } from '../storage/store.ts'
import { type Catalog, refuseInUse } from './catalog.ts'
import type { EggFiles, EggIdentity } from './egg-files.ts'
import type { EggFacts } from './egg-inspection.ts'
import type { EggKeeping } from './egg-keeping.ts'
import type { OpenEgg, OpenedEgg } from './egg-opening.ts'
import type { EggTree } from './egg-tree.ts'
import { problemOfFolderName, problemOfPathPart, problemOfSpiderName, problemOfVersionName } from './names.ts'

const GENERIC_NAMES = new Set(['project', 'unknown', 'scrapy-project'])

export interface EggIntakeParts {
  store: VersionStore
  files: EggFiles
  tree?: Pick<EggTree, 'put'>
  incoming: IncomingFiles
  openEgg: OpenEgg
  catalog: Catalog
  keeping: EggKeeping
  listSpidersOfEgg: ((eggPath: string, project: ProjectName) => Promise<string[]>) | null
  /** Lists and records spiders through nodes if no local Python can. Throws EGG_IMPORT_FAILED or SPIDERS_UNKNOWN. */
  listSpidersOnNodes?: (project: ProjectName, version: VersionName) => Promise<string[]>
  exclusively: <T>(change: () => Promise<T>) => Promise<T>
  clock: Clock
  logger: Logger
}

/** An upload, the path of a file that must not be changed, or bytes. */
export type Archive = IncomingFile | string | Uint8Array

export interface VersionNames {
  project?: ProjectName
  version?: VersionName
}

/** Imports eggs: checks and names them, lists their spiders and stores them. Handles one upload at a time. */
export class EggIntake {
  readonly #parts: EggIntakeParts
  readonly #uploads = pLimit(1)

  constructor(parts: EggIntakeParts) {
    this.#parts = parts
  }

  async upload(archive: Archive, names: VersionNames, mayReplaceInUse: boolean): Promise<StoredVersion> {
    const { incoming } = this.#parts
    if (archive instanceof Uint8Array) {
      await using file = await incoming.receive(Readable.from([archive]))
      return await this.upload(file.path, names, mayReplaceInUse)
    }
    if (typeof archive === 'string') return this.#uploads(() => this.#open(archive, names, mayReplaceInUse))
    // Hold the file, because the client can disconnect while its upload waits for other uploads.
    await using _ = archive.hold()
    return await this.upload(archive.path, names, mayReplaceInUse)
  }

  async #open(path: string, names: VersionNames, mayReplaceInUse: boolean): Promise<StoredVersion> {
    const builtPath = this.#parts.incoming.draftPath()
    try {
      return await this.#add(await this.#parts.openEgg(path, names, builtPath), names, mayReplaceInUse)
    } finally {
      await rm(builtPath, { force: true })
    }
  }

  async #add(egg: OpenedEgg, names: VersionNames, mayReplaceInUse: boolean): Promise<StoredVersion> {
    const { files, catalog, keeping, clock, logger } = this.#parts
    const { facts, sha256, sizeBytes } = egg
    const project = projectNameFor(names.project, facts)
    const named = names.version === undefined ? null : checkVersion(names.version)
    const before = named === null ? null : catalog.find(project, named)
    const version = before?.version ?? named ?? this.#nextDefaultVersion(project)
    if (before?.sha256 === sha256) return before.spiders === null ? this.#listAnywhere(before) : before
    if (before && !mayReplaceInUse) {
      const advice = 'replace it, or upload under another version'
      await refuseInUse(this.#parts.store, project, before.version, advice)
    }

    const path = await files.write({ sha256, project, version }, egg.path)
    try {
      const spiders = await this.#listSpiders(path, project)
      await files.storeBlob({ sha256, project, version })
      const added = await this.#parts.exclusively(async () => {
        const createdAtMs = clock.nowMs()
        const deployments = stillThere(catalog.find(project, version))
        if (this.#parts.listSpidersOfEgg !== null) {
          deployments.push({ nodeId: LOCAL_NODE_ID, state: 'present', sha256, error: null, changedAtMs: createdAtMs })
        }
        const entry = { project, version, sha256, sizeBytes, spiders, createdAtMs, deployments }
        await this.#parts.store.putVersion(entry)
        catalog.remember(entry)
        return entry
      })
      const stored = spiders === null ? await this.#listOnNodes(added, before) : added
      await this.#copyToTree({ ...stored, sha256 }, path)
      if (before?.sha256) await keeping.removeUnused(before.sha256, before)
      logger.info({ project, version, sha256, spiders: stored.spiders?.length }, 'an egg was added')
      return stored
    } catch (error) {
      await keeping.removeUnused(sha256, { project, version })
      throw error
    }
  }

  /** Returns null if there is no local Python. The version is stored anyway, and its spiders are listed later. */
  async #listSpiders(path: string, project: ProjectName): Promise<string[] | null> {
    if (this.#parts.listSpidersOfEgg === null) return null
    try {
      const spiders = await this.#parts.listSpidersOfEgg(path, project)
      for (const name of spiders) {
        const problem = problemOfSpiderName(name)
        if (problem === null) continue
        const shown = showUnseen(name.slice(0, 60))
        throw new ScrapdeckError('EGG_IMPORT_FAILED', sentence('projects.spider_name_invalid', { shown, problem }))
      }
      return spiders
    } catch (error) {
      if (isScrapdeckError(error, 'PYTHON_MISSING')) return null
      throw error
    }
  }

  async #listAnywhere(stored: StoredVersion): Promise<StoredVersion> {
    const listed = await this.listAgain(stored)
    return listed.spiders === null ? this.#listOnNodes(listed, listed) : listed
  }

  async #listOnNodes(stored: StoredVersion, before: StoredVersion | null): Promise<StoredVersion> {
    const { project, version } = stored
    try {
      await this.#parts.listSpidersOnNodes?.(project, version)
    } catch (error) {
      if (isScrapdeckError(error, 'EGG_IMPORT_FAILED')) await this.#withdraw(stored, before)
      if (!isScrapdeckError(error, 'SPIDERS_UNKNOWN')) throw error
    }
    return this.#parts.catalog.find(project, version) ?? stored
  }

  #withdraw({ project, version, sha256 }: StoredVersion, before: StoredVersion | null): Promise<void> {
    const { store, catalog, exclusively } = this.#parts
    return exclusively(async () => {
      const current = catalog.find(project, version)
      if (current?.sha256 !== sha256 || before?.sha256 === sha256) return
      if (before === null) {
        await store.deleteVersion(project, version)
        catalog.forget(current)
        return
      }
      // A node that refused the new egg may have lost the previous egg, so the previous egg is sent again.
      const deployments = before.deployments.filter(({ nodeId }) =>
        current.deployments.some((one) => one.nodeId === nodeId && one.state !== 'failed')
      )
      await store.putVersion({ ...before, deployments })
      catalog.remember({ ...before, deployments })
    })
  }

  async listAgain(stored: StoredVersion): Promise<StoredVersion> {
    const { sha256 } = stored
    const path = sha256 === null ? null : await this.#parts.files.pathOf({ ...stored, sha256 })
    let spiders: string[] | null
    try {
      spiders = path === null ? null : await this.#listSpiders(path, stored.project)
    } catch (error) {
      if (!isScrapdeckError(error, 'EGG_IMPORT_FAILED')) throw error
      this.#parts.logger.warn(
        { project: stored.project, version: stored.version, error: error.message },
        'an egg cannot be imported'
      )
      return stored
    }
    return this.#parts.exclusively(async () => {
      const current = this.#parts.catalog.find(stored.project, stored.version)
      if (spiders === null || current?.sha256 !== stored.sha256) return stored
      const listed = { ...current, spiders }
      await this.#parts.store.putVersion(listed)
      this.#parts.catalog.remember(listed)
      return listed
    })
  }

  /** Only logs failures: the egg is stored, and the next start repairs the tree. */
  async #copyToTree(egg: EggIdentity, path: string): Promise<void> {
    try {
      await this.#parts.tree?.put(egg, path)
    } catch (error) {
      this.#parts.logger.error(
        { project: egg.project, version: egg.version, error: String(error) },
        'eggs_dir cannot be written'
      )
    }
  }

  #nextDefaultVersion(project: ProjectName): VersionName {
    for (let atMs = this.#parts.clock.nowMs(); ; atMs += 1000) {
      const version = new Date(atMs).toISOString().replace(/[-:]/g, '').slice(0, 15) as VersionName
      if (!this.#parts.catalog.find(project, version)) return version
    }
  }
}

/** What nodes still have under the name of a new egg: an earlier egg of ours or a foreign one, never the new egg. */
function stillThere(before: StoredVersion | null): Deployment[] {
  return (before?.deployments ?? []).flatMap((deployment) => {
    if (deployment.nodeId === LOCAL_NODE_ID || deployment.state === 'failed') return []
    const isNodesOwn = deployment.state === 'present' && deployment.sha256 === null
    return [isNodesOwn ? { ...deployment, state: 'foreign' } : deployment]
  })
}

function projectNameFor(asked: string | undefined, facts: EggFacts): ProjectName {
  const name = asked ?? facts.name ?? ''
  if (asked === undefined && (name === '' || GENERIC_NAMES.has(name.toLowerCase()))) {
    const suggestion = facts.settingsModule.split('.')[0]!
    throw new ScrapdeckError('BAD_INPUT', sentence('projects.project_not_named', { suggestion }), {
      data: { field: 'project', suggestion }
    })
  }
  checkProjectName(name)
  return name as ProjectName
}

export function checkProjectName(name: string): void {
  const problem = problemOfPathPart(name)
  if (problem)
    throw new ScrapdeckError('BAD_INPUT', sentence('projects.uploaded_project_name_invalid', { name, problem }))
}

function checkVersion(version: VersionName): VersionName {
  if (problemOfVersionName(version) !== null) {
    throw new ScrapdeckError('BAD_INPUT', sentence('projects.version_name_invalid', { version }))
  }
  // In a URL, `.` or `..` would mean a folder. Scrapyd lists the version under the sanitized name.
  return problemOfFolderName(version)?.code === 'names.folder_reference'
    ? (sanitiseVersion(version) as VersionName)
    : version
}
