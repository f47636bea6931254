import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type Scrapyd, startScrapyd } from '../../e2e/support/scrapyd-fleet.ts'
import { type EngineWithPython, startEngineWithSpiders } from './testing/engine-with-python.ts'

const WAIT = { timeout: 60_000, interval: 50 }
const SPIDERS = `
import asyncio
import scrapy

class Still(scrapy.Spider):
    name = "still"
    async def start(self):
        while True:
            await asyncio.sleep(0.1)
        yield

class Broken(Still):
    name = "broken"
    async def start(self):
        while True:
            self.logger.error("no price")
            await asyncio.sleep(0.1)
        yield

class Poor(scrapy.Spider):
    name = "poor"
    async def start(self):
        yield {"price": 1}
`

let own: EngineWithPython
let scrapyd: Scrapyd
let client: EngineWithPython['client']

beforeAll(async () => {
  scrapyd = await startScrapyd()
  own = await startEngineWithSpiders(SPIDERS, { localSlots: 4, cancelWaitsSeconds: [1, 1, 1] })
  client = own.client
  await client.nodes.add({ url: scrapyd.url })
})

afterAll(async () => {
  await own.stop()
  await scrapyd.stop()
})

async function runOn(kind: 'local' | 'scrapyd', spider: string, over: object = {}) {
  const node = (await client.nodes.list()).nodes.find((one) => one.kind === kind)!
  const { jobs } = await client.jobs.run({ project: 'shop', spiders: [spider], nodeId: node.id, ...over })
  return vi.waitFor(async () => {
    const detail = await client.jobs.get({ id: jobs[0]!.id })
    expect(detail.job.state).toBe('ended')
    return detail
  }, WAIT)
}

test.each(['local', 'scrapyd'] as const)(
  'on a %s node, a spider without progress is stopped, and so is one that logs too many errors',
  async (kind) => {
    const [still, broken] = await Promise.all([
      runOn(kind, 'still', { limits: { noProgressSeconds: 4 } }),
      runOn(kind, 'broken', { limits: { maxErrors: 5 } })
    ])
    expect(still.job).toMatchObject({ status: 'failed', reason: 'progress limit of 4 s' })
    expect(still.timeline.map((entry) => entry.kind)).toContain('limit_hit')
    expect(still.timeline.map((entry) => entry.kind)).not.toContain('cancel_asked')
    expect(broken.job).toMatchObject({ status: 'failed', reason: 'error limit of 5' })
    expect(broken.attempts[0]?.limitHit).toMatch(/^error limit of 5 \(logged \d+\)$/)
  }
)

test('a spider with fewer items than its project requires has failed, even if it closed normally', async () => {
  await client.projects.changeSettings({ project: 'shop', settings: { outcome: { minItems: 2 } } })
  const { job } = await runOn('scrapyd', 'poor')
  expect(job).toMatchObject({ status: 'failed', reason: 'fewer than 2 items', items: 1 })
  await client.projects.changeSettings({ project: 'shop', settings: { spiderOutcomes: { poor: { minItems: 1 } } } })
  expect((await runOn('local', 'poor')).job).toMatchObject({ status: 'succeeded', reason: 'finished' })
})
