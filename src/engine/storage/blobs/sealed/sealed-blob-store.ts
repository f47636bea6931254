import { createReadStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { isScrapdeckError, ScrapdeckError } from '../../../../shared/errors.ts'
import { sentence } from '../../../../shared/texts/errors/storage.ts'
import type { EncryptionKeys } from '../../../runtime/encryption-keys.ts'
import { BLOB_NAME, type BlobReader, type BlobStore, type LocalFile } from '../blob-store.ts'
import { HEADER_BYTES, keyIdOf, planFrames } from './sealed-format.ts'
import { openSealedReader, readFileSeal } from './sealed-reader.ts'
import { openSealedStream, sealing } from './sealed-streams.ts'

/** The suffix of encrypted blobs. It shows in a listing which blobs are encrypted. */
export const SEALED = '.sealed'
const NAME_MAX = 200
const READ_BYTES = 262_144

/** Encrypts the content of any blob store. Plain blobs remain readable. Sizes are those of the plain content. */
export class SealedBlobStore implements BlobStore {
  readonly #stored: BlobStore
  readonly #keys: EncryptionKeys
  readonly #changing = new Map<string, number>()
  readonly #resealing = new Map<string, { stopping: AbortController; ended: Promise<boolean> }>()

  constructor(stored: BlobStore, keys: EncryptionKeys) {
    this.#stored = stored
    this.#keys = keys
  }

  async write(name: string, content: Uint8Array | Readable): Promise<{ sizeBytes: number }> {
    requireName(name)
    // Ignore errors during the wait: reading the content reports them.
    if (content instanceof Readable) content.on('error', () => {})
    return this.#change(name, () => this.#writeSealed(name, content))
  }

  async #writeSealed(name: string, content: Uint8Array | AsyncIterable<Uint8Array>): Promise<{ sizeBytes: number }> {
    let sizeBytes = 0
    const pieces = content instanceof Uint8Array ? [content] : content
    const sealed = sealing(this.#keys, name, pieces, (size) => {
      sizeBytes = size
    })
    await this.#stored.write(name + SEALED, Readable.from(sealed, { objectMode: false }))
    await this.#stored.delete(name)
    return { sizeBytes }
  }

  /** Encrypts with the newest key. Returns false if the blob is being written or has changed. Rejects like `read`. */
  async reseal(name: string): Promise<boolean> {
    if ((await this.keyIdOf(name)) === this.#keys.newest?.id) return true
    if (this.#changing.has(name) || this.#resealing.has(name)) return false
    const stopping = new AbortController()
    const work = async () => {
      await this.#writeSealed(name, unlessAborted(await this.openRead(name), stopping.signal))
      return true
    }
    const ended = work().finally(() => this.#resealing.delete(name))
    this.#resealing.set(name, { stopping, ended })
    return ended.catch((error: unknown) => {
      if (stopping.signal.aborted) return false
      throw error
    })
  }

  /** Re-encryption must neither replace newly written blobs nor restore deleted ones. */
  async #change<T>(name: string, work: () => Promise<T>): Promise<T> {
    this.#changing.set(name, (this.#changing.get(name) ?? 0) + 1)
    try {
      const resealing = this.#resealing.get(name)
      resealing?.stopping.abort()
      await resealing?.ended.catch(() => {})
      return await work()
    } finally {
      const left = this.#changing.get(name)! - 1
      if (left === 0) this.#changing.delete(name)
      else this.#changing.set(name, left)
    }
  }

  async read(name: string): Promise<Uint8Array> {
    return buffer(await this.openRead(name))
  }

  openRead(name: string): Promise<Readable> {
    return this.#find(
      name,
      async (sealedName) => openSealedStream(this.#keys, name, await this.#stored.openRead(sealedName)),
      () => this.#stored.openRead(name)
    )
  }

  openAt(name: string): Promise<BlobReader | null> {
    return this.#find(
      name,
      async (sealedName) => {
        const stored = await this.#stored.openAt(sealedName)
        return stored === null ? null : openSealedReader(this.#keys, name, stored)
      },
      () => this.#stored.openAt(name)
    )
  }

  async adopt(name: string, path: string): Promise<void> {
    await this.write(name, createReadStream(path, { highWaterMark: READ_BYTES }))
    await rm(path, { force: true })
  }

  localFile(name: string): Promise<LocalFile | null> {
    return this.#find(
      name,
      async (sealedName) => {
        const file = await this.#stored.localFile(sealedName)
        return file === null ? null : { path: file.path, seal: await readFileSeal(this.#keys, name, file.path) }
      },
      () => this.#stored.localFile(name)
    )
  }

  async has(name: string): Promise<boolean> {
    const sealedName = sealedNameOf(name)
    // Check in this order, because encryption removes the plain blob last.
    return (await this.#stored.has(name)) || (await this.#stored.has(sealedName))
  }

  async delete(name: string): Promise<void> {
    const sealedName = sealedNameOf(name)
    await this.#change(name, () => Promise.all([this.#stored.delete(sealedName), this.#stored.delete(name)]))
  }

  async deleteUnused(name: string): Promise<boolean> {
    const sealedName = sealedNameOf(name)
    const deleted = await this.#change(name, () =>
      Promise.all([this.#stored.deleteUnused(sealedName), this.#stored.deleteUnused(name)])
    )
    return deleted.every(Boolean)
  }

  async list(prefix: string): Promise<{ name: string; sizeBytes: number }[]> {
    const found = new Map<string, { name: string; sizeBytes: number }>()
    for (const { name, sizeBytes } of await this.#stored.list(prefix)) {
      const plainName = name.endsWith(SEALED) ? name.slice(0, -SEALED.length) : name
      // During encryption, a blob briefly exists under both names.
      if (plainName === name && found.has(name)) continue
      const plainBytes = plainName === name ? sizeBytes : (planFrames(sizeBytes)?.plainBytes ?? 0)
      found.set(plainName, { name: plainName, sizeBytes: plainBytes })
    }
    return [...found.values()].sort((one, other) => (one.name < other.name ? -1 : 1))
  }

  /** The id of the key that encrypted a blob; null: the blob is not encrypted. Rejects with NOT_FOUND. */
  keyIdOf(name: string): Promise<string | null> {
    return this.#find(
      name,
      async (sealedName) => keyIdOf(name, await this.#readHeader(sealedName)),
      async () => {
        if (await this.#stored.has(name)) return null
        throw new ScrapdeckError('NOT_FOUND', sentence('storage.no_blob', { name }))
      }
    )
  }

  async #readHeader(sealedName: string): Promise<Uint8Array> {
    const reader = await this.#stored.openAt(sealedName)
    if (reader === null) return (await this.#stored.read(sealedName)).subarray(0, HEADER_BYTES)
    await using _ = reader
    return await reader.read(0, HEADER_BYTES)
  }

  /** Tries the encrypted blob twice, because the blob may be encrypted after the first attempt. */
  async #find<T>(name: string, sealed: (sealedName: string) => Promise<T>, plain: () => Promise<T>): Promise<T> {
    const sealedName = sealedNameOf(name)
    for (const look of [sealed, plain, sealed]) {
      try {
        return await look(sealedName)
      } catch (error) {
        if (!isScrapdeckError(error, 'NOT_FOUND')) throw error
      }
    }
    throw new ScrapdeckError('NOT_FOUND', sentence('storage.no_blob', { name }))
  }
}

/** After an abort, stops at the next piece. Destroying a stream before it is read would leave its error unhandled. */
async function* unlessAborted(content: Readable, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  for await (const piece of content as AsyncIterable<Uint8Array>) {
    signal.throwIfAborted()
    yield piece
  }
  signal.throwIfAborted()
}

function sealedNameOf(name: string): string {
  requireName(name)
  return name + SEALED
}

function requireName(name: string): void {
  const isValid = BLOB_NAME.test(name) && !name.endsWith(SEALED) && name.length + SEALED.length <= NAME_MAX
  if (!isValid) throw new ScrapdeckError('BAD_INPUT', sentence('storage.blob_name_invalid', { name }))
}
