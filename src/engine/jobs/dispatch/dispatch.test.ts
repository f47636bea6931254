import { describe, expect } from 'vitest'
import { aNodeId } from '../../../shared/testing/ids.ts'
import { aNewJob } from '../../testing/builders.ts'
import { it } from '../../testing/dispatch-fixtures.ts'
import type { ScheduleBehaviour } from '../../testing/fake-node.ts'

describe('an engine that dies', () => {
  it.for<[string, ScheduleBehaviour, (id: string) => string[]]>([
    ['the node has the job', 'drop_reply', (id: string) => [id]],
    ['the POST never went out', 'lose_request', (id: string) => [`${id}-2`]]
  ])('while sending: %s', async ([_case, behaviour, expected], { clock, node, engine }) => {
    node.behaviours = [behaviour]
    // The response never arrives, so the attempt stays `sending` in the store, as after kill -9.
    const schedule = node.schedule.bind(node)
    node.schedule = async (request) => {
      await schedule(request).catch(() => {})
      return new Promise(() => {})
    }
    await engine.start({ n1: node })
    const [id] = await engine.enqueueMany(1)
    expect(await engine.kinds(id!)).toEqual(['queued', 'sending'])
    // Not awaited, because it would wait for the response forever.
    void engine.dispatch.stop()
    void engine.fleet.stop()
    node.schedule = schedule
    await engine.start({ n1: node })
    await clock.advanceBy(70_000)
    expect(node.executed).toEqual(expected(id!))
    expect((await engine.job(id!)).state).toBe('running')
  })

  it('is replaced by one that takes over running jobs and learns how they ended', async ({ clock, node, engine }) => {
    const id = await engine.startRunning({ n1: node })
    await engine.crash()
    node.end(id)
    await engine.start({ n1: node })
    await clock.advanceBy(3_000)
    expect(await engine.job(id)).toMatchObject({ status: 'succeeded', attemptCount: 1 })
  })
})

describe('a node that is removed', () => {
  it('leaves no live job behind, including those in flight to it or just changing state', async ({
    clock,
    store,
    node,
    engine
  }) => {
    await engine.start({ n1: node })
    const [running] = await engine.enqueueMany(1)
    await clock.advanceBy(1_500)
    node.end(running!)
    const jobs = [aNewJob({ version: '1' }), aNewJob({ version: '1' })]
    await store.enqueueJobs(jobs)
    engine.dispatch.wake()
    const seen = engine.dispatch.applySnapshot(engine.fleet.get(aNodeId('n1'))!, await node.listJobs())
    const removed = engine.fleet.remove(aNodeId('n1')).then(() => engine.dispatch.abandonNode(aNodeId('n1')))
    await clock.advanceBy(5_000)
    await Promise.all([seen, removed])
    expect(engine.live.all()).toEqual([])
    expect(await store.listLiveAttempts()).toEqual([])
    expect((await engine.job(running!)).state).toBe('ended')
    for (const { id } of jobs) expect(['queued', 'ended']).toContain((await engine.job(id)).state)
  })
})
