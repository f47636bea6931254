import { expect, test } from 'vitest'
import { aJobId, anAttemptNumber } from '../../../shared/testing/ids.ts'
import { silentLogger } from '../../runtime/logger.ts'
import type { PoolTask, ThreadPool } from '../../runtime/thread-pool.ts'
import { newRetentionPass } from '../../model/records.ts'
import type { LogBlockStore } from '../../storage/store.ts'
import { boundsOf } from '../../storage/testing/retention.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { makeTemporaryDirectory } from '../../testing/temporary-directory.ts'
import { FILTER_BYTES } from './index/block-filter.ts'
import { BlockWriter, formatDirectory, SEGMENT_BLOCKS } from './index/index-files.ts'
import type { IndexOrder } from './index/index-logs.ts'
import { LogIndex } from './log-index.ts'
import { openArchivedFleet } from './testing/archived-fleet.ts'

const key = { jobId: aJobId('018f'.padEnd(32, '0')), number: anAttemptNumber(1) }
const unindexed = { ...key, isTailOnly: false, log: { packed: Uint8Array.of(1), sizes: null } }

function threadsThat(answers: ((order: never) => unknown)[]): { threads: ThreadPool; asked: string[] } {
  const asked: string[] = []
  const run = async ({ task, input }: PoolTask<never>) => {
    asked.push(task)
    return answers.shift()!(input as never)
  }
  return { threads: { run } as unknown as ThreadPool, asked }
}

test('a block number is never reused after a failed step', async () => {
  await using directory = await makeTemporaryDirectory({ inMemory: true })
  const numbers: number[] = []
  const index = (order: IndexOrder) => {
    numbers.push(order.nextBlock)
    if (numbers.length === 1) throw new Error('the disk is full')
    return { logs: [null], nextBlock: 10, openBlock: null, closedBlock: null }
  }
  const { threads, asked } = threadsThat([() => 7, index, () => 9, index])
  const store: LogBlockStore = {
    listUnindexedLogs: async () => ({ logs: [unindexed], next: null }),
    listAddedLogs: async () => ({ logs: [], lastId: 1 }),
    recordLogBlocks: async () => {},
    forgetLogBlocks: async () => {},
    endOfLogBlocks: async () => 3,
    pageKeptLogs: async () => ({ logs: [], next: null, ruledOut: { logs: 0, bytes: 0 } }),
    readKeptLogs: async () => [],
    listUnarchivedRuns: async () => []
  }
  const one = new LogIndex({
    store: { ...store, onChange: () => () => {} },
    archive: { fileOf: async () => ({ kind: 'packed', packed: unindexed.log.packed }) },
    indexing: threads,
    searching: threads,
    directory: `${directory.path}/log-index`,
    clock: createFakeClock(),
    logger: silentLogger
  })
  await one.whenCaughtUp()
  await one.whenCaughtUp()
  expect(numbers).toEqual([7, 9])
  expect(asked).toEqual(['endOfBlocks', 'index', 'endOfBlocks', 'index'])
  await one.stop()
})

test('the part of the index with deleted logs only is deleted, and the rest of a mixed part moves', async () => {
  await using fleet = await openArchivedFleet()
  const old = await fleet.add('deleted later')
  const [kept, newest] = [await fleet.add('kept by itself', { spider: 'stock' }), await fleet.add('the newest')]
  const writer = new BlockWriter(formatDirectory(fleet.indexDirectory))
  const blocks = { firstBlock: null, wholeBlocks: 0, rawBytes: 13 }
  for (const [segment, jobId] of [old, kept, newest].entries()) {
    const tailBlock = segment * SEGMENT_BLOCKS + 5
    writer.write(tailBlock, new Uint8Array(FILTER_BYTES).fill(255))
    const [log] = await fleet.store.readKeptLogs([{ jobId, number: key.number }])
    const { storedBytes } = log!.log.sizes!
    await fleet.store.recordLogBlocks([
      { jobId, number: key.number, blocks: { ...blocks, tailBlock }, log: { storedBytes } }
    ])
  }
  writer.close()
  await fleet.index.whenCaughtUp()
  const sizeBytes = await fleet.index.sizeBytes()
  const nowMs = Date.now() + 1e10
  const defaults = boundsOf({ jobs: { endedSinceMs: nowMs }, logs: { endedSinceMs: nowMs } })
  await fleet.store.applyRetention(newRetentionPass(), { nowMs, defaults, projects: new Map() }, { rows: 9, jobs: 9 })
  expect(await fleet.store.getJob(old)).toBeNull()
  const freed = [await fleet.index.reclaim()]
  await fleet.index.whenCaughtUp()
  freed.push(await fleet.index.reclaim(), await fleet.index.reclaim())
  expect(freed).toEqual([expect.toSatisfy((bytes) => bytes > sizeBytes / 4), freed[0], 0])
  expect(await fleet.index.sizeBytes()).toBe(sizeBytes - freed[0]! - freed[1]!)
  expect((await fleet.searchAll({ text: 'the newest' })).hits.map(({ jobId }) => jobId)).toEqual([newest])
  expect((await fleet.searchAll({ text: 'itself' })).hits.map(({ jobId }) => jobId)).toEqual([kept])
})
