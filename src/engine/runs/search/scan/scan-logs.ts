import { FRAME_RAW_BYTES } from '../../logs/archive/frames.ts'
import { countNewlines } from '../../logs/scan/count-newlines.ts'
import { createMatcher, type LineMatcher, type LineQuery } from '../../logs/scan/line-matcher.ts'
import { type LogFile, openLogFile, type OpenLog, readBytes } from '../../logs/scan/log-file.ts'
import type { RecordLevel } from '../../../../shared/log-record.ts'
import { fitsRecord, type RecordFilter, RecordFinder } from './record-finder.ts'
import { type Candidates, isCandidate } from '../../../storage/log-blocks.ts'
import type { IndexedLogBlocks } from '../../../model/records.ts'

/** The lines that start at or after `from` and before `to`. */
export interface Piece {
  from: number
  to: number
}

export interface ScanOrder {
  query: LineQuery
  records: RecordFilter
  /** The maximum number of hits in all logs together. The scan ends in the log that reaches it. */
  mostHits: number
  logs: { file: LogFile; pieces: Piece[] | null; startedAtMs: number | null }[]
}

/** A line with a match. `line` counts from 1, `offset` is in bytes, `matchAt` counts characters of `text`. */
export interface ScannedHit {
  line: number
  offset: number
  text: string
  matchAt: number
  matchLength: number
  level: RecordLevel | null
  time: string | null
}

/** The result for one log. `error`: the log could not be read. `endedAt`: the search stopped at this byte. */
export interface ScannedLog {
  index: number
  hits: ScannedHit[]
  scannedBytes: number
  endedAt: number | null
  error: string | null
}

const MAX_TEXT_CHARS = 500
const CONTEXT_CHARS = 100
/** Longer lines are searched in parts of about this size. */
const MAX_LINE_BYTES = 4 * FRAME_RAW_BYTES
const STEP_BYTES = 65_536
const NEWLINE = 0x0a

export async function scanLogs(
  { query, records, mostHits, logs }: ScanOrder,
  { emit, isStopped }: { emit: (part: ScannedLog[]) => void; isStopped: () => boolean }
): Promise<void> {
  const matcher = createMatcher(query)
  let left = mostHits
  let unsent: ScannedLog[] = []
  const send = () => {
    if (unsent.length > 0) emit(unsent)
    unsent = []
  }
  for (const [index, { file, pieces, startedAtMs }] of logs.entries()) {
    if (isStopped() || left <= 0) break
    const result: ScannedLog = { index, hits: [], scannedBytes: 0, endedAt: null, error: null }
    try {
      const log = await openLogFile(file)
      try {
        const whole = [{ from: 0, to: log.sizeBytes }]
        scanLog(log, {
          pieces: pieces ?? whole,
          matcher,
          finder: new RecordFinder(log, records, startedAtMs),
          left,
          isStopped,
          result
        })
      } finally {
        log.close()
      }
    } catch (error) {
      result.error = (error as Error).message
    }
    left -= result.hits.length
    unsent.push(result)
    // If an expression hangs, the caller blames the log after the last result, so results are sent immediately.
    if (query.isRegex || result.hits.length > 0) send()
  }
  send()
}

interface LogScan {
  pieces: Piece[]
  matcher: LineMatcher
  finder: RecordFinder
  left: number
  isStopped: () => boolean
  result: ScannedLog
}

function scanLog(log: OpenLog, { pieces, matcher, finder, left, isStopped, result }: LogScan): void {
  const counter = new LineCounter(log)
  for (const { from, to } of pieces) {
    let carried: Buffer[] = []
    let carriedAt = from
    let carriedBytes = 0
    let at = from
    for (const { offset, bytes } of log.blocks(from, Math.min(to, log.sizeBytes))) {
      if (isStopped()) return
      at = offset + bytes.length
      result.scannedBytes += bytes.length
      let bodyAt = 0
      if (carriedBytes > 0) {
        const newlineAt = bytes.indexOf(NEWLINE)
        bodyAt = newlineAt < 0 ? bytes.length : newlineAt + 1
        carry(offset, bytes.subarray(0, bodyAt))
        if (newlineAt < 0 && carriedBytes < MAX_LINE_BYTES) continue
        if (!searchCarried()) return
      }
      const bodyEnd = Math.max(bodyAt, bytes.lastIndexOf(NEWLINE) + 1)
      if (bodyEnd > bodyAt && !search(offset + bodyAt, bytes.subarray(bodyAt, bodyEnd))) return
      if (bodyEnd < bytes.length) carry(offset + bodyEnd, bytes.subarray(bodyEnd))
    }
    while (carriedBytes > 0 && carriedBytes < MAX_LINE_BYTES && at < log.sizeBytes) {
      for (const { offset, bytes } of log.blocks(at, Math.min(at + STEP_BYTES, log.sizeBytes))) {
        const newlineAt = bytes.indexOf(NEWLINE)
        carry(offset, newlineAt < 0 ? bytes : bytes.subarray(0, newlineAt + 1))
        at = newlineAt < 0 ? offset + bytes.length : log.sizeBytes
        if (newlineAt >= 0) break
      }
    }
    if (carriedBytes > 0 && !searchCarried()) return

    function carry(offset: number, bytes: Buffer): void {
      if (carriedBytes === 0) carriedAt = offset
      // Copies the bytes, because the block's memory is reused.
      carried.push(Buffer.from(bytes))
      carriedBytes += bytes.length
    }

    function searchCarried(): boolean {
      const line = Buffer.concat(carried)
      carried = []
      carriedBytes = 0
      return search(carriedAt, line)
    }

    /** `bytes` has whole lines, except that the first can be the end of a line that starts before the piece. */
    function search(offset: number, bytes: Buffer): boolean {
      finder.enter(offset, bytes)
      return matcher.find(bytes, ({ lineStart, text, matchAt, matchLength }) => {
        if (lineStart === 0 && offset === from && !isLineStart(log, from)) return true
        const record = finder.recordOf(lineStart)
        if (!fitsRecord(record, finder.filter)) return true
        const textAt = matchAt > MAX_TEXT_CHARS - CONTEXT_CHARS ? matchAt - CONTEXT_CHARS : 0
        result.hits.push({
          line: counter.lineAt(offset, bytes, lineStart),
          offset: offset + lineStart,
          text: text.slice(textAt, textAt + MAX_TEXT_CHARS),
          matchAt: matchAt - textAt,
          matchLength,
          level: record?.level ?? null,
          time: record?.time ?? null
        })
        if (result.hits.length < left) return true
        result.endedAt = offset + lineStart + 1
        return false
      })
    }
  }
}

/** Call this only for a match, because it can read the previous frame. */
const isLineStart = (log: OpenLog, at: number): boolean => at === 0 || readBytes(log, at - 1, at)[0] === NEWLINE

class LineCounter {
  readonly #log: OpenLog
  #before = 0
  #at = 0
  #part = -1

  constructor(log: OpenLog) {
    this.#log = log
  }

  /** The number of the line that starts at `lineStart` within the part. Call this for lines in ascending order. */
  lineAt(offset: number, bytes: Buffer, lineStart: number): number {
    if (this.#part !== offset) this.#goTo(offset)
    this.#before += countNewlines(bytes, this.#at - offset, lineStart)
    this.#at = offset + lineStart
    this.#part = offset
    return this.#before + 1
  }

  /** The archive stores the newlines of each frame, so newlines are counted in at most one frame. */
  #goTo(offset: number): void {
    const frame = Math.floor(offset / FRAME_RAW_BYTES)
    const { newlines } = this.#log
    if (newlines !== undefined && frame * FRAME_RAW_BYTES > this.#at) {
      this.#before = 0
      for (let index = 0; index < frame; index += 1) this.#before += newlines[index] ?? 0
      this.#at = frame * FRAME_RAW_BYTES
    }
    for (const { bytes } of this.#log.blocks(this.#at, offset)) this.#before += countNewlines(bytes, 0, bytes.length)
    this.#at = offset
  }
}

export function piecesOf(
  blocks: IndexedLogBlocks | null,
  candidates: Candidates | null,
  offset: number | null
): Piece[] | null {
  if (blocks === null || candidates === null) {
    return offset === null ? null : [{ from: offset, to: Number.MAX_SAFE_INTEGER }]
  }
  const { rawBytes, firstBlock, wholeBlocks, tailBlock } = blocks
  const pieces: Piece[] = []
  const add = (from: number, to: number) => {
    if (to <= (offset ?? 0)) return
    if (pieces.at(-1)?.to === from) pieces.at(-1)!.to = to
    else pieces.push({ from: Math.max(from, offset ?? 0), to })
  }
  for (let index = 0; index < wholeBlocks; index += 1)
    if (isCandidate(candidates, firstBlock! + index)) add(index * FRAME_RAW_BYTES, (index + 1) * FRAME_RAW_BYTES)
  if (tailBlock === 'open' || (tailBlock !== null && isCandidate(candidates, tailBlock)))
    add(wholeBlocks * FRAME_RAW_BYTES, rawBytes)
  return pieces
}

export const bytesOf = (pieces: Piece[], rawBytes: number): number =>
  pieces.reduce((sum, { from, to }) => sum + Math.min(to, rawBytes) - from, 0)
