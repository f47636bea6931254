import { expect, it } from 'vitest'
import type { Chain, Job, JobId, Transition } from '../../../shared/contract/index.ts'
import { aJobId, aProjectName, branded } from '../../../shared/testing/ids.ts'
import { plain, say, written } from '../../../shared/texts/message.ts'
import { seenChains, seenJob, seenTimeline } from './seen.ts'

const OTHER = aJobId('f'.repeat(32))
const SEEN = new Set([aProjectName('shop')])
const OWN = aJobId('e'.repeat(32))
const reads = {
  store: { getJobs: async (ids: JobId[]) => (ids.includes(OWN) ? [branded({ id: OWN, project: 'shop' })] : []) }
} as never

const entry = (kind: Transition['kind'], text: string, evidence = {}): Transition =>
  branded({ sequence: 1, jobId: 'a'.repeat(32), attemptNumber: null, atMs: 1, kind, ...written(plain(text)), evidence })

it('a sentence from before there were codes names no hidden job and no hidden chain', async () => {
  const timeline = [
    entry('sending', 'Sent to eu-1'),
    entry('changed', `Moved before ${OTHER}`),
    entry('queued', 'Queued by the chain "next": quiet ended as failed', { chainId: 'c', jobId: OTHER })
  ]
  const seen = await seenTimeline(timeline, SEEN, reads)
  expect(seen.map(({ text }) => text)).toEqual(['Sent to eu-1', 'Moved before another job', 'Queued by a chain'])
  expect(JSON.stringify(seen)).not.toMatch(/ffff|quiet|next|failed/)
  expect(await seenTimeline(timeline, null, reads)).toEqual(timeline)
})

it('words of a plugin or a node name no hidden job', async () => {
  const held = say('timeline.held_by_plugin', { plugin: 'slow', why: `waits for job ${OTHER} and ${OWN}` })
  const [seen] = await seenTimeline([{ ...entry('changed', ''), ...written(held) }], SEEN, reads)
  expect(seen).toMatchObject({
    text: `Held by the plugin slow: waits for another job and ${OWN}`,
    params: { why: `waits for another job and ${OWN}` }
  })
})

it('an entry that names only visible jobs is unchanged', async () => {
  const timeline = [entry('changed', `Moved before ${OWN} by anna`, { jobId: OWN })]
  expect(await seenTimeline(timeline, SEEN, reads)).toEqual(timeline)
})

it.each([
  [`skipped: ${OTHER} ended as failed`, 'skipped: another job ended as failed'],
  [`closed by ${OTHER}`, 'closed by another job'],
  [`skipped: ${OWN} ended as failed`, `skipped: ${OWN} ended as failed`]
])('the reason "%s" names no hidden job', async (reason, text) => {
  const job = branded<Job>({ after: [], waiting: null, reason } as never)
  expect(await seenJob(job, SEEN, reads)).toEqual({ ...job, reason: text })
})

it.each([
  [OTHER, 'No node. (after another job)'],
  [OWN, `No node. (after job ${OWN})`]
])('the problem of a chain from before there were codes is shown (%s)', async (id, text) => {
  const problem = `No node. (after job ${id})`
  const params = { text: problem }
  const chain = { project: 'shop', run: { project: 'shop' }, problem, problemCode: 'text', problemParams: params }
  expect(await seenChains([branded<Chain>(chain as never)], SEEN, reads)).toMatchObject([{ problem: text }])
})
