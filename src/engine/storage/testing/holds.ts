import { describe, expect, test } from 'vitest'
import { aJobId, anAttemptNumber, aNodeId } from '../../../shared/testing/ids.ts'
import { plain } from '../../../shared/texts/message.ts'
import { aNewJob, entry } from '../../testing/builders.ts'
import type { NewJob } from '../../model/records.ts'
import type { Story } from './story.ts'

export function describeHolds(story: Story): void {
  const { enqueue, begin, end, kindsOf } = story
  const get = (job: { id: string }) => story.store.getJob(aJobId(job.id))

  describe('holds', () => {
    test('a job waits for its time, and is sent by its time or dropped', async () => {
      const now = entry().atMs
      const [later, brief] = [await enqueue({ notBeforeMs: now + 500 }), await enqueue({ expiresAtMs: now + 900 })]
      expect((await get(later))?.hold).toBe('not_before')
      expect(await story.store.releaseDue(now + 499, 10)).toEqual({ released: 0, expired: 0, nextDueMs: now + 500 })
      expect(await story.store.releaseDue(now + 500, 10)).toEqual({ released: 1, expired: 0, nextDueMs: now + 900 })
      const late = { number: anAttemptNumber(1), entry: entry('sent', { atMs: now + 900 }) }
      await expect(begin(brief, late)).rejects.toThrow('not claimed')
      expect(await story.store.releaseDue(now + 900, 10)).toEqual({ released: 0, expired: 1, nextDueMs: null })
      expect(await get(brief)).toMatchObject({ status: 'cancelled', reason: 'expired', cancelAskedAtMs: null })
      expect(await story.store.restoreCancelled([brief.id], entry())).toEqual([])
      expect([await kindsOf(later), await kindsOf(brief)]).toEqual([
        ['queued', 'released'],
        ['queued', 'ended']
      ])
    })

    test('what is due is released at most so many at once, and the rest is due at once', async () => {
      const now = entry().atMs
      await story.store.enqueueJobs([1, 2, 3].map((wait) => aNewJob({ notBeforeMs: now + 100 + wait })))
      expect(await story.store.releaseDue(now + 200, 2)).toEqual({ released: 2, expired: 0, nextDueMs: now + 103 })
    })

    test('a job begins when all that it waits for ended as it asked, with what showed it', async () => {
      const [first, second] = [await enqueue(), await enqueue()]
      const after = [
        { jobId: first.id, on: 'succeeded' as const },
        { jobId: second.id, on: 'ended' as const }
      ]
      const last = await enqueue({ after })
      for (const job of [first, second]) await begin(job)
      await end(first)
      expect(await get(last)).toMatchObject({ hold: 'dependency', after })
      // The job will be retried, so it has not ended.
      await end(second, { result: 'failed', jobOutcome: null })
      expect((await get(last))?.hold).toBe('dependency')
      await begin(second, { number: anAttemptNumber(2) })
      await end(second, { attemptNumber: anAttemptNumber(2), result: 'failed' })
      expect((await get(last))?.hold).toBeNull()
      const [, released] = await story.store.listTimeline(last.id)
      expect(released).toMatchObject({ kind: 'released', evidence: { jobId: second.id, outcome: 'failed' } })
    })

    test('a chain of any length is skipped where its first job ends otherwise, and comes back with it', async () => {
      // Exceeds the depth of SQLite's recursive triggers (1,000).
      const jobs = Array.from({ length: 1_200 }, () => aNewJob())
      jobs.forEach((job, index) => {
        if (index > 0) job.after = [{ jobId: jobs[index - 1]!.id, on: 'succeeded' }]
      })
      const [first, second] = jobs as [NewJob, NewJob]
      await story.store.enqueueJobs(jobs)
      expect(await story.store.cancelQueued([first.id], entry())).toEqual([first.id])
      expect(await get(second)).toMatchObject({
        status: 'cancelled',
        reason: `skipped: ${first.id} ended as cancelled`
      })
      expect((await story.store.countByState()).ended).toBe(1_200)
      expect(await story.store.restoreCancelled([jobs[2]!.id], entry())).toEqual([])
      expect((await story.store.restoreCancelled([first.id], entry())).length).toBe(1_200)
      expect(await story.store.listLanes()).toMatchObject([{ depth: 1 }])
    })

    test('a job whose dependency cannot come true ends at once, and one that names no job is refused', async () => {
      const failed = await enqueue()
      await begin(failed)
      await end(failed, { result: 'failed' })
      const skipped = await enqueue({ after: [{ jobId: failed.id, on: 'succeeded' }] })
      expect(await get(skipped)).toMatchObject({ status: 'cancelled', reason: `skipped: ${failed.id} ended as failed` })
      expect(await kindsOf(skipped)).toEqual(['queued', 'ended'])
      const alone = aNewJob()
      const lost = aNewJob({ after: [{ jobId: 'f'.repeat(32), on: 'ended' }] })
      await expect(story.store.enqueueJobs([alone, lost])).rejects.toMatchObject({ code: 'JOB_NOT_FOUND' })
      expect(await get(alone)).toBeNull()
    })

    test('of jobs that must not overlap one is live, and the next goes by priority', async () => {
      const same = { noOverlap: true, args: { b: '1', a: '2' } }
      const [first, second, third] = [await enqueue(same), await enqueue(same), await enqueue({ ...same, priority: 1 })]
      const other = await enqueue({ noOverlap: true, args: { a: '2' } })
      await begin(first)
      await expect(begin(second)).rejects.toThrow('not claimed')
      await expect(begin(third)).rejects.toThrow('not claimed')
      expect((await get(second))?.hold).toBe('overlap')
      await begin(other)
      expect((await get(await enqueue(same)))?.hold).toBe('overlap')
      await end(first)
      expect([(await get(second))?.hold, (await get(third))?.hold]).toEqual(['overlap', null])
      // The released job ends without having run, so the next one can use the key.
      await story.store.cancelQueued([third.id], entry())
      expect((await get(second))?.hold).toBeNull()
    })

    test('one that no node can take does not keep back those that may run elsewhere', async () => {
      const same = { noOverlap: true }
      const [first, elsewhere] = [
        await enqueue(same),
        await enqueue({ ...same, priority: 1, placement: { nodeId: aNodeId('gone'), tags: [] } })
      ]
      const [second, third] = [await enqueue(same), await enqueue(same)]
      await begin(first)
      for (const job of [elsewhere, second, third]) await expect(begin(job)).rejects.toThrow('not claimed')
      await end(first)
      const holds = [(await get(elsewhere))?.hold, (await get(second))?.hold, (await get(third))?.hold]
      expect(holds).toEqual([null, null, 'overlap'])
      await begin(second)
      await expect(begin(elsewhere)).rejects.toThrow('not claimed')
    })

    test('one that is placed elsewhere keeps back none of those behind it, and is kept back by none that does not run', async () => {
      const gone = { nodeId: aNodeId('gone'), tags: [] }
      const same = { noOverlap: true }
      const first = await enqueue(same)
      const [second, third, fourth] = [await enqueue(same), await enqueue(same), await enqueue(same)]
      await begin(first)
      for (const job of [second, third, fourth]) await expect(begin(job)).rejects.toThrow('not claimed')
      const holds = async () => (await story.store.getJobs([second.id, third.id])).map(({ hold }) => hold)
      await story.store.placeQueued([third.id], gone, entry())
      expect(await holds()).toEqual(['overlap', 'overlap'])
      await story.store.placeQueued([third.id], { nodeId: null, tags: [] }, entry())
      await end(first)
      expect(await holds()).toEqual([null, 'overlap'])
      await story.store.placeQueued([second.id], gone, entry())
      expect(await holds()).toEqual([null, null])
      await story.store.placeQueued([fourth.id], { nodeId: aNodeId('other'), tags: [] }, entry())
      expect((await get(fourth))?.hold).toBeNull()
      await begin(fourth)
      await expect(begin(third)).rejects.toThrow('not claimed')
    })

    test('a retry waits for its time and frees its overlap key meanwhile', async () => {
      const [first, second] = [await enqueue({ noOverlap: true }), await enqueue({ noOverlap: true })]
      await begin(first)
      await story.store.beginAttempts([])
      const now = entry()
      const again = {
        result: 'lost' as const,
        jobOutcome: null,
        retryAtMs: now.atMs + 100,
        mayHaveRunTwice: true as const
      }
      await end(first, { ...again, entry: now })
      expect(await get(first)).toMatchObject({ state: 'queued', hold: 'retry', mayHaveRunTwice: true })
      await begin(second)
      await story.store.releaseDue(now.atMs + 100, 10)
      expect((await get(first))?.hold).toBe('overlap')
    })

    test('a dedupe key answers with its first job until its time is over', async () => {
      const withKey = (atMs: number) =>
        aNewJob({
          dedupe: { key: 'nightly', expiresAtMs: atMs + 100 },
          entry: { atMs, message: plain('asked'), evidence: {} }
        })
      const [first, again, late] = [withKey(1000), withKey(1099), withKey(1100)]
      expect(await story.store.enqueueJobs([first, again])).toEqual([first.id, first.id])
      expect(await story.store.enqueueJobs([late])).toEqual([late.id])
      expect(await get(again)).toBeNull()
      expect((await story.store.countByState()).queued).toBe(2)
    })
  })
}
