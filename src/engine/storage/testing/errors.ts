import { describe, expect, test } from 'vitest'
import { anAttemptNumber, aNodeId, aProjectName, branded } from '../../../shared/testing/ids.ts'
import type { NewJob, RunErrorRow } from '../../model/records.ts'
import type { ErrorGroupFilter } from '../store.ts'
import type { Story } from './story.ts'

const HOUR_MS = 3_600_000
const AT_MS = 500_000 * HOUR_MS

function anError(over: Partial<RunErrorRow> = {}): RunErrorRow {
  return {
    fingerprint: 'f1',
    title: 'KeyError: <text>',
    culprit: 'shop/spiders/prices.py in parse',
    exceptionType: 'KeyError',
    because: 'frames',
    count: 1,
    firstSeenMs: AT_MS,
    lastSeenMs: AT_MS,
    line: 12,
    offset: 900,
    message: 'Spider error processing <GET …>',
    ...over
  }
}

export function describeErrors(story: Story): void {
  const { begin, enqueue } = story

  async function ran(over: Parameters<typeof enqueue>[0] = {}, on: Parameters<typeof begin>[1] = {}): Promise<NewJob> {
    const job = await enqueue(over)
    await begin(job, on)
    return job
  }
  const logged = (job: NewJob, ...errors: RunErrorRow[]) =>
    story.store.recordReadings([{ jobId: job.id, attemptNumber: anAttemptNumber(1), figures: null, errors }])
  const page = (
    filter: ErrorGroupFilter = {},
    over: { before?: { lastSeenMs: number; id: number }; limit?: number } = {}
  ) => story.store.listErrorGroups(filter, branded({ before: null, limit: 100, sinceMs: 0, ...over }))
  const groupIds = async (filter: ErrorGroupFilter = {}) => (await page(filter)).map(({ title }) => title)
  const theOne = async () => (await page())[0]!

  describe('errors', () => {
    test('the same error of several runs is one group, counted by jobs, spiders, versions, nodes and hours', async () => {
      const [first, second] = [await ran(), await ran({ spider: 'stock' }, branded({ version: '2', nodeId: 'node-2' }))]
      await logged(first, anError({ count: 3 }))
      await logged(second, anError({ count: 4, lastSeenMs: AT_MS + 2 * HOUR_MS }))
      expect(await page()).toEqual([
        {
          id: expect.any(Number),
          project: 'shop',
          title: 'KeyError: <text>',
          exceptionType: 'KeyError',
          culprit: 'shop/spiders/prices.py in parse',
          because: 'frames',
          state: 'open',
          stateAtMs: null,
          reopenedAtMs: null,
          firstSeenMs: AT_MS,
          lastSeenMs: AT_MS + 2 * HOUR_MS,
          firstVersion: '1',
          count: 7,
          jobCount: 2,
          spiderCount: 2,
          versionCount: 2,
          nodeCount: 2,
          spiders: ['stock', 'prices'],
          hours: [
            { hour: 500_000, count: 3 },
            { hour: 500_002, count: 4 }
          ]
        }
      ])
      const detail = await story.store.getErrorGroup((await theOne()).id, AT_MS + HOUR_MS)
      expect(detail?.group.hours).toEqual([{ hour: 500_002, count: 4 }])
      expect(
        detail?.occurrences.map(({ jobId, spider, version, nodeId, count, line, offset }) => ({
          jobId,
          spider,
          version,
          nodeId,
          count,
          line,
          offset
        }))
      ).toEqual([
        { jobId: second.id, spider: 'stock', version: '2', nodeId: 'node-2', count: 4, line: 12, offset: 900 },
        { jobId: first.id, spider: 'prices', version: '1', nodeId: 'node-1', count: 3, line: 12, offset: 900 }
      ])
      expect(detail?.nodes.map(({ value, count, runCount }) => [value, count, runCount])).toEqual([
        ['node-2', 4, 1],
        ['node-1', 3, 1]
      ])
      expect(await story.store.getErrorGroup(branded(99), 0)).toBeNull()
    })

    test('of other projects are left out', async () => {
      const project = (name: string) => ({ project: aProjectName(name) })
      await logged(await ran(project('shop')), anError())
      await logged(await ran(project('news')), anError({ lastSeenMs: AT_MS + 1 }))
      const [news, shop] = await page()
      const idsOf = async (filter: ErrorGroupFilter) => (await page(filter)).map(({ id }) => id)
      expect(await idsOf({ onlyProjects: [aProjectName('shop')] })).toEqual([shop!.id])
      expect(await idsOf({ onlyProjects: [aProjectName('shop'), aProjectName('news')] })).toEqual([news!.id, shop!.id])
      expect(await idsOf({ onlyProjects: [] })).toEqual([])
      expect(await idsOf({ onlyProjects: [aProjectName('shop')], project: 'news' })).toEqual([])
      expect(await idsOf({ onlyProjects: [aProjectName('shop')], project: 'shop' })).toEqual([shop!.id])
      const known = await story.store.projectsOfErrorGroups([shop!.id, branded(99), news!.id])
      expect(known).toEqual([
        { id: shop!.id, project: 'shop' },
        { id: news!.id, project: 'news' }
      ])
    })

    test('a run that is recorded again and again counts once, also if its log is read again from the beginning', async () => {
      const job = await ran()
      for (const count of [2, 5, 1, 3, 5, 6]) await logged(job, anError({ count, lastSeenMs: AT_MS + count }))
      expect(await theOne()).toMatchObject({ count: 6, jobCount: 1, lastSeenMs: AT_MS + 6 })
      const [only] = await story.store.listErrorsOfJob(job.id, null, 0)
      expect(only?.occurrence).toMatchObject({ count: 6, lastSeenMs: AT_MS + 6 })
    })

    test('a job with several attempts counts as one job', async () => {
      const job = await ran()
      await logged(job, anError())
      await story.store.applyChanges([
        story.change(job, { to: 'ended', result: 'absent', kind: 'absent', from: ['sending'] })
      ])
      await begin(job, { number: anAttemptNumber(2) })
      const again = { jobId: job.id, attemptNumber: anAttemptNumber(2), figures: null, errors: [anError({ count: 2 })] }
      await story.store.recordReadings([again])
      expect(await theOne()).toMatchObject({ count: 3, jobCount: 1 })
      const counts = async (number: number | null) =>
        (await story.store.listErrorsOfJob(job.id, branded(number), 0)).map(({ occurrence }) => occurrence.count)
      expect([await counts(2), await counts(3), (await counts(null)).toSorted()]).toEqual([[2], [], [1, 2]])
    })

    test('projects share no group, and an unknown run is not recorded', async () => {
      await logged(await ran(), anError())
      await logged(await ran({ project: 'news' }), anError())
      await story.store.recordReadings([
        branded({ jobId: 'f'.repeat(32), attemptNumber: 1, figures: null, errors: [anError({ fingerprint: 'f2' })] })
      ])
      expect((await page()).map(({ project }) => project).toSorted()).toEqual(['news', 'shop'])
    })

    test('lists the last seen first, page by page, and by every filter', async () => {
      const shop = await ran()
      const stock = await ran({ spider: 'stock' }, branded({ version: '2', nodeId: 'node-2' }))
      const news = await ran({ project: 'news' })
      await logged(shop, anError({ fingerprint: 'a', title: 'A' }), anError({ fingerprint: 'b', title: 'B' }))
      await logged(stock, anError({ fingerprint: 'b', title: 'B' }))
      await logged(stock, anError({ fingerprint: 'c', title: 'C 50%', lastSeenMs: AT_MS + 5 }))
      await logged(news, anError({ fingerprint: 'd', title: 'D', lastSeenMs: AT_MS + 9 }))
      expect(await groupIds()).toEqual(['D', 'C 50%', 'B', 'A'])
      const [first, second] = await page({}, { limit: 2 })
      expect([first?.title, second?.title]).toEqual(['D', 'C 50%'])
      expect((await page({}, { before: second! })).map(({ title }) => title)).toEqual(['B', 'A'])
      const third = (await page({}, { before: second!, limit: 1 }))[0]!
      expect((await page({}, { before: third })).map(({ title }) => title)).toEqual(['A'])
      expect(await groupIds({ project: 'shop' })).toEqual(['C 50%', 'B', 'A'])
      expect(await groupIds({ spider: 'stock' })).toEqual(['C 50%', 'B'])
      expect(await groupIds({ version: '2' })).toEqual(['C 50%', 'B'])
      expect(await groupIds({ firstVersion: '2' })).toEqual(['C 50%'])
      expect(await groupIds({ nodeId: aNodeId('node-2'), project: 'shop' })).toEqual(['C 50%', 'B'])
      expect(await groupIds({ text: '0%' })).toEqual(['C 50%'])
      expect(await groupIds({ text: 'PRICES.py' })).toHaveLength(4)
      const { id } = (await page({ text: 'A' })).at(-1)!
      await story.store.setErrorState([id], 'ignored', AT_MS)
      expect(await groupIds({ state: 'ignored' })).toEqual(['A'])
      expect(await groupIds({ state: 'open', project: 'shop' })).toEqual(['C 50%', 'B'])
    })

    test('a resolved error is open again once it is logged later, an ignored one stays ignored', async () => {
      const job = await ran()
      await logged(job, anError())
      const { id } = await theOne()
      expect(await story.store.setErrorState([id, branded(99)], 'resolved', AT_MS + 10)).toEqual([id])
      expect(await story.store.setErrorState([id], 'resolved', AT_MS + 20)).toEqual([])
      await logged(job, anError())
      expect(await theOne()).toMatchObject({ state: 'resolved', stateAtMs: AT_MS + 10, reopenedAtMs: null })
      await logged(await ran(), anError({ lastSeenMs: AT_MS + 11 }))
      expect(await theOne()).toMatchObject({ state: 'open', reopenedAtMs: AT_MS + 11 })
      await story.store.setErrorState([id], 'ignored', AT_MS + 12)
      await logged(await ran(), anError({ lastSeenMs: AT_MS + 13 }))
      expect(await theOne()).toMatchObject({ state: 'ignored', reopenedAtMs: null, count: 3 })
    })

    test('a project keeps a thousand groups: the one seen longest ago makes room, but no ignored one', async () => {
      const other = await ran({ project: 'news' })
      await logged(other, anError())
      const job = await ran()
      await logged(job, anError({ fingerprint: 'old', title: 'ignored', lastSeenMs: AT_MS - 9 }))
      await story.store.setErrorState([(await page({ text: 'ignored' }))[0]!.id], 'ignored', AT_MS)
      const hostile = Array.from({ length: 1_100 }, (_, index) =>
        anError({ fingerprint: `h${index}`, title: `h${index}`, lastSeenMs: AT_MS + index })
      )
      await logged(job, ...hostile)
      const titles = (await page({ project: 'shop' }, { limit: 2_000 })).map(({ title }) => title)
      expect(titles).toHaveLength(1_000)
      expect([titles[0], titles.at(-1), titles.at(-2)]).toEqual(['h1099', 'ignored', 'h101'])
      expect(await page({ project: 'news' })).toHaveLength(1)
    })
  })
}
