import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type CountersSeen, planCapacity } from './capacity.ts'

const none = { setSlots: null, learned: null }
const full = (atMs: number, running = 2): CountersSeen => ({ atMs, running, pending: 3, finished: 7 })

describe('the slots of a node', () => {
  test('are 4 while nothing is known', () => {
    expect(planCapacity({ ...none, polls: [] })).toEqual({ slots: 4, source: 'default', learned: null })
  })

  test('are what the operator set, whatever was seen', () => {
    const polls = [full(0), full(6000), full(12_000)]
    expect(planCapacity({ ...none, setSlots: 9, polls })).toEqual({ slots: 9, source: 'set', learned: 2 })
  })

  test('are learned when nothing moves although jobs wait', () => {
    const polls = [full(0), full(6000), full(10_001)]
    expect(planCapacity({ ...none, polls })).toEqual({ slots: 2, source: 'learned', learned: 2 })
  })

  test.each([
    ['two polls only', [full(0), full(20_000)]],
    ['10 s only', [full(0), full(5000), full(10_000)]],
    ['a poll without pending jobs', [full(0), { ...full(6000), pending: 0 }, full(12_000)]],
    ['a start', [full(0, 1), full(6000), full(12_000)]],
    ['an end whose slot was filled again', [full(0), { ...full(6000), finished: 8 }, { ...full(12_000), finished: 8 }]],
    ['nothing running at all', [full(0, 0), full(6000, 0), full(12_000, 0)]]
  ])('are not learned from %s', (_name, polls) => {
    expect(planCapacity({ ...none, polls })).toEqual({ slots: 4, source: 'default', learned: null })
  })

  test('stay learned, and grow when more run than was learned', () => {
    expect(planCapacity({ setSlots: null, learned: 2, polls: [{ ...full(0, 1), pending: 0 }] }).slots).toBe(2)
    expect(planCapacity({ setSlots: null, learned: 2, polls: [full(0, 5)] }).slots).toBe(5)
  })

  test('of a node that keeps its slots full are found, whatever it did before', () => {
    const counter = fc.nat({ max: 6 })
    const before = fc.array(fc.record({ running: counter, pending: counter, finished: counter }), { maxLength: 20 })
    fc.assert(
      fc.property(
        before,
        fc.integer({ min: 1, max: 6 }),
        fc.integer({ min: 3, max: 30 }),
        (earlier, capacity, polls) => {
          const history = [
            ...earlier.map((poll, index) => ({
              ...poll,
              running: Math.min(poll.running, capacity),
              atMs: index * 1000
            })),
            ...Array.from({ length: polls }, (_, index) => full(100_000 + index * 6000, capacity))
          ]
          expect(planCapacity({ ...none, polls: history })).toEqual({
            slots: capacity,
            source: 'learned',
            learned: capacity
          })
        }
      )
    )
  })

  test('are never fewer than what was just seen to run once they are learned, and never less than one', () => {
    const poll = fc.record({
      atMs: fc.nat({ max: 60_000 }),
      running: fc.nat(9),
      pending: fc.nat(3),
      finished: fc.nat(2)
    })
    const polls = fc.array(poll).map((seen) => seen.sort((a, b) => a.atMs - b.atMs))
    fc.assert(
      fc.property(polls, fc.option(fc.integer({ min: 1, max: 9 })), (seen, learned) => {
        const capacity = planCapacity({ setSlots: null, learned, polls: seen })
        expect(capacity.slots).toBeGreaterThanOrEqual(1)
        if (capacity.source === 'learned') expect(capacity.slots).toBeGreaterThanOrEqual(seen.at(-1)?.running ?? 0)
      })
    )
  })
})
