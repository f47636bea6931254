import { expect, test } from 'vitest'
import { askSharedStore } from './store-position.ts'

/** A store whose queries end when the test decides. A query returns the position at its start. */
function createStore() {
  const asked: { answer(): void }[] = []
  const store = {
    position: 1,
    changeCursor() {
      const { promise, resolve } = Promise.withResolvers<number>()
      const seen = store.position
      asked.push({ answer: () => resolve(seen) })
      return promise
    }
  }
  return { store, asked }
}
const settle = () => new Promise(setImmediate)

test('a query that began before a call does not answer it; one more serves all waiting calls', async () => {
  const { store, asked } = createStore()
  const position = askSharedStore(store)
  const first = position.current()
  store.position = 2
  const later = [position.current(), position.current(), position.current()]
  expect(asked).toHaveLength(1)
  asked[0]!.answer()
  expect(await first).toBe(1)
  await settle()
  expect(asked).toHaveLength(2)
  asked[1]!.answer()
  expect(await Promise.all(later)).toEqual([2, 2, 2])
  await settle()
  expect(asked).toHaveLength(2)
})

test('a failed query fails only its own callers', async () => {
  let fails = true
  const position = askSharedStore({
    changeCursor: async () => {
      await settle()
      if (fails) throw new Error('away')
      return 7
    }
  })
  const first = Promise.resolve(position.current()).catch(String)
  const second = position.current()
  await settle()
  fails = false
  expect([await first, await second]).toEqual(['Error: away', 7])
})
