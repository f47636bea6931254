import {
  type Attempt,
  type AttemptNumber,
  type JobId,
  type LogChunk,
  MAX_LOG_CHUNK_BYTES
} from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import type { LogArchivePort } from '../logs/archive/log-archive.ts'
import type { WantedBytes } from '../logs/byte-window.ts'
import { tailLog } from '../logs/log-tail.ts'
import type { Clock } from '../runtime/clock.ts'
import { requireJob } from '../store/require-job.ts'
import type { AttemptReader, JobReader } from '../store/store.ts'
import type { Fleet } from './fleet.ts'
import type { LogRange } from './node-client.ts'
import { toClientError } from './node-failure.ts'

interface JobLogsParts {
  store: JobReader & AttemptReader
  archive: Pick<LogArchivePort, 'read'>
  fleet: Fleet
  clock: Clock
}

/** The log of a job, wherever it is: in the archive once it was copied there, otherwise on its node. */
export class JobLogs {
  readonly #parts: JobLogsParts

  constructor(parts: JobLogsParts) {
    this.#parts = parts
  }

  /**
   * Reads the last attempt's log; null: there is no attempt, or no log (yet). Rejects with a NODE_ code if the node
   * fails.
   */
  async read(jobId: JobId, range: WantedBytes): Promise<LogRange | null> {
    const attempt = await this.#attemptOf(jobId, undefined)
    return attempt === null ? null : this.#readOf(attempt, range)
  }

  /** Reads the log of attempt `number`, or of the last one. Rejects with LOG_NOT_FOUND if there is none (yet). */
  async readChunk(
    jobId: JobId,
    number: AttemptNumber | undefined,
    wanted: WantedBytes,
    signal?: AbortSignal
  ): Promise<LogChunk> {
    await requireJob(this.#parts.store, jobId)
    const attempt = await this.#attemptOf(jobId, number)
    const bounded = { ...wanted, offset: Math.max(wanted.offset, -MAX_LOG_CHUNK_BYTES) }
    const range = attempt === null ? null : await this.#readOf(attempt, bounded, signal)
    const mayComeYet = attempt?.state !== 'ended'
    if (range === null)
      throw new ScrapdeckError('LOG_NOT_FOUND', `Job ${jobId} has no readable log${mayComeYet ? ' yet' : ''}`)
    const { offset, sizeBytes, bytes } = range
    const nextOffset = offset + bytes.length
    const complete = !mayComeYet && nextOffset >= sizeBytes
    return { offset, nextOffset, sizeBytes, text: new TextDecoder().decode(bytes), complete }
  }

  /**
   * Streams the log as it grows. Polls its node only while it is iterated. Without a number, follows the newest attempt
   * as of its first log, to that log's end: a retry writes another file, in which the offsets have no meaning.
   */
  async *tail(
    jobId: JobId,
    options: {
      attemptNumber: AttemptNumber | undefined
      offset: number | undefined
      tailBytes: number
      signal: AbortSignal | undefined
    }
  ): AsyncGenerator<LogChunk, void> {
    await requireJob(this.#parts.store, jobId)
    let number = options.attemptNumber
    let attempt = number === undefined ? null : await this.#attemptOf(jobId, number)
    yield* tailLog({
      read: async (range, signal) => {
        attempt = await this.#attemptOf(jobId, number)
        const log = attempt === null ? null : await this.#readOf(attempt, range, signal)
        if (log !== null) number ??= attempt!.number
        return log
      },
      mayGrow: async () => {
        const { state } =
          number === undefined ? await requireJob(this.#parts.store, jobId) : (await this.#attemptOf(jobId, number))!
        return state !== 'ended'
      },
      answersAtOnce: () =>
        attempt !== null && (this.#parts.fleet.get(attempt.nodeId)?.client.traits.answersAtOnce ?? false),
      from: options.offset === undefined ? { tailBytes: options.tailBytes } : { offset: options.offset },
      clock: this.#parts.clock,
      signal: options.signal
    })
  }

  /** Without a number: the last attempt, or null if there is none. */
  async #attemptOf(jobId: JobId, number: AttemptNumber | undefined): Promise<Attempt | null> {
    const attempts = await this.#parts.store.listAttempts(jobId)
    if (number === undefined) return attempts.at(-1) ?? null
    const attempt = attempts.find((each) => each.number === number)
    if (attempt !== undefined) return attempt
    throw new ScrapdeckError(
      'LOG_NOT_FOUND',
      `Job ${jobId} has no attempt ${number}; its attempts are ${attempts.map((each) => each.number).join(', ') || 'none'}`
    )
  }

  async #readOf(attempt: Attempt, range: WantedBytes, signal?: AbortSignal): Promise<LogRange | null> {
    const { store, archive, fleet } = this.#parts
    if (attempt.logArchived) {
      const log = await store.findArchivedLog(attempt.jobId, attempt.number)
      return log === null ? null : archive.read(attempt.jobId, attempt.number, log, range)
    }
    const node = fleet.get(attempt.nodeId)
    if (node === undefined) return null
    try {
      return await node.client.readLog(attempt, range, signal)
    } catch (error) {
      throw toClientError(error)
    }
  }
}
