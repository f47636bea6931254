import { describe, expect } from 'vitest'
import { it, MINUTE_MS } from '../testing/dispatch-fixtures.ts'
import { FakeNode } from '../testing/fake-node.ts'

describe('a cancel of many jobs', () => {
  it('asks a node a few at a time, and the wait for the next step begins when the step was sent', async ({
    clock,
    engine
  }) => {
    const node = new FakeNode(clock, { slots: 12, eggs: ['shop@1'] })
    await engine.start({ n1: node })
    const ids = await engine.enqueueMany(12)
    await clock.advanceBy(2_000)
    const sentAtMs = new Map<string, number[]>()
    let inFlight = 0
    let mostInFlight = 0
    node.cancel = async ({ jobid }) => {
      sentAtMs.set(jobid, [...(sentAtMs.get(jobid) ?? []), clock.monotonicMs()])
      mostInFlight = Math.max(mostInFlight, (inFlight += 1))
      await new Promise<void>((resolve) => void clock.setTimer(10_000, resolve))
      inFlight -= 1
      return { wasState: 'running' }
    }
    await engine.cancel(ids)
    // Once more, in a hurry, while most wait for their turn: still one request for each.
    await clock.advanceBy(5_000)
    engine.dispatch.cancel(ids.slice(6), { force: true })
    await clock.advanceBy(40_000)
    expect(mostInFlight).toBe(3)
    expect([...sentAtMs.keys()].sort()).toEqual([...ids].sort())
    await clock.advanceBy(2 * MINUTE_MS)
    node.cancel = async () => ({ wasState: 'running' })
    await clock.advanceBy(10_000)
    for (const id of ids) {
      const [first, second] = sentAtMs.get(id)!
      expect(second! - first!).toBeGreaterThanOrEqual(ids.indexOf(id) < 6 ? 30_000 : 15_000)
    }
  })
})
