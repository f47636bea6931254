import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type ClockEstimate,
  ownClock,
  refineByDate,
  refineByStart,
  trueTime,
  trueTimeBetween,
  UNKNOWN_CLOCK
} from './clock-offset.ts'

const START_MS = 1_800_000_000_000
const offsetMs = fc.integer({ min: -86_400_000, max: 86_400_000 })
const zones = fc.integer({ min: -56, max: 56 }).map((quarter) => quarter * 15)
/** `stampedAt`: when the node writes the Date header, as a share of the poll (0: at the start, 1: at the end). */
const polls = fc.array(
  fc.record({
    afterMs: fc.integer({ min: 900, max: 15_000 }),
    tookMs: fc.integer({ min: 0, max: 2_000 }),
    stampedAt: fc.double({ min: 0, max: 1, noNaN: true })
  }),
  { minLength: 1, maxLength: 60 }
)

/** Applies polls of a node whose clock is `offset` ahead of ours and drifts by `drift`. */
function watch(from: ClockEstimate, startMs: number, offset: number, seen: Poll[], drift = 0) {
  let estimate = from
  let nowMs = startMs
  for (const { afterMs, tookMs, stampedAt } of seen) {
    nowMs += afterMs
    const askedAtMs = nowMs
    const stampMs = askedAtMs + tookMs * stampedAt
    const nodeMs = stampMs + offset + (stampMs - startMs) * drift
    nowMs += tookMs
    estimate = refineByDate(estimate, { dateMs: Math.floor(nodeMs / 1000) * 1000, askedAtMs, arrivedAtMs: nowMs })
  }
  return { estimate, nowMs }
}
interface Poll {
  afterMs: number
  tookMs: number
  stampedAt: number
}

function nodeText(trueMs: number, offset: number, zoneMinutes: number): string {
  return new Date(trueMs + offset + zoneMinutes * 60_000).toISOString().replace('T', ' ').replace('Z', '000')
}

// The intervals of an idle node. Because of the jitter, the polls fall on different parts of a second.
const quickPolls = Array.from({ length: 40 }, (_, index) => ({
  afterMs: 4_500 + ((index * 137) % 1_000),
  tookMs: 4,
  stampedAt: 0.5
}))

describe('the offset of a clock', () => {
  test('is always within the estimated range, whatever the delays', () => {
    fc.assert(
      fc.property(offsetMs, polls, (offset, seen) => {
        const { estimate } = watch(UNKNOWN_CLOCK, START_MS, offset, seen)
        expect(estimate.offset!.lowMs).toBeLessThanOrEqual(offset)
        expect(estimate.offset!.highMs).toBeGreaterThanOrEqual(offset)
      })
    )
  })

  test('is known to a tenth of a second after forty polls, although Date has whole seconds', () => {
    fc.assert(
      fc.property(offsetMs, (offset) => {
        const { estimate } = watch(UNKNOWN_CLOCK, START_MS, offset, quickPolls)
        expect(Math.abs(estimate.shownMs! - offset)).toBeLessThan(100)
      })
    )
  })

  test('is tracked while it drifts', () => {
    const hours = Array.from({ length: 5_000 }, (_, index) => ({
      afterMs: 4_500 + (index % 7) * 150,
      tookMs: 3,
      stampedAt: 0.4
    }))
    const { estimate, nowMs } = watch(UNKNOWN_CLOCK, START_MS, 3_000, hours, 0.0001)
    expect(Math.abs(estimate.shownMs! - (3_000 + (nowMs - START_MS) * 0.0001))).toBeLessThan(300)
  })

  test('is learned again after either clock was set', () => {
    fc.assert(
      fc.property(
        offsetMs,
        offsetMs.filter((jump) => Math.abs(jump) > 2_000),
        (offset, jump) => {
          const before = watch(UNKNOWN_CLOCK, START_MS, offset, quickPolls)
          const theirs = watch(before.estimate, before.nowMs, offset + jump, quickPolls)
          expect(Math.abs(theirs.estimate.shownMs! - offset - jump)).toBeLessThan(100)
          const ours = watch(before.estimate, before.nowMs - jump, offset + jump, quickPolls)
          expect(Math.abs(ours.estimate.shownMs! - offset - jump)).toBeLessThan(100)
        }
      )
    )
  })

  test('stays the same if a node sends no Date, or if our clock was set back during its response', () => {
    const seen = { askedAtMs: 1_000, arrivedAtMs: 1_001 }
    expect(refineByDate(UNKNOWN_CLOCK, { ...seen, dateMs: null })).toBe(UNKNOWN_CLOCK)
    expect(refineByDate(UNKNOWN_CLOCK, { dateMs: 0, askedAtMs: 2_000, arrivedAtMs: 1_000 })).toBe(UNKNOWN_CLOCK)
  })
})

describe('times that a node wrote', () => {
  test('of runs on this machine are exact, even if no start was seen', () => {
    const at = new Date(2026, 10, 22, 21, 9, 30, 250)
    expect(trueTime('2026-11-22 21:09:30.250000', ownClock(at.getTime()))).toBe(at.getTime())
  })

  test('are exact to a tenth of a second, in every zone, once a start was seen between two polls', () => {
    const lookMs = fc.integer({ min: 0, max: 700_000 })
    fc.assert(
      fc.property(
        offsetMs,
        zones,
        lookMs,
        fc.double({ min: 0, max: 1, noNaN: true }),
        (offset, zone, widthMs, part) => {
          const { estimate, nowMs } = watch(UNKNOWN_CLOCK, START_MS, offset, quickPolls)
          const startMs = nowMs + Math.round(widthMs * part)
          const text = nodeText(startMs, offset, zone)
          const known = refineByStart(estimate, { nodeText: text, afterMs: nowMs, beforeMs: nowMs + widthMs })
          expect(known.zoneMinutes).toBe(zone)
          expect(Math.abs(trueTime(text, known)! - startMs)).toBeLessThan(100)
        }
      )
    )
  })

  test('prove no time zone if the start could have been at any time of an hour', () => {
    const { estimate, nowMs } = watch(UNKNOWN_CLOCK, START_MS, 0, quickPolls)
    const seen = { nodeText: nodeText(nowMs, 0, 60), afterMs: nowMs - 3_600_000, beforeMs: nowMs }
    expect(refineByStart(estimate, seen).zoneMinutes).toBe(null)
  })

  test('are not believed if they contradict our observations: a changed zone, a clock that was set', () => {
    const { estimate, nowMs } = watch(UNKNOWN_CLOCK, START_MS, 0, quickPolls)
    const known = refineByStart(estimate, { nodeText: nodeText(nowMs, 0, 60), afterMs: nowMs, beforeMs: nowMs })
    const between = { afterMs: nowMs, beforeMs: nowMs + 5_000 }
    expect(trueTimeBetween(nodeText(nowMs + 1_000, 0, 60), known, between)).toBeCloseTo(nowMs + 1_000, -3)
    expect(trueTimeBetween(nodeText(nowMs + 1_000, 0, 120), known, between)).toBe(nowMs + 5_000)
    expect(trueTimeBetween(null, known, between)).toBe(nowMs + 5_000)
  })

  test.each(['', 'yesterday', '2026-13-01 00:00:00', '2026-01-01', '1e9', '2026-01-01 00:00:00+02:00'])(
    'are ignored if they are not times: %s',
    (text) => {
      const { estimate, nowMs } = watch(UNKNOWN_CLOCK, START_MS, 0, quickPolls)
      const known = refineByStart(estimate, { nodeText: nodeText(nowMs, 0, 0), afterMs: nowMs, beforeMs: nowMs })
      expect(trueTime(text, known)).toBe(null)
    }
  )
})
