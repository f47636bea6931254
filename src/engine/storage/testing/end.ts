import { describe, expect, test } from 'vitest'
import { aJobId } from '../../../shared/testing/ids.ts'
import { aNewJob } from '../../testing/builders.ts'
import type { Story } from './story.ts'

export function describeEnd(story: Story): void {
  describe('the end', () => {
    test('closing waits for the writes that were asked before, and may be done twice', async () => {
      const job = aNewJob()
      const write = story.store.enqueueJobs([job])
      await Promise.all([story.store.close(), story.store.close(), write])
      await story.reopen()
      expect((await story.store.getJob(job.id))?.id).toBe(job.id)
    })

    test('a closed store refuses', async () => {
      await story.store.close()
      await expect(story.store.enqueueJobs([aNewJob()])).rejects.toMatchObject({ code: 'STOPPING' })
      await expect(story.store.getJob(aJobId('a'))).rejects.toMatchObject({ code: 'STOPPING' })
    })
  })
}
