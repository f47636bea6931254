import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Change, ChangeBatch } from '../../../shared/contract/index.ts'
import { aJobId, aProjectName } from '../../../shared/testing/ids.ts'
import { plain } from '../../../shared/texts/message.ts'
import { aNewJob, aRetention, aStoredSchedule } from '../../testing/builders.ts'
import { createFakeClock, type FakeClock } from '../../testing/fake-clock.ts'
import { openTemporaryStore, type TemporaryStore } from '../../testing/temporary-store.ts'
import { ChangeFeed } from './change-feed.ts'

let clock: FakeClock
let temporary: TemporaryStore
let feed: ChangeFeed

const makeFeed = (runId: string) =>
  new ChangeFeed({
    store: temporary.store,
    clock,
    runId,
    describeStored: async (things) => things.map(({ id }): Change => ({ kind: 'job_removed', id: aJobId(id) })),
    describeTouched: async (things) =>
      things.map((thing): Change => ({ kind: 'project_removed', name: aProjectName(thing) }))
  })

beforeEach(async () => {
  clock = createFakeClock()
  temporary = await openTemporaryStore({ clock })
  feed = makeFeed('aa')
})

afterEach(async () => {
  feed.close()
  await temporary.remove()
})

async function next(stream: AsyncGenerator<ChangeBatch, void>): Promise<ChangeBatch> {
  const result = stream.next()
  await clock.advanceBy(200)
  const { value } = await result
  if (value === undefined) throw new Error('the stream ended')
  return value
}

const idsOf = (batch: ChangeBatch) =>
  batch.changes.map((change) => ('id' in change ? change.id : 'name' in change ? change.name : ''))

it('begins at once with a cursor, and without earlier changes', async () => {
  await temporary.store.enqueueJobs([aNewJob()])
  expect(await next(feed.subscribe(undefined))).toMatchObject({ reset: false, changes: [] })
})

it('continues from a cursor and sends every change since then exactly once', async () => {
  const first = feed.subscribe(undefined)
  const { cursor } = await next(first)
  await first.return()
  const job = aNewJob()
  await temporary.store.enqueueJobs([job])
  await temporary.store.cancelQueued([job.id], { atMs: 1, message: plain('cancelled'), evidence: {} })
  feed.touch('node:n1')
  const again = feed.subscribe(cursor)
  await next(again)
  expect(idsOf(await next(again))).toEqual([job.id, 'node:n1'])
})

it('sends a change within the same turn of the event loop if a subscriber waits for it', async () => {
  const stream = feed.subscribe(undefined)
  await next(stream)
  const waiting = stream.next()
  const job = aNewJob()
  await temporary.store.enqueueJobs([job])
  await clock.advanceBy(0)
  expect(idsOf((await waiting).value!)).toEqual([job.id])
})

it('collects changes between two batches', async () => {
  const stream = feed.subscribe(undefined)
  await next(stream)
  const jobs = [aNewJob(), aNewJob(), aNewJob()]
  for (const job of jobs) await temporary.store.enqueueJobs([job])
  for (let count = 0; count < 50; count += 1) feed.touch('figures')
  expect(idsOf(await next(stream))).toEqual([...jobs.map(({ id }) => id), 'figures'])
})

it('sends everything in memory for a cursor of an earlier run, but only new rows of the store', async () => {
  const before = feed.subscribe(undefined)
  const { cursor } = await next(before)
  const restarted = makeFeed('bb')
  restarted.touch('node:n1')
  restarted.touch('figures')
  const stream = restarted.subscribe(cursor)
  await next(stream)
  expect(idsOf(await next(stream))).toEqual(['node:n1', 'figures'])
  restarted.close()
})

it.each(['nonsense', '999999.aa.0'])('asks a subscriber with the cursor %s to start again', async (cursor) => {
  expect(await next(feed.subscribe(cursor))).toMatchObject({ reset: true })
})

it('asks a subscriber whose position is no longer kept to start again', async () => {
  const { cursor } = await next(feed.subscribe(undefined))
  for (let count = 0; count < 5; count += 1) await temporary.store.enqueueJobs([aNewJob()])
  await temporary.store.prune(aRetention({ changes: 2 }), 100)
  const stream = feed.subscribe(cursor)
  await next(stream)
  expect(await next(stream)).toMatchObject({ reset: true })
})

it('ends when the subscriber goes away, and when the engine stops', async () => {
  const abort = new AbortController()
  const one = feed.subscribe(undefined, abort.signal)
  const two = feed.subscribe(undefined)
  await next(one)
  await next(two)
  const ends = [one.next(), two.next()]
  abort.abort()
  feed.close()
  await clock.advanceBy(0)
  expect((await Promise.all(ends)).map(({ done }) => done)).toEqual([true, true])
})

it('sends a hundred schedules at a time, each once, and the changes between them', async () => {
  const stream = feed.subscribe(undefined)
  await next(stream)
  const schedules = Array.from({ length: 250 }, () => aStoredSchedule())
  await Promise.all(schedules.slice(0, 150).map((schedule) => temporary.store.putSchedule(schedule)))
  const job = aNewJob()
  await temporary.store.enqueueJobs([job])
  await Promise.all(schedules.slice(150).map((schedule) => temporary.store.putSchedule(schedule)))
  const batches = [await next(stream), await next(stream), await next(stream)]
  expect(batches.map((batch) => batch.changes.length)).toEqual([100, 101, 50])
  const wanted = [...schedules.slice(0, 150).map(({ id }) => id), job.id, ...schedules.slice(150).map(({ id }) => id)]
  expect(batches.flatMap(idsOf)).toEqual(wanted)
})
