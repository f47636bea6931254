import { describe, expect } from 'vitest'
import { it } from '../../testing/dispatch-fixtures.ts'
import { FakeNode } from '../../testing/fake-node.ts'

const LEARNS = { learnsSlots: true }

describe('a node whose slots nobody set', () => {
  it('gets one job, and the next only after the earlier ones were seen running, until one waits there', async ({
    clock,
    engine
  }) => {
    const node = new FakeNode(clock, { slots: 3, eggs: ['shop@1'] })
    node.isWedged = true
    await engine.start({ n1: node }, LEARNS)
    await engine.enqueueMany(9)
    const sentAfter = async (ms: number) => {
      await clock.advanceBy(ms)
      return node.executed.length
    }
    expect(await sentAfter(9_000)).toBe(1)
    node.unwedge()
    node.isWedged = true
    await clock.advanceBy(3_000)
    // Jobs that were sent before now wait on the node. No further jobs follow.
    const sent = await sentAfter(0)
    expect(node.pending).toHaveLength(1)
    expect(await sentAfter(5_000)).toBe(sent)
    node.unwedge()
    expect(await sentAfter(6_000)).toBe(4)
    expect([node.running.length, node.pending.length]).toEqual([3, 1])
    expect(await sentAfter(30_000)).toBe(4)
    expect(engine.fleet.list()[0]!.status.capacity).toMatchObject({ slots: 3, isTrying: false })
  })

  it('is filled as fast as it reports runs; short runs between two polls count, too', async ({ clock, engine }) => {
    const node = new FakeNode(clock, { slots: 8, eggs: ['shop@1'] })
    await engine.start({ n1: node }, LEARNS)
    await engine.enqueueMany(20)
    node.endAll()
    await clock.advanceBy(11_000)
    expect(node.running).toHaveLength(8)
  })

  it('keeps its learned slots while its address stays, and starts over at another', async ({ clock, engine }) => {
    const node = new FakeNode(clock, { slots: 2, eggs: ['shop@1'] })
    await engine.start({ n1: node }, LEARNS)
    await engine.enqueueMany(2)
    await clock.advanceBy(4_000)
    const [before] = engine.fleet.list()
    await engine.fleet.add({ ...before!.stored, name: 'renamed' })
    expect(engine.fleet.list()[0]!.status.capacity.slots).toBe(2)
    await engine.fleet.add({ ...before!.stored, url: 'http://10.9.9.9:6800/' })
    expect(engine.fleet.list()[0]!.status.capacity).toMatchObject({ slots: 1, isTrying: false })
  })
})

describe('what a job waits for', () => {
  it('is updated at once when a slot of its node is learned or lost', async ({ clock, engine }) => {
    const node = new FakeNode(clock, { slots: 2, eggs: ['shop@1'] })
    await engine.start({ n1: node }, LEARNS)
    const ids = await engine.enqueueMany(6)
    const reasons = new Set<string>()
    const slots = () => engine.fleet.list()[0]!.status.capacity.slots
    for (let second = 0; second < 40; second += 1) {
      await clock.advanceBy(1_000)
      const { text } = engine.waiting.describeJob(await engine.job(ids[5]!)).waiting!
      expect(text).toBe(slots() === 1 ? 'the slot is busy' : `all ${slots()} slots are busy`)
      reasons.add(text)
    }
    const one = engine.fleet.list()[0]!
    engine.fleet.update({ ...one.stored, slots: 1 })
    await clock.advanceBy(100)
    expect(engine.waiting.describeJob(await engine.job(ids[5]!)).waiting?.text).toBe('the slot is busy')
    expect(reasons).toContain('all 2 slots are busy')
  })
})
