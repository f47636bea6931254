import {
  formatOf,
  type HeadFormat,
  parseRecordHead,
  RECORD_LEVELS,
  type RecordLevel
} from '../../../../shared/log-record.ts'
import { type OpenLog, readBytes } from '../../logs/scan/log-file.ts'

/** Which records to include, independently of the time zone of the log. */
export interface RecordFilter {
  /** This level or a more severe one. */
  minLevel: RecordLevel | null
  sinceMs: number | null
  untilMs: number | null
}

/** The head of the record that a line belongs to. `atMs`: the record's time as if it were UTC. Null: none. */
export interface LineRecord {
  level: RecordLevel
  time: string | null
  atMs: number | null
}

interface FoundHead {
  at: number
  record: LineRecord
}

const NEWLINE = 0x0a
/** A line that is further from the last head belongs to no record. */
const MAX_DISTANCE_BYTES = 131_072
const LEARNED_BYTES = 65_536
const MAX_HEAD_BYTES = 1_024
const QUARTER_MS = 900_000

/** Maps the lines of one log to records. A line without a head belongs to the record above it. */
export class RecordFinder {
  /** The filter, with its times in the log's time zone. */
  readonly filter: RecordFilter
  readonly #log: OpenLog
  #format: HeadFormat | null = null
  #offset = 0
  #bytes: Buffer = Buffer.alloc(0)
  /** The last requested line. Lines above it are not read again, because a log can have no heads. */
  #last: { at: number; found: FoundHead | null } = { at: -1, found: null }

  constructor(log: OpenLog, filter: RecordFilter, startedAtMs: number | null) {
    this.#log = log
    const { sinceMs, untilMs } = filter
    if (sinceMs === null && untilMs === null) this.filter = filter
    else {
      const shiftMs = this.#zoneOf(startedAtMs)
      const shift = (ms: number | null) => (ms === null ? null : ms + shiftMs)
      this.filter = { ...filter, sinceMs: shift(sinceMs), untilMs: shift(untilMs) }
    }
  }

  enter(offset: number, bytes: Buffer): void {
    this.#offset = offset
    this.#bytes = bytes
  }

  /** Call this in ascending order of `lineStart`. Null: no head is near. */
  recordOf(lineStart: number): LineRecord | null {
    const found = this.#headAbove(lineStart)
    this.#last = { at: this.#offset + lineStart, found }
    return found?.record ?? null
  }

  #headAbove(lineStart: number): FoundHead | null {
    const isFar = lineStart > MAX_DISTANCE_BYTES || this.#offset === 0
    const lowest = Math.max(0, this.#offset + (isFar ? lineStart : 0) - MAX_DISTANCE_BYTES)
    const inside = this.#lastHead(this.#bytes, this.#offset, lineStart, lowest)
    if (inside !== 'further up' || isFar) return inside === 'further up' ? null : inside
    const before = readBytes(this.#log, lowest, this.#offset)
    if (before.length < 2) return null
    const found = this.#lastHead(before, lowest, startOfLine(before, before.length - 1), lowest)
    return found === 'further up' ? null : found
  }

  /** Searches upwards from the line at `lineStart`. `base` is the offset of the bytes in the log. */
  #lastHead(bytes: Buffer, base: number, lineStart: number, lowest: number): FoundHead | null | 'further up' {
    for (let start = lineStart; base + start >= lowest; start = startOfLine(bytes, start - 1)) {
      const { at, found } = this.#last
      if (base + start <= at) return found !== null && found.at >= lowest ? found : null
      const newlineAt = bytes.indexOf(NEWLINE, start)
      const end = Math.min(newlineAt < 0 ? bytes.length : newlineAt, start + MAX_HEAD_BYTES)
      const record = recordOfHead(bytes.toString('utf8', start, end), (this.#format ??= this.#learn()))
      if (record !== null) return { at: base + start, record }
      if (start === 0) break
    }
    return 'further up'
  }

  #learn(): HeadFormat {
    return formatOf(this.#start(LEARNED_BYTES).toString('utf8'))
  }

  #start(length: number): Buffer {
    return readBytes(this.#log, 0, length)
  }

  /** How far the log's clock is ahead of UTC, in quarters of an hour: the first record's time minus the run's start. */
  #zoneOf(startedAtMs: number | null): number {
    if (startedAtMs === null) return 0
    const lines = this.#start(LEARNED_BYTES).toString('utf8').split('\n', 50)
    this.#format ??= this.#learn()
    for (const line of lines) {
      const atMs = recordOfHead(line.slice(0, MAX_HEAD_BYTES), this.#format)?.atMs ?? null
      if (atMs !== null) return zoneOf(atMs, startedAtMs)
    }
    return 0
  }
}

export function zoneOf(firstAtMs: number, startedAtMs: number): number {
  const zoneMs = Math.round((firstAtMs - startedAtMs) / QUARTER_MS) * QUARTER_MS
  return Math.abs(zoneMs) <= 14 * 3_600_000 ? zoneMs : 0
}

function recordOfHead(line: string, format: HeadFormat): LineRecord | null {
  const head = parseRecordHead(line, format)
  if (head === null) return null
  const { level, date, time, fraction } = head
  if (date === '') return { level, time: time === '' ? null : time, atMs: null }
  const atMs = Date.parse(`${date}T${time}Z`)
  const text = `${date} ${time}${fraction === '' ? '' : `.${fraction}`}`
  return { level, time: text, atMs: Number.isNaN(atMs) ? null : atMs }
}

/** Includes lines without a head or a time unless a level is required. */
export function fitsRecord(record: LineRecord | null, { minLevel, sinceMs, untilMs }: RecordFilter): boolean {
  if (minLevel !== null && (record === null || isBelow(record.level, minLevel))) return false
  const atMs = record?.atMs ?? null
  if (atMs === null) return true
  // Most logs have whole seconds, so a record can be up to 999 ms later than its time.
  return (sinceMs === null || atMs + 999 >= sinceMs) && (untilMs === null || atMs <= untilMs)
}

const isBelow = (level: RecordLevel, least: RecordLevel): boolean => rankOf(level) < rankOf(least)
const rankOf = (level: RecordLevel): number => RECORD_LEVELS.indexOf(level)

const startOfLine = (bytes: Buffer, at: number): number => (at <= 0 ? 0 : bytes.lastIndexOf(NEWLINE, at - 1) + 1)
