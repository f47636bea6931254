import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { pickLength } from '../../../scripts/test-length.mjs'
import { readWall } from '../testing/wall.ts'
import { areApart, describeWindows, momentOfWall, type Windows, windowFrom } from './index.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const at = (text: string): number => Date.parse(text)
const repeating = (from: string, until: string, every: 'day' | 'week', zone = 'Europe/Berlin'): Windows => ({
  fromMs: at(from),
  untilMs: at(until),
  repeats: { every, zone, endsMs: null }
})
const shown = (windows: Windows, now: string): string | null => {
  const window = windowFrom(windows, at(now))
  return window && [window.fromMs, window.untilMs].map((one) => new Date(one).toISOString().slice(0, 16)).join(' ')
}
const SUNDAYS = repeating('2026-03-01T01:00Z', '2026-03-01T03:00Z', 'week')

describe('windows', () => {
  it('that happen only once are over afterwards', () => {
    const once = { ...SUNDAYS, repeats: null }
    expect(shown(once, '2026-02-01T00:00Z')).toBe('2026-03-01T01:00 2026-03-01T03:00')
    expect(shown(once, '2026-03-01T02:59Z')).toBe('2026-03-01T01:00 2026-03-01T03:00')
    expect(shown(once, '2026-03-01T03:00Z')).toBeNull()
  })

  it('recur at the same times on the clocks, even in summer', () => {
    expect(shown(SUNDAYS, '2026-03-01T03:00Z')).toBe('2026-03-08T01:00 2026-03-08T03:00')
    expect(shown(SUNDAYS, '2026-07-08T12:00Z')).toBe('2026-07-12T00:00 2026-07-12T02:00')
  })

  it('are shorter if clocks skip a part of them, and omitted if clocks skip all', () => {
    expect(shown(SUNDAYS, '2026-03-29T00:00Z')).toBe('2026-03-29T01:00 2026-03-29T02:00')
    const skipped = repeating('2026-03-01T01:00Z', '2026-03-01T02:00Z', 'week')
    expect(shown(skipped, '2026-03-29T00:00Z')).toBe('2026-04-05T00:00 2026-04-05T01:00')
    const inNewYork = repeating('2026-03-01T07:15Z', '2026-03-01T09:00Z', 'week', 'America/New_York')
    expect(shown(inNewYork, '2026-03-08T00:00Z')).toBe('2026-03-08T07:00 2026-03-08T08:00')
  })

  it('last both times if clocks show a part of them twice', () => {
    expect(shown(SUNDAYS, '2026-10-24T12:00Z')).toBe('2026-10-25T00:00 2026-10-25T03:00')
    const before = repeating('2026-03-01T00:00Z', '2026-03-01T01:00Z', 'week')
    expect(shown(before, '2026-10-24T12:00Z')).toBe('2026-10-24T23:00 2026-10-25T00:00')
  })

  it('end with the last one that starts before the end', () => {
    const repeats = { every: 'week' as const, zone: 'Europe/Berlin', endsMs: at('2026-03-08T02:00Z') }
    expect(shown({ ...SUNDAYS, repeats }, '2026-03-08T02:30Z')).toBe('2026-03-08T01:00 2026-03-08T03:00')
    expect(shown({ ...SUNDAYS, repeats }, '2026-03-08T03:00Z')).toBeNull()
  })

  it('must be over before the next one starts', () => {
    expect(areApart(SUNDAYS)).toBe(true)
    expect(areApart(repeating('2026-03-01T01:00Z', '2026-03-02T01:00Z', 'day'))).toBe(true)
    expect(areApart(repeating('2026-03-01T01:00Z', '2026-03-02T01:01Z', 'day'))).toBe(false)
  })

  it('are described with their zone', () => {
    expect(describeWindows({ ...SUNDAYS, repeats: null })).toBeNull()
    expect(describeWindows(SUNDAYS)).toBe('every Sunday 02:00–04:00 (Europe/Berlin)')
    const days = repeating('2026-03-06T21:00Z', '2026-03-09T05:00Z', 'week')
    expect(describeWindows(days)).toBe('every Friday 22:00 to Monday 06:00 (Europe/Berlin)')
    const nights = repeating('2026-03-06T22:00Z', '2026-03-07T06:00Z', 'day', 'UTC')
    const repeats = { ...nights.repeats!, endsMs: at('2027-01-01T00:00Z') }
    expect(describeWindows({ ...nights, repeats })).toBe('every day 22:00–06:00 (UTC), last on 2026-12-31')
  })

  it('follow the wall clock', () => {
    const beginsMs = at('2026-02-02T00:00Z')
    const zone = fc.constantFrom(
      ...['UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Africa/Casablanca', 'America/Santiago']
    )
    const property = fc.property(
      fc.record({ zone, every: fc.constantFrom('day' as const, 'week' as const) }),
      fc.nat(95),
      fc.integer({ min: 1, max: 96 }),
      fc.oneof(
        fc.integer({ min: 0, max: 4 * 24 * 400 }).map((quarter) => beginsMs + quarter * 15 * MINUTE_MS),
        fc
          .record({
            day: fc.constantFrom('2026-03-29', '2026-10-25', '2026-03-08', '2026-11-01', '2026-04-05', '2026-09-06'),
            quarter: fc.integer({ min: -48, max: 96 })
          })
          .map(({ day, quarter }) => at(`${day}T00:00Z`) + quarter * 15 * MINUTE_MS)
      ),
      ({ zone: name, every }, fromQuarter, quarters, nowMs) => {
        const fromMs = momentOfWall(name, beginsMs + fromQuarter * 15 * MINUTE_MS)
        const windows = {
          fromMs,
          untilMs: fromMs + quarters * 15 * MINUTE_MS,
          repeats: { every, zone: name, endsMs: null }
        }
        const size = every === 'day' ? 1_440 : 7 * 1_440
        const minuteOf = ({ day, minute }: ReturnType<typeof readWall>) => (day * 1_440 + minute) % size
        const sinceBegin = (minuteOf(readWall(name, nowMs)) - minuteOf(readWall(name, fromMs)) + size) % size
        const isShown = nowMs >= fromMs && sinceBegin < quarters * 15
        const window = windowFrom(windows, nowMs)!
        const lasts = window.fromMs <= nowMs
        const offsetAt = (atMs: number) => readWall(name, atMs).minute - Math.floor((atMs / MINUTE_MS) % 1_440)
        const isChanged = (offsetAt(nowMs - 3 * HOUR_MS) - offsetAt(nowMs + 3 * HOUR_MS)) % 1_440 !== 0
        expect(nowMs < window.untilMs && window.fromMs < window.untilMs).toBe(true)
        // Between two identical local times, the clocks may show a time outside all windows.
        if (isShown || !isChanged) expect(lasts).toBe(isShown)
        expect(windowFrom(windows, window.untilMs - 1)).toEqual(window)
      }
    )
    fc.assert(property, { numRuns: pickLength(2_000, 50_000) })
  })
})

it('move a time that clocks skip past the gap, east and west of Greenwich', () => {
  const moved = (zone: string, wall: string) => new Date(momentOfWall(zone, at(`${wall}Z`))).toISOString().slice(0, 16)
  expect(moved('Europe/Berlin', '2026-03-29T02:30')).toBe('2026-03-29T01:30')
  expect(moved('America/New_York', '2026-03-08T02:30')).toBe('2026-03-08T07:30')
})
