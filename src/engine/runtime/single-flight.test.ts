import fc from 'fast-check'
import { expect, test } from 'vitest'
import { KeyedSingleFlight, SingleFlight } from './single-flight.ts'

test('calls during a run share its result, and the next call after it runs again', async () => {
  const flight = new SingleFlight<number>()
  let runs = 0
  const work = async () => ++runs
  const first = flight.run(work)
  expect(flight.running).toBe(first)
  expect(await Promise.all([first, flight.run(work)])).toEqual([1, 1])
  expect(flight.running).toBeNull()
  expect(await flight.run(work)).toBe(2)
})

test('a run that fails rejects all of its callers and does not block the next one', async () => {
  const flight = new SingleFlight()
  const failing = () => Promise.reject(new Error('no'))
  const results = await Promise.allSettled([flight.run(failing), flight.run(failing)])
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  await expect(flight.run(async () => {})).resolves.toBeUndefined()
})

test('no key ever runs twice at the same time, and different keys do not wait for each other', async () => {
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), fc.array(fc.nat(3), { maxLength: 12 }), async (s, keys) => {
      const flights = new KeyedSingleFlight<number, number>()
      const running = new Set<number>()
      const calls = keys.map((key) =>
        s.schedule(Promise.resolve()).then(() =>
          flights.run(key, async () => {
            expect(running.has(key)).toBe(false)
            running.add(key)
            await s.schedule(Promise.resolve())
            running.delete(key)
            return key
          })
        )
      )
      await s.waitAll()
      expect(await Promise.all(calls)).toEqual(keys)
      for (const key of keys) expect(flights.get(key)).toBeUndefined()
    })
  )
})
