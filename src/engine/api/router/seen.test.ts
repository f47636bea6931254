import { expect, it } from 'vitest'
import type { Job, Transition } from '../../../shared/contract/index.ts'
import { aJobId, aProjectName, branded } from '../../../shared/testing/ids.ts'
import { plain, written } from '../../../shared/texts/message.ts'
import { seenJob, seenTimeline } from './seen.ts'

const OTHER = aJobId('f'.repeat(32))
const SEEN = new Set([aProjectName('shop')])
const reads = { store: { getJobs: async () => [] } }

const entry = (kind: Transition['kind'], text: string, evidence = {}): Transition =>
  branded({ sequence: 1, jobId: 'a'.repeat(32), attemptNumber: null, atMs: 1, kind, ...written(plain(text)), evidence })

it('a sentence from before there were codes is shown only where it names no job', async () => {
  const timeline = [
    entry('sending', 'Sent to eu-1'),
    entry('changed', `Moved before ${OTHER}`),
    entry('queued', 'Queued by the chain "next": quiet ended as failed', { chainId: 'c', jobId: OTHER })
  ]
  const seen = await seenTimeline(timeline, SEEN, reads)
  expect(seen.map(({ text }) => text)).toEqual(['Sent to eu-1', 'Changed', 'Queued'])
  expect(JSON.stringify(seen)).not.toMatch(/ffff|quiet|next/)
  expect(await seenTimeline(timeline, null, reads)).toEqual(timeline)
})

it('a reason from before there were codes does not name another job', async () => {
  const job = branded<Job>({ after: [], waiting: null, reason: `skipped: ${OTHER} ended as failed` } as never)
  expect(await seenJob(job, SEEN, reads)).toMatchObject({ reason: 'skipped: another job ended otherwise' })
})
