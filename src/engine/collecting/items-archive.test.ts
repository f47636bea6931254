import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { aJobId, aNodeId, anAttemptNumber, aProjectName } from '../../shared/testing/ids.ts'
import { openFilesystemBlobStore } from '../blobs/filesystem/filesystem-blob-store.ts'
import type { ReadLog } from '../logs/archive/log-copies.ts'
import { aNewJob } from '../testing/builders.ts'
import { createFakeClock } from '../testing/fake-clock.ts'
import { createMemoryArchive } from '../testing/memory-archive.ts'
import { makeTemporaryDirectory } from '../testing/temporary-directory.ts'
import { openTemporaryStore } from '../testing/temporary-store.ts'
import { ItemsArchive } from './items-archive.ts'

const RUN = {
  ...{ jobId: aJobId('a'.repeat(32)), number: anAttemptNumber(1), jobid: 'a', nodeId: aNodeId('n1') },
  ...{ project: aProjectName('shop'), spider: 'prices' }
}
const ITEMS = Buffer.from('{"at":1}\n{"at":2}\n')

/** A node that has `ITEMS`, or as `change` says by the number of the request. */
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
  const items = new ItemsArchive({
    ...{ store, clock: createFakeClock(), archive: createMemoryArchive(blobs, 'items') },
    deleteLocal: async ({ jobid }) => void deletedLocally.push(jobid),
    ...(maxBytes === undefined ? {} : { maxBytes })
  })
  const kept = () => blobs.list('items/').then((found) => found.map(({ name }) => name))
  return { items, store, kept, deletedLocally }
}

test('the items of a run are read from the archive, in parts, and their file on the local node may go', async () => {
  const { items, kept, deletedLocally } = await open()
  await items.keep(RUN, nodeWith())
  expect(await kept()).toEqual([`items/${RUN.jobId}-1.zst`])
  expect(await items.sizeBytes(RUN)).toBe(ITEMS.length)
  const part = await items.read(RUN, { offset: 9, limitBytes: 8 })
  expect([part?.sizeBytes, Buffer.from(part!.bytes).toString()]).toEqual([ITEMS.length, '{"at":2}'])
  expect(deletedLocally).toEqual(['a'])
})

test('a run that wrote no items leaves nothing, and nothing is said of it', async () => {
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

test('a file beyond the limit is not kept, however the node reported its size first', async () => {
  const { items, kept } = await open(12)
  const grows = nodeWith((request) => (request === 1 ? ITEMS.subarray(0, 10) : ITEMS))
  await expect(items.keep(RUN, grows)).rejects.toMatchObject({ code: 'ITEMS_TOO_LARGE' })
  expect(await kept()).toEqual([])
})

test('items that their node deletes while they are copied are given up, and say so', async () => {
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
