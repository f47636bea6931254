import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Attempt } from '../../shared/contract/index.ts'
import { aNewJob, anAttemptStart, aStoredNode, aVersion, entry } from '../testing/builders.ts'
import { testAgainstModel } from './conformance-model.ts'
import type { AttemptChange, NewJob, Store } from './store.ts'

/** A store on empty data of its own. `reopen` closes it and opens the same data again. */
export interface StoreUnderTest {
  store: Store
  reopen(): Promise<Store>
  remove(): Promise<void>
}

/** What every Store must do, whatever it is made of. */
export function describeStore(name: string, openStore: () => Promise<StoreUnderTest>): void {
  describe(name, () => {
    let underTest: StoreUnderTest
    let store: Store

    beforeEach(async () => {
      underTest = await openStore()
      store = underTest.store
    })

    afterEach(async () => {
      await underTest.remove()
    })

    async function enqueue(over: Partial<NewJob> = {}): Promise<NewJob> {
      const job = aNewJob(over)
      await store.enqueueJobs([job])
      return job
    }

    async function begin(job: NewJob, over: Parameters<typeof anAttemptStart>[1] = {}): Promise<Attempt> {
      const [attempt] = await store.beginAttempts([anAttemptStart(job, over)])
      if (attempt === undefined) throw new Error(`${job.id} was not claimed`)
      return attempt
    }

    function change(job: { id: string }, over: Partial<AttemptChange>): AttemptChange {
      return {
        jobId: job.id,
        attemptNumber: 1,
        from: ['sending', 'uncertain', 'accepted', 'running', 'finishing'],
        kind: 'ended',
        entry: entry(),
        ...over
      }
    }

    async function end(job: { id: string }, over: Partial<AttemptChange> = {}): Promise<boolean[]> {
      return store.applyChanges([change(job, { to: 'ended', result: 'succeeded', ...over })])
    }

    const kindsOf = async (job: { id: string }) => (await store.listTimeline(job.id)).map(({ kind }) => kind)
    const pageIds = async (filter: Parameters<Store['listJobs']>[0], before: string | null = null, limit = 100) =>
      (await store.listJobs(filter, { before, limit })).map(({ id }) => id)

    describe('jobs', () => {
      test('a job comes back as it was asked for', async () => {
        const job = aNewJob({
          jobid: 'mine-1',
          version: '7',
          settings: { LOG_LEVEL: 'INFO' },
          args: { url: 'https://example.com/?ä=1' },
          priority: -1.5,
          placement: { nodeId: 'node-9', tags: ['eu', 'big'] },
          source: 'scrapyd'
        })
        await store.enqueueJobs([job])
        const { entry: asked, ...fields } = job
        expect(await store.getJob(job.id)).toEqual({
          ...fields,
          lane: expect.any(String),
          state: 'queued',
          outcome: null,
          status: 'queued',
          reason: null,
          killingLine: null,
          nodeId: null,
          attemptCount: 0,
          cancelAskedAtMs: null,
          queuedAtMs: asked.atMs,
          startedAtMs: null,
          endedAtMs: null,
          pages: null,
          items: null,
          errors: null
        })
        expect(await store.listTimeline(job.id)).toEqual([
          { sequence: expect.any(Number), jobId: job.id, attemptNumber: null, kind: 'queued', ...asked }
        ])
      })

      test('a job that is not there is null, and is left out of many', async () => {
        const [first, second] = [await enqueue(), await enqueue()]
        expect(await store.getJob('f'.repeat(32))).toBeNull()
        const found = await store.getJobs([second.id, 'f'.repeat(32), first.id])
        expect(found.map(({ id }) => id)).toEqual([second.id, first.id])
      })

      test('jobs are written all or none', async () => {
        const taken = await enqueue()
        const fresh = aNewJob()
        await expect(store.enqueueJobs([fresh, { ...aNewJob(), id: taken.id }])).rejects.toThrow()
        expect(await store.getJob(fresh.id)).toBeNull()
        expect(await store.listTimeline(fresh.id)).toEqual([])
        expect(await store.countByState()).toEqual({ queued: 1, starting: 0, running: 0, ended: 0 })
      })

      test('a write that fails takes none of the writes beside it along', async () => {
        const taken = await enqueue()
        const jobs = [aNewJob(), aNewJob(), aNewJob()]
        const writes = jobs.flatMap((job) => [
          store.enqueueJobs([job]),
          store.enqueueJobs([{ ...aNewJob(), id: taken.id }])
        ])
        const results = await Promise.allSettled(writes)
        expect(results.map(({ status }) => status)).toEqual(jobs.flatMap(() => ['fulfilled', 'rejected']))
        expect((await store.getJobs(jobs.map(({ id }) => id))).length).toBe(3)
      })

      test('what was acknowledged is there after the store was closed and opened again', async () => {
        const job = await enqueue()
        await begin(job)
        store = await underTest.reopen()
        expect((await store.getJob(job.id))?.state).toBe('starting')
        expect((await store.listLiveAttempts()).map(({ jobId }) => jobId)).toEqual([job.id])
      })

      test('pages go from the newest down and meet without gap or overlap', async () => {
        const jobs = Array.from({ length: 7 }, () => aNewJob())
        await store.enqueueJobs(jobs)
        const newestFirst = jobs.map(({ id }) => id).reverse()
        const first = await pageIds({}, null, 3)
        const second = await pageIds({}, first.at(-1), 3)
        const third = await pageIds({}, second.at(-1), 3)
        expect([first, second, third]).toEqual([newestFirst.slice(0, 3), newestFirst.slice(3, 6), newestFirst.slice(6)])
      })

      test('a page over several statuses is in one order', async () => {
        const jobs = Array.from({ length: 6 }, () => aNewJob())
        await store.enqueueJobs(jobs)
        for (const job of jobs.filter((_, index) => index % 2 === 0)) await begin(job)
        await end(jobs[0] as NewJob, { result: 'failed' })
        const newestFirst = jobs.map(({ id }) => id).reverse()
        expect(await pageIds({ status: ['queued', 'starting', 'failed'] })).toEqual(newestFirst)
        expect(await pageIds({ status: ['queued', 'starting', 'failed'] }, null, 2)).toEqual(newestFirst.slice(0, 2))
        expect(await pageIds({ status: ['failed'] })).toEqual([jobs[0]?.id])
        expect(await pageIds({ status: [] })).toEqual(newestFirst)
      })

      test('the star of a filter stands for anything, every other character for itself', async () => {
        const odd = await enqueue({ project: 'a[b]?_%', spider: 'x' })
        const plain = await enqueue({ project: 'ab', spider: 'xy' })
        expect(await pageIds({ project: 'a*' })).toEqual([plain.id, odd.id])
        expect(await pageIds({ project: 'a[b]?*' })).toEqual([odd.id])
        expect(await pageIds({ project: 'a[b]*' })).toEqual([odd.id])
        expect(await pageIds({ project: 'a?' })).toEqual([])
        expect(await pageIds({ project: 'a?*' })).toEqual([])
        expect(await pageIds({ project: 'a_' })).toEqual([])
        expect(await pageIds({ spider: '*y' })).toEqual([plain.id])
      })

      test('text is looked for in project, spider, id and jobid, and its characters stand for themselves', async () => {
        const odd = await enqueue({ project: '100%_sure', spider: 'one' })
        const plain = await enqueue({ project: 'shop', spider: 'Prices', jobid: 'mine\\1' })
        expect(await pageIds({ text: '%' })).toEqual([odd.id])
        expect(await pageIds({ text: '_' })).toEqual([odd.id])
        expect(await pageIds({ text: '\\' })).toEqual([plain.id])
        expect(await pageIds({ text: 'price' })).toEqual([plain.id])
        expect(await pageIds({ text: 'ine\\' })).toEqual([plain.id])
        expect(await pageIds({ text: plain.id.slice(4, 12) })).toEqual([plain.id])
        expect(await pageIds({ text: "'; DROP TABLE jobs" })).toEqual([])
        expect(await pageIds({ text: '' })).toEqual([plain.id, odd.id])
      })

      test('filters narrow by node and by the time of the end', async () => {
        const [old, recent, waiting] = [await enqueue(), await enqueue(), await enqueue()]
        await begin(old, { nodeId: 'node-a' })
        await begin(recent, { nodeId: 'node-b' })
        await end(old, { entry: entry('', { atMs: 1000 }) })
        await end(recent, { entry: entry('', { atMs: 2000 }) })
        expect(await pageIds({ nodeId: 'node-a' })).toEqual([old.id])
        expect(await pageIds({ sinceMs: 1500 })).toEqual([waiting.id, recent.id])
        expect(await pageIds({ sinceMs: 1500, status: ['succeeded'] })).toEqual([recent.id])
      })

      test('a facet counts what the other filters leave', async () => {
        await store.enqueueJobs([aNewJob({ project: 'a' }), aNewJob({ project: 'a' }), aNewJob({ project: 'b' })])
        const sent = await enqueue({ project: 'b', spider: 'other' })
        await begin(sent, { nodeId: 'node-1' })
        const all = {
          status: [
            { value: 'queued', count: 3 },
            { value: 'starting', count: 1 }
          ],
          project: [
            { value: 'a', count: 2 },
            { value: 'b', count: 2 }
          ],
          nodeId: [{ value: 'node-1', count: 1 }]
        }
        expect(await store.countFacets({})).toEqual(all)
        expect(await store.countFacets({ spider: '*' })).toEqual(all)
        const ofB = {
          status: [
            { value: 'queued', count: 1 },
            { value: 'starting', count: 1 }
          ],
          project: [
            { value: 'a', count: 2 },
            { value: 'b', count: 1 }
          ],
          nodeId: []
        }
        expect(await store.countFacets({ project: 'b', status: ['queued'] })).toEqual(ofB)
        expect(await store.countFacets({ project: 'b', status: ['queued'], text: 'r' })).toEqual(ofB)
        expect((await store.countFacets({ spider: 'other' })).project).toEqual([{ value: 'b', count: 1 }])
      })

      test('ended jobs are counted by outcome from a time on', async () => {
        const jobs = [await enqueue(), await enqueue(), await enqueue()] as const
        for (const job of jobs) await begin(job)
        await end(jobs[0], { result: 'failed', entry: entry('', { atMs: 1000 }) })
        await end(jobs[1], { result: 'succeeded', entry: entry('', { atMs: 2000 }) })
        await end(jobs[2], { result: 'lost', entry: entry('', { atMs: 3000 }) })
        expect(await store.countEndedSince(2000)).toEqual({ succeeded: 1, failed: 0, cancelled: 0, lost: 1 })
        expect(await store.countByState()).toEqual({ queued: 0, starting: 0, running: 0, ended: 3 })
      })

      test('a jobid finds its jobs, newest first, in one project or in all', async () => {
        const first = await enqueue({ jobid: 'nightly', project: 'a' })
        const second = await enqueue({ jobid: 'nightly', project: 'b' })
        const third = await enqueue({ jobid: 'nightly', project: 'a' })
        const own = await enqueue({ project: 'a' })
        const find = async (jobid: string, project: string | null) =>
          (await store.findJobsByJobid(jobid, project)).map(({ id }) => id)
        expect(await find('nightly', null)).toEqual([third.id, second.id, first.id])
        expect(await find('nightly', 'a')).toEqual([third.id, first.id])
        expect(await find(own.id, 'a')).toEqual([own.id])
        expect(await find(first.id, null)).toEqual([])
      })

      test('suggestions are the names that a spider was run with', async () => {
        await enqueue({ settings: { A: '1' }, args: { url: 'x' } })
        await enqueue({ settings: { B: '1', A: '2' }, args: { page: '1' } })
        await enqueue({ spider: 'other', settings: { C: '1' } })
        const { settings, args } = await store.suggestNames('shop', 'prices')
        expect([settings.sort(), args.sort()]).toEqual([
          ['A', 'B'],
          ['page', 'url']
        ])
      })
    })

    describe('queue', () => {
      test('jobs that are alike to placement stand in one lane, by priority and then by age', async () => {
        const low = await enqueue({ priority: -1 })
        const first = await enqueue({ priority: 0 })
        const second = await enqueue({ priority: 0 })
        const high = await enqueue({ priority: 2.5, jobid: 'mine' })
        const [lane, ...others] = await store.readQueueHeads(3)
        expect(others).toEqual([])
        expect(lane).toEqual({
          lane: (await store.getJob(low.id))?.lane,
          project: 'shop',
          version: null,
          placement: { nodeId: null, tags: [] },
          depth: 4,
          jobs: [high, first, second].map(({ id, jobid, spider, priority }) => ({
            id,
            jobid,
            spider,
            priority,
            attemptCount: 0
          }))
        })
      })

      test('lanes differ by project, version, node and set of tags, and by nothing else', async () => {
        await store.enqueueJobs([
          aNewJob({ placement: { nodeId: null, tags: ['a', 'b'] } }),
          aNewJob({ placement: { nodeId: null, tags: ['b', 'a', 'b'] }, spider: 'other', args: { x: '1' } }),
          aNewJob({ placement: { nodeId: null, tags: ['a,b'] } }),
          aNewJob({ placement: { nodeId: 'a', tags: [] } }),
          aNewJob({ version: 'null' }),
          aNewJob({ version: null }),
          aNewJob({ project: 'shop2' })
        ])
        const lanes = await store.readQueueHeads(10)
        expect(lanes.map(({ depth }) => depth).sort()).toEqual([1, 1, 1, 1, 1, 2])
        expect(lanes.find(({ depth }) => depth === 2)?.placement.tags).toEqual(['a', 'b'])
      })

      test('a lane is there only while jobs wait in it', async () => {
        const job = await enqueue()
        await begin(job)
        expect(await store.readQueueHeads(1)).toEqual([])
        await end(job, { result: 'refused' })
        expect((await store.readQueueHeads(1))[0]).toMatchObject({ depth: 1, jobs: [{ id: job.id, attemptCount: 1 }] })
      })

      test('of two who claim one job, one gets it', async () => {
        const job = await enqueue()
        const starts = ['node-1', 'node-2'].map((nodeId) => store.beginAttempts([anAttemptStart(job, { nodeId })]))
        const begun = (await Promise.all(starts)).flat()
        expect(begun.length).toBe(1)
        expect(await store.listLiveAttempts()).toEqual(begun)
        expect(await kindsOf(job)).toEqual(['queued', 'sending'])
        expect(await store.getJob(job.id)).toMatchObject({
          state: 'starting',
          nodeId: begun[0]?.nodeId,
          attemptCount: 1
        })
      })

      test('one call that names a job twice makes one attempt', async () => {
        const job = await enqueue()
        expect((await store.beginAttempts([anAttemptStart(job), anAttemptStart(job)])).length).toBe(1)
      })

      test('a claim made from an old look at the queue is not taken for the next attempt', async () => {
        const job = await enqueue()
        await begin(job)
        await end(job, { result: 'absent' })
        expect(await store.beginAttempts([anAttemptStart(job, { number: 1 })])).toEqual([])
        expect((await begin(job, { number: 2 })).number).toBe(2)
      })

      test('a node is never asked twice for the same jobid of a project', async () => {
        const [first, second] = [await enqueue(), await enqueue()]
        await begin(first, { jobid: 'mine' })
        await expect(store.beginAttempts([anAttemptStart(second, { jobid: 'mine' })])).rejects.toThrow()
        expect((await store.getJob(second.id))?.state).toBe('queued')
        expect((await begin(second, { jobid: 'mine', nodeId: 'node-2' })).jobid).toBe('mine')
      })

      test('a cancel ends what is queued and leaves the rest alone', async () => {
        const [queued, sent] = [await enqueue(), await enqueue()]
        await begin(sent)
        const asked = entry('not needed')
        expect(await store.cancelQueued([queued.id, sent.id, 'f'.repeat(32), queued.id], asked)).toEqual([queued.id])
        expect(await store.getJob(queued.id)).toMatchObject({
          state: 'ended',
          status: 'cancelled',
          endedAtMs: asked.atMs,
          cancelAskedAtMs: asked.atMs
        })
        expect(await kindsOf(queued)).toEqual(['queued', 'ended'])
        expect((await store.getJob(sent.id))?.state).toBe('starting')
      })

      test('a cancel and a claim that meet leave a job that is either cancelled or sent', async () => {
        const jobs = Array.from({ length: 20 }, () => aNewJob())
        await store.enqueueJobs(jobs)
        const results = await Promise.all(
          jobs.map(async (job, index) => {
            const claim = () => store.beginAttempts([anAttemptStart(job)])
            const cancel = () => store.cancelQueued([job.id], entry())
            const [a, b] = await Promise.all(index % 2 === 0 ? [claim(), cancel()] : [cancel(), claim()])
            return a.length + b.length
          })
        )
        expect(results).toEqual(jobs.map(() => 1))
      })

      test('a job that was cancelled while queued goes back to its place, once', async () => {
        const [first, second] = [await enqueue(), await enqueue()]
        await store.cancelQueued([first.id], entry())
        expect(await store.restoreCancelled([first.id, second.id], entry())).toEqual([first.id])
        expect(await store.restoreCancelled([first.id], entry())).toEqual([])
        expect(await store.getJob(first.id)).toMatchObject({
          state: 'queued',
          outcome: null,
          reason: null,
          endedAtMs: null,
          cancelAskedAtMs: null
        })
        expect((await store.readQueueHeads(2))[0]?.jobs.map(({ id }) => id)).toEqual([first.id, second.id])
        expect(await kindsOf(first)).toEqual(['queued', 'ended', 'restored'])
      })

      test('a job that was cancelled on its node is not restored', async () => {
        const job = await enqueue()
        await begin(job)
        await end(job, { result: 'cancelled' })
        expect(await store.restoreCancelled([job.id], entry())).toEqual([])
      })

      test('a cancel is noted on a live job once', async () => {
        const [live, queued] = [await enqueue(), await enqueue()]
        await begin(live)
        const asked = entry()
        expect(await store.askCancel([live.id, queued.id], asked)).toEqual([live.id])
        expect(await store.askCancel([live.id], entry())).toEqual([live.id])
        expect((await store.getJob(live.id))?.cancelAskedAtMs).toBe(asked.atMs)
        expect(await kindsOf(live)).toEqual(['queued', 'sending', 'cancel_asked'])
      })

      test('jobs that still need a version are counted, with the live ones that asked for the latest', async () => {
        const [exact, latest, sentLatest, done] = [
          await enqueue({ version: '3' }),
          await enqueue({ version: null }),
          await enqueue({ version: null }),
          await enqueue({ version: '3' })
        ]
        await begin(sentLatest, { version: '3' })
        await begin(done, { version: '3' })
        await end(done)
        await enqueue({ project: 'other', version: '3' })
        expect(await store.countJobsNeeding('shop', '3')).toBe(2)
        expect(await store.countJobsNeeding('shop', null)).toBe(3)
        expect([exact.version, latest.version]).toEqual(['3', null])
      })
    })

    describe('attempts', () => {
      test('a job follows its attempt from sending to the end', async () => {
        const job = await enqueue()
        const attempt = await begin(job, { nodeId: 'node-4', version: '7' })
        const steps = [
          change(job, { from: ['sending'], to: 'accepted', kind: 'accepted' }),
          change(job, { from: ['accepted'], to: 'running', kind: 'running', details: { pid: 77 } }),
          change(job, { from: ['running'], to: 'finishing', kind: 'finishing' }),
          change(job, {
            from: ['finishing'],
            to: 'ended',
            result: 'failed',
            reason: 'exit code 1',
            killingLine: 'KeyError: price',
            details: { exitCode: 1, stats: { finish_reason: 'finished', item_scraped_count: 3 } },
            counts: { pages: 5, items: 3, errors: 1 }
          })
        ]
        const states: (string | undefined)[] = []
        for (const step of steps) {
          expect(await store.applyChanges([step])).toEqual([true])
          states.push((await store.getJob(job.id))?.state)
        }
        expect(states).toEqual(['starting', 'running', 'running', 'ended'])
        expect(await store.listAttempts(job.id)).toEqual([
          {
            ...attempt,
            state: 'ended',
            result: 'failed',
            reason: 'exit code 1',
            acceptedAtMs: steps[0]?.entry.atMs,
            startedAtMs: steps[1]?.entry.atMs,
            endedAtMs: steps[3]?.entry.atMs,
            pid: 77,
            exitCode: 1,
            stats: { finish_reason: 'finished', item_scraped_count: 3 }
          }
        ])
        expect(await store.getJob(job.id)).toMatchObject({
          status: 'failed',
          reason: 'exit code 1',
          killingLine: 'KeyError: price',
          nodeId: 'node-4',
          startedAtMs: steps[1]?.entry.atMs,
          endedAtMs: steps[3]?.entry.atMs,
          pages: 5,
          items: 3,
          errors: 1
        })
        expect(await kindsOf(job)).toEqual(['queued', 'sending', 'accepted', 'running', 'finishing', 'ended'])
        expect((await store.listTimeline(job.id)).map(({ attemptNumber }) => attemptNumber)).toEqual([
          null,
          1,
          1,
          1,
          1,
          1
        ])
        expect(await store.listLiveAttempts()).toEqual([])
      })

      test('a change from another state than the attempt is in is skipped and leaves no trace', async () => {
        const job = await enqueue()
        await begin(job)
        const accept = change(job, { from: ['sending'], to: 'accepted', kind: 'accepted' })
        expect(await store.applyChanges([accept, accept, { ...accept, attemptNumber: 2 }])).toEqual([
          true,
          false,
          false
        ])
        expect(await store.applyChanges([change({ id: 'f'.repeat(32) }, { to: 'accepted' })])).toEqual([false])
        expect(await kindsOf(job)).toEqual(['queued', 'sending', 'accepted'])
      })

      test('of two who end one attempt, one does', async () => {
        const job = await enqueue()
        await begin(job)
        const ends = await Promise.all([end(job, { result: 'succeeded' }), end(job, { result: 'lost' })])
        expect(ends.flat().sort()).toEqual([false, true])
        expect(await kindsOf(job)).toEqual(['queued', 'sending', 'ended'])
      })

      test.each(['refused', 'absent'] as const)(
        'a job whose attempt was %s waits again in its old place',
        async (result) => {
          const [job, younger] = [await enqueue(), await enqueue()]
          await begin(job)
          await end(job, { result, kind: result, reason: 'no room' })
          expect(await store.getJob(job.id)).toMatchObject({
            state: 'queued',
            outcome: null,
            reason: null,
            startedAtMs: null,
            attemptCount: 1,
            nodeId: 'node-1'
          })
          expect((await store.readQueueHeads(2))[0]?.jobs.map(({ id }) => id)).toEqual([job.id, younger.id])
          expect(await store.listAttempts(job.id)).toMatchObject([{ state: 'ended', result, reason: 'no room' }])
          await begin(job, { number: 2, nodeId: 'node-2' })
          expect(await store.getJob(job.id)).toMatchObject({ state: 'starting', attemptCount: 2, nodeId: 'node-2' })
        }
      )

      test('a job that was to be cancelled ends instead of going back to the queue', async () => {
        const job = await enqueue()
        await begin(job)
        await store.askCancel([job.id], entry())
        await end(job, { result: 'absent', kind: 'absent' })
        expect(await store.getJob(job.id)).toMatchObject({ state: 'ended', status: 'cancelled' })
        expect(await kindsOf(job)).toEqual(['queued', 'sending', 'cancel_asked', 'absent', 'ended'])
        expect(await store.readQueueHeads(1)).toEqual([])
      })

      test('the outcome of a job may differ from the result of its attempt', async () => {
        const [hopeless, retried] = [await enqueue(), await enqueue()]
        await begin(hopeless)
        await begin(retried)
        await end(hopeless, { result: 'refused', jobOutcome: 'failed', reason: 'no such spider' })
        await end(retried, { result: 'lost', jobOutcome: null, counts: { pages: 1, items: 1, errors: 1 } })
        expect(await store.getJob(hopeless.id)).toMatchObject({ status: 'failed', reason: 'no such spider' })
        expect(await store.getJob(retried.id)).toMatchObject({
          status: 'queued',
          pages: null,
          items: null,
          errors: null
        })
      })

      test('details without a new state are kept, and an ended attempt stays ended', async () => {
        const job = await enqueue()
        await begin(job)
        const note = { from: ['ended' as const], kind: 'ended' as const }
        expect(await store.applyChanges([change(job, { details: { pid: 5 }, kind: 'found_again' })])).toEqual([true])
        await end(job)
        expect(await store.applyChanges([change(job, { ...note, to: 'running' })])).toEqual([false])
        const late = change(job, {
          ...note,
          details: { stats: { a: 1 } },
          counts: { pages: 2, items: null, errors: 0 }
        })
        expect(await store.applyChanges([late])).toEqual([true])
        expect(await store.listAttempts(job.id)).toMatchObject([{ pid: 5, state: 'ended', stats: { a: 1 } }])
        expect(await store.getJob(job.id)).toMatchObject({ status: 'succeeded', pages: 2, items: null, errors: 0 })
      })

      test('what is learned late of an old attempt does not touch the job', async () => {
        const job = await enqueue()
        await begin(job)
        await end(job, { result: 'absent' })
        await begin(job, { number: 2 })
        const late = change(job, { from: ['ended'], counts: { pages: 9, items: 9, errors: 9 }, killingLine: 'x' })
        expect(await store.applyChanges([late])).toEqual([true])
        expect(await store.getJob(job.id)).toMatchObject({ state: 'starting', pages: null, killingLine: null })
      })

      test('a running job whose attempt becomes uncertain is still a running job', async () => {
        const job = await enqueue()
        await begin(job)
        await store.applyChanges([change(job, { to: 'running', kind: 'running' })])
        await store.applyChanges([change(job, { to: 'uncertain', kind: 'vanished' })])
        expect((await store.getJob(job.id))?.state).toBe('running')
      })

      test('an end without a result is refused and changes nothing', async () => {
        const job = await enqueue()
        const [attempt] = [await begin(job)]
        await expect(store.applyChanges([change(job, { to: 'ended' })])).rejects.toThrow(/no result/)
        expect(await store.listLiveAttempts()).toEqual([attempt])
        expect(await kindsOf(job)).toEqual(['queued', 'sending'])
      })

      test('an archived log is noted', async () => {
        const job = await enqueue()
        await begin(job)
        await store.markLogArchived(job.id, 1)
        expect((await store.listAttempts(job.id))[0]?.logArchived).toBe(true)
      })
    })

    describe('the fleet', () => {
      test('nodes are kept, changed and forgotten', async () => {
        const first = aStoredNode({ tags: ['eu'], username: 'u', sealedPassword: 'sealed', caCertificate: 'PEM' })
        const second = aStoredNode({ slots: null, scrapydVersion: null })
        await store.putNode(first)
        await store.putNode(second)
        await store.putNode({ ...first, mode: 'cordoned' })
        expect(await store.listNodes()).toEqual([{ ...first, mode: 'cordoned' }, second])
        await store.deleteNode(first.id)
        await store.deleteNode('not-there')
        expect(await store.listNodes()).toEqual([second])
      })

      test('versions come back by project, newest first, with their deployments', async () => {
        const deployment = { nodeId: 'node-1', state: 'present' as const, error: null, changedAtMs: 5 }
        const old = aVersion({ version: 'b' })
        const fresh = aVersion({
          version: 'a',
          sha256: null,
          sizeBytes: null,
          spiders: null,
          deployments: [deployment]
        })
        const other = aVersion({ project: 'books' })
        for (const version of [old, fresh, other]) await store.putVersion(version)
        expect(await store.listVersions()).toEqual([other, fresh, old])
        await store.deleteVersion('shop', 'b')
        expect(await store.listVersions()).toEqual([other, fresh])
      })

      test('an upload under an old name is on no node yet', async () => {
        const version = aVersion()
        await store.putVersion(version)
        await store.putDeployment('shop', '1', { nodeId: 'node-1', state: 'present', error: null, changedAtMs: 5 })
        await store.putVersion({ ...version, sha256: 'b'.repeat(64) })
        expect((await store.listVersions()).map(({ deployments }) => deployments)).toEqual([[]])
      })

      test('a deployment is replaced, deleted, and forgotten with its node', async () => {
        await store.putVersion(aVersion())
        const on = (nodeId: string) => ({ nodeId, state: 'sending' as const, error: null, changedAtMs: 5 })
        for (const nodeId of ['n1', 'n2', 'n3']) await store.putDeployment('shop', '1', on(nodeId))
        await store.putDeployment('shop', '1', { ...on('n1'), state: 'failed', error: 'no room' })
        await store.deleteDeployment('shop', '1', 'n2')
        await store.deleteNode('n3')
        expect((await store.listVersions())[0]?.deployments).toEqual([
          { ...on('n1'), state: 'failed', error: 'no room' }
        ])
      })

      test('a version that is gone cannot be deployed', async () => {
        const deployment = { nodeId: 'n1', state: 'present' as const, error: null, changedAtMs: 5 }
        await expect(store.putDeployment('shop', '1', deployment)).rejects.toMatchObject({ code: 'VERSION_NOT_FOUND' })
      })

      test('settings are kept by their key', async () => {
        expect(await store.getSetting('paused')).toBeNull()
        await store.putSetting('paused', 'yes')
        await store.putSetting('paused', 'no')
        expect(await store.getSetting('paused')).toBe('no')
      })
    })

    describe('the change log', () => {
      test('each changed thing is told once, with its newest position, in the order of positions', async () => {
        const start = await store.changeCursor()
        const [first, second] = [await enqueue(), await enqueue()]
        await store.putNode(aStoredNode({ id: 'n1' }))
        await begin(first)
        const { changes, cursor, reset } = await store.listChanges(start, 100)
        expect(changes.map(({ noun, id }) => [noun, id])).toEqual([
          ['job', second.id],
          ['node', 'n1'],
          ['job', first.id]
        ])
        expect([cursor, reset]).toEqual([await store.changeCursor(), false])
        expect(changes.at(-1)?.cursor).toBe(cursor)
        expect(await store.listChanges(cursor, 100)).toEqual({ changes: [], cursor, reset: false })
      })

      test('what a reader takes in small pieces is complete', async () => {
        const jobs = Array.from({ length: 5 }, () => aNewJob())
        await store.enqueueJobs(jobs)
        for (const job of jobs) await begin(job)
        const seen = new Set<string>()
        let cursor = 0
        for (;;) {
          const page = await store.listChanges(cursor, 2)
          if (page.changes.length === 0) break
          expect(page.changes.length).toBeLessThanOrEqual(2)
          expect(page.cursor).toBeGreaterThan(cursor)
          for (const { id } of page.changes) seen.add(id)
          cursor = page.cursor
        }
        expect([...seen].sort()).toEqual(jobs.map(({ id }) => id))
        expect(cursor).toBe(await store.changeCursor())
      })

      test('a reader who was away too long is told to start over', async () => {
        const start = await store.changeCursor()
        for (let count = 0; count < 5; count += 1) await enqueue()
        const end = await store.changeCursor()
        await store.pruneChanges(2)
        expect(await store.listChanges(start, 100)).toEqual({ changes: [], cursor: end, reset: true })
        expect((await store.listChanges(end - 2, 100)).changes.length).toBe(2)
        expect((await store.listChanges(end + 1, 100)).reset).toBe(true)
        await store.pruneChanges(0)
        expect(await store.changeCursor()).toBe(end)
        expect((await store.listChanges(end, 100)).reset).toBe(false)
        expect((await store.listChanges(end - 1, 100)).reset).toBe(true)
      })

      test('positions go on where they were after the store was opened again', async () => {
        await enqueue()
        const before = await store.changeCursor()
        await store.pruneChanges(0)
        store = await underTest.reopen()
        expect(await store.changeCursor()).toBe(before)
        await enqueue()
        expect(await store.changeCursor()).toBeGreaterThan(before)
      })

      test('listeners hear of a change when it can be read, and not of writes that changed nothing', async () => {
        const heard: { cursor: number; readable: number }[] = []
        const stop = store.onChange((cursor) => {
          void store.listChanges(cursor - 1, 10).then(({ changes }) => heard.push({ cursor, readable: changes.length }))
        })
        await enqueue()
        await store.putSetting('a', 'b')
        await store.cancelQueued(['f'.repeat(32)], entry())
        await vi.waitFor(() => expect(heard).toEqual([{ cursor: expect.any(Number), readable: 1 }]))
        stop()
        await enqueue()
        expect(heard.length).toBe(1)
      })

      test('a listener that throws does not harm the write or the other listeners', async () => {
        const heard: number[] = []
        store.onChange(() => {
          throw new Error('a fault of the listener')
        })
        store.onChange((cursor) => heard.push(cursor))
        const job = await enqueue()
        expect(await store.getJob(job.id)).not.toBeNull()
        expect(heard.length).toBe(1)
      })

      test('a write that failed leaves no position behind', async () => {
        const job = await enqueue()
        const before = await store.changeCursor()
        await expect(store.enqueueJobs([aNewJob(), job])).rejects.toThrow()
        expect(await store.changeCursor()).toBe(before)
      })
    })

    describe('the end', () => {
      test('closing waits for the writes that were asked before, and may be done twice', async () => {
        const job = aNewJob()
        const write = store.enqueueJobs([job])
        await Promise.all([store.close(), store.close(), write])
        store = await underTest.reopen()
        expect((await store.getJob(job.id))?.id).toBe(job.id)
      })

      test('a closed store refuses', async () => {
        await store.close()
        await expect(store.enqueueJobs([aNewJob()])).rejects.toMatchObject({ code: 'STOPPING' })
        await expect(store.getJob('a')).rejects.toMatchObject({ code: 'STOPPING' })
      })
    })

    testAgainstModel(openStore)
  })
}
