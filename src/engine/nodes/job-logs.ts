import { Readable } from 'node:stream'
import type { AttemptNumber, JobId, LogChunk } from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import type { BlobStore } from '../blobs/blob-store.ts'
import { archiveName, readArchivedLog, readPackedLog } from '../output/log-archive.ts'
import { tailLog } from '../output/log-tail.ts'
import type { Clock } from '../runtime/clock.ts'
import type { AttemptReader, JobReader } from '../store/store.ts'
import type { Fleet } from './fleet.ts'
import type { LogRange } from './node-client.ts'
import { toClientError } from './node-failure.ts'

interface Range {
  offset: number
  limitBytes: number
}

/** The log of a job wherever it is now: in the archive once it was copied there, else on its node. */
export class JobLogs {
  readonly #parts: { store: JobReader & AttemptReader; blobs: BlobStore; fleet: Fleet; clock: Clock }

  constructor(parts: { store: JobReader & AttemptReader; blobs: BlobStore; fleet: Fleet; clock: Clock }) {
    this.#parts = parts
  }

  /** null: the job has no attempt yet, or its run has left no log (so far). Rejects with LOG_NOT_FOUND for an attempt that never was, with a NODE_ code when its node fails. */
  async read(
    jobId: JobId,
    attemptNumber: AttemptNumber | undefined,
    range: Range,
    signal?: AbortSignal
  ): Promise<LogRange | null> {
    const { store, blobs, fleet } = this.#parts
    const attempts = await store.listAttempts(jobId)
    const attempt =
      attemptNumber === undefined ? attempts.at(-1) : attempts.find(({ number }) => number === attemptNumber)
    if (attempt === undefined) {
      if (attemptNumber === undefined) return null
      throw new ScrapdeckError(
        'LOG_NOT_FOUND',
        `Job ${jobId} has no attempt ${attemptNumber}; its attempts are ${attempts.map(({ number }) => number).join(', ') || 'none'}`
      )
    }
    if (attempt.logArchived) {
      const packed = await store.readArchivedLog(jobId, attempt.number)
      if (packed !== null) return readPackedLog(Readable.from([packed]), range)
      return readArchivedLog(blobs, archiveName(jobId, attempt.number), range)
    }
    const node = fleet.get(attempt.nodeId)
    if (node === undefined) return null
    try {
      return await node.client.readLog(attempt, range, signal)
    } catch (error) {
      throw toClientError(error)
    }
  }

  /** The log as it grows; asks its node only while somebody iterates. */
  async *tail(
    jobId: JobId,
    options: {
      attemptNumber: AttemptNumber | undefined
      offset: number | undefined
      tailBytes: number
      signal: AbortSignal | undefined
    }
  ): AsyncGenerator<LogChunk, void> {
    const { store, fleet, clock } = this.#parts
    const job = await store.getJob(jobId)
    if (job === null) throw new ScrapdeckError('JOB_NOT_FOUND', `There is no job ${jobId}; it may have been deleted`)
    yield* tailLog({
      read: (range, signal) => this.read(jobId, options.attemptNumber, range, signal),
      isLive: async () => (await store.getJob(jobId))?.state !== 'ended',
      isLocal: job.nodeId !== null && (fleet.get(job.nodeId)?.client.traits.answersAtOnce ?? false),
      from: options.offset === undefined ? { tailBytes: options.tailBytes } : { offset: options.offset },
      clock,
      signal: options.signal
    })
  }
}
