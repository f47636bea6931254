import { createWriteStream, mkdirSync, rmSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import pLimit from 'p-limit'
import { ScrapdeckError } from '../../../../shared/errors.ts'
import { type LocalFile, openFileReader } from '../../../storage/blobs/blob-store.ts'
import { openSealedFile, readFileSeal } from '../../../storage/blobs/sealed/sealed-reader.ts'
import { sealing } from '../../../storage/blobs/sealed/sealed-streams.ts'
import { type EncryptionKeys, keysOfThisProcess } from '../../../runtime/encryption-keys.ts'
import type { CacheFigures } from '../../../runtime/cache-figures.ts'
import { createByteWindow, type LogBytes, type WantedBytes } from '../../../runtime/byte-window.ts'

export interface LogCacheLimits {
  /** For all files together; the newest stays even if it alone exceeds this. */
  bytes: number
  entries: number
}

/** Archived logs have at most 256 MB. */
const LIMITS: LogCacheLimits = { bytes: 1024 ** 3, entries: 32 }
const UNPACKED_AT_ONCE = 2
const PIECE_BYTES = 256 * 1024
const NO_ROOM = new Set(['ENOSPC', 'EDQUOT', 'EROFS', 'EACCES'])

type Packing = 'gzip' | 'as it is'

interface Unpacked extends LocalFile {
  sizeBytes: number
}

/**
 * Files of recently read archived logs: logs that an earlier version gzipped, unpacked, because each range of a large
 * one would cost unpacking all before it; and logs that the blob store has elsewhere. Unpacking is zlib's
 * work in other threads. The directory is emptied at the start, so what is encrypted here needs a key only until then.
 */
export class LogCache {
  readonly #directory: string
  readonly #limits: LogCacheLimits
  readonly #keys: EncryptionKeys | null
  readonly #slots = pLimit(UNPACKED_AT_ONCE)
  /** By key, least recently used first. */
  readonly #files = new Map<string, Promise<Unpacked>>()
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
      const text = `The directory ${directory} cannot be used (${(error as Error).message}). Correct its permissions`
      throw new ScrapdeckError('DATA_DIRECTORY_UNUSABLE', text, { cause: error })
    }
    return new LogCache(directory, limits, isSealed)
  }

  /**
   * One range of the log that `openPacked` unpacks to; `key` names it and changes with it. Rejects as `openPacked`
   * does, and for a damaged log. Without room on the disk, all of it is unpacked for each range.
   */
  async read(key: string, openPacked: () => Promise<Readable>, wanted: WantedBytes): Promise<LogBytes> {
    try {
      return await readRange(await this.#use(key, openPacked, 'gzip'), wanted)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      // It was evicted between the two steps.
      if (code === 'ENOENT') return this.read(key, openPacked, wanted)
      if (NO_ROOM.has(code ?? '')) return readGzipped(await openPacked(), wanted)
      throw error
    }
  }

  /** The file itself, which is there at least until the next call. */
  async fileOf(key: string, open: () => Promise<Readable>, packing: Packing): Promise<LocalFile> {
    const { path, seal } = await this.#use(key, open, packing)
    return { path, seal }
  }

  figures(): CacheFigures {
    return { ...this.#figures, entries: this.#files.size }
  }

  #use(key: string, openPacked: () => Promise<Readable>, packing: Packing): Promise<Unpacked> {
    const known = this.#files.get(key)
    this.#figures[known === undefined ? 'misses' : 'hits'] += 1
    const file = known ?? this.#slots(() => this.#unpack(openPacked, packing))
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

  async #unpack(openPacked: () => Promise<Readable>, packing: Packing): Promise<Unpacked> {
    const path = join(this.#directory, String(++this.#made))
    const packed = await openPacked()
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
      const target = createWriteStream(path, { mode: 0o600, highWaterMark: PIECE_BYTES })
      await (packing === 'gzip'
        ? pipeline(packed, createGunzip({ chunkSize: PIECE_BYTES }), store, target)
        : pipeline(packed, store, target))
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

async function readRange({ path, sizeBytes, seal }: Unpacked, { offset, limitBytes }: WantedBytes): Promise<LogBytes> {
  const start = offset < 0 ? Math.max(0, sizeBytes + offset) : Math.min(offset, sizeBytes)
  const file = await openFileReader(path)
  await using log = seal === null ? file : await openSealedFile(seal, file)
  return { offset: start, sizeBytes, bytes: await log.read(start, Math.min(limitBytes, sizeBytes - start)) }
}

/** Unpacks everything and keeps only the range. */
async function readGzipped(packed: Readable, wanted: WantedBytes): Promise<LogBytes> {
  const window = createByteWindow(wanted)
  await pipeline(packed, createGunzip(), async (pieces: AsyncIterable<Uint8Array>) => {
    for await (const piece of pieces) window.append(piece)
  })
  return window.result()
}
