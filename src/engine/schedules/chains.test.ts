import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type ChainSettings, type RunItem, RunTemplate } from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { aChainId, anAttemptNumber, aProjectName } from '../../shared/testing/ids.ts'
import { say } from '../../shared/texts/message.ts'
import { silentLogger } from '../runtime/logger.ts'
import type { NewJob } from '../model/records.ts'
import type { Store } from '../storage/store.ts'
import { aNewJob, anAttemptStart, entry } from '../testing/builders.ts'
import { createFakeClock, type FakeClock, settle } from '../testing/fake-clock.ts'
import { openTemporaryStore, type TemporaryStore } from '../testing/temporary-store.ts'
import { type ChainFacts, ChainRunner, type ChainRunnerParts } from './chains.ts'

const CHAIN = 'c'.repeat(32)

let clock: FakeClock
let temporary: TemporaryStore
let store: Store
let runners: ChainRunner[]
let facts: ChainFacts[]
let woken: number

beforeEach(async () => {
  clock = createFakeClock()
  temporary = await openTemporaryStore({ clock, inMemory: true })
  store = temporary.store
  runners = []
  facts = []
  woken = 0
})

afterEach(async () => {
  for (const runner of runners) await runner.stop()
  await temporary.remove()
})

async function startRunner(over: Partial<ChainRunnerParts> = {}): Promise<ChainRunner> {
  const runner = new ChainRunner({
    store,
    clock,
    logger: silentLogger,
    openTemplate: async (template) => template,
    requireSpiders() {},
    async expand(template, found) {
      facts.push(found)
      const { project, args } = template
      return { items: template.spiders.map((spider): RunItem => ({ project, spider, args })), bytes: 0 }
    },
    prepare: async (items) =>
      items.map(({ project, spider, args = {} }) => aNewJob({ project, spider, args, source: 'chain' })),
    onJobs() {
      woken += 1
    },
    onAnswered: () => {},
    ...over
  })
  runners.push(runner)
  await runner.start()
  return runner
}

function putChain(over: Partial<ChainSettings> = {}): Promise<void> {
  const run = RunTemplate.parse({ project: 'shop', spiders: ['details', 'images'] })
  const settings = {
    name: 'after',
    enabled: true,
    project: aProjectName('shop'),
    spider: 'list',
    on: 'succeeded' as const,
    run
  }
  return store.putChain({ id: aChainId(CHAIN), settings: { ...settings, ...over }, createdAtMs: 0 })
}

async function endJob(stats: Record<string, string | number> = {}): Promise<NewJob> {
  const job = aNewJob({ project: 'shop', spider: 'list' })
  await store.enqueueJobs([job])
  await store.beginAttempts([anAttemptStart(job)])
  const how = { to: 'ended' as const, result: 'succeeded' as const, details: { stats }, entry: entry() }
  await store.applyChanges([
    { jobId: job.id, attemptNumber: anAttemptNumber(1), from: ['sending'], kind: 'ended', ...how }
  ])
  return job
}

const chained = async () =>
  (await store.listJobs({}, { before: null, limit: 500 })).filter(({ source }) => source === 'chain')
const comeToRest = async () => {
  for (let turn = 0; turn < 5; turn += 1) await settle()
}

describe('the runner of chains', () => {
  test('creates the jobs that follow an end, uses its stats, and records their origin', async () => {
    const runner = await startRunner()
    await putChain()
    await runner.refresh()
    const job = await endJob({ item_scraped_count: 7 })
    await comeToRest()
    expect((await chained()).map(({ spider }) => spider).sort()).toEqual(['details', 'images'])
    expect(facts).toMatchObject([{ chain: 'after', job: { id: job.id }, stats: { item_scraped_count: 7 }, zone: null }])
    expect(woken).toBe(1)
    const [first] = await chained()
    expect((await store.listTimeline(first!.id))[0]).toMatchObject({
      text: 'Queued by the chain "after": list ended as succeeded',
      evidence: { chainId: CHAIN, jobId: job.id }
    })
  })

  test('handles ends from a time without an engine at its start, once, even with concurrent runs', async () => {
    await putChain()
    await endJob()
    await endJob()
    await Promise.all([startRunner(), startRunner(), startRunner()])
    await comeToRest()
    expect(await chained()).toHaveLength(4)
    expect(await store.listChains()).toMatchObject([{ firedCount: 2, problem: null }])
  })

  test('records the reason if a chain cannot create a job, and continues with the others', async () => {
    await putChain()
    let calls = 0
    const runner = await startRunner({
      async prepare(items) {
        calls += 1
        if (calls === 1) throw new ScrapdeckError('SPIDER_NOT_FOUND', 'shop has no spider "details"')
        return items.map(({ project, spider }) => aNewJob({ project, spider, source: 'chain' }))
      }
    })
    await runner.refresh()
    const job = await endJob()
    await comeToRest()
    expect(await chained()).toEqual([])
    expect(await store.listChains()).toMatchObject([
      { firedCount: 0, problem: say('chain.failed', { error: 'shop has no spider "details"', jobId: job.id }) }
    ])
    await endJob()
    await comeToRest()
    expect(await chained()).toHaveLength(2)
    expect(await store.listChains()).toMatchObject([{ firedCount: 1, problem: null }])
  })

  test('handles an end later if it failed for a reason outside the chain', async () => {
    await putChain()
    let isBroken = true
    await startRunner({
      async openTemplate(template) {
        if (isBroken) throw new Error('the key is locked')
        return template
      }
    })
    await endJob()
    await comeToRest()
    expect(await chained()).toEqual([])
    expect(await store.listDueChains(10)).toHaveLength(1)
    isBroken = false
    await clock.advanceBy(10_000)
    await comeToRest()
    expect(await chained()).toHaveLength(2)
  })

  test('handles an end that arrives during its last empty query', async () => {
    await putChain()
    const listDueChains = store.listDueChains.bind(store)
    let isLate = true
    store.listDueChains = async (limit) => {
      const due = await listDueChains(limit)
      if (due.length === 0 && isLate) {
        isLate = false
        await endJob()
        await settle()
      }
      return due
    }
    await startRunner()
    await comeToRest()
    expect(isLate).toBe(false)
    expect(await chained()).toHaveLength(2)
  })

  test('does not query the store without chains, or once it is stopped', async () => {
    const runner = await startRunner()
    let asked = 0
    const listDueChains = store.listDueChains.bind(store)
    store.listDueChains = (limit) => {
      asked += 1
      return listDueChains(limit)
    }
    await endJob()
    await comeToRest()
    expect(asked).toBe(0)
    await putChain()
    await runner.stop()
    await endJob()
    await comeToRest()
    expect(asked).toBe(0)
    expect(clock.timerCount()).toBe(0)
  })

  test('each end is handled exactly once, even after a crash between creating and writing its jobs', async () => {
    await putChain()
    let deaths = 0
    const answerChains = store.answerChains.bind(store)
    store.answerChains = async (answers) => {
      deaths += 1
      if (deaths % 3 === 1) throw new Error('killed before the write')
      const done = await answerChains(answers)
      if (deaths % 3 === 2) throw new Error('killed after the write')
      return done
    }
    await startRunner()
    for (let round = 0; round < 20; round += 1) {
      await endJob()
      await comeToRest()
      if (round % 4 === 0) await startRunner()
    }
    for (let round = 0; round < 6; round += 1) {
      await clock.advanceBy(10_000)
      await comeToRest()
    }
    expect(await store.listDueChains(10)).toEqual([])
    expect(await chained()).toHaveLength(40)
    expect(await store.listChains()).toMatchObject([{ firedCount: 20 }])
  })
})
