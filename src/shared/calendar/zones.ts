/** Time zones as stretches of constant offset, read from `Intl` and cached, so that most calls need only arithmetic. */
import { twoDigits } from '../time.ts'

/** A period in which a zone's clocks show UTC plus `offsetMs`. Walls are the times that clocks show, read as UTC. */
export interface Stretch {
  startMs: number
  endMs: number
  offsetMs: number
  /** The offsets just before `startMs` and at `endMs`. Equal to `offsetMs` where the search ends. */
  previousOffsetMs: number
  nextOffsetMs: number
}

const DAY_MS = 86_400_000
/** A zone changes its clocks at most once in this time. Morocco's two changes around Ramadan are four weeks apart. */
const SAMPLE_MS = 4 * DAY_MS
const CHUNK_MS = 91 * SAMPLE_MS
const MOST_ZONES = 1_000
const MOST_CHUNKS = 400

interface Zone {
  format: Intl.DateTimeFormat
  chunks: Map<number, Stretch[]>
}

const zones = new Map<string, Zone | null>()

export function isZone(name: string): boolean {
  return zoneOf(name) !== null
}

export function listZones(): string[] {
  return ['UTC', ...Intl.supportedValuesOf('timeZone').filter((name) => name !== 'UTC')]
}

/**
 * Returns the stretch around `atMs`. It ends at clock changes, or four days outside the 364-day chunk around `atMs`.
 * Throws RangeError for an unknown zone.
 */
export function stretchAt(name: string, atMs: number): Stretch {
  const zone = zoneOf(name)
  if (zone === null) throw new RangeError(`${name} is not a time zone.`)
  const index = Math.floor(atMs / CHUNK_MS)
  let stretches = zone.chunks.get(index)
  if (stretches === undefined) {
    if (zone.chunks.size >= MOST_CHUNKS) zone.chunks.clear()
    // Add one sample at each end, because moments near the border depend on changes beyond it.
    stretches = findStretches(zone.format, index * CHUNK_MS - SAMPLE_MS, (index + 1) * CHUNK_MS + SAMPLE_MS)
    zone.chunks.set(index, stretches)
  }
  for (const stretch of stretches) if (atMs < stretch.endMs) return stretch
  throw new RangeError(`${atMs} is not a time.`)
}

/** When clocks in the zone show this wall. Moves a skipped wall forward by the length of the gap. */
export function momentOfWall(name: string, wallMs: number): number {
  const guessMs = wallMs - stretchAt(name, wallMs).offsetMs
  const atMs = wallMs - stretchAt(name, guessMs).offsetMs
  const { offsetMs, nextOffsetMs } = stretchAt(name, atMs)
  // West of Greenwich, the first guess is after the gap.
  return atMs + offsetMs < wallMs ? atMs + nextOffsetMs - offsetMs : atMs
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
    // Intl reports an unknown zone only by throwing.
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
