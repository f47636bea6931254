import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildDemoEgg } from '../support/demo-egg.ts'
import type { Job, JobStatus } from '../../src/shared/contract/index.ts'
import { type Scrapyd, startScrapydFleet } from '../support/scrapyd-fleet.ts'
import { type Service, startService } from '../support/service.ts'
import { until } from '../../src/engine/testing/until.ts'

export const SLOTS_PER_NODE = 2
// More than the slots that Scrapdeck knows of, so that the test notices if Scrapdeck sends too many jobs.
const MAX_PROC = SLOTS_PER_NODE * 2

const SPIDERS = {
  quotes: { args: { pages: '3', delay: '0.1' }, outcome: 'succeeded' },
  prices: { args: { pages: '4', delay: '0.1' }, outcome: 'succeeded' },
  broken: { args: {}, outcome: 'failed' }
} as const

/**
 * The number of jobs per spider. Each job starts a Python process that imports Scrapy, which takes seconds of CPU time.
 */
export type Round = Record<keyof typeof SPIDERS, number>

export const sizeOf = (round: Round) => Object.values(round).reduce((sum, count) => sum + count, 0)

export interface DemoFleet {
  service: Service
  scrapyds: Scrapyd[]
  queueRound(round: Round): Promise<Job[]>
  jobs(): Promise<Job[]>
  untilEnded(count: number): Promise<Job[]>
  /** The jobids that the spiders of all rounds wrote when they started, in the order of their starts. */
  touched(): string[]
  stop(): Promise<void>
}

/**
 * Adds three real Scrapyds with two slots each to a real service. Uploads the demo project but does not deploy it.
 */
export async function startDemoFleet(): Promise<DemoFleet> {
  const directory = mkdtempSync(join(tmpdir(), 'scrapdeck-fleet-'))
  const touchFile = join(directory, 'touched')
  writeFileSync(touchFile, '')
  const scrapyds = await startScrapydFleet(
    Array.from({ length: 3 }, () => ({
      maxProc: MAX_PROC,
      environment: { DEMO_TOUCH_FILE: touchFile },
      configuration: { finished_to_keep: 500 }
    }))
  )
  const service = await startService({ localSlots: 0 })
  for (const [index, { url }] of scrapyds.entries()) {
    await service.client.nodes.add({ url, name: `node-${index + 1}`, slots: SLOTS_PER_NODE })
  }
  const egg = await buildDemoEgg()
  const file = new File([new Uint8Array(egg)], 'demo.egg')
  await service.client.projects.upload({ file, project: 'demo', version: 'r1' })

  const jobs = async () => (await service.client.jobs.list({ limit: 500 })).jobs

  return {
    service,
    scrapyds,
    async queueRound(round) {
      const orders = Object.entries(SPIDERS).flatMap(([spider, { args }]) =>
        Array.from({ length: round[spider as keyof Round] }, () =>
          service.client.jobs.run({ project: 'demo', spiders: [spider], args: { ...args } })
        )
      )
      return (await Promise.all(orders)).flatMap(({ jobs }) => jobs)
    },
    jobs,
    untilEnded: (count) =>
      until(
        'all jobs to end',
        jobs,
        (list) => list.length === count && list.every(({ state }) => state === 'ended'),
        150_000
      ),
    touched: () => readFileSync(touchFile, 'utf8').split('\n').filter(Boolean),
    async stop() {
      await service.stop()
      await Promise.all(scrapyds.map((scrapyd) => scrapyd.stop()))
      rmSync(directory, { recursive: true, force: true })
    }
  }
}

export function expectedOutcome(job: Job): JobStatus {
  return SPIDERS[job.spider as keyof Round].outcome
}

/**
 * Resolves to the number of runs on the node and the maximum number of concurrent ones, according to the node's own
 * record of starts and ends.
 */
export async function mostAtOnce(scrapyd: Scrapyd): Promise<{ runs: number; mostAtOnce: number }> {
  const response = await fetch(`${scrapyd.url}listjobs.json?project=demo`)
  const { finished } = (await response.json()) as { finished: { start_time: string; end_time: string }[] }
  const steps = finished.flatMap(({ start_time, end_time }) => [
    { atMs: Date.parse(start_time), change: 1 },
    { atMs: Date.parse(end_time), change: -1 }
  ])
  // Ends come before starts at the same time, because a start can reuse the slot of a run that has just ended.
  steps.sort((left, right) => left.atMs - right.atMs || left.change - right.change)
  let running = 0
  let most = 0
  for (const { change } of steps) {
    running += change
    most = Math.max(most, running)
  }
  return { runs: finished.length, mostAtOnce: most }
}
