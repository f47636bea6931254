import type { AttemptNumber, JobId } from '../../../shared/contract/index.ts'
import { ScrapdeckError } from '../../../shared/errors.ts'
import type { LogBytes, WantedBytes } from '../byte-window.ts'
import type { LogFile } from '../scan/log-file.ts'
import type { SealSource } from './seal.ts'
import { Spool } from './spool.ts'

export type ReadLog = (range: WantedBytes, signal?: AbortSignal) => Promise<LogBytes | null>

/** How far a copy is. */
export interface CopyProgress {
  copiedBytes: number
  /** Of the log, when it was last read. */
  sizeBytes: number
}

interface Copy {
  spool: Spool
  /** What was requested last: nothing is copied twice. */
  turn: Promise<unknown>
}

const PIECE_BYTES = 1_048_576

/** The logs that are being copied from their nodes: each in one spool, whoever wants it. */
export class LogCopies {
  readonly directory: string
  readonly #copies = new Map<string, Promise<Copy>>()

  constructor(directory: string) {
    this.directory = directory
  }

  /**
   * Copies what is missing, at most `maxBytes`. If it fails, what was copied stays for the next try; rejects with
   * LOG_NOT_FOUND if the log is gone. `onProgress` is called after each piece.
   */
  async advance(
    jobId: JobId,
    number: AttemptNumber,
    read: ReadLog,
    options: { maxBytes?: number; signal?: AbortSignal | undefined; onProgress?: (progress: CopyProgress) => void } = {}
  ): Promise<CopyProgress> {
    const copy = await this.#open(jobId, number)
    const mine = copy.turn.then(() => advance(copy.spool, jobId, read, options))
    copy.turn = mine.catch(() => {})
    return mine
  }

  /** A range of what has been copied. */
  async read(jobId: JobId, number: AttemptNumber, range: WantedBytes): Promise<LogBytes> {
    return (await this.#open(jobId, number)).spool.read(range)
  }

  async sizeBytes(jobId: JobId, number: AttemptNumber): Promise<number> {
    return (await this.#open(jobId, number)).spool.sizeBytes
  }

  /** For a thread: what has been copied by now. */
  async fileOf(jobId: JobId, number: AttemptNumber): Promise<LogFile & SealSource> {
    return { kind: 'spool', ...(await this.#open(jobId, number)).spool.describe() }
  }

  async remove(jobId: JobId, number: AttemptNumber): Promise<void> {
    const { spool } = await this.#open(jobId, number)
    this.#copies.delete(nameOf(jobId, number))
    await spool.remove()
  }

  #open(jobId: JobId, number: AttemptNumber): Promise<Copy> {
    const name = nameOf(jobId, number)
    const known = this.#copies.get(name)
    if (known !== undefined) return known
    const opening = Spool.open(this.directory, name).then((spool) => ({ spool, turn: Promise.resolve() }))
    this.#copies.set(name, opening)
    opening.catch(() => this.#copies.delete(name))
    return opening
  }
}

const nameOf = (jobId: JobId, number: AttemptNumber): string => `${jobId}-${number}`

async function advance(
  spool: Spool,
  jobId: JobId,
  read: ReadLog,
  { maxBytes = Number.POSITIVE_INFINITY, signal, onProgress }: Parameters<LogCopies['advance']>[3] & object
): Promise<CopyProgress> {
  for (let left = maxBytes; ; ) {
    const piece = await read({ offset: spool.sizeBytes, limitBytes: Math.min(PIECE_BYTES, left) }, signal)
    signal?.throwIfAborted()
    if (piece === null) {
      throw new ScrapdeckError('LOG_NOT_FOUND', `The log of job ${jobId} was deleted before it could be copied`)
    }
    // Another log under this name (a node that was set up anew): what was copied is not its beginning.
    if (piece.sizeBytes < spool.sizeBytes) {
      await spool.clear()
      continue
    }
    if (piece.bytes.length > 0) await spool.append(piece.bytes)
    left -= piece.bytes.length
    const progress = { copiedBytes: spool.sizeBytes, sizeBytes: piece.sizeBytes }
    onProgress?.(progress)
    if (piece.bytes.length === 0 || left <= 0) return progress
  }
}
