import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { AlertDigest } from '../../../../shared/contract/index.ts'
import { lastDueMs } from './due.ts'

const at = (text: string) => Date.parse(text)
const daily: AlertDigest = { every: 'day', at: '08:00', zone: 'Europe/Berlin', weekday: 1 }
const weekly: AlertDigest = { ...daily, every: 'week' }

test('a daily report is due at its local time, whatever the season', () => {
  expect(lastDueMs(daily, at('2026-07-02T05:59:59Z'))).toBe(at('2026-07-01T06:00:00Z'))
  expect(lastDueMs(daily, at('2026-07-02T06:00:00Z'))).toBe(at('2026-07-02T06:00:00Z'))
  expect(lastDueMs(daily, at('2026-12-02T07:00:00Z'))).toBe(at('2026-12-02T07:00:00Z'))
})

test('a weekly report is due on its day', () => {
  // 2026-11-30 is a Monday.
  expect(lastDueMs(weekly, at('2026-11-30T06:59:00Z'))).toBe(at('2026-11-23T07:00:00Z'))
  expect(lastDueMs(weekly, at('2026-11-30T07:00:00Z'))).toBe(at('2026-11-30T07:00:00Z'))
  expect(lastDueMs(weekly, at('2026-12-06T23:00:00Z'))).toBe(at('2026-11-30T07:00:00Z'))
})

test('a time that clocks skip is due after the gap, and one that occurs twice is due once', () => {
  const inGap = { ...daily, at: '02:30' }
  expect(lastDueMs(inGap, at('2026-03-29T12:00:00Z'))).toBe(at('2026-03-29T01:30:00Z'))
  const twice = [...Array(48).keys()].map((half) => lastDueMs(inGap, at('2026-10-25T00:00:00Z') + half * 1_800_000))
  expect(new Set(twice.filter((dueMs) => dueMs > at('2026-10-24T12:00:00Z'))).size).toBe(1)
})

test('due times never go back as time passes, and are at most a period and a clock change old', () => {
  fc.assert(
    fc.property(
      fc.record({
        every: fc.constantFrom('day' as const, 'week' as const),
        at: fc
          .tuple(fc.nat(23), fc.nat(59))
          .map((parts) => parts.map((part) => String(part).padStart(2, '0')).join(':')),
        zone: fc.constantFrom('UTC', 'Europe/Berlin', 'America/New_York', 'Pacific/Apia', 'Australia/Lord_Howe'),
        weekday: fc.nat(6)
      }),
      fc.integer({ min: at('2026-01-01T00:00:00Z'), max: at('2028-01-01T00:00:00Z') }),
      fc.integer({ min: 0, max: 8 * 86_400_000 }),
      (digest, nowMs, laterMs) => {
        const dueMs = lastDueMs(digest, nowMs)
        expect(dueMs).toBeLessThanOrEqual(nowMs)
        expect(nowMs - dueMs).toBeLessThanOrEqual((digest.every === 'week' ? 7 : 1) * 86_400_000 + 3_600_000)
        expect(lastDueMs(digest, nowMs + laterMs)).toBeGreaterThanOrEqual(dueMs)
      }
    )
  )
})
