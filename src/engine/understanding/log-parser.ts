import { emptySpans, type HeadSpans, scanScrapyHead } from '../../shared/log-record/head-spans.ts'
import { figuresOf } from './closing-figures.ts'
import type { LoggedError } from './error-record.ts'
import { emptyTally, type LogFigures, type Tally } from './figures.ts'
import { createHeadLearner, type LearnedHeads, NOTHING_LEARNED } from './head-learner.ts'
import { latin1Of } from './log-text.ts'
import { createRecordReader, type OpenRecord } from './record-reader.ts'

/**
 * Reads a log as it grows and says at any time what it tells. Whatever comes: it never throws, takes linear time, and
 * keeps at most some 4 MB beside the piece that is being read (one unfinished line of MAX_LINE, closing stats of
 * MAX_STATS, the errors that nobody took yet; the rest is below 100 kB).
 */
export interface LogParser {
  /** The next bytes of the log, cut anywhere. */
  push(bytes: Uint8Array): void
  /** Leaves out the next bytes. Cumulative figures are right again with the next logstats line. */
  skip(byteCount: number): void
  /** There are no more bytes: reads an unfinished line, and a record that was still open. Nothing may follow. */
  end(): void
  figures(): LogFigures
  /** The errors since the last call, oldest first. At most MAX_ERRORS_WAITING wait, later ones are only counted. */
  takeErrors(): LoggedError[]
  /**
   * For a parser after a restart. Continue with the byte at its `offset`, which may lie before the last one pushed: at
   * the start of an unfinished line, or of closing stats. Take the errors first, they are not part of it.
   */
  save(): LogParserState
}

/** Plain JSON, at most some 32 kB. */
export interface LogParserState {
  version: typeof STATE_VERSION
  offset: number
  skippedBytes: number
  /** The rest of the line at `offset` is left out. */
  isMidLine: boolean
  heads: LearnedHeads
  tally: Tally
  open: OpenRecord
  errorsDropped: number
}

const STATE_VERSION = 1
/** What is longer is read as a line of this length: the rest is a page that a spider printed. */
export const MAX_LINE = 131_072
export const MAX_ERRORS_WAITING = 100
/** Decoding in pieces of this size keeps the memory for a huge chunk small. */
const PIECE = 262_144

/** A state of another version is left aside: then the log must be read from its start, at `save().offset` 0. */
export function createLogParser(saved?: LogParserState): LogParser {
  const state = saved?.version === STATE_VERSION ? saved : null
  const tally: Tally = state === null ? emptyTally() : structuredClone(state.tally)
  const heads = createHeadLearner(state?.heads ?? NOTHING_LEARNED)
  const spans: HeadSpans = emptySpans()
  const errors: LoggedError[] = []
  let errorsDropped = state?.errorsDropped ?? 0
  let skippedBytes = state?.skippedBytes ?? 0
  let isMidLine = state?.isMidLine ?? false
  /** Bytes pushed and skipped; those of an unfinished line wait in `pending`. */
  let offset = state?.offset ?? 0
  let pending: string[] = []
  let pendingLength = 0
  let pendingAt = 0
  /** The state before the closing stats that are being read: they are too large to be part of one. */
  let atStats: LogParserState | null = null

  const records = createRecordReader({
    tally,
    heads,
    open: structuredClone(state?.open ?? null),
    emit(error) {
      if (errors.length < MAX_ERRORS_WAITING) errors.push(error)
      else errorsDropped++
    },
    beforeStats(byteAt) {
      atStats = snapshot(byteAt)
      // The line is counted already.
      atStats.tally.lines--
    }
  })

  /** `text` are the bytes from `base` on. */
  function readPiece(text: string, base: number): void {
    let from = 0
    if (isMidLine || pendingLength > 0) {
      const newlineAt = text.indexOf('\n')
      if (isMidLine) {
        if (newlineAt < 0) return
        isMidLine = false
      } else {
        keepPending(newlineAt < 0 ? text : text.slice(0, newlineAt + 1), base)
        if (newlineAt < 0) return
        readPending()
      }
      from = newlineAt + 1
    }
    const end = text.lastIndexOf('\n') + 1
    if (end > from) readLines(text, from, end, base)
    const rest = Math.max(from, end)
    if (rest < text.length) keepPending(text.slice(rest), base + rest)
  }

  function keepPending(text: string, at: number): void {
    if (pendingLength === 0) pendingAt = at
    pending.push(text)
    pendingLength += text.length
    if (pendingLength <= MAX_LINE || text.endsWith('\n')) return
    // The line is read as it is so far, and its rest left out.
    pending = [takePending().slice(0, MAX_LINE), '\n']
    pendingLength = MAX_LINE + 1
    readPending()
    isMidLine = true
  }

  function takePending(): string {
    const text = pending.join('')
    pending = []
    pendingLength = 0
    return text
  }

  function readPending(): void {
    const text = takePending()
    readLines(text, 0, text.length, pendingAt)
  }

  /** `text` from `from` to `end` is whole lines; its character 0 is the byte at `base`. */
  function readLines(text: string, from: number, end: number, base: number): void {
    const mayHaveColours = text.includes('\u001b')
    let at = from
    while (at < end) {
      const newlineAt = text.indexOf('\n', at)
      let to = newlineAt - at > MAX_LINE ? at + MAX_LINE : newlineAt
      // 13: a carriage return of Windows.
      if (to > at && text.charCodeAt(to - 1) === 13) to--
      tally.lines++
      if (scanScrapyHead(text, at, to, spans)) {
        heads.sawScrapyFormat()
        records.start(text, at, to, spans, base + at)
      } else {
        readOtherLine(text, at, to, mayHaveColours, base + at)
      }
      at = newlineAt + 1
    }
    records.keepWhatIsRead()
  }

  function readOtherLine(text: string, at: number, to: number, mayHaveColours: boolean, byteAt: number): void {
    const found = heads.find(text, at, to, mayHaveColours, spans)
    if (found.kind === 'none') records.continue(text, at, to, byteAt)
    else if (found.kind === 'plain') records.start(found.text, found.at, found.to, spans, byteAt)
    else records.readJson(found.record, byteAt)
  }

  function snapshot(at: number): LogParserState {
    return {
      version: STATE_VERSION,
      offset: at,
      skippedBytes,
      isMidLine,
      heads: heads.learned,
      tally: structuredClone(tally),
      open: structuredClone(records.open),
      errorsDropped
    }
  }

  return {
    push(bytes) {
      for (let at = 0; at < bytes.length; at += PIECE) {
        const end = Math.min(bytes.length, at + PIECE)
        const text = latin1Of(bytes, at, end)
        offset += text.length
        readPiece(text, offset - text.length)
      }
    },
    skip(byteCount) {
      if (byteCount <= 0) return
      records.close()
      skippedBytes += byteCount + takePending().length
      offset += byteCount
      isMidLine = true
    },
    end() {
      if (pendingLength > 0) {
        pending.push('\n')
        readPending()
      }
      records.end()
    },
    figures() {
      return figuresOf(tally, {
        ...{ bytes: offset, skippedBytes, errorsDropped },
        ...{ format: heads.learned.format, hasDate: heads.hasDate }
      })
    },
    takeErrors() {
      return errors.splice(0)
    },
    save() {
      return (records.isInStats && atStats) || snapshot(pendingLength > 0 ? pendingAt : offset)
    }
  }
}
