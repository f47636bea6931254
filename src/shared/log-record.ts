export const RECORD_LEVELS = ['DEBUG', 'INFO', 'WARNING', 'ERROR', 'CRITICAL'] as const
export type RecordLevel = (typeof RECORD_LEVELS)[number]

/** The part of a record's first line before its message, in Python's logging. */
export interface RecordHead {
  /** By the spider's clock: `2026-11-02`, `12:00:02`, and the digits of the fraction (empty: none). */
  date: string
  time: string
  fraction: string
  logger: string
  level: RecordLevel
  /** Where the message starts in the line. */
  messageAt: number
}

/** Scrapy's default: `2026-11-02 12:00:02,250 [scrapy.core.engine] INFO: Spider opened`, with or without a zone. */
const HEAD =
  /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?(?:Z| ?[+-]\d\d:?\d\d)? \[([^\]]{0,200})\] (DEBUG|INFO|WARN(?:ING)?|ERROR|CRITICAL): ?/

/** null: the line continues the record above (a traceback, printed text), or the project has its own format. */
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

/** The first line of a traceback. The next line that is not indented names the exception. */
export const TRACEBACK_HEADING = 'Traceback (most recent call last):'

/** For a project's own log format: the start of the line contains the word ERROR or CRITICAL. */
export function looksLikeError(line: string): boolean {
  return ERROR_WORD.test(line.slice(0, 120))
}
const ERROR_WORD = /(?:^|[\s[|])(?:ERROR|CRITICAL)(?:[\s\]:|]|$)/

/** The log has INFO or DEBUG records, in any format whose head ends with `] LEVEL: `. */
export function showsInfo(log: string): boolean {
  return /\] (?:INFO|DEBUG): /.test(log)
}
