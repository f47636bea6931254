import { expect, onTestFinished, test } from 'vitest'
import { systemRandom } from '../../runtime/random.ts'
import type { Store } from '../store.ts'
import { openTemporaryStore } from '../../testing/temporary-store.ts'
import { claimBlobs } from './shared-blobs.ts'

async function aStore() {
  const { store, remove } = await openTemporaryStore({ inMemory: true })
  onTestFinished(remove)
  return store
}

function unclaimed() {
  let owner: string | null = null
  return { name: 'a place', ifForeign: 'Mend it.', store: { claim: async (asked: string) => (owner ??= asked) } }
}

/** The store as a slow engine sees it: each call resolves only after `moment`. */
const slowly = (store: Store, moment: Promise<unknown>): Store => ({
  ...store,
  async getSetting(key) {
    const value = await store.getSetting(key)
    await moment
    return value
  },
  async keepSetting(key, value) {
    const kept = await store.keepSetting(key, value)
    await moment
    return kept
  }
})

test('two engines that start at the same moment on one store claim the same blobs', async () => {
  const store = await aStore()
  const blobs = unclaimed()
  const { promise: moment, resolve } = Promise.withResolvers<void>()
  const slow = claimBlobs(blobs, slowly(store, moment), systemRandom)
  await claimBlobs(blobs, store, systemRandom)
  resolve()
  await slow
  await claimBlobs(blobs, store, systemRandom)
})

test('the blobs of another store are refused', async () => {
  const [one, other] = [await aStore(), await aStore()]
  const blobs = unclaimed()
  await claimBlobs(blobs, one, systemRandom)
  await expect(claimBlobs(blobs, other, systemRandom)).rejects.toMatchObject({
    code: 'BLOBS_UNUSABLE',
    message: expect.stringContaining('belong to the store of another Scrapdeck. Mend it.')
  })
})
