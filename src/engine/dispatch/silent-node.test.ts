import { afterEach, beforeEach, expect, it } from 'vitest'
import { openFilesystemBlobStore } from '../blobs/filesystem/filesystem-blob-store.ts'
import { NodeError } from '../nodes/node-client.ts'
import type { Store } from '../store/store.ts'
import { type DispatchHarness, startDispatch } from '../testing/dispatch-harness.ts'
import { createFakeClock, type FakeClock } from '../testing/fake-clock.ts'
import { FakeNode } from '../testing/fake-node.ts'
import { makeTemporaryDirectory } from '../testing/temporary-directory.ts'
import { openTemporaryStore } from '../testing/temporary-store.ts'

let clock: FakeClock
let store: Store
let closeStore: () => Promise<void>
let harness: DispatchHarness
let node: FakeNode

beforeEach(async () => {
  clock = createFakeClock()
  const temporary = await openTemporaryStore({ clock })
  store = temporary.store
  closeStore = temporary.remove
  node = new FakeNode(clock, { slots: 16, eggs: ['shop@1'] })
  const { path } = await makeTemporaryDirectory()
  harness = await startDispatch({ store, clock, nodes: { n1: node }, blobs: await openFilesystemBlobStore(path) })
  // Only to a Scrapyd are a few requests sent at a time.
  harness.fleet.update({ ...harness.fleet.get('n1')!.stored, kind: 'scrapyd' })
})

afterEach(async () => {
  await harness.crash()
  await closeStore()
})

/** Its machine lost its power: connections are there, and nothing ever comes back. */
function fallSilent(): void {
  const timeout = (afterMs: number) =>
    new Promise<never>((_resolve, reject) => {
      clock.setTimer(afterMs, () => reject(new NodeError('timeout', 'n1 did not answer', { delivered: 'unknown' })))
    })
  node.daemonStatus = () => timeout(5_000)
  node.listJobs = () => timeout(15_000)
  node.schedule = () => timeout(60_000)
}

it('a node that falls silent gets the jobs of its first requests, and no more: its other slots are not filled with jobs that nobody can find', async () => {
  fallSilent()
  const ids = await harness.enqueue(40)
  await clock.advanceBy(10 * 60_000)
  const jobs = await store.getJobs(ids)
  const there = jobs.filter(({ state }) => state !== 'queued')
  expect(there.length).toBeLessThanOrEqual(4)
  expect(harness.fleet.get('n1')!.status.health).toBe('down')
})
