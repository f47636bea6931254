import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { aJobId, anAttemptNumber, aNodeId, aProjectName, aVersionName } from '../../../shared/testing/ids.ts'
import { aNewJob, anAttemptStart, entry } from '../../testing/builders.ts'
import type { NewJob } from '../../model/records.ts'
import type { Story } from './story.ts'

const V3 = aVersionName('3')

export function describeQueue(story: Story): void {
  const { enqueue, begin, end, kindsOf } = story
  describe('queue', () => {
    test('jobs that are alike to placement stand in one lane, by priority and then by age', async () => {
      const low = await enqueue({ priority: -1 })
      const first = await enqueue({ priority: 0 })
      const second = await enqueue({ priority: 0 })
      const high = await enqueue({ priority: 2.5, jobid: 'mine' })
      const [lane, ...others] = await story.heads(3)
      expect(others).toEqual([])
      expect(lane).toEqual({
        lane: (await story.store.getJob(low.id))?.lane,
        project: 'shop',
        version: null,
        placement: { nodeId: null, tags: [] },
        depth: 4,
        spider: 'prices',
        jobs: [high, first, second].map(({ id, jobid, priority }) => ({
          id,
          jobid,
          priority,
          rank: expect.any(Number),
          attemptCount: 0
        }))
      })
    })

    test('lanes differ by project, spider, version, node and set of tags, and by nothing else', async () => {
      await story.store.enqueueJobs([
        aNewJob({ placement: { nodeId: null, tags: ['a', 'b'] } }),
        aNewJob({ placement: { nodeId: null, tags: ['b', 'a', 'b'] }, args: { x: '1' } }),
        aNewJob({ placement: { nodeId: null, tags: ['a,b'] } }),
        aNewJob({ placement: { nodeId: 'a', tags: [] } }),
        aNewJob({ version: 'null' }),
        aNewJob({ version: null }),
        aNewJob({ spider: 'other' }),
        aNewJob({ project: 'shop2' })
      ])
      const lanes = await story.heads(10)
      expect(lanes.map(({ depth }) => depth).sort()).toEqual([1, 1, 1, 1, 1, 1, 2])
      expect(lanes.find(({ depth }) => depth === 2)?.placement.tags).toEqual(['a', 'b'])
    })

    test('a lane may be of any length, and differ from another one at its end', async () => {
      // Random strings, which cannot be compressed for an index.
      const longTags = Array.from({ length: 20 }, () => randomBytes(200).toString('base64'))
      const [one, other] = [aNewJob({ placement: { nodeId: null, tags: longTags } }), aNewJob({ spider: 'z' })]
      await story.store.enqueueJobs([one, { ...other, placement: one.placement }])
      const lanes = await story.heads(10)
      expect(lanes.map(({ depth, jobs }) => [depth, jobs[0]!.id])).toEqual([
        [1, one.id],
        [1, other.id]
      ])
      await begin(one)
      expect((await story.heads(10)).map(({ jobs }) => jobs[0]!.id)).toEqual([other.id])
      const third = await enqueue()
      await story.store.reorder([third.id], { before: other.id }, entry('moved'))
      expect((await story.store.getJob(third.id))!.rank).toBeLessThan((await story.store.getJob(other.id))!.rank)
    })

    test('a lane is there only while jobs wait in it', async () => {
      const job = await enqueue()
      await begin(job)
      expect(await story.heads(1)).toEqual([])
      await end(job, { result: 'refused' })
      expect((await story.heads(1))[0]).toMatchObject({
        depth: 1,
        jobs: [{ id: job.id, attemptCount: 1 }]
      })
    })

    test('of two who claim one job, one gets it', async () => {
      const job = await enqueue()
      const starts = ['node-1', 'node-2'].map((nodeId) => story.store.beginAttempts([anAttemptStart(job, { nodeId })]))
      const begun = (await Promise.all(starts)).flat()
      expect(begun.length).toBe(1)
      const { job: claimed, ...attempt } = begun[0]!
      expect(await story.store.listLiveAttempts()).toEqual([attempt])
      expect(await kindsOf(job)).toEqual(['queued', 'sending'])
      expect(await story.store.getJob(job.id)).toEqual(claimed)
      expect(claimed).toMatchObject({
        state: 'starting',
        nodeId: attempt.nodeId,
        attemptCount: 1
      })
    })

    test('one call that names a job twice makes one attempt', async () => {
      const job = await enqueue()
      expect((await story.store.beginAttempts([anAttemptStart(job), anAttemptStart(job)])).length).toBe(1)
    })

    test('a claim made from an old look at the queue is not taken for the next attempt', async () => {
      const job = await enqueue()
      await begin(job)
      await end(job, { result: 'absent' })
      expect(await story.store.beginAttempts([anAttemptStart(job, { number: 1 })])).toEqual([])
      expect((await begin(job, { number: anAttemptNumber(2) })).number).toBe(2)
    })

    test('a node is never asked twice for the same jobid of a project, whatever jobids clients bring', async () => {
      const jobs = Array.from({ length: 4 }, () => aNewJob())
      await story.store.enqueueJobs(jobs)
      const [first, second, third, fourth] = jobs as [NewJob, NewJob, NewJob, NewJob]
      await begin(first, { jobid: 'mine' })
      // A client chose the jobid that the third job's attempt would get as a fallback.
      await begin(second, { jobid: `${third.id}-1` })
      const [again] = await story.store.beginAttempts([anAttemptStart(third, { jobid: 'mine' })])
      expect(again?.jobid).toBe(`${third.id}-2`)
      expect((await begin(fourth, { jobid: 'mine', nodeId: aNodeId('node-2') })).jobid).toBe('mine')
    })

    test('a cancel ends what is queued and leaves the rest alone', async () => {
      const [queued, sent] = [await enqueue(), await enqueue()]
      await begin(sent)
      const asked = entry('not needed')
      expect(await story.store.cancelQueued([queued.id, sent.id, aJobId('f'.repeat(32)), queued.id], asked)).toEqual([
        queued.id
      ])
      expect(await story.store.getJob(queued.id)).toMatchObject({
        state: 'ended',
        status: 'cancelled',
        endedAtMs: asked.atMs,
        cancelAskedAtMs: asked.atMs
      })
      expect(await kindsOf(queued)).toEqual(['queued', 'ended'])
      expect((await story.store.getJob(sent.id))?.state).toBe('starting')
    })

    test('jobs whose egg no node can import fail in the queue, with the jobs that wait for their success', async () => {
      const [queued, sent] = [await enqueue(), await enqueue()]
      const waiting = await enqueue({ after: [{ jobId: queued.id, on: 'succeeded' }] })
      await begin(sent)
      const failed = entry('no node can import version 1: SyntaxError')
      expect(await story.store.failQueued([queued.id, sent.id, queued.id], 'SyntaxError', failed.atMs, failed)).toEqual(
        [queued.id]
      )
      expect(await story.store.getJob(queued.id)).toMatchObject({
        state: 'ended',
        status: 'failed',
        reason: 'egg cannot be imported',
        killingLine: 'SyntaxError',
        endedAtMs: failed.atMs,
        cancelAskedAtMs: null
      })
      expect(await kindsOf(queued)).toEqual(['queued', 'ended'])
      expect((await story.store.getJob(waiting.id))?.status).toBe('cancelled')
      expect((await story.store.getJob(sent.id))?.state).toBe('starting')
      expect(await story.store.restoreCancelled([queued.id], entry())).toEqual([])
    })

    test('jobs that came into their lane after a time do not fail with what was known then, however they came', async () => {
      const there = await enqueue()
      const held = await enqueue({ notBeforeMs: there.entry.atMs + 500 })
      const [lost, restored, moved] = [await enqueue(), await enqueue(), await enqueue()]
      await begin(lost)
      await story.store.cancelQueued([restored.id], entry())
      const sinceMs = entry().atMs
      const ordered = await enqueue()
      await story.store.releaseDue(there.entry.atMs + 500, 10)
      await end(lost, { result: 'lost', jobOutcome: null })
      await story.store.restoreCancelled([restored.id], entry())
      await story.store.placeQueued([moved.id], { nodeId: aNodeId('node-2'), tags: [] }, entry())

      const ids = [there, held, lost, restored, moved, ordered].map(({ id }) => id)
      const fail = (atMs: number) => story.store.failQueued(ids, 'SyntaxError', atMs, entry())
      expect(await fail(there.entry.atMs - 1)).toEqual([])
      expect(await fail(sinceMs)).toEqual([there.id])
      expect(await fail(there.entry.atMs + 500)).toEqual([held, lost, restored, moved, ordered].map(({ id }) => id))
    })

    test('a cancel and a claim that meet leave a job that is either cancelled or sent', async () => {
      const jobs = Array.from({ length: 20 }, () => aNewJob())
      await story.store.enqueueJobs(jobs)
      const results = await Promise.all(
        jobs.map(async (job, index) => {
          const claim = () => story.store.beginAttempts([anAttemptStart(job)])
          const cancel = () => story.store.cancelQueued([job.id], entry())
          const [a, b] = await Promise.all(index % 2 === 0 ? [claim(), cancel()] : [cancel(), claim()])
          return a.length + b.length
        })
      )
      expect(results).toEqual(jobs.map(() => 1))
    })

    test('a job that was cancelled while queued goes back to its place, once', async () => {
      const [first, second] = [await enqueue(), await enqueue()]
      await story.store.cancelQueued([first.id], entry())
      expect(await story.store.restoreCancelled([first.id, second.id], entry())).toEqual([first.id])
      expect(await story.store.restoreCancelled([first.id], entry())).toEqual([])
      expect(await story.store.getJob(first.id)).toMatchObject({
        state: 'queued',
        outcome: null,
        reason: null,
        endedAtMs: null,
        cancelAskedAtMs: null
      })
      expect((await story.heads(2))[0]?.jobs.map(({ id }) => id)).toEqual([first.id, second.id])
      expect(await kindsOf(first)).toEqual(['queued', 'ended', 'restored'])
    })

    test('a job that was cancelled on its node is not restored', async () => {
      const job = await enqueue()
      await begin(job)
      await end(job, { result: 'cancelled' })
      expect(await story.store.restoreCancelled([job.id], entry())).toEqual([])
    })

    test('a cancel is noted on a live job once', async () => {
      const [live, queued] = [await enqueue(), await enqueue()]
      await begin(live)
      const asked = entry()
      expect(await story.store.askCancel([live.id, queued.id], asked)).toEqual([live.id])
      expect(await story.store.askCancel([live.id], entry())).toEqual([live.id])
      expect((await story.store.getJob(live.id))?.cancelAskedAtMs).toBe(asked.atMs)
      expect(await kindsOf(live)).toEqual(['queued', 'sending', 'cancel_asked'])
    })

    test('jobs that still need a version are counted, with the live ones that asked for the latest', async () => {
      const [exact, latest, sentLatest, done] = [
        await enqueue({ version: V3 }),
        await enqueue({ version: null }),
        await enqueue({ version: null }),
        await enqueue({ version: V3 })
      ]
      await begin(sentLatest, { version: V3 })
      await begin(done, { version: V3 })
      await end(done)
      await enqueue({ project: aProjectName('other'), version: V3 })
      expect(await story.store.countJobsNeeding(aProjectName('shop'), V3)).toBe(2)
      expect(await story.store.countJobsNeeding(aProjectName('shop'), null)).toBe(3)
      expect([exact.version, latest.version]).toEqual(['3', null])
    })
  })
}
