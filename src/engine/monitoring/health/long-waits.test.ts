import { expect, it } from 'vitest'
import type { Waiting } from '../../../shared/contract/index.ts'
import { timeOfJobId } from '../../../shared/ids.ts'
import { aNewJob } from '../../testing/builders.ts'
import { openTemporaryStore } from '../../testing/temporary-store.ts'
import { findLongWaits, longWaitProblems } from './long-waits.ts'

const MISSING: Waiting = { code: 'version_missing', text: 'shop has no version 7' }
const HOUR_MS = 3_600_000

it('jobs that wait an hour for an operator are one problem per project and reason', async () => {
  await using temporary = await openTemporaryStore({ inMemory: true })
  const { store } = temporary
  const jobs = [aNewJob({ spider: 'prices' }), aNewJob({ spider: 'stock' }), aNewJob({ project: 'news' })]
  await store.enqueueJobs(jobs)
  const askedAtMs = timeOfJobId(jobs[0]!.id)
  const waitingOf = (lane: string): Waiting =>
    lane.includes('news') ? { code: 'all_slots_busy', text: 'all 2 slots are busy' } : MISSING
  expect(await findLongWaits(store, waitingOf, askedAtMs + HOUR_MS - 1_000)).toEqual([])
  const waits = await findLongWaits(store, waitingOf, askedAtMs + 2 * HOUR_MS)
  expect(waits).toEqual([{ project: 'shop', waiting: MISSING, jobs: 2, sinceMs: askedAtMs }])
  expect(longWaitProblems(waits, askedAtMs + 2 * HOUR_MS)).toMatchObject([
    {
      title: '2 jobs of shop cannot be sent',
      text: 'shop has no version 7; queued 2 h ago and needs attention',
      mend: 'open_project',
      project: 'shop'
    }
  ])
})
