import { describe, expect, test } from 'vitest'
import { anAttemptNumber } from '../../../shared/testing/ids.ts'
import type { ItemsRecord, NewJob } from '../../model/records.ts'
import { entry } from '../../testing/builders.ts'
import type { Story } from './story.ts'

const FIRST = anAttemptNumber(1)

export function describeKeptItems(story: Story): void {
  const recordOf = ({ id, project, spider }: NewJob, over: Partial<ItemsRecord> = {}): ItemsRecord => ({
    jobId: id,
    number: FIRST,
    project,
    spider,
    endedAtMs: 5_000,
    sizes: { rawBytes: 900, storedBytes: 90 },
    problem: null,
    deletedAtMs: null,
    ...over
  })

  describe('kept items', () => {
    test('are found by their attempt, and replaced when they are recorded again', async () => {
      const job = await story.enqueue()
      expect(await story.store.findItems(job.id, FIRST)).toBeNull()
      await story.store.recordItems(recordOf(job))
      await story.reopen()
      expect(await story.store.findItems(job.id, FIRST)).toEqual(recordOf(job))
      const gone = recordOf(job, { sizes: null, deletedAtMs: 9_000 })
      await story.store.recordItems(gone)
      expect(await story.store.findItems(job.id, FIRST)).toEqual(gone)
    })

    test('with a blob are listed page by page, with what protects their job', async () => {
      const jobs = [await story.enqueue(), await story.enqueue(), await story.enqueue()]
      const [kept, other, broken] = jobs as [NewJob, NewJob, NewJob]
      await story.store.keepJobs([kept.id], true, entry('kept'))
      await story.store.cancelQueued([kept.id], entry('cancelled'))
      for (const job of [kept, other]) await story.store.recordItems(recordOf(job))
      await story.store.recordItems(recordOf(broken, { sizes: null, problem: 'too large' }))
      const first = await story.store.listKeptItems(null, 1)
      const rest = await story.store.listKeptItems(first[0]!, 9)
      expect([...first, ...rest].toSorted((one, two) => Number(two.job?.kept) - Number(one.job?.kept))).toEqual([
        { ...recordOf(kept), job: { hasEnded: true, kept: true, mayHaveRunTwice: false } },
        { ...recordOf(other), job: { hasEnded: false, kept: false, mayHaveRunTwice: false } }
      ])
    })
  })
}
