import { afterEach, beforeEach, expect, it } from 'vitest'
import { openFilesystemBlobStore } from '../blobs/filesystem/filesystem-blob-store.ts'
import { NodeError } from '../nodes/node-client.ts'
import type { Store } from '../store/store.ts'
import { aNewJob } from '../testing/builders.ts'
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
  node = new FakeNode(clock, { slots: 4, eggs: ['shop@1', 'other@1'] })
  const { path } = await makeTemporaryDirectory()
  harness = await startDispatch({ store, clock, nodes: { n1: node }, blobs: await openFilesystemBlobStore(path) })
})

afterEach(async () => {
  await harness.crash()
  await closeStore()
})

it.each([0, 5])(
  'a thousand jobs that their node refuses keep nobody else waiting (their priority %i)',
  async (priority) => {
    const schedule = node.schedule.bind(node)
    node.schedule = async (request) => {
      if (request.project !== 'shop') return schedule(request)
      throw new NodeError('refused', 'n1 refused it', { delivered: 'no', nodeMessage: 'no memory' })
    }
    await store.enqueueJobs(Array.from({ length: 1_000 }, () => aNewJob({ version: '1', priority })))
    harness.dispatch.wake()
    await clock.advanceBy(4_000)
    const good = aNewJob({ project: 'other', version: '1' })
    await store.enqueueJobs([good])
    harness.dispatch.wake()
    await clock.advanceBy(1_000)
    expect(node.executed).toEqual([good.id])
  }
)
