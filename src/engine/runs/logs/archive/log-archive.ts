import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { AttemptNumber, JobId } from '../../../../shared/contract/index.ts'
import { isScrapdeckError } from '../../../../shared/errors.ts'
import { type BlobReader, type BlobStore, type LocalFile, openFileReader } from '../../../storage/blobs/blob-store.ts'
import { openSealedFile } from '../../../storage/blobs/sealed/sealed-reader.ts'
import { isSealed, keyIdOf, openBytes, sealBytes } from '../../../storage/blobs/sealed/sealed-format.ts'
import { type EncryptionKeys, NO_KEYS } from '../../../runtime/encryption-keys.ts'
import type { CacheFigures } from '../../../runtime/cache-figures.ts'
import type { Random } from '../../../runtime/random.ts'
import type { ThreadPool } from '../../../runtime/thread-pool.ts'
import type { ArchivedLog } from '../../../model/records.ts'
import { cutBytes, type LogBytes, type WantedBytes } from '../../../runtime/byte-window.ts'
import type { LogFile } from '../scan/log-file.ts'
import { type FrameMap, mapFrames, type ReadAt, readFrames, readEnd } from './frames.ts'
import type { LogCache } from './log-cache.ts'
import type { SealedLog, SealSource } from './seal.ts'
import { packSmallLog, SMALL_LOG_MAX_BYTES, unpackSmallLog } from './small-log.ts'
import { LogCopies, type ReadLog } from './log-copies.ts'
import { spoolsIn } from './spool.ts'
import { BoundedMap } from '../../../runtime/bounded.ts'

interface ArchiveParts {
  blobs: BlobStore
  /** The threads of scan/log-worker.ts. */
  threads: ThreadPool
  cache: LogCache
  /** Contains spools and drafts. Must be on the blobs' file system if blobs are files. */
  directory: string
  random: Random
  tree?: Tree
  copies?: LogCopies
  /** Keys for small logs. The blob store encrypts blobs itself. Default: no encryption. */
  keys?: EncryptionKeys
}

type Tree = 'logs' | 'items'

const MAPS_KEPT = 64

export const archiveName = (jobId: JobId, number: AttemptNumber, tree: Tree = 'logs'): string =>
  `${tree}/${jobId}-${number}.zst`

export interface LogArchivePort extends Omit<Pick<LogArchive, keyof LogArchive>, 'copies'> {
  readonly copies: Pick<LogCopies, keyof LogCopies>
}

export class LogArchive {
  readonly #parts: ArchiveParts
  /** Logs of live runs, and logs that could not be copied completely yet. */
  readonly copies: LogCopies
  #drafts: Promise<unknown> | null = null
  /** Whether the leftovers of a crash were deleted. If so, every draft belongs to a seal in progress. */
  #areDraftsOurs = false
  /** By blob, least recently used first. */
  readonly #maps = new BoundedMap<string, Promise<FrameMap>>(MAPS_KEPT)

  constructor(parts: ArchiveParts) {
    this.#parts = parts
    this.copies = parts.copies ?? new LogCopies(spoolsIn(join(parts.directory, 'spools')))
  }

  cacheFigures(): CacheFigures {
    return this.#parts.cache.figures()
  }

  /** Replaces the blob of an earlier seal. Rejects with LOG_DAMAGED or with the error of the disk or blob store. */
  async seal(jobId: JobId, number: AttemptNumber, source: SealSource, signal?: AbortSignal): Promise<SealedLog> {
    const { blobs, threads, directory, random } = this.#parts
    const drafts = join(directory, 'drafts')
    const target = join(drafts, random.hex(8))
    try {
      await (this.#drafts ??= this.#makeDrafts(drafts))
      const sealed = await threads.run<SealedLog>({ task: 'seal', input: { source, target }, signal })
      await blobs.adopt(this.#nameOf(jobId, number), target)
      return sealed
    } catch (error) {
      this.#drafts = null
      await rm(target, { force: true }).catch(() => {})
      throw error
    }
  }

  /**
   * Copies the rest of a log, then seals it. If the log cannot be read to its end, rejects and keeps the partial copy
   * for a retry. Rejects with LOG_NOT_FOUND if the log is gone. The copy stays until the store has recorded the archive
   * (`copies.remove`), because a crash must not lose both.
   */
  async copy(jobId: JobId, number: AttemptNumber, read: ReadLog, signal?: AbortSignal): Promise<SealedLog> {
    await this.copies.advance(jobId, number, read, { signal })
    return this.#sealCopied(jobId, number, signal)
  }

  /**
   * Archives the copy of a log that exists nowhere else. Null: the archive (`earlier`) already has at least as much.
   */
  async keepCopied(
    jobId: JobId,
    number: AttemptNumber,
    earlier: ArchivedLog | null,
    signal?: AbortSignal
  ): Promise<ArchivedLog | null> {
    const head = await this.copies.readIfAny(jobId, number, { offset: 0, limitBytes: SMALL_LOG_MAX_BYTES })
    if (head === null || head.sizeBytes <= (earlier?.sizes?.rawBytes ?? 0)) return null
    const packed = await this.pack(jobId, number, head)
    if (packed !== null) return { packed, sizes: { rawBytes: head.sizeBytes, storedBytes: packed.length } }
    const { rawBytes, packedBytes } = await this.#sealCopied(jobId, number, signal)
    return { packed: null, sizes: { rawBytes, storedBytes: packedBytes } }
  }

  /** Packs a complete log for the store. Null: it is too large and needs a file. */
  async pack(jobId: JobId, number: AttemptNumber, log: LogBytes): Promise<Uint8Array | null> {
    const packed = await packSmallLog(log)
    const { keys = NO_KEYS } = this.#parts
    if (packed === null || keys.newest === null) return packed
    return sealBytes(keys, this.#nameOf(jobId, number), packed)
  }

  /** Encrypts the result of `pack` with the newest key. Null: it already uses that key. Rejects as `read` does. */
  reseal(jobId: JobId, number: AttemptNumber, packed: Uint8Array): Uint8Array | null {
    const { keys = NO_KEYS } = this.#parts
    const name = this.#nameOf(jobId, number)
    if (keys.newest === null || (isSealed(packed) && keyIdOf(name, packed) === keys.newest.id)) return null
    return sealBytes(keys, name, this.#open(jobId, number, packed))
  }

  /** A range of an archived log. Null: the log is gone. Rejects with LOG_DAMAGED. */
  async read(jobId: JobId, number: AttemptNumber, log: ArchivedLog, wanted: WantedBytes): Promise<LogBytes | null> {
    if (log.packed !== null) return cutBytes(unpackSmallLog(this.#open(jobId, number, log.packed)), wanted)
    if (log.sizes === null) return null
    const name = this.#nameOf(jobId, number)
    try {
      await using blob = (await this.#parts.blobs.openAt(name)) ?? (await openLocal(await this.#fileOf(name)))
      const readAt = (offset: number, length: number) => blob.read(offset, length)
      return await readFrames(await this.#mapOf(name, log.sizes.storedBytes, readAt), readAt, wanted)
    } catch (error) {
      if (isScrapdeckError(error, 'NOT_FOUND') || (error as NodeJS.ErrnoException).code === 'ENOENT') return null
      throw error
    }
  }

  /** A file that a thread can read. Rejects with NOT_FOUND. */
  async fileOf(jobId: JobId, number: AttemptNumber, log: ArchivedLog): Promise<LogFile> {
    if (log.packed !== null) return { kind: 'packed', packed: this.#open(jobId, number, log.packed) }
    return { kind: 'frames', ...(await this.#fileOf(this.#nameOf(jobId, number))) }
  }

  async delete(jobId: JobId, number: AttemptNumber): Promise<void> {
    await this.#parts.blobs.delete(this.#nameOf(jobId, number))
  }

  async #sealCopied(jobId: JobId, number: AttemptNumber, signal?: AbortSignal): Promise<SealedLog> {
    return this.seal(jobId, number, await this.copies.fileOf(jobId, number), signal)
  }

  async #makeDrafts(directory: string): Promise<void> {
    if (!this.#areDraftsOurs) await rm(directory, { recursive: true, force: true })
    this.#areDraftsOurs = true
    await mkdir(directory, { recursive: true, mode: 0o700 })
  }

  #nameOf(jobId: JobId, number: AttemptNumber): string {
    return archiveName(jobId, number, this.#parts.tree)
  }

  async #fileOf(name: string): Promise<LocalFile> {
    const { blobs, cache } = this.#parts
    return (await blobs.localFile(name)) ?? cache.fileOf(name, () => blobs.openRead(name))
  }

  #open(jobId: JobId, number: AttemptNumber, packed: Uint8Array): Uint8Array {
    return isSealed(packed) ? openBytes(this.#parts.keys ?? NO_KEYS, this.#nameOf(jobId, number), packed) : packed
  }

  #mapOf(name: string, storedBytes: number, readAt: ReadAt): Promise<FrameMap> {
    // The size distinguishes versions, because a run that was found again is sealed again under the same name.
    const key = `${name} ${storedBytes}`
    const known = this.#maps.get(key)
    const map = known ?? readEnd(storedBytes, readAt).then(({ frames }) => mapFrames(frames))
    this.#maps.set(key, map)
    if (known === undefined) map.catch(() => this.#maps.delete(key))
    return map
  }
}

async function openLocal({ path, seal }: LocalFile): Promise<BlobReader> {
  const file = await openFileReader(path)
  return seal === null ? file : openSealedFile(seal, file)
}
