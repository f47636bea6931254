import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type Scrapyd, startScrapyd } from '../../e2e/support/scrapyd-fleet.ts'
import { type EngineWithPython, startEngineWithSpiders } from './testing/engine-with-python.ts'

const WAIT = { timeout: 60_000, interval: 100 }
const SPIDERS = `
import asyncio
import scrapy

class Still(scrapy.Spider):
    name = "still"
    async def start(self):
        while True:
            await asyncio.sleep(0.1)
        yield
`

let own: EngineWithPython
let scrapyd: Scrapyd

beforeAll(async () => {
  scrapyd = await startScrapyd({ maxProc: 3 })
  own = await startEngineWithSpiders(SPIDERS, { localSlots: 1 })
})

afterAll(async () => {
  await own.stop()
  await scrapyd.stop()
})

test('a real Scrapyd whose slots nobody set never has more than one job waiting, and is full within seconds', async () => {
  const { client } = own
  const { id: nodeId } = await client.nodes.add({ url: scrapyd.url, name: 'three' })
  const slotsOf = async () => {
    const { slots, slotsText } = (await client.nodes.list()).nodes.find(({ id }) => id === nodeId)!
    return { slots, slotsText }
  }
  expect(await slotsOf()).toEqual({
    slots: 1,
    slotsText: 'not known, because Scrapyd does not report it; trying one job first'
  })
  const run = async () => (await client.jobs.run({ project: 'shop', spiders: ['still'], nodeId })).jobs[0]!.id
  const ids = [await run(), await run(), await run(), await run(), await run(), await run()]
  const beganAtMs = Date.now()
  let fullAfterMs = Number.POSITIVE_INFINITY
  let mostPending = 0
  await vi.waitFor(async () => {
    const response = await fetch(new URL('daemonstatus.json', scrapyd.url))
    const { pending, running } = (await response.json()) as { pending: number; running: number }
    mostPending = Math.max(mostPending, pending)
    if (running === 3) fullAfterMs = Math.min(fullAfterMs, Date.now() - beganAtMs)
    expect((await slotsOf()).slotsText).toMatch(/^learned: 3 ran while 1 waited/)
  }, WAIT)
  expect(mostPending).toBe(1)
  expect(fullAfterMs).toBeLessThan(20_000)
  expect((await slotsOf()).slots).toBe(3)
  const { waiting } = (await client.jobs.get({ id: ids[5]! })).job
  expect(waiting?.text).toBe('all 3 slots of three are busy')
  await client.jobs.cancel({ ids, force: true })
}, 120_000)
