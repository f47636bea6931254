import { createHash, randomBytes } from 'node:crypto'
import { mkdirSync, openAsBlob, rmSync } from 'node:fs'
import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/storage.ts'

/** The maximum size of all incoming files together. Without it, several clients could fill the disk. */
const MAX_TOTAL_BYTES = 4 * 1024 ** 3
const RETRY_AFTER_SECONDS = 30

export interface IncomingWriter {
  write(piece: Uint8Array): Promise<void>
  end(): Promise<IncomingFile>
  abort(): Promise<void>
}

/** A file that is removed when every holder has released it. The creator is the first holder. */
export class IncomingFile implements AsyncDisposable {
  readonly path: string
  readonly sizeBytes: number
  readonly sha256: string
  readonly #remove: () => Promise<void>
  #holders = 1

  constructor(path: string, content: { sizeBytes: number; sha256: string }, remove: () => Promise<void>) {
    this.path = path
    this.sizeBytes = content.sizeBytes
    this.sha256 = content.sha256
    this.#remove = remove
  }

  hold(): this {
    this.#holders++
    return this
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (--this.#holders === 0) await this.#remove()
  }
}

/** Writes uploads to disk as they arrive, because an egg can be 200 MB in size. The directory is emptied at startup. */
export class IncomingFiles {
  readonly #directory: string
  readonly #maxTotalBytes: number
  /** The file on disk for each of the contract's files (`z.file()`). */
  readonly #behind = new WeakMap<File, IncomingFile>()
  #totalBytes = 0

  private constructor(directory: string, maxTotalBytes: number) {
    this.#directory = directory
    this.#maxTotalBytes = maxTotalBytes
  }

  static open(directory: string, maxTotalBytes = MAX_TOTAL_BYTES): IncomingFiles {
    try {
      rmSync(directory, { recursive: true, force: true })
      mkdirSync(directory, { recursive: true, mode: 0o700 })
    } catch (error) {
      const text = sentence('storage.upload_directory_unusable', { directory, error: (error as Error).message })
      throw new ScrapdeckError('DATA_DIRECTORY_UNUSABLE', text, { cause: error })
    }
    return new IncomingFiles(directory, maxTotalBytes)
  }

  draftPath(): string {
    return join(this.#directory, randomBytes(8).toString('hex'))
  }

  /**
   * Rejects with TOO_MANY_REQUESTS if all files together exceed the limit, and with DATA_DIRECTORY_UNUSABLE on a full
   * disk.
   */
  async begin(): Promise<IncomingWriter> {
    const path = this.draftPath()
    const file = await explained(path, () => open(path, 'wx', 0o600))
    let sizeBytes = 0
    const hash = createHash('sha256')
    const remove = async () => {
      this.#totalBytes -= sizeBytes
      sizeBytes = 0
      await rm(path, { force: true })
    }
    return {
      write: async (piece) => {
        if (this.#totalBytes + piece.length > this.#maxTotalBytes) throw tooMany()
        this.#totalBytes += piece.length
        sizeBytes += piece.length
        hash.update(piece)
        await explained(path, () => file.writeFile(piece))
      },
      end: async () => {
        await file.close()
        return new IncomingFile(path, { sizeBytes, sha256: hash.digest('hex') }, remove)
      },
      abort: async () => {
        await file.close()
        await remove()
      }
    }
  }

  async receive(content: AsyncIterable<Uint8Array>): Promise<IncomingFile> {
    const writer = await this.begin()
    try {
      for await (const piece of content) await writer.write(piece)
      return await writer.end()
    } catch (error) {
      await writer.abort()
      throw error
    }
  }

  /** Returns the file as the contract's type. Its content stays on disk until it is read. */
  async toFile(incoming: IncomingFile, name: string, type: string): Promise<File> {
    const file = new File([await openAsBlob(incoming.path)], name, { type })
    this.#behind.set(file, incoming)
    return file
  }

  /** Returns the file on disk for one of the contract's files, or writes it to disk. The caller becomes a holder. */
  async fromFile(file: File): Promise<IncomingFile> {
    const known = this.#behind.get(file)
    return known?.hold() ?? this.receive(file.stream() as AsyncIterable<Uint8Array>)
  }
}

async function explained<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'ENOSPC' && code !== 'EDQUOT') throw error
    const text = sentence('storage.disk_full', { path })
    throw new ScrapdeckError('DATA_DIRECTORY_UNUSABLE', text, { cause: error })
  }
}

function tooMany(): ScrapdeckError {
  const text = sentence('storage.too_many_uploads')
  return new ScrapdeckError('TOO_MANY_REQUESTS', text, { data: { retryAfterSeconds: RETRY_AFTER_SECONDS } })
}
