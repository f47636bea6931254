import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { aJobId } from '../../../shared/testing/ids.ts'
import { systemClock } from '../../runtime/clock.ts'
import { type Logger, silentLogger } from '../../runtime/logger.ts'
import { aNewJob } from '../../testing/builders.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { makeTemporaryDirectory, type TemporaryDirectory } from '../../testing/temporary-directory.ts'
import type { Store } from '../store.ts'
import { openStoreInWorker, startStoreThread } from './store-thread.ts'

/** A worker that exits at the first call, as after a fault in native code. */
const DYING = new URL(
  'data:text/javascript,' +
    encodeURIComponent(`
  import { parentPort } from 'node:worker_threads'
  parentPort.once('message', () => {
    parentPort.on('message', () => process.exit(7))
    parentPort.postMessage({ kind: 'opened', verbs: ['getJob', 'enqueueJobs', 'countByState'] })
  })
`)
)

/** A worker whose database ends the connection during each COMMIT. */
const DOUBTING = new URL(
  'data:text/javascript,' +
    encodeURIComponent(`
  import { parentPort } from 'node:worker_threads'
  const error = { isOurs: true, code: 'DATABASE_UNUSABLE', message: 'lost', data: { commit: 'unknown' } }
  parentPort.once('message', () => {
    parentPort.on('message', (calls) => {
      const answers = calls.map(([id, verb]) => (verb === 'close' ? { id, value: null } : { id, error }))
      parentPort.postMessage({ kind: 'answers', answers, lanes: [], cursor: null })
      if (calls.some(([, verb]) => verb === 'close')) process.exit()
    })
    parentPort.postMessage({ kind: 'opened', verbs: ['enqueueJobs'] })
  })
`)
)

describe('a store in a thread of its own', () => {
  let directory: TemporaryDirectory
  let store: Store
  let logged: string[]

  const logger: Logger = { ...silentLogger, error: (_facts, text) => logged.push(text) }
  const open = (file?: URL, others: Partial<Parameters<typeof openStoreInWorker>[0]> = {}) => {
    const path = join(directory.path, 'scrapdeck.sqlite')
    return openStoreInWorker({ path, clock: systemClock, logger, thread: startStoreThread(file), ...others })
  }

  beforeEach(async () => {
    logged = []
    directory = await makeTemporaryDirectory({ inMemory: true })
  })

  afterEach(async () => {
    await store.close()
    await directory.remove()
  })

  test('rejects every call once its thread is gone, and can still be closed', async () => {
    store = await open(DYING)
    const gone = { code: 'DATA_DIRECTORY_UNUSABLE', message: expect.stringContaining('its database thread') }
    const calls = await Promise.allSettled([store.getJob(aJobId('a')), store.enqueueJobs([aNewJob()])])
    expect(calls).toMatchObject([{ reason: gone }, { reason: gone }])
    await expect(store.countByState()).rejects.toMatchObject(gone)
    expect(logged).toEqual(['The database thread has exited'])
  })

  test('reports that a rejected write may have taken effect', async () => {
    let doubts = 0
    store = await open(DOUBTING, { onUnknownCommit: () => void (doubts += 1) })
    await expect(store.enqueueJobs([aNewJob()])).rejects.toMatchObject({ code: 'DATABASE_UNUSABLE' })
    expect(doubts).toBe(1)
  })

  test('reports once that its thread is gone, even if it dies while it closes', async () => {
    let deaths = 0
    store = await open(DYING, { onDeath: () => void (deaths += 1) })
    await store.close()
    expect(deaths).toBe(1)
  })

  test('returns our errors and other errors as what they are', async () => {
    store = await open()
    const after = [{ jobId: 'f'.repeat(32), on: 'ended' as const }]
    await expect(store.enqueueJobs([aNewJob({ after })])).rejects.toMatchObject({
      name: 'ScrapdeckError',
      code: 'JOB_NOT_FOUND'
    })
    const job = aNewJob()
    await store.enqueueJobs([job])
    await expect(store.enqueueJobs([job])).rejects.toMatchObject({ code: 'SQLITE_CONSTRAINT_PRIMARYKEY' })
  })

  test('rejects a call that cannot be sent to it, and no other', async () => {
    store = await open()
    const job = aNewJob()
    const odd = { ...aNewJob(), args: { run: (() => 'a function') as unknown as string } }
    const calls = await Promise.allSettled([store.enqueueJobs([job]), store.enqueueJobs([odd]), store.countByState()])
    expect(calls.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(await store.getJob(job.id)).not.toBeNull()
  })

  test('notifies listeners of a commit before its writer', async () => {
    store = await open()
    const order: string[] = []
    store.onQueueChange(() => order.push('queue'))
    store.onChange(() => order.push('change'))
    await store.enqueueJobs([aNewJob()]).then(() => order.push('written'))
    expect(order).toEqual(['queue', 'change', 'written'])
  })

  test('sends a call about attempts together with the next call, or after a short wait, which is longer after recent ones', async () => {
    const clock = createFakeClock()
    store = await open(undefined, { clock })
    const landed: string[] = []
    const patient = store.applyChanges([]).then(() => landed.push('patient'))
    await store.countByState().then(() => landed.push('at once'))
    await patient
    expect(landed).toEqual(['patient', 'at once'])
    expect(clock.timerCount()).toBe(0)

    await clock.advanceBy(25)
    const alone = store.applyChanges([])
    expect(clock.timerCount()).toBe(1)
    await clock.advanceBy(5)
    await alone

    const soonAfter = store.applyChanges([]).then(() => landed.push('soon after'))
    await clock.advanceBy(24)
    expect([landed.length, clock.timerCount()]).toEqual([2, 1])
    await clock.advanceBy(1)
    await soonAfter
  })
})
