import { stat } from 'node:fs/promises'
import {
  type Attempt,
  type AttemptNumber,
  type JobId,
  type LogChunk,
  type LogPlace,
  type LogSearchProgress,
  MAX_LOG_CHUNK_BYTES,
  type NodeId
} from '../../../shared/contract/index.ts'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/runs.ts'
import type { HeadFormat } from '../../../shared/log-record.ts'
import type { LogArchivePort } from './archive/log-archive.ts'
import type { CopyProgress } from './archive/log-copies.ts'
import type { WantedBytes } from '../../runtime/byte-window.ts'
import { findTime, locateLine, parseLogTime } from './locate.ts'
import type { LineQuery } from './scan/line-matcher.ts'
import type { LogFile } from './scan/log-file.ts'
import type { LogScans } from './scan/log-scans.ts'
import { ProgressQueue } from '../../runtime/progress-queue.ts'
import { GrowingLogs, LOCAL_POLL_MS, type LogSource, REMOTE_POLL_MS } from './growing-log.ts'
import { tailLog } from './log-tail.ts'
import { type Clock, sleep } from '../../runtime/clock.ts'
import { utcDay } from '../../../shared/time.ts'
import { requireJob } from '../../storage/require-job.ts'
import type { LogKey } from '../../model/records.ts'
import type { AttemptReader, JobReader } from '../../storage/store.ts'
import type { Fleet } from '../../nodes/fleet.ts'
import type { LogRange, RunNames } from '../../nodes/node-client.ts'
import { toClientError } from '../../nodes/node-failure.ts'

interface JobLogsParts {
  store: JobReader & AttemptReader
  archive: Pick<LogArchivePort, 'read' | 'fileOf' | 'copies'>
  scans: LogScans
  fleet: Fleet
  clock: Clock
  /** The record format of the log. Null: not known (yet). */
  formatOf: (attempt: Attempt) => Promise<HeadFormat | null>
}

const LOOK_EVERY_MS = 500
const FORMAT_EVERY_MS = 1_000
/** The maximum number of failed reads. Tolerates a node that does not respond for half a minute. */
const MAX_FAILURES = 60

/** The key of a line index. Changes when the log is archived. */
const keyOf = ({ jobId, number, logArchived, endedAtMs }: Attempt): string =>
  `${jobId} ${number} ${logArchived ? endedAtMs : 'live'}`

const noLog = ({ jobId }: Attempt): ScrapdeckError =>
  new ScrapdeckError('LOG_NOT_FOUND', sentence('runs.no_readable_log', { jobId }))

/** Throws for a log that retention deleted, although its node may still have the file. */
function refuseDeleted({ jobId, logDeletedAtMs }: Attempt): void {
  if (logDeletedAtMs === null) return
  const text = sentence('runs.log_deleted', { jobId, day: utcDay(logDeletedAtMs) })
  throw new ScrapdeckError('LOG_NOT_FOUND', text, { data: { deletedAtMs: logDeletedAtMs } })
}

/** The logs of jobs, read from the archive, or from the node before they are archived. */
export class JobLogs {
  readonly #parts: JobLogsParts
  readonly #growing: GrowingLogs

  constructor(parts: JobLogsParts) {
    this.#parts = parts
    this.#growing = new GrowingLogs(parts.clock)
  }

  /** Reads the log of the last attempt. Null: there is none. Rejects with a NODE_ code if the node fails. */
  async read(jobId: JobId, range: WantedBytes): Promise<LogRange | null> {
    const attempt = await this.#attemptOf(jobId, undefined)
    return attempt === null || attempt.logDeletedAtMs !== null ? null : this.#readOf(attempt, range)
  }

  /** Reads a log, by default that of the last attempt. `what`: reads the printed output. Rejects with LOG_NOT_FOUND. */
  async readChunk(
    jobId: JobId,
    number: AttemptNumber | undefined,
    wanted: WantedBytes,
    signal?: AbortSignal,
    what?: 'readPrinted'
  ): Promise<LogChunk> {
    const bounded = { ...wanted, offset: Math.max(wanted.offset, -MAX_LOG_CHUNK_BYTES) }
    const { attempt, mayGrow, offset, sizeBytes, bytes } = await this.readBytes(jobId, number, bounded, signal, what)
    const nextOffset = offset + bytes.length
    const complete = !mayGrow && nextOffset >= sizeBytes
    const text = new TextDecoder().decode(bytes)
    return { offset, nextOffset, sizeBytes, text, complete, ...(await this.#formatOf(attempt)) }
  }

  async readBytes(
    jobId: JobId,
    number: AttemptNumber | undefined,
    wanted: WantedBytes,
    signal?: AbortSignal,
    what?: 'readPrinted'
  ): Promise<LogRange & { attempt: Attempt; mayGrow: boolean }> {
    await requireJob(this.#parts.store, jobId)
    const attempt = await this.#attemptOf(jobId, number)
    const range = attempt === null ? null : await this.#readOf(attempt, wanted, signal, what)
    const mayGrow = attempt?.state !== 'ended'
    if (range !== null) return { ...range, attempt: attempt!, mayGrow }
    throw new ScrapdeckError('LOG_NOT_FOUND', sentence('runs.no_readable_log_or_not_yet', { jobId, mayGrow }))
  }

  /**
   * Polls the node only while the caller iterates. By default, follows the newest attempt that has a log at the first
   * read. Does not move on to a retry, which writes a different file with different offsets.
   */
  async *tail(
    jobId: JobId,
    options: {
      attemptNumber?: AttemptNumber | undefined
      offset?: number | undefined
      tailBytes: number
      maxLagBytes?: number | undefined
      limitBytes?: number | undefined
      signal: AbortSignal | undefined
    }
  ): AsyncGenerator<LogChunk, void> {
    await requireJob(this.#parts.store, jobId)
    const { signal } = options
    const number = options.attemptNumber ?? (await this.#firstWithLog(jobId, signal))
    if (number === null) return
    if (number === 'none') {
      yield { offset: 0, nextOffset: 0, sizeBytes: 0, text: '', complete: true }
      return
    }
    const attempt = await this.#attemptOf(jobId, number)
    if (attempt !== null) refuseDeleted(attempt)
    const { clock } = this.#parts
    const { log, release } = this.#growing.use(`${jobId} ${number}`, await this.#sourceOf(jobId, number))
    try {
      const chunks = tailLog({
        ...options,
        log,
        clock,
        mayGrow: async () => (await this.#attemptOf(jobId, number))!.state !== 'ended',
        from: { offset: options.offset, tailBytes: options.tailBytes }
      })
      let format: Pick<LogChunk, 'format'> = {}
      let askedAtMs = Number.NEGATIVE_INFINITY
      for await (const chunk of chunks) {
        if (format.format === undefined && clock.monotonicMs() - askedAtMs >= FORMAT_EVERY_MS) {
          askedAtMs = clock.monotonicMs()
          format = await this.#formatOf(await this.#attemptOf(jobId, number))
        }
        yield { ...chunk, ...format }
      }
    } finally {
      release()
    }
  }

  /** Rejects with LOG_NOT_FOUND, or with BAD_INPUT for an invalid time or a log without times. */
  async locate(
    jobId: JobId,
    number: AttemptNumber | undefined,
    wanted: { line?: number | undefined; offset?: number | undefined; time?: string | undefined },
    signal?: AbortSignal
  ): Promise<LogPlace> {
    const attempt = await this.#requireAttempt(jobId, number)
    const { file, sizeBytes } = await this.#wholeLog(attempt, signal)
    const index = await this.#parts.scans.countLines(keyOf(attempt), file, sizeBytes, signal)
    const read = (range: WantedBytes) => this.#readOf(attempt, range, signal)
    if (wanted.time === undefined) return locateLine(read, index, wanted)
    const time = parseLogTime(wanted.time)
    if (time === null) throw new ScrapdeckError('BAD_INPUT', sentence('runs.not_a_time', { time: wanted.time }))
    const offset = await findTime(read, time, (await this.#parts.formatOf(attempt)) ?? undefined)
    if (offset === null) throw new ScrapdeckError('BAD_INPUT', sentence('runs.log_without_times'))
    return locateLine(read, index, { offset })
  }

  /** Searches the whole log (logs.search). Rejects with LOG_NOT_FOUND, or with BAD_INPUT for an invalid expression. */
  async *search(
    jobId: JobId,
    number: AttemptNumber | undefined,
    query: LineQuery,
    { mostLines, signal }: { mostLines: number; signal: AbortSignal | undefined }
  ): AsyncGenerator<LogSearchProgress, void> {
    const attempt = await this.#requireAttempt(jobId, number)
    const copying = new ProgressQueue<LogSearchProgress>()
    const whole = this.#wholeLog(attempt, signal, ({ copiedBytes, sizeBytes }) =>
      copying.add({ state: 'copying', found: [], matches: 0, searchedBytes: copiedBytes, sizeBytes })
    )
    yield* copying.until(whole)
    const { file, sizeBytes } = await whole
    yield* this.#parts.scans.search(file, sizeBytes, query, { mostLines, signal })
  }

  async fileHere(run: RunNames & LogKey & { nodeId: NodeId }): Promise<{ file: LogFile; sizeBytes: number } | null> {
    const { archive, fleet } = this.#parts
    const path = fleet.get(run.nodeId)?.client.logPath?.(run)
    if (path === undefined) return archive.copies.knownFileOf(run.jobId, run.number)
    const sizeBytes = (await stat(path).catch(() => null))?.size ?? 0
    return sizeBytes === 0 ? null : { file: { kind: 'plain', path }, sizeBytes }
  }

  async #formatOf(attempt: Attempt | null): Promise<Pick<LogChunk, 'format'>> {
    const format = attempt === null ? null : await this.#parts.formatOf(attempt)
    return format === null ? {} : { format }
  }

  /** The whole log as a file for threads. Copies the new parts of a remote log first. */
  async #wholeLog(
    attempt: Attempt,
    signal?: AbortSignal,
    onProgress?: (progress: CopyProgress) => void
  ): Promise<{ file: LogFile; sizeBytes: number }> {
    const { store, archive, fleet } = this.#parts
    const { jobId, number } = attempt
    if (isArchived(attempt)) {
      const log = await store.findArchivedLog(jobId, number)
      const head = log === null ? null : await archive.read(jobId, number, log, { offset: 0, limitBytes: 0 })
      if (log === null || head === null) throw noLog(attempt)
      return { file: await archive.fileOf(jobId, number, log), sizeBytes: head.sizeBytes }
    }
    const client = fleet.get(attempt.nodeId)?.client
    if (client?.logPath !== undefined) {
      const head = await this.#readOf(attempt, { offset: 0, limitBytes: 0 }, signal)
      if (head === null) throw noLog(attempt)
      return { file: { kind: 'plain', path: client.logPath(attempt) }, sizeBytes: head.sizeBytes }
    }
    let isRead = false
    const read = (range: WantedBytes) => this.#readOnNode(attempt, range, signal)
    const progressed = (progress: CopyProgress) => {
      isRead = true
      onProgress?.(progress)
    }
    try {
      await archive.copies.advance(jobId, number, read, { signal, onProgress: progressed })
    } catch (error) {
      // The node has no log or does not respond, so the earlier copy is all that is left.
      const copied = isRead ? null : await archive.copies.readIfAny(jobId, number, { offset: 0, limitBytes: 0 })
      if (signal?.aborted === true || copied === null) throw error
    }
    const sizeBytes = await archive.copies.sizeBytes(jobId, number)
    return { file: await archive.copies.fileOf(jobId, number), sizeBytes }
  }

  async #requireAttempt(jobId: JobId, number: AttemptNumber | undefined): Promise<Attempt> {
    await requireJob(this.#parts.store, jobId)
    const attempt = await this.#attemptOf(jobId, number)
    if (attempt === null) throw new ScrapdeckError('LOG_NOT_FOUND', sentence('runs.no_readable_log_yet', { jobId }))
    return attempt
  }

  /** Waits for an attempt with a log, or for the end of the job (its last attempt, or `none`). Null: aborted. */
  async #firstWithLog(jobId: JobId, signal: AbortSignal | undefined): Promise<AttemptNumber | 'none' | null> {
    let failures = 0
    while (!signal?.aborted) {
      const { state } = await requireJob(this.#parts.store, jobId)
      const attempt = await this.#attemptOf(jobId, undefined)
      if (state === 'ended') return attempt?.number ?? 'none'
      try {
        if (attempt !== null && (await this.#readOf(attempt, { offset: 0, limitBytes: 1 }, signal)) !== null) {
          return attempt.number
        }
      } catch (error) {
        failures += 1
        if (failures > MAX_FAILURES) throw error
      }
      await sleep(this.#parts.clock, LOOK_EVERY_MS, signal)
    }
    return null
  }

  async #sourceOf(jobId: JobId, number: AttemptNumber): Promise<LogSource> {
    const attempt = await this.#attemptOf(jobId, number)
    const client = attempt === null || isArchived(attempt) ? undefined : this.#parts.fleet.get(attempt.nodeId)?.client
    return {
      // Looks up the attempt at each read, because the log moves to the archive when the run ends.
      read: async (range, signal) => {
        const now = await this.#attemptOf(jobId, number)
        return now === null ? null : this.#readOf(now, range, signal)
      },
      ...(client?.watchLog !== undefined && { watch: (onChange) => client.watchLog!(attempt!, onChange) }),
      pollMs: client?.traits.runsHere === true ? LOCAL_POLL_MS : REMOTE_POLL_MS
    }
  }

  async #attemptOf(jobId: JobId, number: AttemptNumber | undefined): Promise<Attempt | null> {
    const attempts = await this.#parts.store.listAttempts(jobId)
    if (number === undefined) return attempts.at(-1) ?? null
    const attempt = attempts.find((each) => each.number === number)
    if (attempt !== undefined) return attempt
    throw new ScrapdeckError(
      'LOG_NOT_FOUND',
      sentence('runs.no_attempt', { jobId, number, attempts: attempts.map((each) => each.number).join(', ') || 'none' })
    )
  }

  async #readOf(
    attempt: Attempt,
    range: WantedBytes,
    signal?: AbortSignal,
    what?: 'readPrinted'
  ): Promise<LogRange | null> {
    const { store, archive } = this.#parts
    refuseDeleted(attempt)
    if (what !== undefined) return this.#readOnNode(attempt, range, signal, what)
    if (isArchived(attempt)) {
      const log = await store.findArchivedLog(attempt.jobId, attempt.number)
      return log === null ? null : archive.read(attempt.jobId, attempt.number, log, range)
    }
    // The copy made during the run is here, even if the node is gone, does not respond, or deleted the log.
    const readCopied = () => archive.copies.readIfAny(attempt.jobId, attempt.number, range)
    try {
      return (await this.#readOnNode(attempt, range, signal)) ?? (await readCopied())
    } catch (error) {
      const copied = signal?.aborted === true ? null : await readCopied()
      if (copied !== null) return copied
      throw error
    }
  }

  async #readOnNode(
    attempt: Attempt,
    range: WantedBytes,
    signal?: AbortSignal,
    what: 'readLog' | 'readPrinted' = 'readLog'
  ): Promise<LogRange | null> {
    const node = this.#parts.fleet.get(attempt.nodeId)
    if (node === undefined) return null
    try {
      return (await node.client[what]?.(attempt, range, signal)) ?? null
    } catch (error) {
      throw toClientError(error)
    }
  }
}

/**
 * Whether the archive has the whole log. If a lost run was found again, the earlier archive lacks a part of the log.
 */
const isArchived = ({ logArchived, state }: Attempt): boolean => logArchived && state === 'ended'
