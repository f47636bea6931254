import { describe, expect } from 'vitest'
import { aNodeId, branded } from '../../../../shared/testing/ids.ts'
import { plain } from '../../../../shared/texts/message.ts'
import { NodeError } from '../../../nodes/node-client.ts'
import { it as dispatchTest, MINUTE_MS } from '../../../testing/dispatch-fixtures.ts'

const N1 = aNodeId('n1')

/** `engine` has one node, `n1`, which accepts jobs but starts none. */
const it = dispatchTest.extend('engine', async ({ node, engine }) => {
  await engine.start({ n1: node })
  node.isWedged = true
  return engine
})

describe('a node that accepts jobs but starts none', () => {
  it('has its jobs withdrawn and gets no more; they run elsewhere, each once', async ({ clock, node, engine }) => {
    const beganMs = clock.nowMs()
    const ids = [await engine.enqueue(), await engine.enqueue()]
    await clock.advanceBy(10_000)
    expect(engine.dispatch.stuckSinceMs(N1)).toBeNull()
    await clock.advanceBy(12_000)
    expect(engine.dispatch.stuckSinceMs(N1)).toBeLessThan(beganMs + 5_000)
    expect(node.pending).toEqual([])
    for (const id of ids) {
      expect(await engine.job(id)).toMatchObject({ state: 'queued', mayHaveRunTwice: false })
      expect(await engine.textOf(id, 'taken_back')).toBe('Withdrawn: n1 had not started the job; queued again')
    }
    const waiting = engine.waiting.describeJob(await engine.job(ids[0]!)).waiting
    expect(waiting).toMatchObject({ code: 'nodes_down', text: 'n1 accepts jobs but starts none' })
  })

  it('is tried with one job after a while, and is healthy once that starts', async ({ clock, store, node, engine }) => {
    const ids = [await engine.enqueue(), await engine.enqueue(), await engine.enqueue()]
    await clock.advanceBy(25_000)
    expect(node.pending).toEqual([])
    await clock.advanceBy(30_000)
    expect(node.pending).toHaveLength(1)
    node.unwedge()
    await clock.advanceBy(8_000)
    expect(engine.dispatch.stuckSinceMs(N1)).toBeNull()
    expect(node.running).toHaveLength(2)
    for (let round = 0; round < 3; round += 1) {
      node.endAll()
      await clock.advanceBy(6_000)
    }
    expect((await store.getJobs(branded(ids))).map(({ status }) => status)).toEqual([
      'succeeded',
      'succeeded',
      'succeeded'
    ])
  })

  it('is not one that uses all its slots, of which it has fewer than configured since a restart', async ({
    clock,
    node,
    engine
  }) => {
    node.isWedged = false
    for (let count = 0; count < 2; count += 1) await engine.enqueue()
    await clock.advanceBy(5_000)
    node.endAll()
    await clock.advanceBy(6_000)
    expect(node.finished).toHaveLength(2)
    Object.assign(node, { slots: 1 }).restart()
    await clock.advanceBy(6_000)
    for (let count = 0; count < 2; count += 1) await engine.enqueue()
    await clock.advanceBy(40_000)
    expect([node.running.length, node.pending.length]).toEqual([1, 1])
    expect(engine.dispatch.stuckSinceMs(N1)).toBeNull()
  })

  it('is tried less and less often while it starts nothing', async ({ clock, node, engine }) => {
    await engine.enqueue()
    await clock.advanceBy(60 * MINUTE_MS)
    expect(node.executed.length).toBeGreaterThan(4)
    expect(node.executed.length).toBeLessThan(15)
  })

  it('is forgotten when it leaves the fleet, even if late responses arrive', async ({ clock, node, engine }) => {
    await engine.enqueue()
    await clock.advanceBy(25_000)
    const left = engine.fleet.get(N1)!
    await engine.fleet.remove(N1)
    await engine.dispatch.abandonNode(N1)
    expect(engine.dispatch.stuckSinceMs(N1)).toBeNull()
    await engine.dispatch.applySnapshot(left, await node.listJobs())
    expect(engine.dispatch.stuckSinceMs(N1)).toBeNull()
  })

  it('a job that it starts at the last moment is not stopped by the withdrawal', async ({ clock, node, engine }) => {
    const id = await engine.enqueue()
    const cancel = node.cancel.bind(node)
    node.cancel = (request) => {
      node.unwedge()
      return cancel(request)
    }
    await clock.advanceBy(25_000)
    expect(node.running[0]?.signals).toEqual(['0'])
    node.end(id)
    await clock.advanceBy(6_000)
    expect(await engine.job(id)).toMatchObject({ status: 'succeeded' })
    expect(node.executed).toEqual([id])
  })

  it('a job that left its queue without our request is lost, not sent again as if it had never arrived', async ({
    clock,
    node,
    engine
  }) => {
    const id = await engine.enqueue()
    await clock.advanceBy(12_000)
    // Another Scrapyd on the same queue took the job, or the node lost the job while starting it.
    node.pending = []
    await clock.advanceBy(20_000)
    expect(await engine.job(id)).toMatchObject({ status: 'lost' })
    expect(node.executed).toEqual([id])
  })

  it('a job is withdrawn, not lost, if the response is lost and the engine dies', async ({ clock, node, engine }) => {
    const id = await engine.enqueue()
    const cancel = node.cancel.bind(node)
    node.cancel = async (request) => {
      await cancel(request)
      throw new NodeError('timeout', plain('fake did not answer'), { delivered: 'unknown' })
    }
    await clock.advanceBy(20_000)
    expect(node.pending).toEqual([])
    node.isWedged = false
    await engine.restart({ n1: node })
    await clock.advanceBy(75_000)
    expect(await engine.resultsOf(id)).toEqual([
      ['absent', 'never arrived'],
      [null, null]
    ])
    expect(node.executed).toEqual([id, `${id}-2`])
  })

  it('a job that is seen in the queue during its withdrawal is still withdrawn', async ({ clock, node, engine }) => {
    const id = await engine.enqueue()
    const cancel = node.cancel.bind(node)
    // The engine fetches the node's lists several times before this.
    node.cancel = async (request) => {
      await new Promise<void>((resolve) => void clock.setTimer(3_500, resolve))
      return cancel(request)
    }
    await clock.advanceBy(30_000)
    expect(node.pending).toEqual([])
    expect(await engine.resultsOf(id)).toEqual([['absent', 'withdrawn']])
    expect(await engine.job(id)).toMatchObject({ state: 'queued', mayHaveRunTwice: false })
  })

  it('lists requested before the withdrawal of a job do not bring it back', async ({ clock, node, engine }) => {
    const id = await engine.enqueue()
    await clock.advanceBy(14_000)
    const list = node.listJobs.bind(node)
    node.listJobs = async () => {
      const snapshot = await list()
      await new Promise<void>((resolve) => void clock.setTimer(3_000, resolve))
      return snapshot
    }
    await clock.advanceBy(20_000)
    expect(await engine.kinds(id)).not.toContain('found_again')
    expect(await engine.job(id)).toMatchObject({ state: 'queued' })
  })
})
