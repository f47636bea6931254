import {
  type HeadFormat,
  JSON_FORMAT,
  learnFromPrefix,
  learnHeadFormat,
  MAX_HEAD,
  type PatternFormat,
  SCRAPY_FORMAT
} from './head-format.ts'
import { emptySpans, scanScrapyHead } from './head-spans.ts'
import { parseJsonRecord } from './json-record.ts'
import { readerOf } from './pattern-head.ts'
import { withoutColours } from './without-colours.ts'

/**
 * Common log formats in projects. Used only for text without a known message, such as the end of a killed run's log.
 */
const USUAL_HEADS = [
  '2026-01-02 03:04:05,678 - scrapy.utils.log - INFO - ',
  '2026-01-02 03:04:05,678 - INFO - scrapy.utils.log - ',
  '2026-01-02 03:04:05,678 - INFO - ',
  '2026-01-02 03:04:05,678 [INFO] scrapy.utils.log: ',
  '2026-01-02 03:04:05,678 INFO [scrapy.utils.log] ',
  '2026-01-02 03:04:05,678 INFO scrapy.utils.log: ',
  '2026-01-02 03:04:05,678 INFO: ',
  '2026-01-02 03:04:05.678 | INFO     | scrapy.utils.log:function:12 - ',
  '[2026-01-02 03:04:05,678] [INFO] [scrapy.utils.log] ',
  '[2026-01-02 03:04:05,678: INFO/MainProcess] ',
  '[2026-01-02 03:04:05,678] INFO in scrapy.utils.log: ',
  'INFO:scrapy.utils.log:'
]

let usualFormats: PatternFormat[] | null = null

export function guessHeadFormat(line: string): PatternFormat | null {
  // Compile only for the first log that needs these formats. Most programs that load this file never need them.
  usualFormats ??= USUAL_HEADS.map((head) => learnFromPrefix(head, 'scrapy.utils.log', 'day-first') as PatternFormat)
  return usualFormats.find((format) => readerOf(format).pattern.test(line.slice(0, MAX_HEAD))) ?? null
}

/**
 * Finds the format of a part of a log. Prefers a line with a known Scrapy message to a line that only matches a
 * common format.
 */
export function findHeadFormat(lines: Iterable<string>): HeadFormat {
  return learnedFormat(lines) ?? SCRAPY_FORMAT
}

export function learnedFormat(lines: Iterable<string>): HeadFormat | null {
  const spans = emptySpans()
  let guess: HeadFormat | null = null
  for (const raw of lines) {
    const line = raw.includes('\u001b') ? withoutColours(raw).text : raw
    // Scrapy uses its own format until the spider's settings are loaded.
    if (scanScrapyHead(line, 0, line.length, spans)) guess = SCRAPY_FORMAT
    else {
      if (parseJsonRecord(line) !== null) return JSON_FORMAT
      const learned = learnHeadFormat(line)
      if (learned !== null) return learned
      guess ??= guessHeadFormat(line)
    }
  }
  return guess
}
