import { setTimeout as wait } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { watchLoopDelay } from './loop-delay.ts'

test('a blocked event loop is visible in the sample of its time and not in the next', { retry: 2 }, async () => {
  const loopDelay = watchLoopDelay()
  await wait(50)
  const endMs = performance.now() + 300
  while (performance.now() < endMs);
  await wait(50)
  const [blocked, busy] = [loopDelay.sampleP99Ms(), loopDelay.sampleShare()]
  await wait(100)
  const [calm, idle] = [loopDelay.sampleP99Ms(), loopDelay.sampleShare()]
  loopDelay.stop()
  loopDelay.stop()
  expect(blocked).toBeGreaterThan(200)
  expect(calm).toBeLessThan(200)
  expect(busy).toBeGreaterThan(0.5)
  expect(idle).toBeLessThan(0.5)
})

test('without a measurement the delay is zero', () => {
  const loopDelay = watchLoopDelay()
  expect(loopDelay.sampleP99Ms()).toBe(0)
  loopDelay.stop()
})
