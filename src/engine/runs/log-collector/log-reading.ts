import type { AttemptNumber, JobId } from '../../../shared/contract/index.ts'
import type { LogArchivePort } from '../logs/archive/log-archive.ts'
import { fromTail, type LogBytes } from '../../runtime/byte-window.ts'
import type { FleetNode } from '../../nodes/fleet.ts'
import type { RunNames } from '../../nodes/node-client.ts'
import { createLogParser, type LogParser } from '../log-parser/log-parser.ts'
import { RunErrors } from './run-errors.ts'
import type { RunErrorRow, RunReading } from '../../model/records.ts'
import { timesAheadMs, toStoredFigures } from '../log-parser/stored-figures.ts'
import { Mutex } from '../../runtime/mutex.ts'

export interface RunOfLog extends RunNames {
  readonly jobId: JobId
  readonly number: AttemptNumber
}

/** The bytes parsed per turn of the event loop: about a millisecond of work. */
const PIECE_BYTES = 262_144
/** If more than this remains when a run ends, only the last part is read, because reading delays the run's end. */
const MOST_AT_END_BYTES = 67_108_864
const KEPT_AT_END_BYTES = 8_388_608

/**
 * Reads the log of one run once and in order. Copies a remote log while reading, so that its node can delete it. After
 * a restart of the engine, reads the copy again from its start.
 */
export class LogReading {
  readonly run: RunOfLog
  readonly errors = new RunErrors()
  readonly #copies: LogArchivePort['copies']
  /** Null until the first read, to save memory: thousands of runs can be waiting for it. */
  #parsing: LogParser | null = null
  #parsedBytes = 0
  #isCopied = false
  #isCapped = false
  readonly #mutex = new Mutex()

  constructor(run: RunOfLog, copies: LogArchivePort['copies']) {
    this.run = run
    this.#copies = copies
  }

  get parser(): Pick<LogParser, 'figures'> {
    return this.#parser
  }

  get #parser(): LogParser {
    return (this.#parsing ??= createLogParser())
  }

  get parsedBytes(): number {
    return this.#parsedBytes
  }

  get isCopied(): boolean {
    return this.#isCopied
  }

  /** Whether the log reached the maximum size that we keep. The rest of the log is unknown. */
  get isCapped(): boolean {
    return this.#isCapped
  }

  /** Reads at most `maxBytes` more. Returns the number of new bytes. Rejects with NodeError or LOG_NOT_FOUND. */
  readOn(node: FleetNode, maxBytes: number, signal: AbortSignal): Promise<number> {
    return this.#mutex.run(() => this.#readOn(node, maxBytes, signal))
  }

  /** Reads the rest of the log after the run has ended. `tail` is the end of the log. Null: only the copy is left. */
  finish(node: FleetNode, tail: LogBytes | null, signal: AbortSignal): Promise<void> {
    return this.#mutex.run(() => this.#finish(node, tail, signal))
  }

  async #readOn(node: FleetNode, maxBytes: number, signal: AbortSignal): Promise<number> {
    if (node.client.traits.keepsLogs) return this.#parse((at) => this.#readFile(node, at, signal), maxBytes)
    const { jobId, number } = this.run
    const read = (range: { offset: number; limitBytes: number }) => node.client.readLog(this.run, range, signal)
    this.#isCopied = true
    let parsed = 0
    const onProgress = (_progress: unknown, { offset, bytes }: LogBytes) => {
      if (offset !== this.#parsedBytes || bytes.length > PIECE_BYTES) return
      this.#push(bytes)
      parsed += bytes.length
    }
    const progress = await this.#copies.advance(jobId, number, read, { maxBytes, signal, onProgress })
    const { copiedBytes } = progress
    this.#isCapped = parsed === 0 && copiedBytes === this.#parsedBytes && copiedBytes < progress.sizeBytes
    if (copiedBytes === this.#parsedBytes) return parsed
    return parsed + (await this.#parse((at) => this.#readCopy(at), maxBytes))
  }

  async #finish(node: FleetNode, tail: LogBytes | null, signal: AbortSignal): Promise<void> {
    if (tail === null) {
      if (await this.#hasCopy(node)) await this.#parse((at) => this.#readCopy(at), Number.POSITIVE_INFINITY)
    } else if (tail.offset <= this.#parsedBytes && this.#parsedBytes <= tail.offset + tail.bytes.length) {
      this.#push(tail.bytes.subarray(this.#parsedBytes - tail.offset))
    } else if (node.client.traits.keepsLogs) {
      const read = (at: number) => this.#readFile(node, at, signal)
      await this.#skipTo(tail.sizeBytes, read)
      // Stops at the known size, because a process that outlives the run can write faster than we read.
      await this.#parse(read, tail.sizeBytes - this.#parsedBytes)
    } else {
      const { jobId, number } = this.run
      const read = fromTail(tail, (range) => node.client.readLog(this.run, range, signal))
      const { copiedBytes } = await this.#copies.advance(jobId, number, read, { signal })
      await this.#skipTo(copiedBytes, (at) => this.#readCopy(at))
      await this.#parse((at) => this.#readCopy(at), Number.POSITIVE_INFINITY)
    }
    this.#parser.end()
    this.errors.add(this.#parser.takeErrors())
  }

  async #skipTo(sizeBytes: number, read: (offset: number) => Promise<LogBytes | null>): Promise<void> {
    if (sizeBytes - this.#parsedBytes <= MOST_AT_END_BYTES) return
    if (this.#parsedBytes === 0) await this.#parse(read, PIECE_BYTES)
    const skipped = sizeBytes - KEPT_AT_END_BYTES - this.#parsedBytes
    this.#parser.skip(skipped)
    this.#parsedBytes += skipped
  }

  #readFile(node: FleetNode, offset: number, signal: AbortSignal): Promise<LogBytes | null> {
    return node.client.readLog(this.run, { offset, limitBytes: PIECE_BYTES }, signal)
  }

  async #hasCopy(node: FleetNode): Promise<boolean> {
    if (node.client.traits.keepsLogs) return false
    const { jobId, number } = this.run
    return (await this.#copies.readIfAny(jobId, number, { offset: 0, limitBytes: 0 })) !== null
  }

  #readCopy(offset: number): Promise<LogBytes> {
    return this.#copies.read(this.run.jobId, this.run.number, { offset, limitBytes: PIECE_BYTES })
  }

  async #parse(read: (offset: number) => Promise<LogBytes | null>, maxBytes: number): Promise<number> {
    let parsed = 0
    while (parsed < maxBytes) {
      const piece = await read(this.#parsedBytes)
      if (piece === null) break
      if (piece.sizeBytes < this.#parsedBytes) {
        this.#parsing = null
        this.#parsedBytes = 0
        continue
      }
      if (piece.bytes.length === 0) break
      this.#push(piece.bytes)
      parsed += piece.bytes.length
    }
    return parsed
  }

  #push(bytes: Uint8Array): void {
    this.#parser.push(bytes)
    this.#parsedBytes += bytes.length
    this.errors.add(this.#parser.takeErrors())
  }
}

interface Times {
  startedAtMs: number | null
  nowMs: number
}

export function recordOf(reading: LogReading, times: Times): RunReading {
  const { run, parser } = reading
  const figures = parser.figures()
  const aheadMs = timesAheadMs(figures, times.startedAtMs)
  return {
    jobId: run.jobId,
    attemptNumber: run.number,
    errors: takeErrors(reading, times),
    figures: JSON.stringify({ ...toStoredFigures(figures), ...(aheadMs !== 0 && { aheadMs }) })
  }
}

export function errorsOf(reading: LogReading, times: Times): RunReading {
  const { jobId, number } = reading.run
  return { jobId, attemptNumber: number, figures: null, errors: takeErrors(reading, times) }
}

function takeErrors({ parser, errors }: LogReading, { startedAtMs, nowMs }: Times): RunErrorRow[] {
  if (!errors.hasChanged) return []
  const figures = parser.figures()
  const aheadMs = timesAheadMs(figures, startedAtMs)
  // A log can contain any time. A time in the future would keep the error group at the top forever.
  const seenMs = (atMs: number | null) =>
    Math.min(nowMs, Math.max(startedAtMs ?? 0, (atMs ?? figures.lastAtMs ?? nowMs + aheadMs) - aheadMs))
  return errors.takeChanged().map(({ fingerprint, firstAtMs, lastAtMs, count, line, offset, message }) => ({
    fingerprint: fingerprint.id,
    title: fingerprint.title,
    culprit: fingerprint.culprit,
    exceptionType: fingerprint.exceptionType,
    because: fingerprint.because,
    count,
    line,
    offset,
    message,
    firstSeenMs: seenMs(firstAtMs),
    lastSeenMs: seenMs(lastAtMs)
  }))
}
