import { msOf } from './time-text.ts'

/** Reuse one object for all lines, because a large log has millions of lines. */
export interface HeadSpans {
  /** Empty (from = to) if the format has no time. */
  timeFrom: number
  timeTo: number
  loggerFrom: number
  loggerTo: number
  /** Index in RECORD_LEVELS. */
  level: number
  messageAt: number
  /** The time in the text, read as UTC; NaN: there is no valid time. */
  atMs: number
  /** NaN: the text contains no zone. */
  zoneMinutes: number
}

export function emptySpans(): HeadSpans {
  return {
    timeFrom: 0,
    timeTo: 0,
    loggerFrom: 0,
    loggerTo: 0,
    level: 0,
    messageAt: 0,
    atMs: Number.NaN,
    zoneMinutes: Number.NaN
  }
}

const MAX_LOGGER = 200
const [ZERO, NINE, SPACE, COLON, DASH, COMMA, DOT, PLUS, OPEN, CLOSE] = [48, 57, 32, 58, 45, 44, 46, 43, 91, 93]
const [LETTER_T, LETTER_Z] = [84, 90]

/**
 * Finds Scrapy's default head, `2026-11-02 12:00:02,250 [scrapy.core.engine] INFO: Spider opened`, with or without a
 * fraction and a zone. Compares character codes, because it runs for nearly every line of every log.
 */
export function scanScrapyHead(text: string, from: number, to: number, spans: HeadSpans): boolean {
  if (to - from < 24) return false
  const year = digits(text, from, 4)
  if (year < 0 || text.charCodeAt(from + 4) !== DASH || text.charCodeAt(from + 7) !== DASH) return false
  const month = digits(text, from + 5, 2)
  const day = digits(text, from + 8, 2)
  const between = text.charCodeAt(from + 10)
  if ((between !== SPACE && between !== LETTER_T) || month < 0 || day < 0) return false
  if (text.charCodeAt(from + 13) !== COLON || text.charCodeAt(from + 16) !== COLON) return false
  const hour = digits(text, from + 11, 2)
  const minute = digits(text, from + 14, 2)
  const second = digits(text, from + 17, 2)
  if (hour < 0 || minute < 0 || second < 0) return false
  let at = from + 19
  let ms = 0
  let zoneMinutes = Number.NaN
  let code = text.charCodeAt(at)
  if (code === COMMA || code === DOT) {
    let length = 0
    let scale = 100
    while (length < 9 && isDigit(text.charCodeAt(at + 1 + length))) {
      ms += (text.charCodeAt(at + 1 + length) - ZERO) * scale
      scale = length < 2 ? scale / 10 : 0
      length++
    }
    if (length === 0) return false
    at += 1 + length
    code = text.charCodeAt(at)
  }
  if (code === LETTER_Z) {
    zoneMinutes = 0
    at++
  } else {
    const signAt = code === SPACE ? at + 1 : at
    const sign = text.charCodeAt(signAt)
    if (sign === PLUS || sign === DASH) {
      const minutesAt = text.charCodeAt(signAt + 3) === COLON ? signAt + 4 : signAt + 3
      const hours = digits(text, signAt + 1, 2)
      const minutes = digits(text, minutesAt, 2)
      if (hours < 0 || minutes < 0) return false
      zoneMinutes = (hours * 60 + minutes) * (sign === DASH ? -1 : 1)
      at = minutesAt + 2
    }
  }
  if (text.charCodeAt(at) !== SPACE || text.charCodeAt(at + 1) !== OPEN) return false
  const loggerFrom = at + 2
  const end = Math.min(to, loggerFrom + MAX_LOGGER + 1)
  let loggerTo = loggerFrom
  while (loggerTo < end && text.charCodeAt(loggerTo) !== CLOSE) loggerTo++
  if (loggerTo === end || text.charCodeAt(loggerTo + 1) !== SPACE) return false
  const colonAt = scanLevel(text, loggerTo + 2, spans)
  if (colonAt < 0) return false
  let messageAt = colonAt + 1
  if (messageAt > to) return false
  if (messageAt < to && text.charCodeAt(messageAt) === SPACE) messageAt++
  spans.timeFrom = from
  spans.timeTo = at
  spans.loggerFrom = loggerFrom
  spans.loggerTo = loggerTo
  spans.messageAt = messageAt
  spans.atMs = msOf(year, month, day, hour, minute, second, 0) + ms
  spans.zoneMinutes = zoneMinutes
  return true
}

function scanLevel(text: string, at: number, spans: HeadSpans): number {
  switch (text.charCodeAt(at)) {
    case 68: // D
      return endOfLevel(text, at, 'DEBUG:', 0, spans)
    case 73: // I
      return endOfLevel(text, at, 'INFO:', 1, spans)
    case 87: // W
      return endOfLevel(text, at, text.charCodeAt(at + 4) === COLON ? 'WARN:' : 'WARNING:', 2, spans)
    case 69: // E
      return endOfLevel(text, at, 'ERROR:', 3, spans)
    case 67: // C
      return endOfLevel(text, at, 'CRITICAL:', 4, spans)
    default:
      return -1
  }
}

function endOfLevel(text: string, at: number, word: string, level: number, spans: HeadSpans): number {
  if (!text.startsWith(word, at)) return -1
  spans.level = level
  return at + word.length - 1
}

function isDigit(code: number): boolean {
  return code >= ZERO && code <= NINE
}

function digits(text: string, at: number, count: number): number {
  let value = 0
  for (let index = 0; index < count; index++) {
    const code = text.charCodeAt(at + index)
    if (!(code >= ZERO && code <= NINE)) return -1
    value = value * 10 + code - ZERO
  }
  return value
}
