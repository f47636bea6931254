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
  const temporary = await openTemporaryStore({ clock })
  store = temporary.store
  closeStore = temporary.remove
  node = new FakeNode(clock, { slots: 2, eggs: ['shop@1'] })
  const { path } = await makeTemporaryDirectory()
  harness = await startDispatch({ store, clock, nodes: { n1: node }, blobs: await openFilesystemBlobStore(path) })
})

afterEach(async () => {
  await harness.crash()
  await closeStore()
})

async function aRunThatEnded(): Promise<void> {
  await harness.enqueue(1)
  await clock.advanceBy(2_000)
  node.endAll()
  await clock.advanceBy(3_000)
}

describe('a job that is in no list and has no log, after a request without an answer', () => {
  it('is flagged when it is sent again to a node that has forgotten: it ran, and nobody can know', async () => {
    await aRunThatEnded()
    node.behaviours = ['drop_reply']
    const schedule = node.schedule.bind(node)
    node.schedule = (request) => schedule(request).finally(() => (node.isDown = true))
    const [id] = await harness.enqueue(1)
    // It ends, and the node is restarted, before anybody can look; its logs are pruned (jobs_to_keep), or it keeps none.
    node.end(id!)
    node.restart({ loseLogs: true })
    node.schedule = schedule
    node.isDown = false
    await clock.advanceBy(25_000)
    node.endAll()
    await clock.advanceBy(5_000)
    expect(node.executed.filter((jobid) => jobid.startsWith(id!))).toEqual([id, `${id}-2`])
    expect(await harness.job(id!)).toMatchObject({ status: 'succeeded', mayHaveRunTwice: true })
  })

  it('is not flagged where the node lists a run of ours that ended before: it remembers all that it did since', async () => {
    await aRunThatEnded()
    node.behaviours = ['lose_request']
    const [id] = await harness.enqueue(1)
    await clock.advanceBy(15_000)
    expect(node.executed.filter((jobid) => jobid.startsWith(id!))).toEqual([`${id}-2`])
    expect(await harness.job(id!)).toMatchObject({ mayHaveRunTwice: false })
    const absent = (await store.listTimeline(id!)).find(({ kind }) => kind === 'absent')
    expect(absent?.text).toContain('never to have reached')
  })

  it('is flagged where nothing shows that the node remembers, though it may never have arrived', async () => {
    node.behaviours = ['lose_request']
    const [id] = await harness.enqueue(1)
    await clock.advanceBy(15_000)
    expect(node.executed.filter((jobid) => jobid.startsWith(id!))).toEqual([`${id}-2`])
    expect(await harness.job(id!)).toMatchObject({ mayHaveRunTwice: true })
    const absent = (await store.listTimeline(id!)).find(({ kind }) => kind === 'absent')
    expect(absent?.evidence).toMatchObject({ remembers: false })
  })
})
