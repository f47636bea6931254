import { createReadStream } from 'node:fs'
import { open, rm } from 'node:fs/promises'
import { Readable } from 'node:stream'
import pLimit from 'p-limit'
import { isScrapdeckError, ScrapdeckError } from '../../../../shared/errors.ts'
import { sentence } from '../../../../shared/texts/errors/storage.ts'
import type { Clock } from '../../../runtime/clock.ts'
import type { Logger } from '../../../runtime/logger.ts'
import { BLOB_NAME, BLOB_PREFIX, type BlobReader, type LocalFile, readerOf } from '../blob-store.ts'
import { encryptionHeaders } from '../../../runtime/s3-address.ts'
import { GRACE_MS, type SharedBlobStore } from '../shared-blobs.ts'
import type { BlobFiles } from './blob-files.ts'
import { download, expectedSha256, isAnotherByNow, readRange, type S3Object } from './download.ts'
import type { S3Client } from './s3-client.ts'
import { hasStatus, isGone, isPassing, S3Error } from './s3-failure.ts'
import { elementsOf, textOf } from './s3-xml.ts'
import {
  abortLeftUploads,
  type Condition,
  type Content,
  contentOf,
  contentOfFile,
  isConditionFailed,
  isConditionUnknown,
  notS3,
  PART_BYTES,
  SHA256_HEADER,
  upload
} from './upload.ts'
import { BoundedMap } from '../../../runtime/bounded.ts'
import { KeyedSingleFlight } from '../../../runtime/single-flight.ts'

export interface S3BlobStoreParts {
  client: S3Client
  files: BlobFiles
  clock: Clock
  logger: Logger
  isConditional: boolean
  graceMs?: number
}

/**
 * When a range of a blob up to this size is read, the whole blob is copied to the local disk. The next range then needs
 * no request.
 */
const WHOLE_BYTES = PART_BYTES
const DOWNLOADS_AT_ONCE = 4
/** How long a lookup stays valid. Within this time, the next page of a log needs no lookup. */
const LOOKED_UP_MS = 2_000
const LOOKED_UP_MAX = 256
/** The maximum number of attempts to write a blob. Another engine may be writing a blob with the same name. */
const WRITE_TRIES = 4
const READ_TRIES = 4
/** The object that names the owner of these blobs, and the prefix of the objects with which stores claim them. */
const OWNER = 'owner/store'
const WISH = 'owner/wish-'
const NO_ROOM = new Set(['ENOSPC', 'EDQUOT', 'EROFS'])

/**
 * Blobs as objects in one bucket. Every write is conditional, so a repeated request or a second engine never overwrites
 * an object that it has not seen. Whole blobs are read from verified local copies, and ranges of large blobs directly.
 */
export class S3BlobStore implements SharedBlobStore {
  readonly #parts: S3BlobStoreParts
  readonly #graceMs: number
  readonly #downloads = pLimit(DOWNLOADS_AT_ONCE)
  readonly #downloading = new KeyedSingleFlight<string, string>()
  readonly #lookedUp = new BoundedMap<string, { object: S3Object; atMs: number }>(LOOKED_UP_MAX)
  #isConditional: boolean

  constructor(parts: S3BlobStoreParts) {
    this.#parts = parts
    this.#isConditional = parts.isConditional
    this.#graceMs = parts.graceMs ?? GRACE_MS
  }

  write(name: string, content: Uint8Array | Readable): Promise<{ sizeBytes: number }> {
    return this.#explained(async () => {
      checkName(name)
      if (content instanceof Uint8Array) return this.#put(name, await contentOf(content))
      const pieces = content[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>
      const head = await readHead(pieces)
      if (head.isWhole) return this.#put(name, await contentOf(Buffer.concat(head.pieces)))
      const draft = this.#parts.files.draftPath()
      try {
        await writeAll(draft, head.pieces, pieces)
        const file = await contentOfFile(draft)
        const written = await this.#put(name, file)
        await this.#keep(name, file, draft)
        return written
      } finally {
        await rm(draft, { force: true })
      }
    })
  }

  adopt(name: string, path: string): Promise<void> {
    return this.#explained(async () => {
      checkName(name)
      const content = await contentOfFile(path)
      await this.#put(name, content)
      await this.#keep(name, content, path)
      await rm(path, { force: true })
    })
  }

  async read(name: string): Promise<Uint8Array> {
    await using file = await this.#openWhole(name)
    return await file.readFile()
  }

  async openRead(name: string): Promise<Readable> {
    return createReadStream('', { fd: await this.#openWhole(name), autoClose: true })
  }

  openAt(name: string): Promise<BlobReader> {
    return this.#explained(async () => {
      checkName(name)
      const { client, files } = this.#parts
      const object = await this.#lookUpUnlessAway(name)
      if (object === null || files.has(name, tagOf(name, object)) || object.sizeBytes <= WHOLE_BYTES) {
        try {
          return readerOf(await this.#openWhole(name))
        } catch (error) {
          // Reading must work even if the local disk is full.
          if (object === null || !NO_ROOM.has((error as NodeJS.ErrnoException).code ?? '')) throw error
        }
      }
      const place = { key: this.#keyOf(name), name, object }
      return {
        sizeBytes: async () => place.object.sizeBytes,
        read: (offset, length) =>
          this.#explained(async () => {
            try {
              return await readRange(client, place, offset, length)
            } catch (error) {
              if (!isAnotherByNow(error)) throw error
              this.#lookedUp.delete(name)
              throw busy(name, 'read')
            }
          }),
        async [Symbol.asyncDispose]() {}
      }
    })
  }

  localFile(name: string): Promise<LocalFile> {
    return this.#explained(async () => {
      checkName(name)
      return { path: await this.#pathOf(name), seal: null }
    })
  }

  has(name: string): Promise<boolean> {
    return this.#explained(async () => {
      checkName(name)
      return (await this.#head(name)) !== null
    })
  }

  delete(name: string): Promise<void> {
    return this.#explained(async () => {
      checkName(name)
      this.#lookedUp.delete(name)
      try {
        await this.#parts.client.send({ operation: 'delete', method: 'DELETE', key: this.#keyOf(name) })
      } catch (error) {
        if (!isGone(error)) throw error
      }
      this.#lookedUp.delete(name)
      await this.#parts.files.remove(name)
    })
  }

  async deleteUnused(name: string): Promise<boolean> {
    const object = await this.#explained(async () => {
      checkName(name)
      return this.#head(name)
    })
    if (object === null) return true
    // Age is measured by the server's clock, because the clocks of the engines' machines can differ.
    if (object.ageMs < this.#graceMs) return false
    await this.delete(name)
    return true
  }

  list(prefix: string): Promise<{ name: string; sizeBytes: number }[]> {
    return this.#explained(async () => {
      if (!BLOB_PREFIX.test(prefix))
        throw new ScrapdeckError('BAD_INPUT', sentence('storage.blob_prefix_invalid', { prefix }))
      const { client } = this.#parts
      const found: { name: string; sizeBytes: number }[] = []
      for (let token: string | null = null; ; ) {
        const query: Record<string, string> = { 'list-type': '2', prefix: this.#keyOf(prefix) }
        if (token !== null) query['continuation-token'] = token
        const { text } = await client.send({ operation: 'list', method: 'GET', key: '', query })
        if (!text.includes('<ListBucketResult')) throw notS3('list')
        for (const each of elementsOf(text, 'Contents')) {
          const name = textOf(each, 'Key')?.slice(client.address.prefix.length) ?? ''
          const sizeBytes = Number(textOf(each, 'Size'))
          if (BLOB_NAME.test(name) && name.startsWith(prefix) && Number.isSafeInteger(sizeBytes))
            found.push({ name, sizeBytes })
        }
        const next = textOf(text, 'NextContinuationToken')
        if (textOf(text, 'IsTruncated') !== 'true' || !next || next === token) return found
        token = next
      }
    })
  }

  claim(owner: string): Promise<string> {
    return this.#explained(async () => {
      const key = this.#keyOf(OWNER)
      const recorded = await this.#readText(key)
      if (recorded !== null) return recorded
      if (!this.#isConditional) return this.#claimInSteps(owner)
      try {
        await this.#putText(key, owner, { 'if-none-match': '*' })
      } catch (error) {
        if (isConditionUnknown(error)) return this.#claimInSteps(owner)
        // Another engine was first, or an earlier attempt succeeded but its response was lost.
        if (!isConditionFailed(error)) throw error
      }
      return (await this.#readText(key)) ?? owner
    })
  }

  /**
   * Without conditional writes, each store first records its wish to own the blobs. Of two concurrent stores, at
   * least one sees the other's wish and gives up.
   */
  async #claimInSteps(owner: string): Promise<string> {
    const { client } = this.#parts
    const [key, wish] = [this.#keyOf(OWNER), `${WISH}${owner}`]
    await this.#putText(this.#keyOf(wish), owner, {})
    const others = (await this.list(WISH)).filter(({ name }) => name !== wish)
    // Read this after the list, because a store records itself as the owner before it withdraws its wish.
    const recorded = await this.#readText(key)
    if (recorded === null && others.length === 0) await this.#putText(key, owner, {})
    await client.send({ operation: 'delete', method: 'DELETE', key: this.#keyOf(wish) })
    if (recorded !== null || others.length === 0) return recorded ?? owner
    const text = sentence('storage.bucket_being_taken', { address: client.address.name, object: others[0]!.name })
    throw new ScrapdeckError('BLOBS_UNUSABLE', text)
  }

  async #putText(key: string, text: string, headers: Record<string, string>): Promise<void> {
    const { client } = this.#parts
    const all = { ...encryptionHeaders(client.address), ...headers }
    await client.send({ operation: 'put', method: 'PUT', key, headers: all, body: Buffer.from(text) })
  }

  async #readText(key: string): Promise<string | null> {
    try {
      return (await this.#parts.client.send({ operation: 'get', method: 'GET', key })).text.trim()
    } catch (error) {
      if (isGone(error)) return null
      throw error
    }
  }

  abortLeftUploads(): Promise<number> {
    return this.#explained(() => abortLeftUploads(this.#parts.client, this.#parts.client.address.prefix))
  }

  async sha256Of(name: string): Promise<string | null> {
    const object = await this.#explained(() => this.#head(name))
    return object === null ? null : expectedSha256(name, object)
  }

  async #put(name: string, content: Content): Promise<{ sizeBytes: number }> {
    const { client, clock, logger } = this.#parts
    const key = this.#keyOf(name)
    const written = { sizeBytes: content.sizeBytes }
    const isSame = (object: S3Object) => object.sizeBytes === content.sizeBytes && object.sha256 === content.sha256
    // For large blobs, and for those that often exist already, check first whether an upload is necessary.
    const looksFirst = isNamedByContent(name) || content.sizeBytes > PART_BYTES
    let before = looksFirst ? await this.#head(name) : null
    for (let count = 0; ; count += 1) {
      if (before !== null && isSame(before) && (await this.#renewAge(name, before))) return written
      const condition: Condition = !this.#isConditional
        ? {}
        : before === null
          ? { 'if-none-match': '*' }
          : { 'if-match': before.etag }
      try {
        await upload({ client, clock }, key, content, condition)
        this.#lookedUp.delete(name)
        return written
      } catch (error) {
        this.#lookedUp.delete(name)
        if (this.#isConditional && isConditionUnknown(error)) {
          logger.warn({}, 'the S3 server does not know conditional writes: two engines must not write at the same time')
          this.#isConditional = false
          continue
        }
        // 404: the object to replace is gone, or an earlier request whose response was lost has completed the upload.
        const isOthers = isConditionFailed(error) || isGone(error)
        if (!isOthers) throw error
        if (count + 1 >= WRITE_TRIES) throw busy(name, 'written')
        before = await this.#head(name)
      }
    }
  }

  /**
   * Resets the age of an old blob that is used again. Returns false if the blob is gone or the server cannot do this.
   */
  async #renewAge(name: string, object: S3Object): Promise<boolean> {
    if (object.ageMs < this.#graceMs / 2) return true
    const { client } = this.#parts
    const key = this.#keyOf(name)
    const headers = {
      ...encryptionHeaders(client.address),
      'x-amz-copy-source': `/${client.address.bucket}/${key}`,
      'x-amz-copy-source-if-match': object.etag,
      'x-amz-metadata-directive': 'REPLACE',
      ...(object.sha256 === null ? {} : { [SHA256_HEADER]: object.sha256 })
    }
    try {
      await client.send({ operation: 'copy', method: 'PUT', key, headers })
      this.#lookedUp.delete(name)
      // Some servers do not change the time of an object that is copied onto itself. The blob is then written again.
      const renewed = await this.#head(name)
      return renewed !== null && renewed.ageMs < this.#graceMs / 2
    } catch (error) {
      if (error instanceof S3Error && error.failure.status !== null && error.failure.status !== 403) return false
      throw error
    }
  }

  async #keep(name: string, content: Content, path: string): Promise<void> {
    try {
      const object = await this.#head(name)
      if (object === null || object.sizeBytes !== content.sizeBytes || object.sha256 !== content.sha256) return
      await this.#parts.files.add(name, tagOf(name, object), path, content.sizeBytes)
    } catch {
      // A missing local copy is harmless: the blob is fetched when it is read.
    }
  }

  async #openWhole(name: string) {
    return this.#explained(async () => {
      checkName(name)
      for (let count = 0; ; count += 1) {
        try {
          return await open(await this.#pathOf(name))
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || count + 1 >= READ_TRIES) throw error
          await this.#parts.files.remove(name)
        }
      }
    })
  }

  async #pathOf(name: string): Promise<string> {
    const { files } = this.#parts
    // Eggs never change, so the local copy is up to date.
    if (isNamedByContent(name) && files.has(name, null)) return files.find(name, null)!
    for (let count = 0; ; count += 1) {
      const object = await this.#lookUpUnlessAway(name)
      const found = files.find(name, object === null ? null : tagOf(name, object))
      if (found !== null) return found
      // The copy was evicted in the meantime, and the storage does not respond.
      if (object === null) throw this.#parts.client.problem ?? busy(name, 'read')
      try {
        return await this.#fetch(name, object)
      } catch (error) {
        if (!isAnotherByNow(error)) throw error
        this.#lookedUp.delete(name)
        if (count + 1 >= READ_TRIES) throw busy(name, 'read')
      }
    }
  }

  #fetch(name: string, object: S3Object): Promise<string> {
    const { files, client } = this.#parts
    const tag = tagOf(name, object)
    const key = `${name} ${tag}`
    const fetchNow = async () => {
      const path = files.draftPath()
      try {
        await download(client, { key: this.#keyOf(name), name, path, object })
        return await files.add(name, tag, path, object.sizeBytes)
      } finally {
        await rm(path, { force: true })
      }
    }
    return this.#downloading.run(key, () => this.#downloads(fetchNow))
  }

  /** Returns null if the storage does not respond and there is a local copy, which may be outdated. */
  async #lookUpUnlessAway(name: string): Promise<S3Object | null> {
    const isHere = this.#parts.files.has(name, null)
    try {
      return await this.#lookUp(name, isHere ? 1 : undefined)
    } catch (error) {
      if (isHere && error instanceof S3Error && isPassing(error.failure)) return null
      throw error
    }
  }

  /** Returns a result that is at most two seconds old. Rejects with NOT_FOUND. */
  async #lookUp(name: string, tries?: number): Promise<S3Object> {
    const { clock } = this.#parts
    const known = this.#lookedUp.get(name)
    if (known !== undefined && clock.monotonicMs() - known.atMs < LOOKED_UP_MS) return known.object
    const object = await this.#head(name, tries)
    if (object === null) {
      await this.#parts.files.remove(name)
      throw new ScrapdeckError('NOT_FOUND', sentence('storage.no_blob', { name }))
    }
    this.#lookedUp.set(name, { object, atMs: clock.monotonicMs() })
    return object
  }

  async #head(name: string, tries?: number): Promise<S3Object | null> {
    try {
      const { headers } = await this.#parts.client.send({
        operation: 'head',
        method: 'HEAD',
        key: this.#keyOf(name),
        ...(tries === undefined ? {} : { tries })
      })
      const sizeBytes = Number(headers['content-length'])
      if (headers['etag'] === undefined || !Number.isSafeInteger(sizeBytes)) throw notS3('head')
      const ageMs = Date.parse(headers['date'] ?? '') - Date.parse(headers['last-modified'] ?? '')
      return {
        sizeBytes,
        etag: headers['etag'],
        sha256: headers[SHA256_HEADER] ?? null,
        // Without a valid time, the object counts as new, so that it is not deleted.
        ageMs: Number.isNaN(ageMs) ? 0 : ageMs
      }
    } catch (error) {
      if (hasStatus(error, 404)) return null
      throw error
    }
  }

  #keyOf(name: string): string {
    return this.#parts.client.address.prefix + name
  }

  async #explained<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      if (!isScrapdeckError(error)) this.#parts.logger.debug({ error }, 'a request to the blobs failed')
      throw this.#parts.client.explain(error)
    }
  }
}

const isNamedByContent = (name: string): boolean => /^eggs\/[0-9a-f]{64}$/.test(name)
const tagOf = (name: string, { etag }: S3Object): string => (isNamedByContent(name) ? 'content' : etag)

function checkName(name: string): void {
  if (!BLOB_NAME.test(name)) throw new ScrapdeckError('BAD_INPUT', sentence('storage.blob_name_invalid', { name }))
}

function busy(name: string, what: 'written' | 'read'): ScrapdeckError {
  const text = sentence('storage.blob_replaced', { name, what })
  return new ScrapdeckError('BLOBS_UNUSABLE', text, { data: { problem: 'REPLACED' } })
}

/** Reads as much as fits into one request. `isWhole`: this is all of the content. */
async function readHead(content: AsyncIterator<Uint8Array>): Promise<{ pieces: Uint8Array[]; isWhole: boolean }> {
  const pieces: Uint8Array[] = []
  for (let bytes = 0; bytes <= PART_BYTES; ) {
    const next = await content.next()
    if (next.done === true) return { pieces, isWhole: true }
    pieces.push(next.value)
    bytes += next.value.length
  }
  return { pieces, isWhole: false }
}

async function writeAll(path: string, head: readonly Uint8Array[], rest: AsyncIterator<Uint8Array>): Promise<void> {
  try {
    await using file = await open(path, 'wx', 0o600)
    for (const piece of head) await file.writeFile(piece)
    for (let next = await rest.next(); next.done !== true; next = await rest.next()) await file.writeFile(next.value)
    await file.sync()
  } catch (error) {
    await rest.return?.()
    throw error
  }
}
