import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import { PARKED_BYTES, PARKED_FOR_MS, ParkedChildren, parkedWanted } from './parked-children.ts'

const GIB = 1024 ** 3
const PLENTY = { freeBytes: 16 * GIB, totalBytes: 32 * GIB }

test('children are parked for recently used projects, within the setting, the free slots and the free memory', () => {
  const aParent = fc.record({
    lastStartMs: fc.option(fc.integer({ min: 0, max: 2 * PARKED_FOR_MS })),
    parked: fc.nat(3)
  })
  const aMemory = fc.record({ freeBytes: fc.nat(8 * GIB), totalBytes: fc.constant(8 * GIB) })
  const facts = fc.record({ mostParked: fc.nat(8), freeSlots: fc.nat(20), memory: aMemory })
  fc.assert(
    fc.property(fc.array(aParent, { maxLength: 5 }), facts, (parents, { mostParked, freeSlots, memory }) => {
      const monotonicMs = 2 * PARKED_FOR_MS
      const wanted = parkedWanted(parents, { monotonicMs, mostParked, freeSlots, memory })
      const sum = (counts: number[]) => counts.reduce((total, one) => total + one, 0)
      expect(wanted).toHaveLength(parents.length)
      expect(sum(wanted)).toBeLessThanOrEqual(freeSlots)
      const leftBytes = memory.freeBytes - (sum(wanted) - sum(parents.map(({ parked }) => parked))) * PARKED_BYTES
      if (sum(wanted) > 0) expect(leftBytes).toBeGreaterThanOrEqual(memory.totalBytes / 10)
      for (const [at, count] of wanted.entries()) {
        expect(count).toBeGreaterThanOrEqual(0)
        expect(count).toBeLessThanOrEqual(mostParked)
        const { lastStartMs } = parents[at]!
        if (lastStartMs === null || lastStartMs < monotonicMs - PARKED_FOR_MS) expect(count).toBe(0)
      }
    })
  )
})

test('the most recently used project comes first', () => {
  const parents = [1, 3, null, 2].map((lastStartMs) => ({ lastStartMs, parked: 0 }))
  const now = { monotonicMs: 5, mostParked: 2, memory: PLENTY }
  expect(parkedWanted(parents, { ...now, freeSlots: 20 })).toEqual([2, 2, 0, 2])
  expect(parkedWanted(parents, { ...now, freeSlots: 3 })).toEqual([0, 2, 0, 1])
})

function aLot(over: { mostParked?: number; freeSlots?: number } = {}) {
  const clock = createFakeClock()
  const asked: number[] = []
  const parent = {
    lastStartMs: null as number | null,
    parked: 0,
    park(count: number) {
      parent.parked = count
      asked.push(count)
    }
  }
  const now = { memory: PLENTY, freeSlots: over.freeSlots ?? 4 }
  const lot = new ParkedChildren({
    mostParked: over.mostParked ?? 1,
    freeSlots: () => now.freeSlots,
    readFreeMemory: async () => now.memory,
    parents: () => [parent],
    clock
  })
  const start = () => {
    parent.lastStartMs = clock.monotonicMs()
    lot.wake()
  }
  return { clock, asked, parent, now, lot, start }
}

test('a child is parked soon after a start, not at once, and replaced at the next check if it has died', async () => {
  const { clock, asked, parent, start } = aLot()
  start()
  await clock.advanceBy(149)
  expect(asked).toEqual([])
  await clock.advanceBy(1)
  expect(asked).toEqual([1])
  await clock.advanceBy(10_000)
  expect(asked).toEqual([1, 1])
  parent.parked = 0
  start()
  start()
  await clock.advanceBy(150)
  expect(asked).toEqual([1, 1, 1])
})

test('children end when memory gets low or nothing starts for ten minutes; then the checks stop', async () => {
  const { clock, asked, parent, now, start } = aLot()
  start()
  await clock.advanceBy(150)
  now.memory = { ...PLENTY, freeBytes: GIB }
  await clock.advanceBy(10_000)
  expect(parent.parked).toBe(0)
  now.memory = PLENTY
  await clock.advanceBy(10_000)
  expect(parent.parked).toBe(1)
  await clock.advanceBy(PARKED_FOR_MS)
  expect(parent.parked).toBe(0)
  const asks = asked.length
  await clock.advanceBy(PARKED_FOR_MS)
  expect(asked).toHaveLength(asks)
})

test('no child is parked if parking is off, no slot is free, nothing was started or the pool is closed', async () => {
  const off = aLot({ mostParked: 0 })
  off.start()
  const full = aLot({ freeSlots: 0 })
  full.start()
  const unused = aLot()
  unused.lot.wake()
  const closed = aLot()
  closed.start()
  closed.lot.close()
  for (const { clock, asked } of [off, full, unused, closed]) {
    await clock.advanceBy(60_000)
    expect(asked).toEqual([])
  }
  full.now.freeSlots = 1
  full.lot.wake()
  await full.clock.advanceBy(150)
  expect(full.asked).toEqual([1])
})
