import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs'
import { rename, rm, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { ScrapdeckError } from '../../../../shared/errors.ts'
import { sentence } from '../../../../shared/texts/errors/storage.ts'
import type { CacheFigures } from '../../../runtime/cache-figures.ts'
import type { Clock } from '../../../runtime/clock.ts'
import type { Random } from '../../../runtime/random.ts'

interface CachedFile {
  path: string
  sizeBytes: number
  usedAtMs: number
}

/** The number of newest files that are never evicted, because threads may not have opened them yet. */
const NEWEST_KEPT = 8
const TOUCH_EVERY_MS = 60_000
const FILE = /^[0-9a-f]{32}-[0-9a-f]{16}$/

/**
 * Local copies of blobs, up to a total size. A file gets its final name when it is complete and on disk; startup
 * deletes all other files. The name identifies the blob and its content (`tag`), so the content of a replaced blob is
 * never returned.
 */
export class BlobFiles {
  readonly #directory: string
  readonly #limitBytes: number
  readonly #parts: { clock: Pick<Clock, 'nowMs'>; random: Pick<Random, 'hex'> }
  readonly #files = new Map<string, CachedFile>()
  readonly #figures = { hits: 0, misses: 0 }
  #bytes = 0

  constructor(
    directory: string,
    limitBytes: number,
    parts: { clock: Pick<Clock, 'nowMs'>; random: Pick<Random, 'hex'> }
  ) {
    this.#directory = directory
    this.#limitBytes = limitBytes
    this.#parts = parts
    try {
      mkdirSync(directory, { recursive: true, mode: 0o700 })
      this.#readLeft()
    } catch (error) {
      const text = sentence('storage.directory_unusable', { directory, error: (error as Error).message })
      throw new ScrapdeckError('DATA_DIRECTORY_UNUSABLE', text, { cause: error })
    }
    void this.#evict()
  }

  figures(): CacheFigures {
    return { ...this.#figures, entries: this.#files.size, bytes: this.#bytes }
  }

  draftPath(): string {
    return join(this.#directory, `draft-${this.#parts.random.hex(8)}`)
  }

  /** Does not count as a use. `tag` null: any content. */
  has(name: string, tag: string | null): boolean {
    const file = this.#files.get(keyOf(name))
    return file !== undefined && (tag === null || file.path.endsWith(tailOf(tag)))
  }

  find(name: string, tag: string | null): string | null {
    const key = keyOf(name)
    const file = this.#files.get(key)
    if (file === undefined || !this.has(name, tag)) {
      this.#figures.misses += 1
      return null
    }
    this.#figures.hits += 1
    this.#files.delete(key)
    this.#files.set(key, file)
    const nowMs = this.#parts.clock.nowMs()
    if (nowMs - file.usedAtMs > TOUCH_EVERY_MS) {
      file.usedAtMs = nowMs
      utimes(file.path, nowMs / 1_000, nowMs / 1_000).catch(() => {})
    }
    return file.path
  }

  async add(name: string, tag: string, draft: string, sizeBytes: number): Promise<string> {
    const key = keyOf(name)
    const path = join(this.#directory, key + tailOf(tag))
    await rename(draft, path)
    const before = this.#files.get(key)
    if (before !== undefined && before.path !== path) await rm(before.path, { force: true })
    this.#bytes += sizeBytes - (before?.sizeBytes ?? 0)
    this.#files.delete(key)
    this.#files.set(key, { path, sizeBytes, usedAtMs: this.#parts.clock.nowMs() })
    await this.#evict()
    return path
  }

  async remove(name: string): Promise<void> {
    await this.#remove(keyOf(name))
  }

  async #remove(key: string): Promise<void> {
    const file = this.#files.get(key)
    if (file === undefined) return
    this.#files.delete(key)
    this.#bytes -= file.sizeBytes
    await rm(file.path, { force: true })
  }

  async #evict(): Promise<void> {
    for (const key of [...this.#files.keys()].slice(0, -NEWEST_KEPT)) {
      if (this.#bytes <= this.#limitBytes) return
      await this.#remove(key)
    }
  }

  #readLeft(): void {
    const found: [string, CachedFile][] = []
    for (const name of readdirSync(this.#directory)) {
      const path = join(this.#directory, name)
      const info = statSync(path, { throwIfNoEntry: false })
      if (FILE.test(name) && info?.isFile() === true)
        found.push([name.slice(0, 32), { path, sizeBytes: info.size, usedAtMs: info.mtimeMs }])
      else rmSync(path, { recursive: true, force: true })
    }
    for (const [key, file] of found.sort(([, one], [, other]) => one.usedAtMs - other.usedAtMs)) {
      const before = this.#files.get(key)
      // The engine crashed after it renamed the new file and before it removed the old one.
      if (before !== undefined) rmSync(before.path, { force: true })
      this.#files.delete(key)
      this.#files.set(key, file)
      this.#bytes += file.sizeBytes - (before?.sizeBytes ?? 0)
    }
  }
}

const keyOf = (name: string): string => createHash('sha256').update(name).digest('hex').slice(0, 32)
const tailOf = (tag: string): string => `-${createHash('sha256').update(tag).digest('hex').slice(0, 16)}`
