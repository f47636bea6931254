import { expect, test } from 'vitest'
import { createFakeClock } from '../testing/fake-clock.ts'
import { advanceUntil } from '../testing/until.ts'
import type { Logger } from './logger.ts'
import { Sweep } from './sweep.ts'

function sweepOf(list: () => Promise<number[]>, work: (item: number) => Promise<boolean>) {
  const clock = createFakeClock()
  const warnings: unknown[] = []
  const logger = { warn: (facts: unknown) => void warnings.push(facts) } as unknown as Logger
  const parts = { list, work, describe: (item: number) => ({ item }), words: 'it did not work' }
  const sweep = new Sweep<number>({ ...parts, clock, logger })
  const run = async () => {
    let done: number | null = null
    void sweep.run().then((count) => (done = count))
    await advanceUntil(clock, () => done !== null)
    return done
  }
  return { clock, sweep, run, warnings }
}

test('a sweep handles all items, and continues after a failure', async () => {
  const worked: number[] = []
  const { run, warnings } = sweepOf(
    async () => [1, 2, 3, 4],
    async (item) => {
      if (item === 2) throw new Error('two')
      worked.push(item)
      return item !== 3
    }
  )
  expect([await run(), worked, warnings]).toEqual([2, [1, 3, 4], [{ item: 2, error: new Error('two') }]])
})

test('a list that cannot be read is tried again by the next sweep', async () => {
  let tries = 0
  const { run, warnings } = sweepOf(
    async () => {
      if (++tries === 1) throw new Error('too many open files')
      return [1]
    },
    async () => true
  )
  expect([await run(), warnings.length, await run()]).toEqual([0, 1, 1])
})

test('only one sweep runs at a time, and none after the stop', async () => {
  const { clock, sweep } = sweepOf(
    async () => [1, 2, 3],
    async () => true
  )
  const first = sweep.run()
  expect(sweep.run()).toBe(first)
  await clock.advanceBy(10)
  sweep.stop()
  expect([await first, await sweep.run()]).toEqual([1, 0])
})
