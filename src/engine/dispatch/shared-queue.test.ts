import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openFilesystemBlobStore } from '../blobs/filesystem/filesystem-blob-store.ts'
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
let other: FakeNode

beforeEach(async () => {
  clock = createFakeClock()
  const temporary = await openTemporaryStore({ clock, inMemory: true })
  store = temporary.store
  closeStore = temporary.remove
  node = new FakeNode(clock, { slots: 1, eggs: ['shop@1'] })
  // Jobs are sent to the first: this one has no room for any but what it takes from the queue of both.
  other = new FakeNode(clock, { slots: 1, eggs: [] })
  const directory = await makeTemporaryDirectory({ inMemory: true })
  const blobs = await openFilesystemBlobStore(directory.path)
  harness = await startDispatch({ store, clock, nodes: { n1: node, n2: other }, blobs })
})

afterEach(async () => {
  await harness.crash()
  await closeStore()
})

describe('of two nodes that share one queue, the one that a job was not sent to', () => {
  it('has it when the answer of the other was lost: the job is not run a second time', async () => {
    node.behaviours = ['lose_request']
    const id = (await harness.enqueue(1))[0]!
    await other.schedule({ ...REQUEST, jobid: id })
    await clock.advanceBy(30_000)
    expect([...node.executed, ...other.executed]).toEqual([id])
    expect(await harness.job(id)).toMatchObject({ status: 'lost', reason: 'taken by another node' })
  })

  it('is seen to have it when the job was sent again already: the job is flagged', async () => {
    node.behaviours = ['lose_request']
    const id = (await harness.enqueue(1))[0]!
    await clock.advanceBy(30_000)
    expect(await harness.job(id)).toMatchObject({ attemptCount: 2 })
    await other.schedule({ ...REQUEST, jobid: id })
    await clock.advanceBy(10_000)
    expect(await harness.job(id)).toMatchObject({ mayHaveRunTwice: true })
    expect((await store.listTimeline(id)).findLast(({ kind }) => kind === 'seen_again')?.text).toBe(
      'Seen on n2 (running), though it was sent to n1. Do these two share one queue?'
    )
  })
})

const REQUEST = {
  project: 'shop',
  version: '1',
  spider: 'prices',
  settings: {},
  args: {},
  priority: 0,
  isVersionAsked: false,
  secretNames: [],
  limits: null
}
