import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { Attempt } from '../../../shared/contract/index.ts'
import { aJobId, aNodeId, anAttemptNumber, aProjectName } from '../../../shared/testing/ids.ts'
import { openFilesystemBlobStore } from '../../storage/blobs/filesystem/filesystem-blob-store.ts'
import type { ReadLog } from '../logs/archive/log-copies.ts'
import { silentLogger } from '../../runtime/logger.ts'
import { aNewJob } from '../../testing/builders.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { createMemoryArchive } from '../../testing/memory-archive.ts'
import { makeTemporaryDirectory } from '../../testing/temporary-directory.ts'
import { openTemporaryStore } from '../../testing/temporary-store.ts'
import { advanceUntil } from '../../testing/until.ts'
import { ItemsArchive, sweepLeftItems } from './items-archive.ts'

const RUN = {
  jobId: aJobId('a'.repeat(32)),
  number: anAttemptNumber(1),
  jobid: 'a',
  nodeId: aNodeId('n1'),
  project: aProjectName('shop'),
  spider: 'prices'
}
const ITEMS = Buffer.from('{"at":1}\n{"at":2}\n')

/** A node that serves `ITEMS`, or what `change` returns for the number of the request. */
const nodeWith = (change: (request: number) => Uint8Array | null = () => ITEMS): ReadLog => {
  let requests = 0
  return async ({ offset, limitBytes }) => {
    const file = change((requests += 1))
    if (file === null) return null
    return { offset, sizeBytes: file.length, bytes: file.subarray(offset, offset + limitBytes) }
  }
}

async function open(maxBytes?: number) {
  const { store, remove } = await openTemporaryStore({ inMemory: true })
  const directory = await makeTemporaryDirectory()
  onTestFinished(async () => {
    await remove()
    await directory[Symbol.asyncDispose]()
  })
  const blobs = await openFilesystemBlobStore(join(directory.path, 'blobs'))
  const deletedLocally: string[] = []
  const clock = createFakeClock()
  const archive = createMemoryArchive(blobs, 'items')
  const items = new ItemsArchive({
    store,
    clock,
    archive,
    deleteLocal: async ({ jobid }) => void deletedLocally.push(jobid),
    ...(maxBytes === undefined ? {} : { maxBytes })
  })
  const kept = () => blobs.list('items/').then((found) => found.map(({ name }) => name))
  return { items, store, kept, deletedLocally, clock, archive }
}

test('the items of a run are read from the archive in parts, and their file on the local node can be deleted', async () => {
  const { items, kept, deletedLocally } = await open()
  await items.keep(RUN, nodeWith())
  expect(await kept()).toEqual([`items/${RUN.jobId}-1.zst`])
  expect(await items.sizeBytes(RUN)).toBe(ITEMS.length)
  const part = await items.read(RUN, { offset: 9, limitBytes: 8 })
  expect([part?.sizeBytes, Buffer.from(part!.bytes).toString()]).toEqual([ITEMS.length, '{"at":2}'])
  expect(deletedLocally).toEqual(['a'])
})

test('a run without items leaves nothing, and the timeline does not mention items', async () => {
  const { items, kept, store } = await open()
  await items.keep(
    RUN,
    nodeWith(() => null)
  )
  await items.keep(
    RUN,
    nodeWith(() => new Uint8Array(0))
  )
  expect([await kept(), await store.findItems(RUN.jobId, RUN.number), await items.whyGone(RUN)]).toEqual([
    [],
    null,
    null
  ])
})

test('a file that its node deleted between two tries does not count as a run without items', async () => {
  const { items, store } = await open()
  const away = nodeWith((request) => {
    if (request > 2) throw new Error('the node is away')
    return Buffer.alloc(2 * 1024 * 1024)
  })
  await expect(items.keep(RUN, away)).rejects.toThrow('the node is away')
  const gone = nodeWith(() => null)
  await expect(items.keep(RUN, gone)).rejects.toMatchObject({ code: 'ITEMS_NOT_FOUND' })
  // The record stays even if the engine died before it deleted the copy and the node deleted the file.
  const sizes = { rawBytes: 2, storedBytes: 1 }
  const { jobId, number, project, spider } = RUN
  await store.recordItems({ jobId, number, project, spider, endedAtMs: 1, sizes, problem: null, deletedAtMs: null })
  await items.keep(RUN, gone)
  expect((await store.findItems(jobId, number))?.sizes).toEqual(sizes)
})

test('a file beyond the limit is not kept, whatever size the node reported first', async () => {
  const { items, kept } = await open(12)
  const grows = nodeWith((request) => (request === 1 ? ITEMS.subarray(0, 10) : ITEMS))
  await expect(items.keep(RUN, grows)).rejects.toMatchObject({ code: 'ITEMS_TOO_LARGE' })
  expect(await kept()).toEqual([])
})

test('items that their node deletes while they are copied are given up, with the reason', async () => {
  const { items, store } = await open()
  await store.enqueueJobs([{ ...aNewJob(), id: RUN.jobId }])
  const gone = nodeWith((request) => (request === 1 ? ITEMS : null))
  await expect(items.keep(RUN, gone)).rejects.toMatchObject({ code: 'ITEMS_NOT_FOUND' })
  await items.giveUp(RUN, 'The node deleted the items before they were copied')
  expect(await items.sizeBytes(RUN)).toBeNull()
  expect((await items.whyGone(RUN))?.message).toBe(
    `The items of job ${RUN.jobId} could not be kept: The node deleted the items before they were copied.`
  )
})

test('items that are given up leave no file, even if they were copied before something else failed', async () => {
  const { items, store, kept, archive } = await open()
  await store.enqueueJobs([{ ...aNewJob(), id: RUN.jobId }])
  const { recordItems } = store
  store.recordItems = () => Promise.reject(new Error('the disk is full'))
  await expect(items.keep(RUN, nodeWith())).rejects.toThrow('the disk is full')
  store.recordItems = recordItems
  expect(await kept()).toHaveLength(1)
  await items.giveUp(RUN, 'The disk is full')
  expect([await kept(), await archive.copies.list()]).toEqual([[], []])
})

test('archived items stay even if a node refuses them to the engine that continues after a crash', async () => {
  const { items, kept } = await open()
  await items.keep(RUN, nodeWith())
  await items.giveUp(RUN, 'n1 answered 403')
  expect([await items.sizeBytes(RUN), (await kept()).length]).toEqual([ITEMS.length, 1])
})

test('the copied part of items is deleted if their run ended without the rest, and the reason is recorded', async () => {
  const { items, store, clock, archive } = await open()
  const attempts = new Map<string, Partial<Attempt>>()
  const listAttempts = async (jobId: string) => [attempts.get(jobId)].filter((one) => one !== undefined) as Attempt[]
  const { findItems } = store
  const parts = { store: { listAttempts, findItems }, archive, items, clock, logger: silentLogger }
  const sweep = sweepLeftItems(parts)
  onTestFinished(() => sweep.stop())
  const ids = await Promise.all(
    ['running', 'just ended', 'lost', 'kept', 'of no job'].map(async (name, index) => {
      const jobId = aJobId(String(index).padStart(32, '0'))
      await store.enqueueJobs([{ ...aNewJob(), id: jobId }])
      await archive.copies.advance(jobId, RUN.number, nodeWith())
      const endedAtMs = name === 'running' ? null : clock.nowMs() - (name === 'just ended' ? 60_000 : 3_600_000)
      const state = name === 'running' ? 'running' : 'ended'
      if (name !== 'of no job') attempts.set(jobId, { ...RUN, jobId, state, endedAtMs })
      return jobId
    })
  )
  const { project, spider, number } = RUN
  const sizes = { rawBytes: 2, storedBytes: 1 }
  await store.recordItems({
    jobId: ids[3]!,
    number,
    project,
    spider,
    endedAtMs: 1,
    sizes,
    problem: null,
    deletedAtMs: null
  })
  let done: number | null = null
  void sweep.run().then((count) => (done = count))
  await advanceUntil(clock, () => done !== null)
  expect((await archive.copies.list()).map(({ jobId }) => jobId)).toEqual(ids.slice(0, 2))
  expect(await store.findItems(ids[2]!, number)).toMatchObject({
    sizes: null,
    problem: 'The node went away before the items were copied'
  })
  expect((await store.findItems(ids[3]!, number))?.sizes).toEqual(sizes)
  expect(await store.findItems(ids[4]!, number)).toBeNull()
})
