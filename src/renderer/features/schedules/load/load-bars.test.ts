import fc from 'fast-check'
import { expect, it } from 'vitest'
import { barsOf, hourTicks } from './load-chart.tsx'

const FROM = Date.parse('2026-11-24T00:00:00Z')
const DAY_MS = 86_400_000

it('the fullest minute is never lost, however wide the bars are', () => {
  const minute = fc.record({
    atMs: fc.integer({ min: 0, max: 1439 }).map((each) => FROM + each * 60_000),
    firings: fc.integer({ min: 1, max: 5 }),
    jobs: fc.integer({ min: 1, max: 400 })
  })
  fc.assert(
    fc.property(
      fc.uniqueArray(minute, { selector: ({ atMs }) => atMs, minLength: 1 }),
      fc.integer({ min: 24, max: 1500 }),
      (minutes, most) => {
        const { bars } = barsOf(minutes, FROM, FROM + DAY_MS, most)
        expect(bars.length).toBeLessThanOrEqual(most)
        expect(Math.max(...bars.map(({ peak }) => peak.jobs))).toBe(Math.max(...minutes.map(({ jobs }) => jobs)))
        for (const { fromMs, peak } of bars) expect(peak.atMs - fromMs).toBeGreaterThanOrEqual(0)
      }
    )
  )
})

it('ticks are at round hours, as many as there is room for', () => {
  const ticks = hourTicks(FROM, FROM + DAY_MS, 8)
  expect(ticks.length).toBeLessThanOrEqual(9)
  expect(ticks.every((atMs) => new Date(atMs).getMinutes() === 0)).toBe(true)
})
