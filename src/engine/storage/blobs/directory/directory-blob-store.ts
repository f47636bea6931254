import { rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { isScrapdeckError, type ScrapdeckError } from '../../../../shared/errors.ts'
import type { Random } from '../../../runtime/random.ts'
import type { BlobReader, BlobStore, LocalFile } from '../blob-store.ts'
import { blobsInDirectory, DRAFT, isMissing, listDrafts } from '../filesystem/filesystem-blob-store.ts'
import { GRACE_MS, type SharedBlobStore } from '../shared-blobs.ts'
import {
  directoryError,
  directoryProblem,
  claimDirectory,
  makeFolder,
  probeDirectory,
  readMark
} from './shared-directory.ts'

export interface DirectoryBlobStoreParts {
  path: string
  mark: string
  random: Pick<Random, 'hex'>
  graceMs?: number | undefined
  serverTimeMs?: (() => Promise<number>) | undefined
}

/**
 * Blobs in a directory that several engines share. If a share is unmounted, an empty local directory remains at its
 * path. A file therefore counts as missing only if the directory has its mark.
 */
export class DirectoryBlobStore implements SharedBlobStore {
  readonly #parts: DirectoryBlobStoreParts
  readonly #graceMs: number
  readonly #files: BlobStore
  #problem: ScrapdeckError | null = null

  constructor(parts: DirectoryBlobStoreParts) {
    this.#parts = parts
    this.#graceMs = parts.graceMs ?? GRACE_MS
    this.#files = blobsInDirectory(parts.path, {
      explain: (_path, work) => work(),
      makeFolder: async (folder) => {
        await this.#requireMark()
        await makeFolder(folder)
      },
      deleteUnused: (path) => this.#deleteUnused(path)
    })
  }

  get problem(): ScrapdeckError | null {
    return this.#problem
  }

  probe(): Promise<void> {
    return this.#explained(async () => {
      await this.#requireMark()
      await probeDirectory(this.#parts.path, this.#parts.random)
      this.#problem = null
    })
  }

  write(name: string, content: Uint8Array | Readable): Promise<{ sizeBytes: number }> {
    return this.#explained(() => this.#files.write(name, content))
  }

  read(name: string): Promise<Uint8Array> {
    return this.#explained(() => this.#files.read(name))
  }

  openRead(name: string): Promise<Readable> {
    return this.#explained(() => this.#files.openRead(name))
  }

  openAt(name: string): Promise<BlobReader> {
    return this.#explained(async () => {
      const reader = (await this.#files.openAt(name))!
      return {
        sizeBytes: () => this.#explained(() => reader.sizeBytes()),
        read: (offset, length) => this.#explained(() => reader.read(offset, length)),
        [Symbol.asyncDispose]: () => reader[Symbol.asyncDispose]()
      }
    })
  }

  adopt(name: string, path: string): Promise<void> {
    return this.#explained(() => this.#files.adopt(name, path))
  }

  localFile(name: string): Promise<LocalFile | null> {
    return this.#explained(() => this.#files.localFile(name))
  }

  has(name: string): Promise<boolean> {
    return this.#explained(async () => (await this.#files.has(name)) || this.#whereMarked(false))
  }

  delete(name: string): Promise<void> {
    return this.#explained(() => this.#files.delete(name))
  }

  deleteUnused(name: string): Promise<boolean> {
    return this.#explained(() => this.#files.deleteUnused(name))
  }

  list(prefix: string): Promise<{ name: string; sizeBytes: number }[]> {
    return this.#explained(async () => {
      const found = await this.#files.list(prefix)
      return found.length > 0 ? found : this.#whereMarked(found)
    })
  }

  claim(owner: string): Promise<string> {
    return this.#explained(() => claimDirectory(this.#parts.path, owner, this.#parts.random))
  }

  /**
   * Removes only drafts older than the grace period, because another engine may still be writing newer drafts. Uses the
   * file server's clock.
   */
  abortLeftUploads(): Promise<number> {
    return this.#explained(async () => {
      const drafts = await listDrafts(this.#parts.path)
      if (drafts.length === 0) return 0
      const nowMs = await this.#serverTimeMs()
      let removed = 0
      for (const draft of drafts) {
        const info = await stat(draft).catch(() => null)
        if (info === null || nowMs - info.mtimeMs < this.#graceMs) continue
        await rm(draft, { force: true })
        removed += 1
      }
      return removed
    })
  }

  async #deleteUnused(path: string): Promise<boolean> {
    const before = await stat(path, { bigint: true }).catch((error: unknown) => {
      if (isMissing(error)) return null
      throw error
    })
    if (before === null) return this.#whereMarked(true)
    const nowMs = await this.#serverTimeMs()
    // ctime is the time at which the file was moved into place, which can be long after its last byte was written.
    if (nowMs - Math.max(Number(before.mtimeMs), Number(before.ctimeMs)) < this.#graceMs) return false
    const aside = join(dirname(path), DRAFT + this.#parts.random.hex(8))
    try {
      await rename(path, aside)
    } catch (error) {
      if (isMissing(error)) return true
      throw error
    }
    const isOther = (await stat(aside, { bigint: true })).ino !== before.ino
    if (isOther) await rename(aside, path)
    else await rm(aside, { force: true })
    return !isOther
  }

  /** Uses the file server's clock, because the clocks of the engines' machines can differ. */
  #serverTimeMs(): Promise<number> {
    return (this.#parts.serverTimeMs ?? (() => probeDirectory(this.#parts.path, this.#parts.random)))()
  }

  async #whereMarked<T>(answer: T): Promise<T> {
    await this.#requireMark()
    return answer
  }

  async #requireMark(): Promise<void> {
    const { path, mark } = this.#parts
    if ((await readMark(path)) !== mark) throw Object.assign(new Error('no mark'), { code: 'NOT_MOUNTED' })
  }

  async #explained<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      throw await this.#explain(error)
    }
  }

  async #explain(error: unknown): Promise<unknown> {
    const { path } = this.#parts
    let failure = directoryError(error, path)
    if (failure === null && (isMissing(error) || (isScrapdeckError(error) && error.code === 'NOT_FOUND'))) {
      const cause = await this.#requireMark().then(
        () => null,
        (found: unknown) => found
      )
      failure = cause === null ? null : (directoryError(cause, path) ?? directoryProblem('NOT_MOUNTED', path, cause))
    }
    this.#problem = failure ?? this.#problem
    return failure ?? error
  }
}
