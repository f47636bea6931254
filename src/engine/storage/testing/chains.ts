import { describe, expect, test } from 'vitest'
import { type ChainSettings, RunTemplate } from '../../../shared/contract/index.ts'
import { aChainId, aJobId, aProjectName } from '../../../shared/testing/ids.ts'
import { plain } from '../../../shared/texts/message.ts'
import { aNewJob, entry } from '../../testing/builders.ts'
import type { StoredChain } from '../../model/records.ts'
import type { Story } from './story.ts'

const SHOP = aProjectName('shop')

const MADE_AT_MS = entry().atMs

export function describeChains(story: Story): void {
  const { enqueue, begin, end } = story
  let chainCount = 0

  async function putChain(over: Partial<ChainSettings> = {}, createdAtMs = MADE_AT_MS): Promise<string> {
    chainCount += 1
    const id = chainCount.toString(16).padStart(32, 'c')
    const run = RunTemplate.parse({ project: 'shop', spiders: ['details'] })
    const settings = { name: id, enabled: true, project: SHOP, spider: 'list', on: 'ended' as const, run, ...over }
    await story.store.putChain({ id: aChainId(id), settings, createdAtMs })
    return aChainId(id)
  }

  async function ended(over: Parameters<typeof aNewJob>[0], how: Parameters<typeof end>[1] = {}) {
    const job = await enqueue({ project: SHOP, spider: 'list', ...over })
    await begin(job)
    await end(job, how)
    return job
  }

  const due = () => story.store.listDueChains(100)
  const chainOf = async (id: string) => (await story.store.listChains()).find((chain) => chain.id === id) as StoredChain

  describe('chains', () => {
    test('each chain that an end concerns is due once, whatever the outcome was compared with', async () => {
      const [ok, bad, any] = [
        await putChain({ on: 'succeeded' }),
        await putChain({ on: 'failed', spider: '*' }),
        await putChain({ project: aProjectName('*') })
      ]
      await putChain({ enabled: false })
      await putChain({ spider: 'other' })
      await putChain({}, MADE_AT_MS + 60_000)
      const good = await ended({})
      expect(await due()).toEqual([
        { chainId: ok, jobId: good.id },
        { chainId: any, jobId: good.id }
      ])
      const lost = await ended({}, { result: 'lost' })
      const chains = (await due()).filter(({ jobId }) => jobId === lost.id).map(({ chainId }) => chainId)
      expect(chains).toEqual([bad, any])
    })

    test('a try that is repeated is no end, a job that is dropped from the queue is', async () => {
      const chain = await putChain()
      const tried = await enqueue({ project: SHOP, spider: 'list' })
      await begin(tried)
      await end(tried, { result: 'failed', jobOutcome: null })
      expect(await due()).toEqual([])
      await story.store.cancelQueued([tried.id], entry())
      expect(await due()).toEqual([{ chainId: chain, jobId: tried.id }])
    })

    test('an end that is undone is due no more, and again when it comes', async () => {
      const chain = await putChain({ on: 'succeeded' })
      const always = await putChain()
      const job = await enqueue({ project: SHOP, spider: 'list' })
      await story.store.cancelQueued([job.id], entry())
      expect(await due()).toEqual([{ chainId: always, jobId: job.id }])
      await story.store.restoreCancelled([job.id], entry())
      expect(await due()).toEqual([])
      await begin(job)
      await end(job)
      expect(await due()).toEqual([
        { chainId: chain, jobId: job.id },
        { chainId: always, jobId: job.id }
      ])
    })

    test('a cancel that was answered is not answered again when it is undone and the job ends', async () => {
      const always = await putChain()
      const success = await putChain({ on: 'succeeded' })
      const job = await enqueue({ project: SHOP, spider: 'list' })
      await story.store.cancelQueued([job.id], entry())
      const answer = { chainId: aChainId(always), jobId: job.id, atMs: MADE_AT_MS, jobs: [], problem: null }
      expect(await story.store.answerChains([answer])).toEqual([true])
      await story.store.restoreCancelled([job.id], entry())
      await story.store.cancelQueued([job.id], entry())
      expect(await due()).toEqual([])
      await story.reopen()
      await story.store.restoreCancelled([job.id], entry())
      await begin(job)
      await end(job)
      expect(await due()).toEqual([{ chainId: success, jobId: job.id }])
      expect(await story.store.answerChains([answer, { ...answer, chainId: aChainId(success) }])).toEqual([false, true])
      expect(await due()).toEqual([])
    })

    test('an end is answered once, with its jobs, by the first caller', async () => {
      const chainId = await putChain()
      const { id: jobId } = await ended({})
      const answer = () => ({
        chainId: aChainId(chainId),
        jobId,
        atMs: MADE_AT_MS + 5,
        jobs: [aNewJob({ source: 'chain' })],
        problem: null
      })
      const [first, second] = [answer(), answer()]
      expect(await story.store.answerChains([first, second])).toEqual([true, false])
      await story.reopen()
      expect(await story.store.answerChains([answer()])).toEqual([false])
      expect(await story.store.getJob(first.jobs[0]!.id)).toMatchObject({ source: 'chain', status: 'queued' })
      expect(await story.store.getJob(second.jobs[0]!.id)).toBeNull()
      expect(await due()).toEqual([])
      expect(await chainOf(chainId)).toMatchObject({ firedCount: 1, lastFiredAtMs: MADE_AT_MS + 5, problem: null })
    })

    test('where no job could be made the chain says why, until one is or it is changed', async () => {
      const chainId = await putChain()
      const answer = async (over: object) => {
        const { id: jobId } = await ended({})
        return story.store.answerChains([
          { chainId: aChainId(chainId), jobId, atMs: MADE_AT_MS, jobs: [], problem: null, ...over }
        ])
      }
      await answer({ problem: plain('no such spider') })
      expect(await chainOf(chainId)).toMatchObject({ firedCount: 0, problem: plain('no such spider') })
      await answer({ jobs: [aNewJob()] })
      expect(await chainOf(chainId)).toMatchObject({ firedCount: 1, problem: null })
      await answer({ problem: plain('no such spider') })
      const { settings, createdAtMs } = await chainOf(chainId)
      await story.store.putChain({ id: aChainId(chainId), settings, createdAtMs })
      expect(await chainOf(chainId)).toMatchObject({ firedCount: 1, problem: null })
    })

    test('a circle of chains ends after one round', async () => {
      const there = await putChain({ spider: 'list' })
      const back = await putChain({ spider: 'details' })
      let job = await ended({})
      const fired: string[] = []
      for (let round = 0; round < 10; round += 1) {
        const [one] = await due()
        if (one === undefined) break
        fired.push(one.chainId)
        const next = aNewJob({ project: 'shop', spider: one.chainId === there ? 'details' : 'list' })
        await story.store.answerChains([{ ...one, atMs: MADE_AT_MS, jobs: [next], problem: null }])
        await begin(next)
        await end(next)
        job = next
      }
      expect(fired).toEqual([there, back])
      expect(job.spider).toBe('list')
    })

    test('a circle ends though a job in it was cancelled and taken back, and others are answered later', async () => {
      const there = await putChain({ spider: 'list' })
      const back = await putChain({ spider: 'details', on: 'succeeded' })
      const [first, second] = [await ended({}), await ended({})]
      const make = async (chainId: string, jobId: string, spider: string) => {
        const next = aNewJob({ project: 'shop', spider })
        await story.store.answerChains([
          { chainId: aChainId(chainId), jobId: aJobId(jobId), atMs: MADE_AT_MS, jobs: [next], problem: null }
        ])
        return next
      }
      const [one, other] = [await make(there, first.id, 'details'), await make(there, second.id, 'details')]
      await story.store.cancelQueued([one.id], entry())
      await story.reopen()
      await story.store.restoreCancelled([one.id], entry())
      for (const job of [one, other]) {
        await begin(job)
        await end(job)
      }
      const last = [await make(back, one.id, 'list'), await make(back, other.id, 'list')]
      for (const job of last) {
        await begin(job)
        await end(job)
      }
      expect(await due()).toEqual([])
    })

    test('a chain that answers the ends of all spiders answers no job that it made', async () => {
      const chainId = await putChain({ spider: '*' })
      const { id: jobId } = await ended({})
      const jobs = [aNewJob({ project: 'shop' }), aNewJob({ project: 'shop' })]
      await story.store.answerChains([{ chainId: aChainId(chainId), jobId, atMs: MADE_AT_MS, jobs, problem: null }])
      for (const job of jobs) {
        await begin(job)
        await end(job)
      }
      expect(await due()).toEqual([])
    })

    test('an answer that was asked for already is the earlier job', async () => {
      const chainId = await putChain()
      const dedupe = { key: 'details', expiresAtMs: MADE_AT_MS + 1e9 }
      const earlier = await enqueue({ project: SHOP, dedupe })
      const { id: jobId } = await ended({})
      const jobs = [aNewJob({ project: 'shop', dedupe })]
      expect(
        await story.store.answerChains([{ chainId: aChainId(chainId), jobId, atMs: MADE_AT_MS, jobs, problem: null }])
      ).toEqual([true])
      expect(await story.store.getJob(jobs[0]!.id)).toBeNull()
      expect(await story.store.getJob(earlier.id)).toMatchObject({ status: 'queued' })
    })

    test('a chain that is removed before it answers leaves what others are due for', async () => {
      const [gone, stays] = [await putChain(), await putChain()]
      const before = await putChain({ spider: 'first' })
      const { id: jobId } = await ended({ spider: 'first' })
      const made = aNewJob({ project: 'shop', spider: 'list' })
      await story.store.answerChains([
        { chainId: aChainId(before), jobId, atMs: MADE_AT_MS, jobs: [made], problem: null }
      ])
      await begin(made)
      await end(made)
      await story.store.deleteChain(aChainId(gone))
      expect(await due()).toEqual([{ chainId: stays, jobId: made.id }])
      await story.store.deleteChain(aChainId(stays))
      expect(await due()).toEqual([])
    })

    test('a chain that is removed is due for nothing, and its jobs stay', async () => {
      const chainId = await putChain()
      const { id: jobId } = await ended({})
      const made = aNewJob()
      await story.store.answerChains([
        { chainId: aChainId(chainId), jobId, atMs: MADE_AT_MS, jobs: [made], problem: null }
      ])
      await ended({})
      expect(await story.store.deleteChain(aChainId(chainId))).toBe(true)
      expect(await story.store.deleteChain(aChainId(chainId))).toBe(false)
      expect([await due(), await story.store.listChains()]).toEqual([[], []])
      expect(await story.store.getJob(made.id)).not.toBeNull()
    })
  })
}
