/** Time zones as stretches of one offset, read from `Intl` and kept: within one, a clock is plain arithmetic. */
import { twoDigits } from '../time.ts'

/**
 * A stretch of time in which a zone's clocks show UTC plus `offsetMs`. Walls are what clocks show, as if that were UTC.
 */
export interface Stretch {
  startMs: number
  endMs: number
  offsetMs: number
  /** Just before `startMs`, and at `endMs`; the same as `offsetMs` where we only stopped looking there. */
  previousOffsetMs: number
  nextOffsetMs: number
}

const DAY_MS = 86_400_000
/**
 * A zone changes its clocks at most once within this time; Morocco's two changes around Ramadan are four weeks apart.
 */
const SAMPLE_MS = 4 * DAY_MS
const CHUNK_MS = 91 * SAMPLE_MS
const MOST_ZONES = 1_000
const MOST_CHUNKS = 400

interface Zone {
  format: Intl.DateTimeFormat
  chunks: Map<number, Stretch[]>
}

const zones = new Map<string, Zone | null>()

/** Whether `Intl` knows a zone by this name. */
export function isZone(name: string): boolean {
  return zoneOf(name) !== null
}

/** Names for a list to choose from: UTC first, then those of the IANA database by name. */
export function listZones(): string[] {
  return ['UTC', ...Intl.supportedValuesOf('timeZone').filter((name) => name !== 'UTC')]
}

/**
 * The stretch that holds `atMs`. Its ends are those of the real one, as far as they lie within some days of the year
 * around; no end is nearer than that without being a change of clocks. RangeError for a name that is no zone.
 */
export function stretchAt(name: string, atMs: number): Stretch {
  const zone = zoneOf(name)
  if (zone === null) throw new RangeError(`${name} is not a time zone.`)
  const index = Math.floor(atMs / CHUNK_MS)
  let stretches = zone.chunks.get(index)
  if (stretches === undefined) {
    if (zone.chunks.size >= MOST_CHUNKS) zone.chunks.clear()
    // A sample more at both ends: what is true of a moment near the border depends on the change beyond it.
    stretches = findStretches(zone.format, index * CHUNK_MS - SAMPLE_MS, (index + 1) * CHUNK_MS + SAMPLE_MS)
    zone.chunks.set(index, stretches)
  }
  for (const stretch of stretches) if (atMs < stretch.endMs) return stretch
  throw new RangeError(`${atMs} is not a time.`)
}

/** `2026-03-29T03:00:00+02:00` */
export function formatLocal(atMs: number, offsetMs: number): string {
  const wall = new Date(atMs + offsetMs).toISOString().slice(0, 19)
  return `${wall}${formatOffset(offsetMs)}`
}

/** `+02:00` */
export function formatOffset(offsetMs: number): string {
  const minutes = Math.round(Math.abs(offsetMs) / 60_000)
  return `${offsetMs < 0 ? '-' : '+'}${twoDigits(Math.floor(minutes / 60))}:${twoDigits(minutes % 60)}`
}

function zoneOf(name: string): Zone | null {
  const known = zones.get(name)
  if (known !== undefined) return known
  if (zones.size >= MOST_ZONES) zones.clear()
  const zone = openZone(name)
  zones.set(name, zone)
  return zone
}

function openZone(name: string): Zone | null {
  try {
    const format = new Intl.DateTimeFormat('en-US', {
      timeZone: name,
      calendar: 'gregory',
      numberingSystem: 'latn',
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric'
    })
    return { format, chunks: new Map() }
  } catch {
    // The only way that Intl has of saying that it knows no such zone.
    return null
  }
}

function findStretches(format: Intl.DateTimeFormat, fromMs: number, untilMs: number): Stretch[] {
  const stretches: Stretch[] = []
  let offsetMs = offsetAt(format, fromMs)
  let open: Stretch = { startMs: fromMs, endMs: untilMs, offsetMs, previousOffsetMs: offsetMs, nextOffsetMs: offsetMs }
  for (let atMs = fromMs; atMs < untilMs; atMs += SAMPLE_MS) {
    const laterMs = offsetAt(format, atMs + SAMPLE_MS)
    if (laterMs === offsetMs) continue
    const changeMs = findChange(format, atMs, atMs + SAMPLE_MS, offsetMs)
    stretches.push({ ...open, endMs: changeMs, nextOffsetMs: laterMs })
    open = { startMs: changeMs, endMs: untilMs, offsetMs: laterMs, previousOffsetMs: offsetMs, nextOffsetMs: laterMs }
    offsetMs = laterMs
  }
  return [...stretches, open]
}

/** The first moment after `fromMs` whose offset is another. */
function findChange(format: Intl.DateTimeFormat, fromMs: number, untilMs: number, offsetMs: number): number {
  let before = fromMs / 1000
  let after = untilMs / 1000
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2)
    if (offsetAt(format, middle * 1000) === offsetMs) before = middle
    else after = middle
  }
  return after * 1000
}

/** `atMs`: a whole second. */
function offsetAt(format: Intl.DateTimeFormat, atMs: number): number {
  const [month, day, year, hour, minute, second] = format.format(atMs).split(/\D+/, 6).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number
  ]
  return Date.UTC(year, month - 1, day, hour, minute, second) - atMs
}
