import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type Scrapyd, startScrapyd } from '../../e2e/support/scrapyd-fleet.ts'
import { type EngineWithPython, startEngineWithSpiders } from './testing/engine-with-python.ts'

const WAIT = { timeout: 60_000, interval: 50 }
const SPIDERS = `
import scrapy

class Prices(scrapy.Spider):
    name = "prices"
    async def start(self):
        for number in range(50):
            priced = number >= int(self.unpriced)
            yield {"name": f"Thing {number}", **({"price": 9.5} if priced else {})}

class Offers(Prices):
    name = "offers"
`

let own: EngineWithPython
let scrapyd: Scrapyd
let client: EngineWithPython['client']

beforeAll(async () => {
  scrapyd = await startScrapyd()
  own = await startEngineWithSpiders(SPIDERS, { localSlots: 1 })
  client = own.client
  await client.nodes.add({ url: scrapyd.url })
})

afterAll(async () => {
  await own.stop()
  await scrapyd.stop()
})

async function runOn(kind: 'local' | 'scrapyd', spider: string, unpriced: number) {
  const node = (await client.nodes.list()).nodes.find((one) => one.kind === kind)!
  const args = { unpriced: String(unpriced) }
  const { jobs } = await client.jobs.run({ project: 'shop', spiders: [spider], nodeId: node.id, args })
  return vi.waitFor(async () => {
    const compared = await client.findings.ofJob({ id: jobs[0]!.id })
    expect(compared.fields).not.toBeNull()
    return { jobId: jobs[0]!.id, compared }
  }, WAIT)
}

test.each([
  ['local', 'prices'],
  ['scrapyd', 'offers']
] as const)(
  'a field that is suddenly empty in many items of a run on a %s node is reported as a problem',
  async (kind, spider) => {
    for (let earlier = 0; earlier < 5; earlier += 1) {
      const { compared } = await runOn(kind, spider, earlier % 2)
      expect(compared).toMatchObject({ state: 'learning', fields: { neededRuns: 5 - earlier }, findings: [] })
    }
    const words = 'price is empty in 40 % of the items (usually 0 %)'
    const { jobId, compared } = await runOn(kind, spider, 20)
    expect(compared).toMatchObject({
      state: 'judged',
      fields: { comparedRuns: 5 },
      findings: [{ words, field: 'price' }]
    })
    await vi.waitFor(async () => {
      const { problems } = await client.system.status()
      expect(problems.filter((one) => one.jobId === jobId)).toMatchObject([{ text: words, spider }])
    }, WAIT)
    await runOn(kind, spider, 1)
    await vi.waitFor(async () => {
      const { spiders } = await client.findings.list()
      expect(spiders.filter((one) => one.spider === spider)).toEqual([])
    }, WAIT)
  }
)
