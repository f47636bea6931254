import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { AlertRuleId, AlertSilence, QuietHours } from '../../../shared/contract/index.ts'
import { branded } from '../../../shared/testing/ids.ts'
import { readWall } from '../../../shared/testing/wall.ts'
import { pickLength } from '../../../../scripts/test-length.mjs'
import { NO_LABELS } from './signal.ts'
import { mutedBecause, nextSilenceMs, quietUntilMs } from './muting.ts'

const MINUTE_MS = 60_000
const DAY_MS = 1_440 * MINUTE_MS
const ALL_DAYS = [0, 1, 2, 3, 4, 5, 6]

const hours = (from: string, until: string, days = ALL_DAYS, zone = 'Europe/Berlin'): QuietHours => ({
  zone,
  from,
  until,
  days
})
const at = (text: string): number => Date.parse(text)
const endOf = (quiet: QuietHours, text: string): string | null => {
  const untilMs = quietUntilMs(quiet, at(text))
  return untilMs === null ? null : new Date(untilMs).toISOString().slice(0, 16)
}

function isQuietByWall({ zone, from, until, days }: QuietHours, atMs: number): boolean {
  const { day, minute } = readWall(zone, atMs)
  const [begins, ends] = [from, until].map((time) => Number(time.slice(0, 2)) * 60 + Number(time.slice(3)))
  const isToday = days.includes(day) && minute >= begins! && (minute < ends! || ends! <= begins!)
  const isOfYesterday = days.includes((day + 6) % 7) && ends! <= begins! && minute < ends!
  return isToday || isOfYesterday
}

test('the muted alerts change only when a silence begins or ends', () => {
  // In Berlin, clocks go back on the 25th.
  const beginsMs = at('2026-10-20T00:00Z')
  const minutes = (most: number, sinceMs = beginsMs) =>
    fc.integer({ min: 0, max: most }).map((minute) => sinceMs + minute * MINUTE_MS)
  const silence = fc
    .record({
      fromMs: minutes(4_000),
      lastingMs: minutes(1_439, 1),
      endsMs: minutes(20_000),
      every: fc.constantFrom('day', 'week', null),
      hasEnd: fc.boolean(),
      isOfOther: fc.boolean()
    })
    .map(
      ({ fromMs, lastingMs, endsMs, every, hasEnd, isOfOther }): AlertSilence =>
        branded({
          id: 's',
          ruleId: isOfOther ? 'other' : null,
          fromMs,
          untilMs: fromMs + lastingMs,
          comment: '',
          by: '',
          project: null,
          spider: null,
          scheduleId: null,
          nodeId: null,
          nodeTag: null,
          repeats: every && { every, zone: 'Europe/Berlin', endsMs: hasEnd ? endsMs : null }
        })
    )
  const property = fc.property(
    fc.array(silence, { maxLength: 3 }),
    minutes(30_000),
    fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
    (silences, nowMs, part) => {
      const alert = { ruleId: branded<AlertRuleId>('rule'), watch: 'node_stuck' as const, labels: NO_LABELS }
      const isMuted = (atMs: number) =>
        mutedBecause(alert, { silences, downNodes: new Set(), cordonedNodes: new Set() }, atMs) !== null
      const nextMs = nextSilenceMs(silences, nowMs) ?? nowMs + 30 * DAY_MS
      expect(nextMs).toBeGreaterThan(nowMs)
      expect(isMuted(nowMs + Math.floor(part * (nextMs - nowMs)))).toBe(isMuted(nowMs))
    }
  )
  fc.assert(property, { numRuns: pickLength(500, 10_000) })
})

describe('quiet hours', () => {
  test('over midnight belong to the day on which they begin', () => {
    const saturday = hours('22:00', '07:00', [6])
    expect(endOf(saturday, '2026-06-06T19:59Z')).toBe(null)
    expect(endOf(saturday, '2026-06-06T20:00Z')).toBe('2026-06-07T05:00')
    expect(endOf(saturday, '2026-06-07T04:59Z')).toBe('2026-06-07T05:00')
    expect(endOf(saturday, '2026-06-07T05:00Z')).toBe(null)
  })

  test('from a time until the same time last a whole day', () => {
    expect(endOf(hours('08:00', '08:00', [1], 'UTC'), '2026-06-08T20:00Z')).toBe('2026-06-09T08:00')
  })

  test('end at their wall-clock time, even on days with a clock change', () => {
    expect(endOf(hours('22:00', '07:00'), '2026-10-24T21:00Z')).toBe('2026-10-25T06:00')
    expect(endOf(hours('22:00', '07:00'), '2026-03-28T23:00Z')).toBe('2026-03-29T05:00')
  })

  test('follow the wall clock', () => {
    const time = fc
      .nat(95)
      .map((quarter) => `${String(quarter >> 2).padStart(2, '0')}:${String((quarter % 4) * 15).padStart(2, '0')}`)
    const property = fc.property(
      fc.record({
        from: time,
        until: time,
        days: fc.subarray(ALL_DAYS, { minLength: 1 }),
        zone: fc.constantFrom('UTC', 'Asia/Kolkata', 'America/Phoenix', 'Pacific/Kiritimati', 'Asia/Tokyo')
      }),
      fc.integer({ min: 0, max: 60 * 96 }),
      (quiet, quarters) => {
        const nowMs = at('2026-01-01T00:00Z') + quarters * 15 * MINUTE_MS
        const untilMs = quietUntilMs(quiet, nowMs)
        expect(untilMs !== null).toBe(isQuietByWall(quiet, nowMs))
        if (untilMs === null) return
        expect([untilMs - nowMs <= DAY_MS, isQuietByWall(quiet, untilMs - MINUTE_MS)]).toEqual([true, true])
      }
    )
    fc.assert(property, { numRuns: pickLength(500, 10_000) })
  })
})
