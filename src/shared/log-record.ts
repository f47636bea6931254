import type { HeadFormat } from './log-record/head-format.ts'
import { findHeadFormat } from './log-record/usual-formats.ts'

export { errorQueryOf, isErrorLine } from './log-record/error-lines.ts'
export { GrowingFormat } from './log-record/growing-format.ts'
export type { HeadFormat } from './log-record/head-format.ts'
export { parseRecordHead, type RecordHead } from './log-record/record-head.ts'
export { RECORD_LEVELS, type RecordLevel } from './log-record/record-level.ts'
export { findHeadFormat } from './log-record/usual-formats.ts'

/** The first line of a traceback. The next line that is not indented names the exception. */
export const TRACEBACK_HEADING = 'Traceback (most recent call last):'

/** For a project's own log format: whether the line has the word ERROR or CRITICAL near its start. */
export function looksLikeError(line: string): boolean {
  return ERROR_WORD.test(line.slice(0, 120))
}
const ERROR_WORD = /(?:^|[\s[|])(?:ERROR|CRITICAL)(?:[\s\]:|]|$)/

const LINES_TO_LEARN_FROM = 500
const MAX_LINE = 131_072

export function formatOf(log: string): HeadFormat {
  return findHeadFormat(linesOf(log, LINES_TO_LEARN_FROM))
}

function* linesOf(text: string, atMost = Number.POSITIVE_INFINITY): Generator<string> {
  let at = 0
  for (let count = 0; at < text.length && count < atMost; count++) {
    const newlineAt = text.indexOf('\n', at)
    const end = newlineAt < 0 ? text.length : newlineAt
    yield text.slice(at, Math.min(end - (text[end - 1] === '\r' ? 1 : 0), at + MAX_LINE))
    at = end + 1
  }
}
