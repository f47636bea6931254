import { describe, expect, test } from 'vitest'
import { aNodeId, anAttemptNumber, aProjectName } from '../../../shared/testing/ids.ts'
import type { IndexedLogBlocks, KeptLogFilter, LogKey, NewJob } from '../../model/records.ts'
import type { Story } from './story.ts'

export function describeKeptLogs(story: Story): void {
  const { enqueue, begin, end } = story
  const FIRST = anAttemptNumber(1)
  const sizes = { rawBytes: 3_000, storedBytes: 300 }
  const blocks = (over: Partial<IndexedLogBlocks> = {}): IndexedLogBlocks => ({
    rawBytes: 3_000,
    firstBlock: null,
    wholeBlocks: 0,
    tailBlock: 7,
    ...over
  })

  async function archived(over: Parameters<Story['enqueue']>[0] = {}, node = 'node-1'): Promise<NewJob> {
    const job = await enqueue(over)
    await begin(job, { nodeId: aNodeId(node) })
    await story.store.markLogArchived(job.id, FIRST, { packed: null, sizes })
    await end(job)
    return job
  }
  const record = (job: NewJob, over: Partial<IndexedLogBlocks> = {}, storedBytes = 300) =>
    story.store.recordLogBlocks([{ jobId: job.id, number: FIRST, blocks: blocks(over), log: { storedBytes } }])
  const page = (filter: KeptLogFilter = {}, candidates: Uint8Array | null = null, limit = 100) =>
    story.store.pageKeptLogs(filter, { before: null, limit, candidates })
  const idsOf = (list: { jobId: string }[]) => list.map(({ jobId }) => jobId)

  describe('archived logs', () => {
    test('are paged newest first, as many as are read', async () => {
      const jobs = [await archived(), await archived(), await archived()]
        .map(({ id }) => id)
        .sort()
        .reverse()
      await enqueue()
      const first = await page({}, null, 2)
      expect(idsOf(first.logs)).toEqual(jobs.slice(0, 2))
      expect(first.next).toEqual({ jobId: jobs[1], number: 1 })
      const rest = await story.store.pageKeptLogs({}, { before: first.next, limit: 2, candidates: null })
      expect(rest).toEqual({
        logs: [{ jobId: jobs[2], number: 1, blocks: null }],
        next: null,
        ruledOut: { logs: 0, bytes: 0 }
      })
    })

    test('are narrowed by project, spider, node, outcome and time', async () => {
      const one = await archived({ project: aProjectName('shop-eu'), spider: 'prices' }, 'node-1')
      const other = await archived({ project: aProjectName('news'), spider: 'pages' }, 'node-2')
      const all = [one, other]
        .map(({ id }) => id)
        .sort()
        .reverse()
      const { endedAtMs, sentAtMs } = (await story.store.listAttempts(one.id))[0]!
      const cases: [KeptLogFilter, string[]][] = [
        [{ project: 'shop-*' }, [one.id]],
        [{ project: 'news', spider: 'p*' }, [other.id]],
        [{ onlyProjects: [aProjectName('news'), aProjectName('gone')] }, [other.id]],
        [{ onlyProjects: [aProjectName('news')], project: 'shop-*' }, []],
        [{ onlyProjects: [] }, []],
        [{ nodeId: aNodeId('node-2') }, [other.id]],
        [{ outcome: 'succeeded' }, all],
        [{ outcome: 'failed' }, []],
        [{ sinceMs: sentAtMs - 1_000, untilMs: endedAtMs! + 1_000 }, all],
        [{ sinceMs: endedAtMs! + 1_000_000 }, []],
        [{ untilMs: sentAtMs - 1_000_000 }, []]
      ]
      for (const [filter, ids] of cases) expect(idsOf((await page(filter)).logs), JSON.stringify(filter)).toEqual(ids)
    })

    test('whose blocks are all ruled out are only counted', async () => {
      const [small, large, open, unknown] = [await archived(), await archived(), await archived(), await archived()]
      await record(small, { tailBlock: 9 })
      await record(large, { rawBytes: 3_000_000, firstBlock: 3, wholeBlocks: 2, tailBlock: 6 })
      await record(open, { tailBlock: 'open' })
      const only = (block: number) =>
        Uint8Array.from([0, 0].map((_, byte) => (block >> 3 === byte ? 1 << (block & 7) : 0)))
      const always = [open.id, unknown.id]
      for (const [block, ids] of [
        [9, [small.id]],
        [4, [large.id]],
        [6, [large.id]],
        [5, []]
      ] as const) {
        const { logs, ruledOut } = await page({}, only(block))
        expect(idsOf(logs).sort()).toEqual([...ids, ...always].sort())
        expect(ruledOut.logs).toBe(2 - ids.length)
      }
      expect((await page({}, only(5))).ruledOut.bytes).toBe(3_003_000)
      // A block beyond the last byte of `candidates` may contain a match.
      expect((await page({}, new Uint8Array(1))).logs).toHaveLength(3)
      expect(await story.store.endOfLogBlocks()).toBe(10)
    })

    test('are no runs whose logs are still elsewhere: those are listed apart, the newest first', async () => {
      await archived()
      const [over, live, elsewhere] = [await enqueue(), await enqueue(), await enqueue({ spider: 'other' })]
      for (const job of [over, live, elsewhere]) await begin(job)
      await end(over)
      await enqueue()
      const refused = await enqueue()
      await begin(refused)
      await end(refused, { result: 'refused' })
      const list = (filter: KeptLogFilter = {}, endedSinceMs = 0, limit = 9, copied: LogKey[] = []) =>
        story.store.listUnarchivedRuns(filter, { endedSinceMs, copied, limit })
      const newestFirst = [over.id, live.id, elsewhere.id].sort().reverse()
      expect(idsOf(await list())).toEqual(newestFirst)
      expect(await list({ onlyProjects: [aProjectName('news')] })).toEqual([])
      expect((await list({ spider: 'other' }))[0]).toEqual({
        jobId: elsewhere.id,
        number: 1,
        jobid: elsewhere.id,
        nodeId: 'node-1',
        startedAtMs: null,
        project: 'shop',
        spider: 'other'
      })
      expect(idsOf(await list({}, Number.MAX_SAFE_INTEGER))).toEqual(newestFirst.filter((id) => id !== over.id))
      expect(await list({}, 0, 1)).toHaveLength(2)
      // This run is lost and its node is away. Its copy remains, however old the run is.
      const copied = [over.id, live.id].map((jobId) => ({ jobId, number: anAttemptNumber(1) }))
      expect(idsOf(await list({}, Number.MAX_SAFE_INTEGER, 9, copied))).toEqual(newestFirst)
      expect(idsOf(await list({}, 0, 9, copied))).toEqual(newestFirst)
      expect(idsOf(await list({ outcome: 'succeeded' }))).toEqual([over.id])
    })

    test('are read with their runs, without those that are gone', async () => {
      const job = await archived()
      const [attempt] = await story.store.listAttempts(job.id)
      const found = await story.store.readKeptLogs([
        { jobId: job.id, number: anAttemptNumber(2) },
        { jobId: job.id, number: FIRST }
      ])
      expect(found).toEqual([
        {
          jobId: job.id,
          number: 1,
          project: job.project,
          spider: job.spider,
          nodeId: 'node-1',
          startedAtMs: attempt!.startedAtMs,
          endedAtMs: attempt!.endedAtMs,
          log: { packed: null, sizes }
        }
      ])
    })

    test('are listed for the index until their blocks are recorded, again once they are archived again', async () => {
      const { lastId } = await story.store.listAddedLogs(null, 10)
      const [one, other] = [await archived(), await archived()]
      const unindexed = async () => idsOf((await story.store.listUnindexedLogs(null, 10)).logs).sort()
      const added = await story.store.listAddedLogs(lastId, 10)
      expect(idsOf(added.logs)).toEqual([one.id, other.id])
      expect(added.logs[0]).toMatchObject({ isTailOnly: false, log: { packed: null, sizes } })
      await record(one)
      await record(other, { rawBytes: 3_000_000, firstBlock: 1, wholeBlocks: 2, tailBlock: 'open' })
      expect((await story.store.listUnindexedLogs(null, 10)).logs).toMatchObject([
        { jobId: other.id, isTailOnly: true }
      ])
      await record(other, { rawBytes: 3_000_000, tailBlock: 8 })
      expect(await unindexed()).toEqual([])
      const whole = (await page({ spider: other.spider })).logs.find(({ jobId }) => jobId === other.id)
      expect(whole?.blocks).toEqual({ rawBytes: 3_000_000, firstBlock: 1, wholeBlocks: 2, tailBlock: 8 })
      await story.store.markLogArchived(one.id, FIRST, { packed: Uint8Array.of(1, 2), sizes: null })
      expect(await unindexed()).toEqual([one.id])
      await record(one)
      expect(await unindexed()).toEqual([one.id])
      await story.store.forgetLogBlocks([{ jobId: other.id, number: FIRST }])
      expect(await unindexed()).toEqual([one.id, other.id].sort())
      await record(other, { rawBytes: 3_000_000, tailBlock: 8 })
      await story.store.forgetLogBlocks(null)
      expect(await unindexed()).toEqual([one.id, other.id].sort())
      expect(await story.store.listAddedLogs(added.lastId, 10)).toEqual({ logs: [], lastId: added.lastId })
    })
  })
}
