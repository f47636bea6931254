import { describe, expect } from 'vitest'
import { aProjectName, aVersionName } from '../../../shared/testing/ids.ts'
import { type DispatchFixtures, it } from '../../testing/dispatch-fixtures.ts'
import { plain } from '../../../shared/texts/message.ts'
import { NodeError } from '../../nodes/node-client.ts'
import { FakeNode } from '../../testing/fake-node.ts'

/** Jobs are sent to the first node. The second has room only for what it takes from the shared queue. */
async function startBoth({ clock, engine }: Pick<DispatchFixtures, 'clock' | 'engine'>) {
  const node = new FakeNode(clock, { slots: 1, eggs: ['shop@1'] })
  const other = new FakeNode(clock, { slots: 1 })
  await engine.start({ n1: node, n2: other })
  return { node, other }
}

const REQUEST = {
  project: aProjectName('shop'),
  version: aVersionName('1'),
  spider: 'prices',
  settings: {},
  args: {},
  priority: 0
}

describe('of two nodes with a shared queue, the one that a job was not sent to', () => {
  it('has the job after the response of the other node was lost: the job does not run a second time', async ({
    clock,
    engine
  }) => {
    const { node, other } = await startBoth({ clock, engine })
    node.behaviours = ['lose_request']
    const id = await engine.enqueue()
    await other.schedule({ ...REQUEST, jobid: id })
    await clock.advanceBy(30_000)
    expect([...node.executed, ...other.executed]).toEqual([id])
    expect(await engine.job(id)).toMatchObject({ status: 'lost', reason: 'taken by another node' })
  })

  it('had the job and forgot it before the other proves its absence: the job does not run a second time', async ({
    clock,
    engine
  }) => {
    const { node, other } = await startBoth({ clock, engine })
    node.behaviours = ['lose_request']
    const id = await engine.enqueue()
    await other.schedule({ ...REQUEST, jobid: id })
    await clock.advanceBy(5_000)
    other.end(id)
    other.restart({ loseLogs: true })
    await clock.advanceBy(30_000)
    expect([...node.executed, ...other.executed]).toEqual([id])
    expect(await engine.job(id)).toMatchObject({ status: 'lost', reason: 'taken by another node' })
  })

  it('had the job, but the other turns out to run it during the look-up: the run continues', async ({
    clock,
    store,
    engine
  }) => {
    const { node, other } = await startBoth({ clock, engine })
    node.behaviours = ['lose_request']
    const readLog = node.readLog.bind(node)
    node.readLog = async () => {
      throw new NodeError('timeout', plain('fake is slow'), { delivered: 'unknown' })
    }
    const id = await engine.enqueue()
    await other.schedule({ ...REQUEST, jobid: id })
    await clock.advanceBy(10_000)
    other.restart({ loseLogs: true })
    await clock.advanceBy(30_000)
    node.readLog = readLog
    const listTimeline = store.listTimeline.bind(store)
    store.listTimeline = async (jobId) => {
      store.listTimeline = listTimeline
      await node.schedule({ ...REQUEST, jobid: id })
      await new Promise<void>((resolve) => void clock.setTimer(5_000, resolve))
      return listTimeline(jobId)
    }
    await clock.advanceBy(30_000)
    expect(node.executed).toEqual([id])
    expect(await engine.job(id)).toMatchObject({ state: 'running' })
  })

  it('is seen to have the job after it was already sent again: the job is flagged', async ({ clock, engine }) => {
    const { node, other } = await startBoth({ clock, engine })
    node.behaviours = ['lose_request']
    const id = await engine.enqueue()
    await clock.advanceBy(30_000)
    expect(await engine.job(id)).toMatchObject({ attemptCount: 2 })
    await other.schedule({ ...REQUEST, jobid: id })
    await clock.advanceBy(10_000)
    expect(await engine.job(id)).toMatchObject({ mayHaveRunTwice: true })
    expect(await engine.textOf(id, 'seen_again')).toBe(
      'Seen on n2 (running), though it was sent to n1. Do these two nodes share a queue?'
    )
  })
})
