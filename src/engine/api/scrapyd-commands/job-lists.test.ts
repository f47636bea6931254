import { expect, test } from 'vitest'
import { aProjectName } from '../../../shared/testing/ids.ts'
import type { Store } from '../../storage/store.ts'
import { aNewJob } from '../../testing/builders.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { openTemporaryStore } from '../../testing/temporary-store.ts'
import { ScrapydJobLists } from './job-lists.ts'

const SHOP = aProjectName('shop')

function watched(store: Store): { store: Store; read: string[] } {
  const read: string[] = []
  const proxy = new Proxy(store, {
    get(target, name: keyof Store) {
      if (/^(list|count)/.test(name)) read.push(name)
      return target[name]
    }
  })
  return { store: proxy, read }
}

async function openLists() {
  const temporary = await openTemporaryStore({ inMemory: true })
  const { store, read } = watched(temporary.store)
  const lists = new ScrapydJobLists({
    store,
    files: { hasLocal: async () => false },
    clock: createFakeClock(),
    position: { current: () => 1, catchUp: async () => {} }
  })
  return { lists, read, store: temporary.store, [Symbol.asyncDispose]: temporary.remove }
}

test('while nothing changes, the same lists are returned without a query', async () => {
  await using opened = await openLists()
  await opened.store.enqueueJobs([aNewJob({ project: 'shop' })])
  const all = await opened.lists.list(null, 100)
  const ofShop = await opened.lists.list(SHOP, 100)
  opened.read.length = 0
  expect(await opened.lists.list(null, 100)).toBe(all)
  expect(await opened.lists.list(SHOP, 100)).toBe(ofShop)
  expect(opened.read).toEqual([])
})

test('a change appears in the next lists and counts', async () => {
  await using opened = await openLists()
  await opened.store.enqueueJobs([aNewJob({ id: 'a'.repeat(32) })])
  await opened.lists.list(SHOP, 100)
  expect(await opened.lists.count(100)).toEqual({ pending: 1, running: 0, finished: 0 })
  await opened.store.enqueueJobs([aNewJob({ id: 'b'.repeat(32) })])
  const { pending } = await opened.lists.list(SHOP, 100)
  expect(pending.map(({ jobid }) => jobid)).toEqual(['a'.repeat(32), 'b'.repeat(32)])
  expect(await opened.lists.count(100)).toEqual({ pending: 2, running: 0, finished: 0 })
})
