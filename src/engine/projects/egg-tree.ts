import { copyFile, constants, open, readdir, rename, rm, rmdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { ProjectName, VersionName } from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/projects.ts'
import { sanitiseVersion } from '../../shared/ids.ts'
import { makeDirectoryLikeAbove, makePrivateDirectory } from '../runtime/private-directory.ts'
import type { Logger } from '../runtime/logger.ts'
import { type EggIdentity, hashFile } from './egg-files.ts'
import { problemOfPathPart } from './names.ts'

export interface EggName {
  project: ProjectName
  version: VersionName
}

/**
 * A copy of our eggs in Scrapyd's layout, `PROJECT/VERSION.egg` (scrapyd-protocol.md, 4.1), from which a Scrapyd can
 * start. Eggs are added to the store first and removed from the tree first. Files are copies, not links, because
 * manual changes in the tree must not affect the eggs that spiders run from.
 */
export class EggTree {
  readonly #directory: string
  readonly #logger: Logger

  private constructor(directory: string, logger: Logger) {
    this.#directory = directory
    this.#logger = logger
  }

  /** Creates the tree if needed. Rejects with DATA_DIRECTORY_UNUSABLE. */
  static async open(directory: string, logger: Logger): Promise<EggTree> {
    try {
      makePrivateDirectory(directory)
    } catch (error) {
      const text = sentence('projects.eggs_dir_unusable', { directory, error: (error as Error).message })
      throw new ScrapdeckError('DATA_DIRECTORY_UNUSABLE', text, { cause: error })
    }
    return new EggTree(directory, logger)
  }

  async put(egg: EggIdentity, file: string): Promise<void> {
    const path = this.#pathOf(egg)
    if (await isEgg(path, egg.sha256)) return
    makeDirectoryLikeAbove(join(this.#directory, egg.project))
    // Scrapyd and Scrapdeck ignore names that start with a dot.
    const draft = join(this.#directory, egg.project, `.${sanitiseVersion(egg.version)}.egg.part`)
    // Remove an existing draft instead of writing to it: a spider may have left a pipe there.
    await rm(draft, { recursive: true, force: true })
    await copyFile(file, draft, constants.COPYFILE_FICLONE)
    const handle = await open(draft, 'r+')
    await handle.sync()
    await handle.close()
    await rename(draft, path)
  }

  async remove(egg: EggName): Promise<void> {
    await rm(this.#pathOf(egg), { force: true })
    // Scrapyd would list an empty directory as a project. A directory with other files remains.
    await rmdir(join(this.#directory, egg.project)).catch(() => {})
  }

  /**
   * Adds missing eggs, and sets aside files that have our names but different content. Returns all other eggs, which
   * operators copied into the tree, sorted by project.
   */
  async repair(eggs: (EggIdentity & { file(): Promise<string | null> })[]): Promise<(EggName & { path: string })[]> {
    const ours = new Set(eggs.map((egg) => this.#pathOf(egg)))
    for (const egg of eggs) {
      const path = this.#pathOf(egg)
      if (await isEgg(path, egg.sha256)) continue
      const file = await egg.file()
      if (file === null) continue
      if (await isThere(path)) {
        await rename(path, `${path}.set-aside`)
        this.#logger.warn(
          { path: `${path}.set-aside` },
          'an egg in eggs_dir was changed by hand: it was moved aside and the original restored; upload it to replace the version'
        )
      }
      await this.put(egg, file)
    }
    const found: (EggName & { path: string })[] = []
    for (const project of (await listDirectories(this.#directory)) as ProjectName[]) {
      for (const name of await readdir(join(this.#directory, project))) {
        const path = join(this.#directory, project, name)
        if (name.startsWith('.') && name.endsWith('.egg.part')) await rm(path, { force: true })
        else if (!name.startsWith('.') && name.endsWith('.egg') && !ours.has(path) && (await isFile(path))) {
          found.push({ project, version: name.slice(0, -'.egg'.length) as VersionName, path })
        }
      }
    }
    return found
  }

  #pathOf({ project, version }: EggName): string {
    return join(this.#directory, project, `${sanitiseVersion(version)}.egg`)
  }
}

async function listDirectories(directory: string): Promise<string[]> {
  const names: string[] = []
  for (const name of (await readdir(directory)).sort()) {
    if (problemOfPathPart(name) !== null || /^[0-9a-f]{64}$/.test(name)) continue
    if ((await stat(join(directory, name)).catch(() => null))?.isDirectory()) names.push(name)
  }
  return names
}

async function isThere(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null)) !== null
}

async function isFile(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null))?.isFile() ?? false
}

async function isEgg(path: string, sha256: string): Promise<boolean> {
  return (await isFile(path)) && (await hashFile(path)) === sha256
}
