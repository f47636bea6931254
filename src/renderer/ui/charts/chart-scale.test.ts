import fc from 'fast-check'
import { expect, it } from 'vitest'
import { nearestIndex, thinOut, timeTicks, valueTicks } from './chart-scale.ts'

it('covers every value with three to five round ticks from 0', () => {
  fc.assert(
    fc.property(fc.double({ min: 0, max: 1e13, noNaN: true }), fc.boolean(), (top, isBinary) => {
      const ticks = valueTicks(top, isBinary)
      expect(ticks[0]).toBe(0)
      expect(ticks.at(-1)).toBeGreaterThanOrEqual(top)
      expect(ticks.length).toBeGreaterThanOrEqual(3)
      expect(ticks.length).toBeLessThanOrEqual(5)
    })
  )
})

it('uses powers of two for memory', () => {
  expect(valueTicks(150 * 1_048_576, true).map((bytes) => bytes / 1_048_576)).toEqual([0, 64, 128, 192])
  expect(valueTicks(87, false)).toEqual([0, 50, 100])
  expect(valueTicks(0, false)).toEqual([0, 5, 10])
})

it('puts ticks at round distances from the start, within the span', () => {
  const started = 1_000_000
  expect(timeTicks(started + 61_000, started + 190_000, started, 4).map((atMs) => atMs - started)).toEqual([
    120_000, 180_000
  ])
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 1e9 }), fc.integer({ min: 1000, max: 1e9 }), (offset, span) => {
      const ticks = timeTicks(started + offset, started + offset + span, started, 5)
      expect(ticks.length).toBeLessThanOrEqual(6)
      for (const tick of ticks) expect(tick - started - offset).toBeGreaterThanOrEqual(0)
    })
  )
})

it('loses no peak when it reduces points', () => {
  const points = Array.from({ length: 1000 }, (_, index) => ({ atMs: index, value: index === 517 ? 99 : 1 }))
  const kept = thinOut(points, 300)
  expect(kept.length).toBeLessThanOrEqual(300)
  expect(kept).toContainEqual({ atMs: 517, value: 99 })
  expect(thinOut(points, 1000)).toBe(points)
})

it('finds the nearest point in time', () => {
  const points = [10, 20, 40].map((atMs) => ({ atMs, value: 0 }))
  expect([-5, 14, 29, 31, 900].map((atMs) => nearestIndex(points, atMs))).toEqual([0, 0, 1, 2, 2])
})
