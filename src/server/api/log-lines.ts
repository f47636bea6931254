import type { LogChunk } from '../../shared/contract/index.ts'
import { GrowingFormat, parseRecordHead, type RecordLevel } from '../../shared/log-record.ts'

export interface LogLine {
  /** By the spider's clock, without a zone because logs have none; null before the first record. */
  time: string | null
  level: RecordLevel | null
  logger: string | null
  message: string
  /** Continues the record above it (a traceback, printed text) and has its time and level. */
  continued: boolean
  /** Offset of the first byte after this line. */
  nextOffset: number
}

/** Longer lines are split, so that memory use does not depend on a spider's line ends. */
const MAX_LINE_CHARACTERS = 262_144

/** Assembles lines from the pieces of one log, in order. With the last piece it also returns an unterminated line. */
export function createLineReader(): (chunk: LogChunk) => LogLine[] {
  let pending = ''
  let expected: number | null = null
  const format = new GrowingFormat()
  let head: Pick<LogLine, 'time' | 'level' | 'logger'> = { time: null, level: null, logger: null }

  return (chunk) => {
    // The log restarted or a piece is missing: the pending text does not belong to this line.
    if (expected !== null && chunk.offset !== expected) pending = ''
    expected = chunk.nextOffset
    format.read(chunk)
    // Replaced bytes (invalid UTF-8) hide the true length: clients then resume at the start of the piece.
    const isExact = Buffer.byteLength(chunk.text) === chunk.nextOffset - chunk.offset
    const lines: LogLine[] = []
    let at = 0
    let offset = chunk.offset
    for (;;) {
      const newlineAt = chunk.text.indexOf('\n', at)
      if (newlineAt === -1) break
      const piece = chunk.text.slice(at, newlineAt + 1)
      at = newlineAt + 1
      offset = at === chunk.text.length ? chunk.nextOffset : isExact ? offset + Buffer.byteLength(piece) : offset
      lines.push(read(pending + piece.slice(0, -1), offset))
      pending = ''
    }
    pending += chunk.text.slice(at)
    if (pending !== '' && (chunk.complete || pending.length > MAX_LINE_CHARACTERS)) {
      lines.push(read(pending, chunk.nextOffset))
      pending = ''
    }
    return lines
  }

  function read(line: string, nextOffset: number): LogLine {
    const text = line.endsWith('\r') ? line.slice(0, -1) : line
    const record = parseRecordHead(text, format.current)
    if (record === null) return { ...head, message: text, continued: true, nextOffset }
    const { date, time, fraction, logger, level, messageAt, message = text.slice(messageAt) } = record
    head = { time: time === '' ? null : `${date}T${time}${fraction && `.${fraction}`}`, level, logger: logger || null }
    return { ...head, message, continued: false, nextOffset }
  }
}
