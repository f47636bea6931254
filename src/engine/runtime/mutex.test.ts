import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Mutex } from './mutex.ts'

test('work runs one at a time in the order of the calls, also after work that failed', async () => {
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), fc.array(fc.boolean(), { maxLength: 10 }), async (s, outcomes) => {
      const mutex = new Mutex()
      const log: string[] = []
      const calls = outcomes.map((isGood, at) =>
        mutex.run(async () => {
          log.push(`begin ${at}`)
          await s.schedule(Promise.resolve())
          log.push(`end ${at}`)
          if (!isGood) throw new Error('no')
          return at
        })
      )
      expect(mutex.isIdle).toBe(outcomes.length === 0)
      const results = Promise.allSettled(calls)
      await s.waitIdle()
      expect((await results).map(({ status }) => status === 'fulfilled')).toEqual(outcomes)
      expect(log).toEqual(outcomes.flatMap((_, at) => [`begin ${at}`, `end ${at}`]))
      expect(mutex.isIdle).toBe(true)
    })
  )
})
