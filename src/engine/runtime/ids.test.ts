import fc from 'fast-check'
import { expect, test } from 'vitest'
import { JOB_ID_PATTERN } from '../../shared/id-patterns.ts'
import { timeOfJobId } from '../../shared/ids.ts'
import { createFakeClock } from '../testing/fake-clock.ts'
import { createSeededRandom } from '../testing/seeded-random.ts'
import { createJobIds } from './ids.ts'

test('ids are well-formed and ascending, however the clock jumps', () => {
  const jumps = fc.array(fc.oneof(fc.constant(0), fc.integer({ min: -5000, max: 5000 })), { maxLength: 200 })
  fc.assert(
    fc.property(jumps, fc.nat(), (deltas, seed) => {
      const clock = createFakeClock()
      const makeId = createJobIds(clock, createSeededRandom(seed))
      const ids = deltas.map((deltaMs) => {
        clock.jumpWallBy(deltaMs)
        return makeId()
      })
      for (const id of ids) expect(id).toMatch(JOB_ID_PATTERN)
      expect(ids).toEqual([...new Set(ids)].sort())
    })
  )
})

test('an id contains the time at which it was created', () => {
  const clock = createFakeClock()
  expect(timeOfJobId(createJobIds(clock, createSeededRandom(1))())).toBe(clock.nowMs())
})

test('ids of two processes in the same millisecond differ', () => {
  const clock = createFakeClock()
  const [first, second] = [1, 2].map((seed) => createJobIds(clock, createSeededRandom(seed))())
  expect(first).not.toBe(second)
})
