import { type DayOrder, TIME_PATTERNS, TIME_STYLES, type TimeStyle } from './time-text.ts'

/**
 * How a log writes the head of a record, as plain JSON that an engine stores and sends. `scrapy` is the default of
 * all Scrapy versions since 1.0, `json` is one object per line, `pattern` is a project's own LOG_FORMAT.
 */
export type HeadFormat = { kind: 'scrapy' } | { kind: 'json' } | PatternFormat

export interface PatternFormat {
  kind: 'pattern'
  parts: HeadPart[]
}

export type HeadPart =
  | { part: 'time'; style: TimeStyle; order: DayOrder }
  /** `initial`: D, I, W, E or C. The others: the letter case of the level's name. */
  | { part: 'level'; case: 'upper' | 'lower' | 'title' | 'initial' }
  | { part: 'logger'; until: string | null }
  | { part: 'other' }
  /** Any number of spaces, because levels and names can be padded with spaces. */
  | { part: 'gap' }
  | { part: 'text'; text: string }

export const SCRAPY_FORMAT: HeadFormat = { kind: 'scrapy' }
export const JSON_FORMAT: HeadFormat = { kind: 'json' }

/** The maximum length of a head. Longer heads are neither learned nor found. */
export const MAX_HEAD = 512
const MAX_PARTS = 40

/** Messages, with their loggers, that Scrapy writes at the start and the end of a run in every log format. */
const KNOWN_MESSAGES: [start: string, logger: string][] = [
  ['Spider opened', 'scrapy.core.engine'],
  ['Enabled addons:', 'scrapy.addons'],
  ['Using reactor: ', 'scrapy.utils.log'],
  ['Using asyncio event loop: ', 'scrapy.utils.log'],
  ['Telnet Password: ', 'scrapy.extensions.telnet'],
  ['Overridden settings:', 'scrapy.crawler'],
  ['Enabled extensions:', 'scrapy.middleware'],
  ['Enabled downloader middlewares:', 'scrapy.middleware'],
  ['Enabled spider middlewares:', 'scrapy.middleware'],
  ['Versions:', 'scrapy.utils.log'],
  ['Closing spider (', 'scrapy.core.engine'],
  ['Dumping Scrapy stats:', 'scrapy.statscollectors'],
  ['Spider closed (', 'scrapy.core.engine']
]

/**
 * Learns the format from a line with one of Scrapy's own messages, which shows where the time, logger and level are.
 * Returns null for other lines, and if no level precedes the message. `order`: the order in LOG_DATEFORMAT, if the log
 * has shown it.
 */
export function learnHeadFormat(line: string, order: DayOrder = 'day-first'): PatternFormat | null {
  const head = line.slice(0, MAX_HEAD)
  const started = / ?Scrapy \d[\w.]{0,30} started \(bot: /.exec(head)
  if (started !== null)
    return learnFromPrefix(head.slice(0, head.indexOf('Scrapy ', started.index)), 'scrapy.utils.log', order)
  for (const [start, logger] of KNOWN_MESSAGES) {
    const at = head.indexOf(start)
    if (at > 0) return learnFromPrefix(head.slice(0, at), logger, order)
  }
  return null
}

interface Found {
  from: number
  to: number
  part: HeadPart
}

export function learnFromPrefix(prefix: string, logger: string, order: DayOrder): PatternFormat | null {
  const time = findTime(prefix, order)
  const named = findLogger(prefix, logger)
  const level = findLevel(prefix, [time, named])
  if (level === null) return null
  const found = [time, named, level].filter((each) => each !== null).sort((one, other) => one.from - other.from)
  const parts: HeadPart[] = []
  let at = 0
  for (const each of found) {
    parts.push(...partsOfFiller(prefix.slice(at, each.from)), each.part)
    at = each.to
  }
  parts.push(...partsOfFiller(prefix.slice(at)))
  if (parts.length > MAX_PARTS) return null
  const bounded = parts.map((part, index) => boundBy(part, parts[index + 1]))
  return triesOf(bounded) > MOST_TRIES ? null : { kind: 'pattern', parts: bounded }
}

/** Limits matching to a few tenths of a millisecond per line. A hostile log could otherwise take hours. */
const MOST_TRIES = 40_000
const LENGTHS: Partial<Record<HeadPart['part'], number>> = { logger: 200, other: 160, gap: 40 }

/** Returns the maximum number of ways to match a line. Each part with a variable end multiplies this number. */
function triesOf(parts: readonly HeadPart[]): number {
  let tries = 1
  let longestAfter = 1
  for (const [index, part] of parts.entries()) {
    const length = LENGTHS[part.part] ?? 1
    if (isLoose(part, parts[index + 1], parts[index + 2])) tries *= length
    else if (tries > 1 && part.part !== 'gap') longestAfter = Math.max(longestAfter, length)
  }
  return tries * longestAfter
}

function isLoose(part: HeadPart, next: HeadPart | undefined, afterNext: HeadPart | undefined): boolean {
  if (part.part === 'gap') return next?.part === 'logger' && next.until !== null
  if (part.part === 'other') return next !== undefined && next.part !== 'gap' && next.part !== 'text'
  if (part.part !== 'logger' || part.until !== null) return false
  return next?.part !== 'gap' || !needsSpace(part, afterNext)
}

/**
 * Whether both neighbors of a gap could include its spaces. If no space were required, matching would try every split.
 * The text after a word can start with word characters, such as the dash of `a - b`.
 */
export function needsSpace(before: HeadPart | undefined, after: HeadPart | undefined): boolean {
  if (before?.part === 'other' && after?.part === 'text') return OF_WORD.test(after.text)
  if (before?.part === 'other' && after?.part === 'level') return true
  return isWord(before) && isWord(after)
}

const isWord = (part: HeadPart | undefined): boolean =>
  part?.part === 'other' || part?.part === 'logger' || part?.part === 'time'
const OF_WORD = /^[\w.:/\\@$+<>-]/

function findTime(prefix: string, order: DayOrder): Found | null {
  for (const style of TIME_STYLES) {
    const match = new RegExp(String.raw`(?<!\d)${TIME_PATTERNS[style]}(?!\d)`).exec(prefix)
    if (match === null) continue
    return { from: match.index, to: match.index + match[0].length, part: { part: 'time', style, order } }
  }
  return null
}

/** LOG_SHORT_NAMES replaces the names of all Scrapy loggers with `scrapy`. */
function findLogger(prefix: string, logger: string): Found | null {
  for (const name of [logger, 'scrapy']) {
    const from = prefix.lastIndexOf(name)
    if (from >= 0) return { from, to: from + name.length, part: { part: 'logger', until: null } }
  }
  return null
}

const LEVEL_CASES = [
  ['upper', /(?<![A-Za-z])(?:INFO|DEBUG)(?![A-Za-z])/g],
  ['lower', /(?<![A-Za-z])(?:info|debug)(?![A-Za-z])/g],
  ['title', /(?<![A-Za-z])(?:Info|Debug)(?![A-Za-z])/g],
  ['initial', /(?<![A-Za-z\d])[ID](?![A-Za-z\d])/g]
] as const

function findLevel(prefix: string, taken: (Found | null)[]): Found | null {
  for (const [style, pattern] of LEVEL_CASES) {
    for (const match of prefix.matchAll(pattern)) {
      const from = match.index
      const to = from + match[0].length
      if (taken.some((other) => other !== null && from < other.to && to > other.from)) continue
      return { from, to, part: { part: 'level', case: style } }
    }
  }
  return null
}

function partsOfFiller(filler: string): HeadPart[] {
  // Punctuation between words is a separate piece, because it ends the name before it.
  const pieces = filler.match(/ +|[A-Za-z\d][\w.:/\\@$+<>-]*|[^ A-Za-z\d]+/g) ?? []
  return pieces.map((piece): HeadPart => {
    if (piece.startsWith(' ')) return { part: 'gap' }
    return /[A-Za-z\d]/.test(piece) ? { part: 'other' } : { part: 'text', text: piece }
  })
}

/** Ends a name at the first character of the text after it, so that names can contain spaces. */
function boundBy(part: HeadPart, next: HeadPart | undefined): HeadPart {
  if (part.part !== 'logger' || next?.part !== 'text') return part
  return { part: 'logger', until: next.text.charAt(0) }
}
