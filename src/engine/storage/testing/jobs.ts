import { describe, expect, test } from 'vitest'
import { aJobId, aNodeId, aProjectName, aScheduleId, aVersionName, branded } from '../../../shared/testing/ids.ts'
import { aNewJob, anAttemptStart, asRead, entry } from '../../testing/builders.ts'
import type { JobId } from '../../../shared/contract/index.ts'
import { shortId } from '../../../shared/ids.ts'
import { largeBytesOf, type NewJob } from '../../model/records.ts'
import { OUTCOMES } from '../../../shared/choices.ts'
import { plain } from '../../../shared/texts/message.ts'
import type { Story } from './story.ts'

export function describeJobs(story: Story): void {
  const { enqueue, begin, end, pageIds } = story
  describe('jobs', () => {
    test('a job comes back as it was asked for', async () => {
      const job = aNewJob({
        jobid: 'mine-1',
        version: '7',
        settings: { LOG_LEVEL: 'INFO' },
        args: { url: 'https://example.com/?ä=1' },
        retry: { attempts: 3, backoffSeconds: 1, backoffFactor: 2, backoffMaxSeconds: 60, on: ['lost'] },
        notBeforeMs: 5,
        expiresAtMs: 9_000_000_000_000,
        noOverlap: true,
        dedupe: { key: 'nightly', expiresAtMs: 9_000_000_000_000 },
        priority: -1.5,
        placement: { nodeId: 'node-9', tags: ['eu', 'big'] },
        source: 'scrapyd'
      })
      await story.store.enqueueJobs([job])
      const { entry: asked, dedupe, ...fields } = job
      expect(await story.store.getJob(job.id)).toEqual({
        ...fields,
        dedupeKey: dedupe?.key,
        hold: null,
        rank: expect.any(Number),
        mayHaveRunTwice: false,
        lane: expect.any(String),
        state: 'queued',
        outcome: null,
        status: 'queued',
        reason: null,
        killingLine: null,
        nodeId: null,
        attemptCount: 0,
        sentVersion: null,
        cancelAskedAtMs: null,
        queuedAtMs: asked.atMs,
        startedAtMs: null,
        endedAtMs: null,
        pages: null,
        items: null,
        errors: null,
        kept: false
      })
      expect(await story.store.listTimeline(job.id)).toEqual([
        { sequence: expect.any(Number), jobId: job.id, attemptNumber: null, kind: 'queued', ...asRead(asked) }
      ])
    })

    test('what is out of the ordinary in a job is kept, where it is the only such thing too', async () => {
      const expiresAtMs = 9_000_000_000_000
      const odd: Partial<NewJob>[] = [
        {
          version: aVersionName('7'),
          settings: { LOG_LEVEL: 'INFO' },
          args: { ä: '1' },
          priority: 2.5,
          source: 'ui',
          jobid: 'mine'
        },
        { scheduleId: aScheduleId('5'.repeat(32)), nominalMs: 7, source: 'schedule' },
        { args: { key: 'sealed' }, secretNames: ['key'] },
        { limits: { wallSeconds: 5 } },
        { retry: { attempts: 3, backoffSeconds: 1, backoffFactor: 2, backoffMaxSeconds: 60, on: ['lost'] } },
        { notBeforeMs: 5 },
        { expiresAtMs },
        { noOverlap: true },
        { dedupe: { key: 'nightly', expiresAtMs } },
        { placement: { nodeId: aNodeId('node-9'), tags: [] } },
        { placement: { nodeId: null, tags: ['eu'] } },
        { entry: { atMs: 1_800_000_000_000, message: plain('asked'), evidence: { by: 'test' } } }
      ]
      for (const over of odd) {
        const { entry: asked, dedupe, ...job } = await enqueue(over)
        const stored = { ...job, dedupeKey: dedupe?.key ?? null, hold: null, queuedAtMs: asked.atMs }
        expect(await story.store.getJob(job.id)).toMatchObject(stored)
        expect(await story.store.listTimeline(job.id)).toMatchObject([{ kind: 'queued', ...asRead(asked) }])
      }
    })

    test('a run that ended before we knew of it comes whole, and not at all where one of them cannot be', async () => {
      const job = aNewJob({ jobid: 'theirs', source: 'scrapyd' })
      const start = anAttemptStart(job, { jobid: 'theirs', nodeId: 'local', version: '' })
      const ended = entry('ended there')
      const run = {
        job,
        start,
        changes: [
          story.change(job, {
            from: ['sending'],
            to: 'ended',
            result: 'failed',
            reason: plain('shutdown'),
            entry: ended
          })
        ]
      }
      const twice = aNewJob({ id: job.id })
      await expect(
        story.store.recordRuns([run, { ...run, job: twice, start: anAttemptStart(twice) }])
      ).rejects.toThrow()
      expect(await story.store.getJob(job.id)).toBeNull()
      await story.store.recordRuns([run])
      expect(await story.store.getJob(job.id)).toMatchObject({
        state: 'ended',
        outcome: 'failed',
        reason: 'shutdown',
        nodeId: 'local',
        attemptCount: 1,
        endedAtMs: ended.atMs
      })
      expect(await story.store.listAttempts(job.id)).toMatchObject([{ jobid: 'theirs', state: 'ended' }])
      expect((await story.store.listTimeline(job.id)).map(({ kind }) => kind)).toEqual(['queued', 'sending', 'ended'])
      expect(await story.store.countByState()).toEqual({ queued: 0, starting: 0, running: 0, ended: 1 })
    })

    test('a job that is not there is null, and is left out of many', async () => {
      const [first, second] = [await enqueue(), await enqueue()]
      expect(await story.store.getJob(aJobId('f'.repeat(32)))).toBeNull()
      const found = await story.store.getJobs([second.id, aJobId('f'.repeat(32)), first.id])
      expect(found.map(({ id }) => id)).toEqual([second.id, first.id])
    })

    test('the statuses of many jobs are counted, each once', async () => {
      const [first, second] = [await enqueue(), await enqueue()]
      await begin(second)
      const ids = [first.id, second.id, first.id, 'f'.repeat(32)]
      expect(await story.store.countStatuses(branded(ids))).toEqual({ queued: 1, starting: 1 })
    })

    test('jobs are written all or none', async () => {
      const taken = await enqueue()
      const fresh = aNewJob()
      await expect(story.store.enqueueJobs([fresh, { ...aNewJob(), id: taken.id }])).rejects.toThrow()
      expect(await story.store.getJob(fresh.id)).toBeNull()
      expect(await story.store.listTimeline(fresh.id)).toEqual([])
      expect(await story.store.countByState()).toEqual({ queued: 1, starting: 0, running: 0, ended: 0 })
    })

    test('a write that fails takes none of the writes beside it along', async () => {
      const taken = await enqueue()
      const jobs = [aNewJob(), aNewJob(), aNewJob()]
      const writes = jobs.flatMap((job) => [
        story.store.enqueueJobs([job]),
        story.store.enqueueJobs([{ ...aNewJob(), id: taken.id }])
      ])
      const results = await Promise.allSettled(writes)
      expect(results.map(({ status }) => status)).toEqual(jobs.flatMap(() => ['fulfilled', 'rejected']))
      expect((await story.store.getJobs(jobs.map(({ id }) => id))).length).toBe(3)
    })

    test('what was acknowledged is there after the store was closed and opened again', async () => {
      const job = await enqueue()
      await begin(job)
      await story.reopen()
      expect((await story.store.getJob(job.id))?.state).toBe('starting')
      expect((await story.store.listLiveAttempts()).map(({ jobId }) => jobId)).toEqual([job.id])
    })

    test('pages go from the newest down and meet without gap or overlap', async () => {
      const jobs = Array.from({ length: 7 }, () => aNewJob())
      await story.store.enqueueJobs(jobs)
      const newestFirst = jobs.map(({ id }) => id).reverse()
      const first = await pageIds({}, null, 3)
      const second = await pageIds({}, first.at(-1), 3)
      const third = await pageIds({}, second.at(-1), 3)
      expect([first, second, third]).toEqual([newestFirst.slice(0, 3), newestFirst.slice(3, 6), newestFirst.slice(6)])
    })

    test.each(['settings', 'args', 'env'])(
      'a page ends early when its %s are large, and the next begins there',
      async (what) => {
        const jobs = Array.from({ length: 5 }, () => aNewJob({ [what]: { text: 'x'.repeat(20_000) } }))
        await story.store.enqueueJobs(jobs)
        const newestFirst = jobs.map(({ id }) => id).reverse()
        for (const filter of [{}, { status: ['queued' as const] }]) {
          const ids = async (before: JobId | null, maxBytes: number) =>
            (await story.store.listJobs(filter, { before, limit: 10, maxBytes })).map(({ id }) => id)
          expect(await ids(null, 30_000)).toEqual(newestFirst.slice(0, 2))
          expect(await ids(newestFirst[1]!, 1)).toEqual(newestFirst.slice(2, 3))
          expect(await ids(null, 1_000_000)).toEqual(newestFirst)
          const cut = await story.store.listJobs(filter, { before: null, limit: 10, maxBytes: 30_000 })
          expect(largeBytesOf(cut)).toBeGreaterThanOrEqual(30_000)
        }
        const small = Array.from({ length: 5 }, () => aNewJob({ args: { text: 'x'.repeat(1_000) } }))
        await story.store.enqueueJobs(small)
        expect(await story.store.listJobs({}, { before: null, limit: 5, maxBytes: 1 })).toHaveLength(5)
      }
    )

    test('a page over several statuses is in one order', async () => {
      const jobs = Array.from({ length: 6 }, () => aNewJob())
      await story.store.enqueueJobs(jobs)
      for (const job of jobs.filter((_, index) => index % 2 === 0)) await begin(job)
      await end(jobs[0] as NewJob, { result: 'failed' })
      const newestFirst = jobs.map(({ id }) => id).reverse()
      expect(await pageIds({ status: ['queued', 'starting', 'failed'] })).toEqual(newestFirst)
      expect(await pageIds({ status: ['queued', 'starting', 'failed'] }, null, 2)).toEqual(newestFirst.slice(0, 2))
      expect(await pageIds({ status: ['failed'] })).toEqual([jobs[0]?.id])
      expect(await pageIds({ status: [] })).toEqual(newestFirst)
    })

    test('the star of a filter stands for anything, every other character for itself', async () => {
      const odd = await enqueue({ project: aProjectName('a[b]?_%'), spider: 'x' })
      const plain = await enqueue({ project: aProjectName('ab'), spider: 'xy' })
      expect(await pageIds({ project: 'a*' })).toEqual([plain.id, odd.id])
      expect(await pageIds({ project: 'a[b]?*' })).toEqual([odd.id])
      expect(await pageIds({ project: 'a[b]*' })).toEqual([odd.id])
      expect(await pageIds({ project: 'a?' })).toEqual([])
      expect(await pageIds({ project: 'a?*' })).toEqual([])
      expect(await pageIds({ project: 'a_' })).toEqual([])
      expect(await pageIds({ spider: '*y' })).toEqual([plain.id])
    })

    test('text is searched in project and spider, at the beginning of id and jobid and at the end of an id, and its characters are literal', async () => {
      const odd = await enqueue({ project: aProjectName('100%_sure'), spider: 'one' })
      const id = aJobId(`${odd.id.slice(0, 12)}0000010000001f3a2b9c`)
      const plain = await enqueue({ id, project: aProjectName('shop'), spider: 'Prices', jobid: 'mine\\1' })
      expect(await pageIds({ text: '%' })).toEqual([odd.id])
      expect(await pageIds({ text: '_' })).toEqual([odd.id])
      expect(await pageIds({ text: 'price' })).toEqual([plain.id])
      expect(await pageIds({ text: 'mine\\' })).toEqual([plain.id])
      expect(await pageIds({ text: plain.id.slice(0, 18).toUpperCase() })).toEqual([plain.id])
      expect(await pageIds({ text: shortId(plain.id) })).toEqual([plain.id])
      expect(await pageIds({ text: odd.id.slice(4).toUpperCase(), project: '100*' })).toEqual([odd.id])
      expect(await pageIds({ text: plain.id.slice(-7) })).toEqual([])
      expect((await story.store.countFacets({ text: shortId(plain.id) })).status).toEqual([
        { value: 'queued', count: 1 }
      ])
      expect(await pageIds({ text: "'; DROP TABLE jobs" })).toEqual([])
      expect(await pageIds({ text: '' })).toEqual([plain.id, odd.id])
    })

    test('unknown means the live jobs on nodes that do not respond, beside other statuses, and is counted', async () => {
      const [queued, lost, running, elsewhere] = [await enqueue(), await enqueue(), await enqueue(), await enqueue()]
      await begin(lost, { nodeId: aNodeId('node-a') })
      await end(lost)
      await begin(running, { nodeId: aNodeId('node-a') })
      await begin(elsewhere, { nodeId: aNodeId('node-b') })
      const unreachableNodes = [aNodeId('node-a')]
      const idsOf = async (filter: Parameters<typeof pageIds>[0]) =>
        (await story.store.listJobs({ ...filter, unreachableNodes }, { before: null, limit: 10 })).map(({ id }) => id)
      expect(await idsOf({ status: ['unknown'] })).toEqual([running.id])
      expect(await pageIds({ status: ['unknown'] })).toEqual([])
      expect(await idsOf({ status: ['unknown', 'queued'] })).toEqual([running.id, queued.id])
      expect(await idsOf({ status: ['unknown'], nodeId: aNodeId('node-b') })).toEqual([])
      const { status, nodeId } = await story.store.countFacets({ status: ['unknown'], unreachableNodes })
      expect(status).toContainEqual({ value: 'unknown', count: 1 })
      expect(nodeId).toEqual([{ value: 'node-a', count: 1 }])
      expect((await story.store.countFacets({})).status.map(({ value }) => value)).not.toContain('unknown')
    })

    test('a jobid finds exactly the jobs that have it, whatever else has it as its id, and other filters still hold', async () => {
      const own = await enqueue()
      const night = await enqueue({ jobid: 'night', project: aProjectName('books') })
      const again = await enqueue({ jobid: 'night' })
      await enqueue({ jobid: 'nightly' })
      const twin = await enqueue({ jobid: own.id })
      expect(await pageIds({ jobid: 'night' })).toEqual([again.id, night.id])
      expect(await pageIds({ jobid: 'night', project: 'books' })).toEqual([night.id])
      expect(await pageIds({ jobid: own.id })).toEqual([twin.id, own.id])
      expect(await pageIds({ jobid: again.id })).toEqual([])
      expect(await pageIds({ jobid: 'night' }, again.id, 1)).toEqual([night.id])
      expect((await story.store.countFacets({ jobid: 'night' })).status).toEqual([{ value: 'queued', count: 2 }])
    })

    test('filters narrow by node and by the time of the order', async () => {
      const [old, recent, waiting] = [await enqueue(), await enqueue(), await enqueue()]
      await begin(old, { nodeId: aNodeId('node-a') })
      await begin(recent, { nodeId: aNodeId('node-b') })
      await end(recent)
      expect(await pageIds({ nodeId: aNodeId('node-a') })).toEqual([old.id])
      const sinceMs = recent.entry.atMs
      expect(await pageIds({ sinceMs })).toEqual([waiting.id, recent.id])
      expect(await pageIds({ sinceMs: sinceMs + 0.5 })).toEqual([waiting.id])
      expect(await pageIds({ sinceMs, status: ['succeeded', 'starting'] })).toEqual([recent.id])
      expect((await story.store.countFacets({ sinceMs })).status).toEqual([
        { value: 'queued', count: 1 },
        { value: 'succeeded', count: 1 }
      ])
      expect(await pageIds({ sinceMs: -1e20 })).toEqual([waiting.id, recent.id, old.id])
      expect(await pageIds({ sinceMs: 1e20 })).toEqual([])
    })

    test('a facet counts what the other filters leave', async () => {
      await story.store.enqueueJobs([aNewJob({ project: 'a' }), aNewJob({ project: 'a' }), aNewJob({ project: 'b' })])
      const sent = await enqueue({ project: aProjectName('b'), spider: 'other' })
      await begin(sent, { nodeId: aNodeId('node-1') })
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
      expect(await story.store.countFacets({})).toEqual(all)
      expect(await story.store.countFacets({ spider: '*' })).toEqual(all)
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
      expect(await story.store.countFacets({ project: 'b', status: ['queued'] })).toEqual(ofB)
      expect(await story.store.countFacets({ project: 'b', status: ['queued'], text: 'r' })).toEqual(ofB)
      expect((await story.store.countFacets({ spider: 'other' })).project).toEqual([{ value: 'b', count: 1 }])
    })

    test('a pattern of many parts costs no more than a look at each name', async () => {
      await enqueue({ project: aProjectName('a'.repeat(150)) })
      const facets = await story.store.countFacets({ project: `${'*a'.repeat(50)}*b` })
      expect(facets.status).toEqual([])
    })

    test('the spiders that ran elsewhere are those of runs, not of what waits, starts or ran here', async () => {
      const runOn = async (nodeId: string, spider: string) => {
        const job = await enqueue({ project: aProjectName('p'), spider })
        await begin(job, { nodeId: aNodeId(nodeId) })
        return job
      }
      await enqueue({ project: aProjectName('p'), spider: 'waits' })
      await runOn('node-1', 'starts')
      for (const nodeId of ['node-1', 'node-2']) await end(await runOn(nodeId, 'ran'))
      await end(await runOn('here', 'ran-here'))
      expect(await story.store.listSpidersElsewhere(aNodeId('here'))).toEqual([{ project: 'p', spider: 'ran' }])
    })

    test('ended jobs are counted by outcome from a time on', async () => {
      const jobs = [await enqueue(), await enqueue(), await enqueue()] as const
      for (const job of jobs) await begin(job)
      await end(jobs[0], { result: 'failed', entry: entry('', { atMs: 1000 }) })
      await end(jobs[1], { result: 'succeeded', entry: entry('', { atMs: 2000 }) })
      await end(jobs[2], { result: 'lost', entry: entry('', { atMs: 3000 }) })
      const none = { failed: 0, cancelled: 0, unclear: 0 }
      expect(await story.store.countEndedSince(2000)).toEqual({ ...none, succeeded: 1, lost: 1 })
      expect(await story.store.countByState()).toEqual({ queued: 0, starting: 0, running: 0, ended: 3 })
    })

    test('a job ends with each outcome, and is listed and counted by it', async () => {
      for (const outcome of OUTCOMES) {
        const job = await enqueue()
        await begin(job)
        await end(job, { result: outcome })
        expect(
          (await story.store.listJobs({ status: [outcome] }, { before: null, limit: 9 })).map(({ id }) => id)
        ).toEqual([job.id])
        expect((await story.store.listAttempts(job.id)).map(({ result }) => result)).toEqual([outcome])
      }
      const { status } = await story.store.countFacets({})
      expect(status).toEqual([...OUTCOMES].sort().map((value) => ({ value, count: 1 })))
    })

    test('what finished last comes first, without what never ran', async () => {
      const jobs = [await enqueue({ jobid: 'mine' }), await enqueue(), await enqueue(), await enqueue()] as const
      for (const job of jobs.slice(0, 3)) await begin(job)
      await end(jobs[0], { result: 'succeeded', entry: entry('', { atMs: 3000 }) })
      await end(jobs[1], { result: 'failed', entry: entry('', { atMs: 5000 }) })
      await end(jobs[2], { result: 'cancelled', entry: entry('', { atMs: 4000 }) })
      await story.store.cancelQueued([jobs[3].id], entry(''))
      const finished = await story.store.listFinishedRuns(10)
      expect(finished.map(({ id, endedAtMs }) => [id, endedAtMs])).toEqual([
        [jobs[1].id, 5000],
        [jobs[0].id, 3000]
      ])
      expect(finished[1]).toMatchObject({ jobid: 'mine', project: 'shop', run: { logArchived: false } })
      expect(await story.store.listFinishedRuns(1)).toHaveLength(1)
    })

    test('a jobid finds its jobs, newest first, in one project or in all', async () => {
      const first = await enqueue({ jobid: 'nightly', project: aProjectName('a') })
      const second = await enqueue({ jobid: 'nightly', project: aProjectName('b') })
      const third = await enqueue({ jobid: 'nightly', project: aProjectName('a') })
      const own = await enqueue({ project: aProjectName('a') })
      const find = async (jobid: string, project: string | null) =>
        (await story.store.findJobsByJobid(branded(project), jobid)).map(({ id }) => id)
      expect(await find('nightly', null)).toEqual([third.id, second.id, first.id])
      expect(await find('nightly', 'a')).toEqual([third.id, first.id])
      expect(await find(own.id, 'a')).toEqual([own.id])
      expect(await find(first.id, null)).toEqual([])
    })
  })
}
