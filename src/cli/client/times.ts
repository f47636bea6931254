import { InvalidArgumentError } from 'commander'
import { momentOfWall } from '../../shared/calendar/zones.ts'
import { CommandEnd, EXIT_CODES } from './exit-codes.ts'
import { localTime } from './output.ts'

const UNIT_MS = { s: 1_000, m: 60_000, min: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const

/** Converts `90` and `90s`, `15m`, `2h`, `7d` or `1w` to milliseconds. */
export function duration(text: string): number {
  const [, digits, unit = 's'] = /^(\d{1,7})\s*(s|m|min|h|d|w)?$/.exec(text) ?? []
  if (digits === undefined || Number(digits) === 0)
    throw new InvalidArgumentError('Write a duration such as 90s, 15m, 2h or 7d.')
  return Number(digits) * UNIT_MS[unit as keyof typeof UNIT_MS]
}

const MOMENT = /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.\d{1,3})?)?(Z|[+-]\d\d:\d\d)?)?$/

/** Reads `2026-12-24T18:00` in the machine's zone unless the text has an offset. A date alone means midnight. */
export function moment(text: string): number {
  const atMs = readMoment(text)
  if (atMs !== null) return atMs
  throw new InvalidArgumentError('Write a time such as 2026-12-24T18:00 or 2026-12-24T18:00:00+01:00.')
}

export function momentIn(zone: string | undefined, text: string): number {
  const atMs = readMoment(text, zone)
  if (atMs !== null) return atMs
  throw new CommandEnd(EXIT_CODES.usage, `${text} is not a time. Write it as 2026-12-24T18:00.`)
}

/** Date.parse alone reads `5` as a day in 2001, and February 31 as March 3. */
function readMoment(text: string, zone?: string): number | null {
  const [, year, month, day, hour = '00', minute = '00', second = '00', offset = ''] = MOMENT.exec(text) ?? []
  if (year === undefined) return null
  const meant = `${year}-${month}-${day}T${hour}:${minute}:${second}`
  const asUtcMs = Date.parse(`${meant}Z`)
  if (Number.isNaN(asUtcMs) || !new Date(asUtcMs).toISOString().startsWith(meant)) return null
  const atMs = zone === undefined || offset !== '' ? Date.parse(`${meant}${offset}`) : momentOfWall(zone, asUtcMs)
  return Number.isNaN(atMs) || atMs < 0 ? null : atMs
}

/** Reads a time (`2026-12-24T18:00`) or an age (`2h`). Returns a function of the current time. */
export function since(text: string): (nowMs: number) => number {
  if (/^\d{1,7}(s|m|min|h|d|w)$/.test(text)) return (nowMs) => nowMs - duration(text)
  const atMs = readMoment(text)
  if (atMs !== null) return () => atMs
  throw new InvalidArgumentError('Write how long ago (30m, 2h, 7d) or a time such as 2026-12-24T18:00.')
}

/** Throws for a past time, which would mean "now" for a job and "never" for a schedule. */
export function requireFuture(atMs: number | undefined, nowMs: number, otherwise: string): void {
  if (atMs === undefined || atMs > nowMs) return
  throw new CommandEnd(EXIT_CODES.usage, `--at ${localTime(atMs)} has passed. ${otherwise}`)
}
