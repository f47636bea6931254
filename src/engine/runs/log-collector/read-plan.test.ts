import fc from 'fast-check'
import { expect, test } from 'vitest'
import { mostMsFor, nextReadMs, type ReadFacts, readsPerSecond } from './read-plan.ts'

const facts: fc.Arbitrary<ReadFacts> = fc.record({
  isLocal: fc.boolean(),
  isThreatened: fc.boolean(),
  intervalMs: fc.integer({ min: 250, max: 60_000 }),
  newBytes: fc.nat({ max: 2_000_000 }),
  hasMore: fc.boolean(),
  mostMs: fc.option(fc.integer({ min: 1_000, max: 100_000 }))
})

test('a log is read as often as the limits of its run require, and never more than four times a second', () => {
  fc.assert(
    fc.property(facts, (given) => {
      const nextMs = nextReadMs(given)
      expect(nextMs).toBeGreaterThanOrEqual(250)
      expect(nextMs).toBeLessThanOrEqual(Math.min(30_000, given.mostMs ?? 30_000))
    })
  )
})

test('only a limit on progress needs more reads than the figures do', () => {
  expect(mostMsFor(null)).toBeNull()
  expect(mostMsFor({ wallSeconds: 10, maxErrors: 5 })).toBeNull()
  expect(mostMsFor({ noProgressSeconds: 60 })).toBe(15_000)
  expect(mostMsFor({ noProgressSeconds: 1 })).toBe(1_000)
})

test('the busier the event loop is, the fewer logs are read, but some always are', () => {
  expect([0, 0.7, 0.825, 0.95, 1].map(readsPerSecond)).toEqual([200, 200, expect.closeTo(125), 50, 50])
})
