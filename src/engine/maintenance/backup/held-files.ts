import { constants } from 'node:fs'
import { copyFile, link, mkdir, opendir, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { HELD_FOLDERS, isKeptName } from './what-is-kept.ts'
import type { Clock } from '../../runtime/clock.ts'
import { HOLDS, nameOfOwn, removeLeftHolds } from '../../runtime/left-by-killed.ts'
import type { Logger } from '../../runtime/logger.ts'
import { Sweep } from '../../runtime/sweep.ts'

export interface HeldTree {
  folder: string
  directory: string
}

export interface HeldFile {
  name: string
  path: string
  sizeBytes: number
}

/**
 * Keeps files unchanged while a backup reads them. Each file gets a hard link in a separate folder on the same disk, so
 * it remains readable even if it is deleted or replaced. Files that are still being written keep growing. If links are
 * not possible, files are copied.
 */
export class HeldFiles {
  readonly directory: string
  readonly #trees: readonly HeldTree[]
  readonly leftOut = new Set<string>()
  readonly #held = new Map<string, (HeldFile & { inode: bigint })[]>()
  #turn = 0

  private constructor(directory: string, trees: readonly HeldTree[]) {
    this.directory = directory
    this.#trees = trees
  }

  /** `parent` should be on the same disk as the trees. */
  static async open(parent: string, trees: readonly HeldTree[]): Promise<HeldFiles> {
    await removeLeftHolds(parent)
    const directory = join(parent, await nameOfOwn(HOLDS))
    await mkdir(directory, { mode: 0o700 })
    return new HeldFiles(directory, trees)
  }

  async take(signal: AbortSignal): Promise<void> {
    this.#turn += 1
    for (const { folder, directory } of this.#trees) {
      const leaveOut = folder.startsWith(OF_SPIDERS) ? (name: string) => this.leftOut.add(`${folder}/${name}`) : null
      for await (const name of filesBelow(directory, leaveOut)) {
        signal.throwIfAborted()
        await this.#hold(`${folder}/${name}`, join(directory, name)).catch((error: unknown) => {
          if (leaveOut === null || !isInTheWay(error)) throw error
          leaveOut(name)
        })
      }
    }
  }

  async #hold(name: string, source: string): Promise<void> {
    const versions = this.#held.get(name) ?? []
    const info = await statIfAny(source)
    if (info === null || versions.at(-1)?.inode === info.ino) return
    const path = join(this.directory, String(this.#turn), name)
    const secondName = async () => {
      await link(source, path).catch(async (error: NodeJS.ErrnoException) => {
        if (!NO_LINKS.has(error.code ?? '')) throw error
        await copyFile(source, path, constants.COPYFILE_FICLONE)
      })
    }
    try {
      await secondName().catch(async (error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT') throw error
        await mkdir(dirname(path), { recursive: true, mode: 0o700 })
        await secondName()
      })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
      throw error
    }
    versions.push({ name, path, sizeBytes: Number(info.size), inode: info.ino })
    this.#held.set(name, versions)
  }

  find(name: string, fits: (file: HeldFile) => boolean = () => true): HeldFile | null {
    return this.#held.get(name)?.findLast(fits) ?? null
  }

  *in(folder: string): Generator<HeldFile> {
    for (const [name, versions] of this.#held) if (name.startsWith(`${folder}/`)) yield versions.at(-1)!
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.directory, { recursive: true, force: true })
  }
}

/** Errors that mean that this disk or file allows no links, or that the file has too many. */
const NO_LINKS = new Set(['EXDEV', 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK', 'EACCES'])

export function sweepLeftHolds({ directory, ...base }: { directory: string; clock: Clock; logger: Logger }) {
  return new Sweep({
    ...base,
    list: async () => [directory],
    work: removeLeftHolds,
    describe: () => ({}),
    words: 'what a backup that was killed left could not be removed'
  })
}

const OF_SPIDERS = 'local/'
const IN_THE_WAY = new Set(['EACCES', 'EPERM', 'ENAMETOOLONG', 'ELOOP'])

/** A spider can make files unreadable. A backup leaves them out instead of failing. */
export const isInTheWay = (error: unknown): boolean => IN_THE_WAY.has((error as NodeJS.ErrnoException).code ?? '')

/**
 * Yields the names of the regular files below a directory. Skips links. `leaveOut` receives unreadable directories and
 * names that a backup must not contain. If it is null, an unreadable directory is an error.
 */
export async function* filesBelow(
  directory: string,
  leaveOut: ((name: string) => unknown) | null = null,
  within = ''
): AsyncGenerator<string> {
  const entries = await opendir(join(directory, within)).catch((error: NodeJS.ErrnoException) => {
    if (['ENOENT', 'ENOTDIR'].includes(error.code ?? '')) return null
    if (leaveOut === null || !isInTheWay(error)) throw error
    leaveOut(within)
    return null
  })
  for await (const entry of entries ?? []) {
    const name = within === '' ? entry.name : `${within}/${entry.name}`
    if (entry.isDirectory()) yield* filesBelow(directory, leaveOut, name)
    else if (!entry.isFile() || entry.name.startsWith('.draft-')) continue
    else if (leaveOut !== null && !isKeptName(`${HELD_FOLDERS[0]}/${name}`)) leaveOut(name)
    else yield name
  }
}

async function statIfAny(path: string) {
  try {
    return await stat(path, { bigint: true })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}
