import type { AttemptNumber, JobId } from '../../../../shared/contract/index.ts'
import { ScrapdeckError } from '../../../../shared/errors.ts'
import { sentence } from '../../../../shared/texts/errors/runs.ts'
import type { LogBytes, WantedBytes } from '../../../runtime/byte-window.ts'
import type { LogFile } from '../scan/log-file.ts'
import type { SealSource } from './seal.ts'
import type { SpoolPort, Spools } from './spool.ts'
import { Mutex } from '../../../runtime/mutex.ts'

export type ReadLog = (range: WantedBytes, signal?: AbortSignal) => Promise<LogBytes | null>

export interface CopyProgress {
  copiedBytes: number
  sizeBytes: number
}

interface AdvanceOptions {
  maxBytes?: number
  signal?: AbortSignal | undefined
  onProgress?: (progress: CopyProgress, piece: LogBytes) => void
}

interface Copy {
  spool: SpoolPort
  /** Serializes requests, so that nothing is copied twice. */
  mutex: Mutex
  /** Whether the copy was removed. A new copy may have started, so nothing more must be copied into this copy. */
  isGone: boolean
}

const PIECE_BYTES = 1_048_576
const COMPARED_BYTES = 1_024
/** The maximum size kept per log, so that a node that serves an endless log cannot fill the disk. */
export const KEPT_LOG_MAX_BYTES = 16 * 1024 ** 3

/** Copies logs from their nodes, each into one spool that all requests share. */
export class LogCopies {
  readonly #spools: Spools
  readonly #mostBytes: number
  readonly #copies = new Map<string, Promise<Copy>>()
  /** Copies that a previous process left and this one has not opened yet. Null: not listed yet. */
  #left: Promise<Set<string>> | null = null

  constructor(spools: Spools, mostBytes = KEPT_LOG_MAX_BYTES) {
    this.#spools = spools
    this.#mostBytes = mostBytes
  }

  /**
   * Copies what is missing: up to the size that the log has when copying starts, at most `maxBytes`, and at most
   * KEPT_LOG_MAX_BYTES of one log (then the result's `sizeBytes` is larger). If copying fails, keeps the partial copy
   * for a retry. Rejects with LOG_NOT_FOUND, or with NODE_ANSWER_INVALID if the node contradicts itself.
   */
  async advance(
    jobId: JobId,
    number: AttemptNumber,
    read: ReadLog,
    options: AdvanceOptions = {}
  ): Promise<CopyProgress> {
    let copy = await this.#open(jobId, number)
    while (copy.isGone) copy = await this.#open(jobId, number)
    try {
      return await copy.mutex.run(() => advance(copy.spool, jobId, read, { ...options, mostBytes: this.#mostBytes }))
    } finally {
      if (copy.spool.sizeBytes === 0 && copy.mutex.isIdle) this.#drop(jobId, number, copy)
    }
  }

  async list(): Promise<{ jobId: JobId; number: AttemptNumber }[]> {
    const names = await this.#spools.list()
    return names.flatMap((name) => {
      const [, jobId, number] = NAME.exec(name) ?? []
      return jobId === undefined ? [] : [{ jobId: jobId as JobId, number: Number(number) as AttemptNumber }]
    })
  }

  /** A range of the copy, which can be from an earlier engine. Null: there is no copy, or it ends before the range. */
  async readIfAny(jobId: JobId, number: AttemptNumber, range: WantedBytes): Promise<LogBytes | null> {
    const spool = await this.#openIfAny(jobId, number)
    return spool === null || spool.sizeBytes < range.offset ? null : spool.read(range)
  }

  async read(jobId: JobId, number: AttemptNumber, range: WantedBytes): Promise<LogBytes> {
    return (await this.#open(jobId, number)).spool.read(range)
  }

  async sizeBytes(jobId: JobId, number: AttemptNumber): Promise<number> {
    return (await this.#open(jobId, number)).spool.sizeBytes
  }

  async fileOf(jobId: JobId, number: AttemptNumber): Promise<LogFile & SealSource> {
    return { kind: 'spool', ...(await this.#open(jobId, number)).spool.describe() }
  }

  /** The copy so far, which can be from an earlier engine. Null: there is no copy. */
  async knownFileOf(jobId: JobId, number: AttemptNumber): Promise<{ file: LogFile; sizeBytes: number } | null> {
    const spool = await this.#openIfAny(jobId, number)
    return spool === null ? null : { file: { kind: 'spool', ...spool.describe() }, sizeBytes: spool.sizeBytes }
  }

  async remove(jobId: JobId, number: AttemptNumber): Promise<void> {
    let copy = await this.#open(jobId, number)
    while (copy.isGone) copy = await this.#open(jobId, number)
    await copy.mutex.run(() => copy.spool.clear())
    if (copy.mutex.isIdle) this.#drop(jobId, number, copy)
  }

  async #openIfAny(jobId: JobId, number: AttemptNumber): Promise<SpoolPort | null> {
    const name = nameOf(jobId, number)
    if (!this.#copies.has(name) && !(await this.#listLeft()).has(name)) return null
    const { spool } = await this.#open(jobId, number)
    return spool.sizeBytes === 0 ? null : spool
  }

  #drop(jobId: JobId, number: AttemptNumber, copy: Copy): void {
    if (copy.isGone) return
    copy.isGone = true
    this.#copies.delete(nameOf(jobId, number))
  }

  #open(jobId: JobId, number: AttemptNumber): Promise<Copy> {
    const name = nameOf(jobId, number)
    const known = this.#copies.get(name)
    if (known !== undefined) return known
    const opening = this.#openSpool(name).then((spool) => ({ spool, mutex: new Mutex(), isGone: false }))
    this.#copies.set(name, opening)
    opening.catch(() => this.#copies.delete(name))
    return opening
  }

  async #openSpool(name: string): Promise<SpoolPort> {
    const left = await this.#listLeft()
    if (!left.has(name)) return this.#spools.begin(name)
    const spool = await this.#spools.open(name)
    left.delete(name)
    return spool
  }

  #listLeft(): Promise<Set<string>> {
    const listed = (this.#left ??= this.#spools.list().then((names) => new Set(names)))
    listed.catch(() => {
      this.#left = null
    })
    return listed
  }
}

const NAME = /^([0-9a-f]{32})-(\d{1,9})$/
const nameOf = (jobId: JobId, number: AttemptNumber): string => `${jobId}-${number}`

async function advance(
  spool: SpoolPort,
  jobId: JobId,
  read: ReadLog,
  { maxBytes = Number.POSITIVE_INFINITY, mostBytes, signal, onProgress }: AdvanceOptions & { mostBytes: number }
): Promise<CopyProgress> {
  let isNew = false
  let wantedBytes: number | null = null
  for (let left = maxBytes; ; ) {
    const limitBytes = Math.max(0, Math.min(PIECE_BYTES, left, mostBytes - spool.sizeBytes))
    const piece = await read({ offset: spool.sizeBytes, limitBytes }, signal)
    signal?.throwIfAborted()
    if (piece === null) {
      throw new ScrapdeckError('LOG_NOT_FOUND', sentence('runs.log_deleted_before_copy', { jobId }))
    }
    // Either the node was set up again and a different log has this name now, or a power failure truncated the log.
    if (piece.sizeBytes < spool.sizeBytes) {
      if (await isBeginning(spool, piece.sizeBytes, (range) => read(range, signal)))
        return { copiedBytes: spool.sizeBytes, sizeBytes: spool.sizeBytes }
      if (isNew) throw contradicts(jobId)
      isNew = true
      wantedBytes = null
      await spool.clear()
      continue
    }
    if (piece.offset !== spool.sizeBytes) throw contradicts(jobId)
    // The size at the first read is the target, because a log can grow as fast as it is copied.
    wantedBytes ??= piece.sizeBytes
    if (piece.bytes.length > 0) await spool.append(piece.bytes)
    left -= piece.bytes.length
    const progress = { copiedBytes: spool.sizeBytes, sizeBytes: piece.sizeBytes }
    onProgress?.(progress, piece)
    if (piece.bytes.length === 0 || left <= 0 || progress.copiedBytes >= wantedBytes) return progress
  }
}

/** Whether the node's log, which has `sizeBytes`, is the beginning of the copy. Compares only the end of that part. */
async function isBeginning(
  spool: SpoolPort,
  sizeBytes: number,
  read: (range: WantedBytes) => Promise<LogBytes | null>
): Promise<boolean> {
  if (sizeBytes === 0) return true
  const offset = Math.max(0, sizeBytes - COMPARED_BYTES)
  const range = { offset, limitBytes: sizeBytes - offset }
  const theirs = await read(range)
  // The log was deleted or truncated again, which is no reason to discard the copy.
  if (theirs === null || theirs.sizeBytes < sizeBytes) return true
  return Buffer.compare(theirs.bytes, (await spool.read(range)).bytes) === 0
}

const contradicts = (jobId: JobId): ScrapdeckError =>
  new ScrapdeckError('NODE_ANSWER_INVALID', sentence('runs.log_differs_each_time', { jobId }))
