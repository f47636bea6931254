import { expect } from 'vitest'
import { aNodeId, branded } from '../../../shared/testing/ids.ts'
import { plain } from '../../../shared/texts/message.ts'
import { NodeError } from '../../nodes/node-client.ts'
import { it, MINUTE_MS } from '../../testing/dispatch-fixtures.ts'
import type { FakeClock } from '../../testing/fake-clock.ts'
import { FakeNode } from '../../testing/fake-node.ts'

/** Makes the node behave as after a power failure: connections open, but no response ever arrives. */
function fallSilent(node: FakeNode, clock: FakeClock): void {
  const timeout = (afterMs: number) =>
    new Promise<never>((_resolve, reject) => {
      clock.setTimer(afterMs, () =>
        reject(new NodeError('timeout', plain('n1 did not answer'), { delivered: 'unknown' }))
      )
    })
  node.daemonStatus = () => timeout(5_000)
  node.listJobs = () => timeout(15_000)
  node.schedule = () => timeout(60_000)
}

it('a node that stops responding gets only the jobs of its first requests: its other slots are not filled with untraceable jobs', async ({
  clock,
  store,
  engine
}) => {
  const node = new FakeNode(clock, { slots: 16, eggs: ['shop@1'] })
  await engine.start({ n1: node })
  // Only Scrapyd nodes have a low limit of concurrent requests.
  engine.fleet.update({ ...engine.fleet.get(aNodeId('n1'))!.stored, kind: 'scrapyd' })
  fallSilent(node, clock)
  const ids = await engine.enqueueMany(40)
  await clock.advanceBy(10 * MINUTE_MS)
  const jobs = await store.getJobs(branded(ids))
  const there = jobs.filter(({ state }) => state !== 'queued')
  expect(there.length).toBeLessThanOrEqual(4)
  expect(engine.fleet.get(aNodeId('n1'))!.status.health).toBe('down')
})
