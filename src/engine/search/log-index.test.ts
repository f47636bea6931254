import { expect, test } from 'vitest'
import { aJobId, anAttemptNumber } from '../../shared/testing/ids.ts'
import { silentLogger } from '../runtime/logger.ts'
import type { PoolTask, ThreadPool } from '../runtime/thread-pool.ts'
import type { LogBlockStore } from '../store/store.ts'
import { createFakeClock } from '../testing/fake-clock.ts'
import { makeTemporaryDirectory } from '../testing/temporary-directory.ts'
import type { IndexOrder } from './index/index-logs.ts'
import { LogIndex } from './log-index.ts'

const key = { jobId: aJobId('018f'.padEnd(32, '0')), number: anAttemptNumber(1) }
const unindexed = { ...key, isTailOnly: false, log: { packed: Uint8Array.of(1), sizes: null } }

/** Threads that answer as they are told. */
function threadsThat(answers: ((order: never) => unknown)[]): { threads: ThreadPool; asked: string[] } {
  const asked: string[] = []
  const run = async ({ task, input }: PoolTask<never>) => {
    asked.push(task)
    return answers.shift()!(input as never)
  }
  return { threads: { run } as unknown as ThreadPool, asked }
}

test('a number of a block is never used again after a step that failed', async () => {
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
    readKeptLogs: async () => []
  }
  const one = new LogIndex({
    store: { ...store, onChange: () => () => {} },
    archive: { fileOf: async () => ({ kind: 'packed', packed: unindexed.log.packed }) },
    ...{ indexing: threads, searching: threads, directory: `${directory.path}/log-index` },
    ...{ clock: createFakeClock(), logger: silentLogger }
  })
  await one.whenCaughtUp()
  await one.whenCaughtUp()
  expect(numbers).toEqual([7, 9])
  expect(asked).toEqual(['endOfBlocks', 'index', 'endOfBlocks', 'index'])
  await one.stop()
})
