import { type HeadFormat, MAX_HEAD, SCRAPY_FORMAT } from './head-format.ts'
import { emptySpans, type HeadSpans, scanScrapyHead } from './head-spans.ts'
import { parseJsonRecord } from './json-record.ts'
import { readerOf, scanPatternHead } from './pattern-head.ts'
import { RECORD_LEVELS, type RecordLevel } from './record-level.ts'
import { withoutColours } from './without-colours.ts'

export interface RecordHead {
  /** By the spider's clock: `2026-11-02`, `12:00:02`, and the digits of the fraction (empty: none). */
  date: string
  time: string
  fraction: string
  logger: string
  level: RecordLevel
  /** Where the message starts in the line. 0 if it is in `message`. */
  messageAt: number
  /** The unescaped message of a JSON record. In other formats, the line contains the message. */
  message?: string
}

/**
 * Returns null if the line continues the record above (a traceback, printed text), or has a different format. Always
 * finds the default format, because a log starts with it until settings are loaded.
 */
export function parseRecordHead(line: string, format: HeadFormat = SCRAPY_FORMAT): RecordHead | null {
  if (format.kind === 'json') {
    const record = parseJsonRecord(line)
    if (record !== null) {
      const { level, logger, message, atMs } = record
      return { ...clockOf(atMs), logger, level: RECORD_LEVELS[level] as RecordLevel, messageAt: 0, message }
    }
  }
  const escapeAt = line.indexOf('\u001b')
  if (escapeAt < 0 || escapeAt > MAX_HEAD) return headOf(line, scanHead(line, format))
  const plain = withoutColours(line)
  const head = headOf(plain.text, scanHead(plain.text, format))
  return head && { ...head, messageAt: plain.originOf(head.messageAt) }
}

const spans = emptySpans()

function scanHead(line: string, format: HeadFormat): HeadSpans | null {
  if (scanScrapyHead(line, 0, line.length, spans)) return spans
  return format.kind === 'pattern' && scanPatternHead(line, 0, line.length, readerOf(format), spans) ? spans : null
}

function headOf(line: string, found: HeadSpans | null): RecordHead | null {
  if (found === null) return null
  const { timeFrom, timeTo, loggerFrom, loggerTo, level, messageAt, atMs } = found
  const parts = TIME_PARTS.exec(line.slice(timeFrom, timeTo))
  return {
    // Scrapy's own order needs no conversion.
    ...(parts === null
      ? clockOf(atMs)
      : { date: parts[1] as string, time: parts[2] as string, fraction: parts[3] ?? '' }),
    logger: line.slice(loggerFrom, loggerTo),
    level: RECORD_LEVELS[level] as RecordLevel,
    messageAt
  }
}

const TIME_PARTS = /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?/

function clockOf(atMs: number): Pick<RecordHead, 'date' | 'time' | 'fraction'> {
  if (Number.isNaN(atMs) || Math.abs(atMs) > 253_402_300_799_999) return { date: '', time: '', fraction: '' }
  const [date = '', clock = ''] = new Date(atMs).toISOString().split('T')
  const fraction = clock.slice(9, 12)
  return { date, time: clock.slice(0, 8), fraction: fraction === '000' ? '' : fraction }
}
