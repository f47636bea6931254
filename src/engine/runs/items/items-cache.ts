import { mkdirSync, rmSync } from 'node:fs'
import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/runs.ts'

export interface ItemsLimits {
  copyBytes: number
  /** The maximum size of copies and converted files together. Files in use count, but are never deleted. */
  cacheBytes: number
  exportBytes: number
  exports: number
}

export const ITEMS_LIMITS: ItemsLimits = {
  copyBytes: 4 * 1024 ** 3,
  cacheBytes: 8 * 1024 ** 3,
  exportBytes: 8 * 1024 ** 3,
  exports: 8
}

/** Contains only files that can be recreated. They are deleted on startup and when they take up too much space. */
export class ItemsCache {
  readonly limits: ItemsLimits
  readonly exportDirectory: string
  readonly spillDirectory: string
  readonly #directory: string
  readonly #users = new Map<string, number>()
  /** Paths, least recently used first. */
  readonly #used = new Set<string>()

  private constructor(directory: string, limits: ItemsLimits) {
    this.#directory = join(directory, 'files')
    this.exportDirectory = join(directory, 'exports')
    this.spillDirectory = join(directory, 'spill')
    this.limits = limits
  }

  /** Throws DATA_DIRECTORY_UNUSABLE. */
  static open(directory: string, limits = ITEMS_LIMITS): ItemsCache {
    const cache = new ItemsCache(directory, limits)
    try {
      rmSync(directory, { recursive: true, force: true })
      for (const each of [cache.#directory, cache.exportDirectory, cache.spillDirectory])
        mkdirSync(each, { recursive: true, mode: 0o700 })
    } catch (error) {
      const text = sentence('runs.directory_unusable', { directory, error: (error as Error).message })
      throw new ScrapdeckError('DATA_DIRECTORY_UNUSABLE', text, { cause: error })
    }
    return cache
  }

  pathOf(name: string): string {
    return join(this.#directory, name)
  }

  async using<Result>(paths: string[], work: () => Promise<Result>): Promise<Result> {
    const held = paths.filter((path) => path.startsWith(this.#directory))
    for (const path of held) {
      this.#users.set(path, (this.#users.get(path) ?? 0) + 1)
      this.#used.delete(path)
      this.#used.add(path)
    }
    try {
      return await work()
    } finally {
      for (const path of held) {
        const left = this.#users.get(path)! - 1
        if (left === 0) this.#users.delete(path)
        else this.#users.set(path, left)
      }
      if (held.length > 0) await this.#evict()
    }
  }

  /** Called on shutdown, because decrypted copies from the archive must not stay on disk. */
  async empty(): Promise<void> {
    if (this.#used.size === 0) return
    for (const each of [this.#directory, this.exportDirectory, this.spillDirectory])
      await rm(each, { recursive: true, force: true })
  }

  async #evict(): Promise<void> {
    const order = [...this.#used]
    const files: { path: string; sizeBytes: number }[] = []
    for (const name of await readdir(this.#directory)) {
      const path = join(this.#directory, name)
      const found = await stat(path).catch(() => null)
      if (found !== null) files.push({ path, sizeBytes: found.size })
    }
    files.sort((one, other) => order.indexOf(one.path) - order.indexOf(other.path))
    let bytes = files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
    for (const { path, sizeBytes } of files) {
      if (bytes <= this.limits.cacheBytes) break
      // A conversion in progress writes to `PATH.part`.
      if (this.#users.has(path) || this.#users.has(path.replace(/\.part$/, ''))) continue
      this.#used.delete(path)
      await rm(path, { force: true })
      bytes -= sizeBytes
    }
  }
}
