import { inWords } from '../../shared/testing/in-words.ts'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type CountersSeen, NOTHING_LEARNED, learnFromCounters, planCapacity, type SlotsBelief } from './capacity.ts'

const full = (atMs: number, running = 2): CountersSeen => ({ atMs, running, pending: 3, finished: 7 })

function learn(looks: readonly CountersSeen[], before = NOTHING_LEARNED): SlotsBelief {
  return looks.reduce(learnFromCounters, before)
}

const slotsAfter = (looks: readonly CountersSeen[], before = NOTHING_LEARNED) =>
  planCapacity({ setSlots: null, belief: learn(looks, before), nowMs: looks.at(-1)?.atMs ?? 0 })

describe('the slots of a node', () => {
  test('are one while nothing has run there, and no other is tried', () => {
    const idle = { atMs: 0, running: 0, pending: 0, finished: 0 }
    const one = { slots: 1, isTrying: false, source: 'default', said: expect.stringMatching(/^not known/) }
    expect(inWords(slotsAfter([]))).toEqual(one)
    expect(inWords(slotsAfter([idle, { ...idle, pending: 1 }]))).toEqual(one)
  })

  test.each([
    [1, [{ ...full(0, 1), pending: 0 }], 'learned: one job ran; trying another'],
    [1, [{ ...full(0, 0), pending: 0 }], 'learned: one job ran; trying another'],
    [2, [{ ...full(0, 2), pending: 0 }, full(1_000, 1)], 'learned: 2 ran at once; trying another']
  ])('are %i, as many as ran at once, and one more is tried as soon as those were seen', (slots, looks, text) => {
    expect(inWords(slotsAfter(looks))).toEqual({ slots, isTrying: true, source: 'learned', said: text })
  })

  test('are what the operator set, whatever is observed', () => {
    const belief = learn([full(0), full(6000), full(12_000)])
    expect(inWords(planCapacity({ setSlots: 9, belief, nowMs: 12_000 }))).toEqual({
      slots: 9,
      isTrying: false,
      source: 'set',
      said: 'set by you'
    })
  })

  test('are learned when nothing changes although jobs wait, with the evidence', () => {
    expect(inWords(slotsAfter([full(0), full(6000), full(12_001)]))).toEqual({
      slots: 2,
      isTrying: false,
      source: 'learned',
      said: 'learned: 2 ran while 3 waited, for 12 s'
    })
  })

  test.each([
    ['two polls only', [full(0), full(20_000)]],
    ['10 s only', [full(0), full(5000), full(10_000)]],
    ['a poll without pending jobs', [full(0), { ...full(6000), pending: 0 }, full(12_000)]],
    ['a start', [full(0, 1), full(6000, 2), full(12_000, 2)]],
    ['an end whose slot was filled again', [full(0), { ...full(6000), finished: 8 }, { ...full(12_000), finished: 8 }]],
    ['nothing running at all', [full(0, 0), full(6000, 0), full(12_000, 0)]]
  ])('are not known to be all from %s', (_name, polls) => {
    expect(inWords(slotsAfter(polls))).toMatchObject({
      isTrying: true,
      said: expect.stringMatching(/; trying another$/)
    })
    expect(learn(polls).limit).toBeNull()
  })

  test('are not reduced because a node has stopped starting jobs, until that has lasted', () => {
    const before = learn([full(0, 6)])
    const looks = Array.from({ length: 30 }, (_, index) => full(1_000 + index * 2_000, 1))
    expect(slotsAfter(looks, before).slots).toBe(6)
    expect(slotsAfter([...looks, full(700_000, 1)], before).slots).toBe(1)
  })

  test('grow at once when more jobs run than was learned', () => {
    const two = learn([full(0), full(6000), full(12_001)])
    expect(slotsAfter([full(13_000, 5)], two)).toMatchObject({ slots: 5, source: 'learned' })
  })
})

/**
 * Polls a Scrapyd with `capacity` slots every second. The number of slots is not configured, and there are always
 * enough long jobs to fill them.
 */
function fill(capacity: number, forMs: number, before: { belief: SlotsBelief; ours: number; atMs: number }) {
  let { belief, ours, atMs } = before
  let mostWaiting = 0
  for (const endMs = atMs + forMs; atMs < endMs; atMs += 1_000) {
    const { slots, isTrying } = planCapacity({ setSlots: null, belief, nowMs: atMs })
    ours = Math.max(ours, slots + Number(isTrying))
    const running = Math.min(ours, capacity)
    mostWaiting = Math.max(mostWaiting, ours - running)
    belief = learnFromCounters(belief, { atMs, running, pending: ours - running, finished: 0 })
  }
  return { belief, ours, atMs, mostWaiting }
}

describe('a node that always gets as many jobs as its believed slots', () => {
  const fresh = { belief: NOTHING_LEARNED, ours: 0, atMs: 0 }

  test('is learned whatever its size, with at most one of our jobs waiting to find out', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40 }), (capacity) => {
        const { belief, mostWaiting } = fill(capacity, 60_000, fresh)
        expect([belief.limit, mostWaiting]).toEqual([capacity, 1])
      })
    )
  })

  test('is full as soon as each of its slots was seen, one per poll', () => {
    for (const capacity of [1, 4, 16]) expect(fill(capacity, capacity * 1_000, fresh).ours).toBe(capacity)
  })

  test('that was underestimated grows again, within a quarter of an hour', () => {
    const small = fill(1, 20_000, fresh)
    expect(small.belief.limit).toBe(1)
    const { belief } = fill(8, 1_200_000, { ...small, ours: 1 })
    expect(belief.limit).toBe(8)
  })

  test('is probed for one more slot less and less often', () => {
    let node: { belief: SlotsBelief; ours: number; atMs: number } = fill(4, 60_000, fresh)
    let tries = 0
    for (let minute = 0; minute < 24 * 60; minute += 1) {
      node = fill(4, 60_000, { ...node, ours: 4 })
      if (node.ours > 4) tries += 1
    }
    expect(tries).toBeGreaterThan(3)
    expect(tries).toBeLessThan(10)
  })
})

describe('beliefs', () => {
  test('are never below one slot, nor below the number of running jobs', () => {
    const look = fc.record({
      atMs: fc.nat({ max: 60_000 }),
      running: fc.nat(9),
      pending: fc.nat(3),
      finished: fc.nat(2)
    })
    fc.assert(
      fc.property(fc.array(look), (looks) => {
        const capacity = slotsAfter(looks.sort((left, right) => left.atMs - right.atMs))
        expect(capacity.slots).toBeGreaterThanOrEqual(1)
        expect(capacity.slots).toBeGreaterThanOrEqual(looks.at(-1)?.running ?? 0)
      })
    )
  })

  test('are the same object while a poll changes nothing, so that nothing is allocated', () => {
    const idle = { atMs: 1, running: 1, pending: 0, finished: 3 }
    const belief = learn([idle])
    expect(learnFromCounters(belief, { ...idle, atMs: 9_000, finished: 4 })).toBe(belief)
  })
})
