import { createWriteStream, mkdirSync, rmSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import pLimit from 'p-limit'
import { ScrapdeckError } from '../../../../shared/errors.ts'
import { sentence } from '../../../../shared/texts/errors/runs.ts'
import type { LocalFile } from '../../../storage/blobs/blob-store.ts'
import { readFileSeal } from '../../../storage/blobs/sealed/sealed-reader.ts'
import { sealing } from '../../../storage/blobs/sealed/sealed-streams.ts'
import { type EncryptionKeys, keysOfThisProcess } from '../../../runtime/encryption-keys.ts'
import type { CacheFigures } from '../../../runtime/cache-figures.ts'

export interface LogCacheLimits {
  /** The maximum size of all files together. The newest file stays even if it is larger. */
  bytes: number
  entries: number
}

const LIMITS: LogCacheLimits = { bytes: 1024 ** 3, entries: 32 }
const COPIED_AT_ONCE = 2
const PIECE_BYTES = 256 * 1024

interface Copied extends LocalFile {
  sizeBytes: number
}

/**
 * Keeps local files of recently read archived logs. The directory is emptied on startup, so the key that encrypts these
 * files is needed only while this process runs.
 */
export class LogCache {
  readonly #directory: string
  readonly #limits: LogCacheLimits
  readonly #keys: EncryptionKeys | null
  readonly #slots = pLimit(COPIED_AT_ONCE)
  /** By key, least recently used first. */
  readonly #files = new Map<string, Promise<Copied>>()
  readonly #figures = { hits: 0, misses: 0, bytes: 0 }
  #made = 0

  private constructor(directory: string, limits: LogCacheLimits, isSealed: boolean) {
    this.#directory = directory
    this.#limits = limits
    this.#keys = isSealed ? keysOfThisProcess() : null
  }

  /** Throws DATA_DIRECTORY_UNUSABLE. */
  static open(directory: string, { limits = LIMITS, isSealed = false } = {}): LogCache {
    try {
      rmSync(directory, { recursive: true, force: true })
      mkdirSync(directory, { recursive: true, mode: 0o700 })
    } catch (error) {
      const text = sentence('runs.directory_unusable', { directory, error: (error as Error).message })
      throw new ScrapdeckError('DATA_DIRECTORY_UNUSABLE', text, { cause: error })
    }
    return new LogCache(directory, limits, isSealed)
  }

  /**
   * A local file with the content of `open`, valid at least until the next call. `key` identifies the content.
   * Rejects as `open` does, or with the disk's error.
   */
  async fileOf(key: string, open: () => Promise<Readable>): Promise<LocalFile> {
    const { path, seal } = await this.#use(key, open)
    return { path, seal }
  }

  figures(): CacheFigures {
    return { ...this.#figures, entries: this.#files.size }
  }

  #use(key: string, open: () => Promise<Readable>): Promise<Copied> {
    const known = this.#files.get(key)
    this.#figures[known === undefined ? 'misses' : 'hits'] += 1
    const file = known ?? this.#slots(() => this.#copy(open))
    this.#files.delete(key)
    this.#files.set(key, file)
    if (known === undefined) {
      file.then(
        () => this.#evict(),
        () => this.#files.delete(key)
      )
    }
    return file
  }

  async #copy(open: () => Promise<Readable>): Promise<Copied> {
    const path = join(this.#directory, String(++this.#made))
    const content = await open()
    try {
      let sizeBytes = 0
      const keys = this.#keys
      const store = async function* (pieces: AsyncIterable<Uint8Array>) {
        if (keys !== null) yield* sealing(keys, path, pieces, (size) => (sizeBytes = size))
        else
          for await (const piece of pieces) {
            sizeBytes += piece.length
            yield piece
          }
      }
      await pipeline(content, store, createWriteStream(path, { mode: 0o600, highWaterMark: PIECE_BYTES }))
      return { path, sizeBytes, seal: keys && (await readFileSeal(keys, path, path)) }
    } catch (error) {
      await rm(path, { force: true })
      throw error
    }
  }

  async #evict(): Promise<void> {
    let left = { ...this.#limits }
    let bytes = 0
    for (const [key, pending] of [...this.#files].reverse()) {
      const file = await pending.catch(() => null)
      if (file === null) continue
      left = { bytes: left.bytes - file.sizeBytes, entries: left.entries - 1 }
      const isNewest = left.entries === this.#limits.entries - 1
      if (isNewest || (left.bytes >= 0 && left.entries >= 0)) {
        bytes += file.sizeBytes
        continue
      }
      this.#files.delete(key)
      await rm(file.path, { force: true })
    }
    this.#figures.bytes = bytes
  }
}
