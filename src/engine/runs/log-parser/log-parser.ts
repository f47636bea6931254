import { emptySpans, type HeadSpans, scanScrapyHead } from '../../../shared/log-record/head-spans.ts'
import { figuresOf } from './closing-figures.ts'
import type { LoggedError } from './error-record.ts'
import { emptyTally, type LogFigures } from './figures.ts'
import { createHeadLearner } from './head-learner.ts'
import { latin1Of } from './log-text.ts'
import { createRecordReader } from './record-reader.ts'

/**
 * Parses a log as it grows. Its figures are available at any time. For any input, it never throws, takes linear time,
 * and keeps at most about 4 MB besides the current piece: one unfinished line of MAX_LINE, closing stats of MAX_STATS,
 * errors not taken yet, and less than 100 kB of other data.
 */
export interface LogParser {
  push(bytes: Uint8Array): void
  /** Skips the next bytes. The next logstats line corrects the cumulative figures. */
  skip(byteCount: number): void
  /** Call this last, when the log is complete. Reads the unfinished line and the open record. */
  end(): void
  figures(): LogFigures
  /** The errors since the last call, oldest first. Beyond MAX_ERRORS_WAITING, errors are only counted. */
  takeErrors(): LoggedError[]
}

/** The maximum length of a line. The rest of a longer line is skipped, because it is data that a spider printed. */
export const MAX_LINE = 131_072
export const MAX_ERRORS_WAITING = 100
/** Decoding in pieces of this size bounds the memory for a huge chunk. */
const PIECE = 262_144

export function createLogParser(): LogParser {
  const tally = emptyTally()
  const heads = createHeadLearner()
  const spans: HeadSpans = emptySpans()
  const errors: LoggedError[] = []
  let errorsDropped = 0
  let skippedBytes = 0
  let isMidLine = false
  let offset = 0
  let pending: string[] = []
  let pendingLength = 0
  let pendingAt = 0

  const records = createRecordReader({
    tally,
    heads,
    emit(error) {
      if (errors.length < MAX_ERRORS_WAITING) errors.push(error)
      else errorsDropped++
    }
  })

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
    // Reads the start of the overlong line and skips its rest.
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

  /** Reads the whole lines of `text` between `from` and `end`. The first character of `text` is the byte at `base`. */
  function readLines(text: string, from: number, end: number, base: number): void {
    const mayHaveColours = text.includes('\u001b')
    let at = from
    while (at < end) {
      const newlineAt = text.indexOf('\n', at)
      let to = newlineAt - at > MAX_LINE ? at + MAX_LINE : newlineAt
      // 13 is the carriage return of a Windows line end.
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
        bytes: offset,
        skippedBytes,
        errorsDropped,
        format: heads.format,
        hasDate: heads.hasDate
      })
    },
    takeErrors() {
      return errors.splice(0)
    }
  }
}
