import { describe, expect } from 'vitest'
import { aJobId, aProjectName, aVersionName } from '../../../shared/testing/ids.ts'
import { plain } from '../../../shared/texts/message.ts'
import { NodeError } from '../../nodes/node-client.ts'
import { it, MINUTE_MS, onlyOn } from '../../testing/dispatch-fixtures.ts'

describe('state that an engine takes over', () => {
  it('a forced cancel continues at its second step', async ({ clock, store, node, engine }) => {
    const id = await engine.startRunning({ n1: node })
    await store.askCancel([aJobId(id)], {
      atMs: clock.nowMs(),
      message: plain('Immediate stop requested'),
      evidence: { force: true }
    })
    await engine.restart({ n1: node })
    await clock.advanceBy(16_000)
    expect(node.running[0]!.signals).toEqual(['INT', 'KILL'])
  })

  it('the engine looks long enough for a job that was being sent, because the request of a dead engine may arrive late', async ({
    clock,
    node,
    engine
  }) => {
    node.behaviours.push('lose_request')
    await engine.start({ n1: node })
    const id = await engine.enqueue()
    await engine.restart({ n1: node })
    await clock.advanceBy(15_000)
    // A second restart must not shorten the wait.
    await engine.restart({ n1: node })
    await clock.advanceBy(25_000)
    await node.schedule({
      project: aProjectName('shop'),
      version: aVersionName('1'),
      spider: 'prices',
      jobid: id,
      settings: {},
      args: {},
      priority: 0
    })
    await clock.advanceBy(MINUTE_MS)
    expect(node.executed).toEqual([id])
    expect(await engine.resultsOf(id)).toEqual([[null, null]])
  })

  it('a job that never arrived still returns to the queue', async ({ clock, node, engine }) => {
    node.behaviours.push('lose_request')
    await engine.start({ n1: node })
    const id = await engine.enqueue()
    await engine.restart({ n1: node })
    await clock.advanceBy(64_000)
    expect(await engine.resultsOf(id)).toEqual([[null, null]])
    await clock.advanceBy(8_000)
    expect(await engine.resultsOf(id)).toEqual([
      ['absent', 'never arrived'],
      [null, null]
    ])
  })

  it('live jobs on a node outside the fleet end as lost', async ({ node, other, engine }) => {
    const id = await engine.startRunning({ n1: node, n2: other }, onlyOn('n1'))
    await engine.restart({ n2: other })
    await engine.dispatch.abandonMissingNodes()
    expect(await engine.job(id)).toMatchObject({ status: 'lost', reason: 'node removed' })
  })
})

it('an engine that stops leaves no timer behind, even with pending retries', async ({ clock, node, engine }) => {
  await engine.start({ n1: node })
  const id = await engine.enqueue({ limits: { wallSeconds: 60 } })
  await clock.advanceBy(2_000)
  node.readLog = async () => {
    throw new NodeError('timeout', plain('fake is slow'), { delivered: 'unknown' })
  }
  node.end(id)
  await clock.advanceBy(3_000)
  await engine.crash()
  expect(clock.timerCount()).toBe(0)
})
