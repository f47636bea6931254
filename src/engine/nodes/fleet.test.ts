import { expect, test } from 'vitest'
import { silentLogger } from '../runtime/logger.ts'
import { aStoredNode } from '../testing/builders.ts'
import { createFakeClock } from '../testing/fake-clock.ts'
import { FakeNode } from '../testing/fake-node.ts'
import { createSeededRandom } from '../testing/seeded-random.ts'
import { Fleet } from './fleet.ts'

test('of nodes that accept connections and never answer, some hundred are asked at once; those that answer are not held up', async () => {
  const clock = createFakeClock()
  let [asked, answered] = [0, 0]
  const fleet = new Fleet({
    clock,
    random: createSeededRandom(1),
    logger: silentLogger,
    async createClient({ name }) {
      const node = new FakeNode(clock, { slots: 2 })
      const answer = node.daemonStatus.bind(node)
      node.daemonStatus = async () => {
        if (name === 'good') {
          answered += 1
          return answer()
        }
        asked += 1
        return new Promise(() => {})
      }
      return node
    }
  })
  await fleet.add(aStoredNode({ id: 'good', name: 'good' }))
  await clock.advanceBy(0)
  for (let index = 0; index < 1_000; index += 1) await fleet.add(aStoredNode({ id: `n${index}`, name: 'silent' }))
  await clock.advanceBy(20_000)
  expect(asked).toBeGreaterThan(100)
  expect(asked).toBeLessThanOrEqual(256)
  expect(answered).toBeGreaterThan(3)
  // Removing one does not wait for its answer, nor for its turn.
  for (const { stored } of fleet.list()) if (stored.id !== 'good') await fleet.remove(stored.id)
  await fleet.stop()
})
