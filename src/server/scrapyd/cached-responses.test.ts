import { expect, test } from 'vitest'
import { pickLength } from '../../../scripts/test-length.mjs'
import { MemoryCache } from '../../engine/cluster/cache/testing/memory-cache.ts'
import { createFakeClock } from '../../engine/testing/fake-clock.ts'
import { findWrongAnswer } from './testing/cached-responses.ts'

const stories = pickLength(5, 300)

test('engines with caches on one store respond like one without a cache', { timeout: 120_000 }, async () => {
  for (let seed = 1; seed <= stories; seed += 1) {
    expect(await findWrongAnswer(seed, new MemoryCache(createFakeClock()), { steps: 40 })).toBeNull()
  }
})

test('the test detects a cache that ignores the positions of its responses', { timeout: 120_000 }, async () => {
  for (let seed = 1; seed <= 20; seed += 1) {
    const wrong = await findWrongAnswer(seed, new MemoryCache(createFakeClock()), {
      steps: 40,
      spoil: (cache, store) => ({
        isAway: false,
        writeAnswer: (key, answer) => cache.writeAnswer(key, answer),
        async readAnswer(key) {
          const found = await cache.readAnswer(key)
          return found ? { ...found, position: await store.changeCursor() } : found
        }
      })
    })
    if (wrong !== null) return
  }
  expect.unreachable('no wrong answer in 20 stories')
})

test('the test detects a cache whose responses claim the position at which they are written', {
  timeout: 120_000
}, async () => {
  for (let seed = 1; seed <= 40; seed += 1) {
    const wrong = await findWrongAnswer(seed, new MemoryCache(createFakeClock()), {
      steps: 40,
      spoil: (cache, store) => ({
        isAway: false,
        readAnswer: (key) => cache.readAnswer(key),
        async writeAnswer(key, { body }) {
          return cache.writeAnswer(key, { position: await store.changeCursor(), body })
        }
      })
    })
    if (wrong !== null) return
  }
  expect.unreachable('no wrong answer in 40 stories')
})
