import type { HeadFormat } from './head-format.ts'
import { parseRecordHead } from './record-head.ts'

/** A query for log lines on which errors can start. `isErrorLine` checks each result. */
export function errorQueryOf(format: HeadFormat | undefined): { text: string; isRegex: true; matchesCase: boolean } {
  if (format?.kind === 'json') return { text: JSON_ERROR, isRegex: true, matchesCase: false }
  const level = format?.kind === 'pattern' ? format.parts.find(({ part }) => part === 'level') : undefined
  if (level?.part !== 'level') return { text: '^.{0,300}(?:ERROR|CRITICAL)', isRegex: true, matchesCase: true }
  const isInitial = level.case === 'initial'
  return {
    text: isInitial ? String.raw`^.{0,300}?\b[ECF]\b` : '^.{0,300}(?:ERROR|CRITICAL|FATAL)',
    isRegex: true,
    matchesCase: isInitial
  }
}

const JSON_ERROR = String.raw`^\{.*"(?:log\.?)?(?:level|levelname|severity|lvl|levelno)": ?(?:"(?:error|exception|critical|fatal)"|[45]\d\b)`

export function isErrorLine(line: string, format: HeadFormat | undefined): boolean {
  const level = parseRecordHead(line, format)?.level
  // In a log of unknown format, any line can be an error.
  if (level === undefined) return format === undefined || (format.kind === 'json' && line.startsWith('{'))
  return level === 'ERROR' || level === 'CRITICAL'
}
