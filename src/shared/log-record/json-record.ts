import { levelIndexOf, levelIndexOfNumber } from './record-level.ts'
import { readTimeText, TIME_PATTERNS, type TimeStyle } from './time-text.ts'

/** A record in one line of JSON, from python-json-logger, structlog, loguru, logstash or ECS formatters. */
export interface JsonRecord {
  /** Index in RECORD_LEVELS. */
  level: number
  logger: string
  message: string
  time: string
  /** As in HeadSpans. */
  atMs: number
  zoneMinutes: number
  /** A traceback as Python prints it, or in structlog's structure; null: none. */
  trouble: string | StructuredException[] | null
}

export interface StructuredException {
  type: string
  value: string
  frames: { file: string; name: string }[]
}

const LEVEL_KEYS = ['levelname', 'level', 'severity', 'log.level', 'loglevel', 'lvl', 'levelno']
const MESSAGE_KEYS = ['message', 'msg', 'event', 'text']
const LOGGER_KEYS = ['name', 'logger', 'logger_name', 'loggername', 'log.logger', 'channel']
const TIME_KEYS = ['asctime', 'timestamp', '@timestamp', 'time', 'ts', 'datetime', 'created']
const TROUBLE_KEYS = ['exc_info', 'exception', 'traceback', 'exc_text', 'error.stack_trace', 'stack_info']

/** Requires a level and a message, because a scraped item that is printed as JSON is not a record. */
export function parseJsonRecord(line: string): JsonRecord | null {
  if (!line.startsWith('{"') && !line.startsWith('{ "')) return null
  let fields: Record<string, unknown>
  try {
    fields = JSON.parse(line)
  } catch {
    // The line was cut, or is not JSON and continues the record above.
    return null
  }
  const level = readLevel(fields)
  const message = valueOf(fields, MESSAGE_KEYS)
  if (level < 0 || message === undefined) return null
  const time = valueOf(fields, TIME_KEYS)
  const read = readTime(time)
  const logger = valueOf(fields, LOGGER_KEYS)
  return {
    level,
    logger: typeof logger === 'string' ? logger : '',
    message: typeof message === 'string' ? message : asJson(message),
    // Converting other types would call their `toString`, which the log's author controls.
    time: typeof time === 'string' || typeof time === 'number' ? String(time) : '',
    ...read,
    trouble: readTrouble(valueOf(fields, TROUBLE_KEYS))
  }
}

function asJson(value: unknown): string {
  try {
    return JSON.stringify(value)
  } catch {
    // Some values can be parsed but are nested too deeply to be serialized.
    return Array.isArray(value) ? '[…]' : '{…}'
  }
}

function valueOf(fields: Record<string, unknown>, keys: string[]): unknown {
  for (const key of keys) {
    if (Object.hasOwn(fields, key) && fields[key] !== null && fields[key] !== '') return fields[key]
  }
  return undefined
}

function readLevel(fields: Record<string, unknown>): number {
  for (const key of LEVEL_KEYS) {
    const value = Object.hasOwn(fields, key) ? fields[key] : undefined
    const level =
      typeof value === 'string' ? levelIndexOf(value) : typeof value === 'number' ? levelIndexOfNumber(value) : -1
    if (level >= 0) return level
  }
  return -1
}

const WHOLE_TIME = new Map(
  (['iso', 'numeric', 'named-month', 'compact', 'epoch', 'clock'] satisfies TimeStyle[]).map((style) => [
    style,
    new RegExp(`^(?:${TIME_PATTERNS[style]})$`)
  ])
)

function readTime(value: unknown): { atMs: number; zoneMinutes: number } {
  if (typeof value === 'number') {
    // Seconds, or milliseconds, since 1970.
    const atMs = Math.floor(value < 1e11 ? value * 1000 : value)
    if (atMs > 0 && atMs < 253_402_300_800_000) return { atMs, zoneMinutes: 0 }
  }
  if (typeof value === 'string' && value.length < 64) {
    for (const [style, pattern] of WHOLE_TIME) if (pattern.test(value)) return readTimeText(value, style)
  }
  return { atMs: Number.NaN, zoneMinutes: Number.NaN }
}

function readTrouble(value: unknown): string | StructuredException[] | null {
  if (typeof value === 'string') return value
  if (Array.isArray(value)) {
    if (value.every((each) => typeof each === 'string')) return value.join('\n')
    return value.slice(0, 8).map(readStructured)
  }
  return null
}

function readStructured(value: unknown): StructuredException {
  const { exc_type: type, exc_value: text, frames } = (value ?? {}) as Record<string, unknown>
  return {
    type: typeof type === 'string' ? type : '',
    value: typeof text === 'string' ? text : '',
    frames: (Array.isArray(frames) ? frames.slice(-50) : []).map((frame) => {
      const { filename, name } = (frame ?? {}) as Record<string, unknown>
      return { file: typeof filename === 'string' ? filename : '', name: typeof name === 'string' ? name : '' }
    })
  }
}
