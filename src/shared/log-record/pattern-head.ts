import { MAX_HEAD, needsSpace, type PatternFormat } from './head-format.ts'
import type { HeadSpans } from './head-spans.ts'
import { levelIndexOf } from './record-level.ts'
import { type ReadTime, readTimeText, TIME_PATTERNS } from './time-text.ts'

export interface PatternReader {
  readonly format: PatternFormat
  readonly pattern: RegExp
}

export function createPatternReader(format: PatternFormat, encode?: (text: string) => string): PatternReader {
  return { format, pattern: patternOf(format, encode) }
}

const readers = new WeakMap<PatternFormat, PatternReader>()

export function readerOf(format: PatternFormat): PatternReader {
  const known = readers.get(format) ?? createPatternReader(format)
  readers.set(format, known)
  return known
}

/** Like `scanScrapyHead`, for a learned format. */
export function scanPatternHead(
  text: string,
  from: number,
  to: number,
  { format, pattern }: PatternReader,
  found: HeadSpans
): boolean {
  const match = pattern.exec(text.slice(from, Math.min(to, from + MAX_HEAD)))
  if (match === null) return false
  let at = from
  let time: ReadTime = { atMs: Number.NaN, zoneMinutes: Number.NaN }
  found.timeFrom = found.timeTo = found.loggerFrom = found.loggerTo = from
  for (const [index, part] of format.parts.entries()) {
    const piece = match[index + 1] as string
    const end = at + piece.length
    if (part.part === 'time') {
      found.timeFrom = at
      found.timeTo = end
      time = readTimeText(piece, part.style, part.order)
    } else if (part.part === 'logger') {
      found.loggerFrom = at
      found.loggerTo = at + piece.trimEnd().length
    } else if (part.part === 'level') {
      found.level = levelIndexOf(piece.length === 1 ? (INITIALS[piece] ?? '') : piece)
    }
    at = end
  }
  found.messageAt = at
  found.atMs = time.atMs
  found.zoneMinutes = time.zoneMinutes
  return true
}

const INITIALS: Record<string, string> = {
  D: 'DEBUG',
  I: 'INFO',
  W: 'WARNING',
  E: 'ERROR',
  C: 'CRITICAL',
  F: 'FATAL'
}

const LEVEL_WORDS = {
  upper: 'DEBUG|INFO|WARN(?:ING)?|ERROR|CRITICAL|FATAL',
  lower: 'debug|info|warn(?:ing)?|error|critical|fatal',
  title: 'Debug|Info|Warn(?:ing)?|Error|Critical|Fatal',
  initial: '[DIWECF]'
}

/**
 * The matching time depends only on MAX_HEAD, because every repetition is bounded, and few repetitions can match
 * characters of the next part (head-format.ts counts them). Each part is one group. `encode`: converts the format's
 * text if the lines are not decoded.
 */
function patternOf(format: PatternFormat, encode: (text: string) => string = (text) => text): RegExp {
  const source = format.parts.map((part, index) => {
    switch (part.part) {
      case 'time':
        return `(${TIME_PATTERNS[part.style]})`
      case 'level':
        return `(${LEVEL_WORDS[part.case]})(?![A-Za-z])`
      case 'logger':
        return part.until === null
          ? String.raw`(\S{1,200})`
          : `([^${escapeRegExp(encode(part.until).charAt(0))}]{0,200})`
      case 'other':
        return String.raw`([A-Za-z\d][\w.:/\\@$+<>-]{0,160})`
      case 'gap':
        return needsSpace(format.parts[index - 1], format.parts[index + 1]) ? '( {1,40})' : '( {0,40})'
      case 'text':
        return `(${escapeRegExp(encode(part.text))})`
    }
  })
  return new RegExp(`^${source.join('')}`)
}

function escapeRegExp(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
}
