import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Attempt } from '../../../shared/contract/index.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { makeTemporaryDirectory } from '../../testing/temporary-directory.ts'
import { ItemsCache } from './items-cache.ts'
import { RemoteCopies } from './remote-copies.ts'

test('a copy that takes days stops when it has not been used for a while, and continues when it is used again', async () => {
  await using directory = await makeTemporaryDirectory()
  const clock = createFakeClock()
  let asked = 0
  // The node serves one byte per second.
  const copies = new RemoteCopies({
    cache: ItemsCache.open(join(directory.path, 'items')),
    clock,
    async readRange(_attempt, { offset }, signal) {
      signal?.throwIfAborted()
      asked += 1
      await clock.advanceBy(1_000)
      return { offset, sizeBytes: 100_000, bytes: new Uint8Array(1) }
    }
  })
  const attempt = { jobId: 'a', number: 1, endedAtMs: 0 } as unknown as Attempt
  const isCopying = () => expect(copies.get(attempt, 100_000)).rejects.toMatchObject({ code: 'ITEMS_COPYING' })
  await isCopying()
  let before = -1
  await expect.poll(() => before === (before = asked)).toBe(true)
  expect(asked).toBeLessThan(200)
  await isCopying()
  expect(asked).toBeGreaterThan(before)
  copies.stop()
  await expect.poll(() => before === (before = asked)).toBe(true)
})
