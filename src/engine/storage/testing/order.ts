import type { JobId } from '../../../shared/contract/index.ts'
import { describe, expect, test } from 'vitest'
import { aJobId, aNodeId, aProjectName } from '../../../shared/testing/ids.ts'
import { aNewJob, entry } from '../../testing/builders.ts'
import type { Story } from './story.ts'

const KEY = { key: 'old', expiresAtMs: 9_000_000_000_000 }
const START = { atMs: 0, id: '' }

export function describeOrder(story: Story): void {
  const { enqueue, begin, kindsOf } = story
  const order = async () => (await story.heads(1000)).flatMap(({ jobs }) => jobs.map(({ id }) => id))

  describe('order', () => {
    test('queued jobs go to the front, to the back, or right before another', async () => {
      const jobs = Array.from({ length: 5 }, () => aNewJob())
      const [a, b, c, d, e] = jobs.map(({ id }) => id) as [JobId, JobId, JobId, JobId, JobId]
      await story.store.enqueueJobs(jobs)
      expect(await story.store.reorder([e, d], 'front', entry())).toEqual([e, d])
      expect(await order()).toEqual([e, d, a, b, c])
      await story.store.reorder([e], 'back', entry())
      expect(await story.store.reorder([e, a, b], { before: a }, entry())).toEqual([e, a, b])
      expect(await order()).toEqual([d, e, b, a, c])
      await story.store.setPriority([c], 3, entry())
      await story.store.reorder([a], { before: c }, entry())
      expect(await order()).toEqual([a, c, d, e, b])
      expect((await story.store.getJob(a))?.priority).toBe(3)
      expect(await kindsOf(jobs[0]!)).toEqual(['queued', 'changed'])
      await story.store.reorder([c], { before: a }, entry())
      const evidenceOf = async (id: JobId) => (await story.store.listTimeline(id)).at(-1)?.evidence
      expect([await evidenceOf(a), await evidenceOf(c)]).toEqual([{ priority: 3 }, {}])
    })

    test('what is not queued is left alone, and so is everything before a job that is not', async () => {
      const [first, second] = [await enqueue(), await enqueue()]
      await begin(second)
      expect(await story.store.reorder([first.id], { before: second.id }, entry())).toEqual([])
      expect(await story.store.setPriority([first.id, second.id, aJobId('f'.repeat(32))], 0, entry())).toEqual([
        first.id
      ])
      expect(await story.store.placeQueued([second.id], { nodeId: null, tags: [] }, entry())).toEqual([])
      expect([await kindsOf(first), await kindsOf(second)]).toEqual([['queued'], ['queued', 'sending']])
    })

    test('there is always room before a job, however often others were put there', async () => {
      const jobs = Array.from({ length: 200 }, () => aNewJob())
      await story.store.enqueueJobs(jobs)
      const [first, second, ...others] = jobs.map(({ id }) => id) as [JobId, JobId, ...JobId[]]
      for (const id of others) await story.store.reorder([id], { before: second }, entry())
      expect(await order()).toEqual([first, ...others, second])
    })

    test('where ranks had to be given out again, listeners hear of every lane of that priority', async () => {
      const jobs = Array.from({ length: 60 }, () => aNewJob())
      const other = aNewJob({ project: 'other' })
      await story.store.enqueueJobs([...jobs, other])
      const { lane } = (await story.store.getJob(other.id))!
      const rankOf = async () => (await story.store.getJob(other.id))!.rank
      const rank = await rankOf()
      const heard = new Set<string>()
      const stop = story.store.onQueueChange((lanes) => lanes.forEach((one) => heard.add(one)))
      const [, second, ...others] = jobs.map(({ id }) => id) as [JobId, JobId, ...JobId[]]
      for (const id of others) await story.store.reorder([id], { before: second }, entry())
      stop()
      expect(await rankOf()).not.toBe(rank)
      expect([...heard]).toContain(lane)
    })

    test('a queued job that never ran is ordered anew under its id; one that began is left alone', async () => {
      const { store } = story
      const [job, other] = [await enqueue({ args: { a: '1' }, dedupe: KEY }), await enqueue({ args: { a: '2' } })]
      const at = 9_000_000_000_000
      const changed = aNewJob({ id: job.id, args: { a: '3' }, settings: { B: 'x' }, notBeforeMs: at })
      const again = { ...changed, dedupe: { ...KEY, key: 'new' }, entry: entry('Order changed') }
      expect(await store.changeQueued(again)).toEqual([job.id])
      expect(await store.getJob(job.id)).toMatchObject({
        args: { a: '3' },
        settings: { B: 'x' },
        notBeforeMs: at,
        hold: 'not_before',
        dedupeKey: 'new'
      })
      expect((await order()).includes(job.id)).toBe(false)
      expect(await kindsOf(job)).toEqual(['queued', 'changed'])
      const [byOld, byNew] = [aNewJob({ dedupe: KEY }), aNewJob({ dedupe: { ...KEY, key: 'new' } })]
      expect(await store.enqueueJobs([byOld, byNew])).toEqual([byOld.id, job.id])
      expect(await store.changeQueued({ ...again, notBeforeMs: null, dedupe: null })).toEqual([job.id])
      expect((await order()).slice(0, 2)).toEqual([job.id, other.id])
      await begin(other)
      expect(await store.changeQueued({ ...again, id: other.id })).toEqual([])
      expect((await store.getJob(other.id))?.args).toEqual({ a: '2' })
    })

    test('orders for later are listed by their time, those of one user or project alone', async () => {
      const { store } = story
      const later = (notBeforeMs: number, over: Parameters<typeof enqueue>[0] = {}) =>
        enqueue({ source: 'crawl', notBeforeMs, ...over })
      const far = 9_000_000_000_000
      const [third, first] = [await later(far + 2, { userId: 'ann' }), await later(far, { userId: 'bob' })]
      const second = await later(far, { project: aProjectName('news'), userId: 'ann' })
      await later(far, { source: 'api' })
      await enqueue({ source: 'crawl' })
      const list = async (filter: Parameters<typeof store.listLaterOrders>[0] = {}, limit = 9, after = START) =>
        (await store.listLaterOrders(filter, { after, limit })).map(({ id }) => id)
      expect(await list()).toEqual([...[first.id, second.id].sort(), third.id])
      expect(await list({ userId: 'ann' })).toEqual([second.id, third.id])
      expect(await list({ userId: 'ann', project: aProjectName('news') })).toEqual([second.id])
      expect(await list({ onlyProjects: [aProjectName('news')] })).toEqual([second.id])
      const [one] = await list({}, 1)
      expect(await list({}, 9, { atMs: far, id: one! })).toHaveLength(2)
      await store.cancelQueued([second.id], entry())
      expect(await list({ userId: 'ann' })).toEqual([third.id])
    })

    test('a queued job is placed again and stands in another lane', async () => {
      const job = await enqueue()
      const placement = { nodeId: aNodeId('node-7'), tags: ['eu|us'] }
      expect(await story.store.placeQueued([job.id], placement, entry())).toEqual([job.id])
      expect(await story.heads(1)).toMatchObject([{ depth: 1, placement, jobs: [{ id: job.id }] }])
      expect((await story.store.getJob(job.id))?.placement).toEqual(placement)
    })

    test('listeners hear which lanes changed, and nothing of what failed or changed none', async () => {
      const job = await enqueue({ project: aProjectName('a') })
      const held = await enqueue({ project: aProjectName('b'), notBeforeMs: 9_000_000_000_000 })
      const heard: string[][] = []
      const stop = story.store.onQueueChange((lanes) => heard.push(lanes))
      const lane = (await story.store.getJob(job.id))!.lane
      await story.store.reorder([held.id], 'front', entry())
      await story.store.enqueueJobs([aNewJob({ project: 'c' }), job]).catch(() => 'refused')
      expect(heard).toEqual([])
      await story.store.setPriority([job.id], 4, entry())
      await begin(job)
      // The caller of beginAttempts knows about the claim, so only the change of priority is announced.
      expect(heard).toEqual([[lane]])
      stop()
      await enqueue({ project: aProjectName('a') })
      expect(heard.length).toBe(1)
    })
  })
}
