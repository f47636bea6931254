import type { AttemptNumber, JobId } from '../../shared/contract/index.ts'
import type { LogArchivePort } from '../logs/archive/log-archive.ts'
import type { LogBytes } from '../logs/byte-window.ts'
import type { FleetNode } from '../nodes/fleet.ts'
import type { RunNames } from '../nodes/node-client.ts'
import { createLogParser, type LogParser } from '../understanding/log-parser.ts'
import { RunErrors } from './run-errors.ts'

/** The run whose log is read. */
export interface RunOfLog extends RunNames {
  readonly jobId: JobId
  readonly number: AttemptNumber
}

/** One turn of the event loop: about a millisecond of parsing. */
const PIECE_BYTES = 262_144
/** What is left to read of a run that has ended delays its end: of more than this, only the last part is read. */
const MOST_AT_END_BYTES = 67_108_864
const KEPT_AT_END_BYTES = 8_388_608

/**
 * Reads the log of one run, in order and once: a remote one is copied on the way, so that its node may delete it. After
 * a restart of the engine it is read again from what has been copied.
 */
export class LogReading {
  readonly run: RunOfLog
  readonly errors = new RunErrors()
  readonly #copies: LogArchivePort['copies']
  #parser: LogParser = createLogParser()
  #parsedBytes = 0
  #turn: Promise<unknown> = Promise.resolve()

  constructor(run: RunOfLog, copies: LogArchivePort['copies']) {
    this.run = run
    this.#copies = copies
  }

  get parser(): Pick<LogParser, 'figures'> {
    return this.#parser
  }

  get parsedBytes(): number {
    return this.#parsedBytes
  }

  /**
   * Reads on, at most `maxBytes`; resolves with how many bytes were new. Rejects with NodeError, or LOG_NOT_FOUND while
   * there is no log.
   */
  readOn(node: FleetNode, maxBytes: number, signal: AbortSignal): Promise<number> {
    return this.#inTurn(() => this.#readOn(node, maxBytes, signal))
  }

  /** The run has ended, and `tail` is the end of its log: reads what is left. */
  finish(node: FleetNode, tail: LogBytes, signal: AbortSignal): Promise<void> {
    return this.#inTurn(() => this.#finish(node, tail, signal))
  }

  /** One after the other: each byte is parsed once. */
  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const mine = this.#turn.then(work)
    this.#turn = mine.catch(() => {})
    return mine
  }

  async #readOn(node: FleetNode, maxBytes: number, signal: AbortSignal): Promise<number> {
    if (node.client.traits.keepsLogs) return this.#parse((at) => this.#readFile(node, at, signal), maxBytes)
    const { jobId, number } = this.run
    const read = (range: { offset: number; limitBytes: number }) => node.client.readLog(this.run, range, signal)
    await this.#copies.advance(jobId, number, read, { maxBytes, signal })
    return this.#parse((at) => this.#readCopy(at), maxBytes)
  }

  async #finish(node: FleetNode, tail: LogBytes, signal: AbortSignal): Promise<void> {
    if (this.#parsedBytes === 0 && tail.offset === 0 && tail.bytes.length === tail.sizeBytes) {
      // Most runs: they were over before anybody read their log, and this is all of it.
      this.#push(tail.bytes)
    } else if (node.client.traits.keepsLogs) {
      this.#skipTo(tail.sizeBytes)
      await this.#parse((at) => this.#readFile(node, at, signal), Number.POSITIVE_INFINITY)
    } else {
      const { jobId, number } = this.run
      const read = (range: { offset: number; limitBytes: number }) => node.client.readLog(this.run, range, signal)
      const { copiedBytes } = await this.#copies.advance(jobId, number, read, { signal })
      this.#skipTo(copiedBytes)
      await this.#parse((at) => this.#readCopy(at), Number.POSITIVE_INFINITY)
    }
    this.#parser.end()
    this.errors.add(this.#parser.takeErrors())
  }

  #skipTo(sizeBytes: number): void {
    if (sizeBytes - this.#parsedBytes <= MOST_AT_END_BYTES) return
    const skipped = sizeBytes - KEPT_AT_END_BYTES - this.#parsedBytes
    this.#parser.skip(skipped)
    this.#parsedBytes += skipped
  }

  #readFile(node: FleetNode, offset: number, signal: AbortSignal): Promise<LogBytes | null> {
    return node.client.readLog(this.run, { offset, limitBytes: PIECE_BYTES }, signal)
  }

  #readCopy(offset: number): Promise<LogBytes> {
    return this.#copies.read(this.run.jobId, this.run.number, { offset, limitBytes: PIECE_BYTES })
  }

  async #parse(read: (offset: number) => Promise<LogBytes | null>, maxBytes: number): Promise<number> {
    let parsed = 0
    while (parsed < maxBytes) {
      const piece = await read(this.#parsedBytes)
      if (piece === null) break
      // Another file under its name: what it said is not part of this one.
      if (piece.sizeBytes < this.#parsedBytes) {
        this.#parser = createLogParser()
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
