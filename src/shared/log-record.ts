export const RECORD_LEVELS = ['DEBUG', 'INFO', 'WARNING', 'ERROR', 'CRITICAL'] as const
export type RecordLevel = (typeof RECORD_LEVELS)[number]

/** What the first line of a record of Python's logging says before its message. */
export interface RecordHead {
  /** As the spider's clock showed it: `2026-11-02`, `12:00:02`, and the fraction's digits (empty: none). */
  date: string
  time: string
  fraction: string
  logger: string
  level: RecordLevel
  /** Where in the line the message begins. */
  messageAt: number
}

/** Scrapy's default: `2026-11-02 12:00:02,250 [scrapy.core.engine] INFO: Spider opened`, with or without a zone. */
const HEAD =
  /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?(?:Z| ?[+-]\d\d:?\d\d)? \[([^\]]{0,200})\] (DEBUG|INFO|WARN(?:ING)?|ERROR|CRITICAL): ?/

/**
 * null: the line goes on with the record above it (a traceback, printed text), or the project has a format of its own.
 */
export function parseRecordHead(line: string): RecordHead | null {
  const match = HEAD.exec(line)
  if (match === null) return null
  const [head, date, time, fraction = '', logger, word] = match as unknown as [
    string,
    string,
    string,
    string,
    string,
    string
  ]
  const level = word === 'WARN' ? 'WARNING' : (word as RecordLevel)
  return { date, time, fraction, logger, level, messageAt: head.length }
}

/** The first line of a traceback; the line that names its exception is the next one that is not indented. */
export const TRACEBACK_HEADING = 'Traceback (most recent call last):'

/** In a format of the project's own: ERROR or CRITICAL stands in the line's head as a word. */
export function looksLikeError(line: string): boolean {
  return ERROR_WORD.test(line.slice(0, 120))
}
const ERROR_WORD = /(?:^|[\s[|])(?:ERROR|CRITICAL)(?:[\s\]:|]|$)/

/** The log has records below WARNING, in any format that ends its head with `] LEVEL: `. */
export function showsInfo(log: string): boolean {
  return /\] (?:INFO|DEBUG): /.test(log)
}
