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

beforeEach(async () => {
  clock = createFakeClock()
  const temporary = await openTemporaryStore({ clock, inMemory: true })
  store = temporary.store
  closeStore = temporary.remove
  node = new FakeNode(clock, { slots: 2, eggs: ['shop@1'] })
  const directory = await makeTemporaryDirectory({ inMemory: true })
  const blobs = await openFilesystemBlobStore(directory.path)
  harness = await startDispatch({ store, clock, nodes: { n1: node }, blobs })
})

afterEach(async () => {
  await harness.crash()
  await closeStore()
})

describe('a job whose request a proxy delivered twice', () => {
  it('is flagged, once, as soon as its node lists it twice', async () => {
    const id = (await harness.enqueue(1))[0]!
    await clock.advanceBy(2_000)
    expect(await harness.job(id)).toMatchObject({ mayHaveRunTwice: false })
    node.running.push({ ...node.running[0]! })
    await clock.advanceBy(10_000)
    expect(await harness.job(id)).toMatchObject({ mayHaveRunTwice: true, status: 'running' })
    const told = (await store.listTimeline(id)).filter(({ kind }) => kind === 'seen_again')
    expect(told.map(({ text }) => text)).toEqual([
      'n1 lists it twice: the request was delivered to it twice (does a proxy on the way repeat requests?)'
    ])
  })
})
