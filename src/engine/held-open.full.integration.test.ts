import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { type Scrapyd, scrapydProblem, startScrapyd } from '../../e2e/support/scrapyd-fleet.ts'
import type { JobId } from '../shared/contract/index.ts'
import { type EngineWithPython, startEngineWithSpiders } from './testing/engine-with-python.ts'

const WAIT = { timeout: 60_000, interval: 100 }
const SPIDERS = `
import subprocess
import scrapy

class Poor(scrapy.Spider):
    name = "poor"
    start_urls = ["data:,"]
    def parse(self, response):
        yield {"price": 1}

class Litter(Poor):
    name = "litter"
    def closed(self, reason):
        child = subprocess.Popen(["sleep", "300"])
        with open(self.pids, "a") as file:
            file.write("%d\\n" % child.pid)
`

let own: Awaited<ReturnType<typeof startEngineWithSpiders>>
let client: EngineWithPython['client']
const scrapyds: Scrapyd[] = []
const pids = () => join(own.directory.path, 'pids')
const leftOver = async () => (await readFile(pids(), 'utf8').catch(() => '')).split('\n').filter(Boolean).map(Number)

beforeAll(async () => {
  own = await startEngineWithSpiders(SPIDERS, { localSlots: 1 })
  client = own.client
})

afterAll(async () => {
  for (const pid of await leftOver()) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // A test has already ended this process.
    }
  }
  await own.stop()
  for (const scrapyd of scrapyds) await scrapyd.stop()
})

async function run(nodeId: string, spider: string): Promise<JobId> {
  const { jobs } = await client.jobs.run({ project: 'shop', spiders: [spider], nodeId, args: { pids: pids() } })
  return jobs[0]!.id
}

const jobOf = async (id: JobId) => (await client.jobs.get({ id })).job
const textsOf = async (id: JobId) => (await client.jobs.get({ id })).timeline.map(({ text }) => text)

describe.for(['1.6.0', '1.4.3'] as const)('on a Scrapyd %s', (version) => {
  test.skipIf(scrapydProblem(version) !== null)(
    'a spider that leaves a child process behind is judged by its log, with and without a cancel, and the slot that it holds is explained',
    { timeout: 180_000 },
    async () => {
      const scrapyd = await startScrapyd({ version, maxProc: 1, forks: 'lists' })
      scrapyds.push(scrapyd)
      const { id: nodeId } = await client.nodes.add({ url: scrapyd.url, name: version, slots: 1 })
      const before = (await leftOver()).length

      const cancelled = await run(nodeId, 'litter')
      await vi.waitFor(async () => expect((await leftOver()).length).toBe(before + 1), WAIT)
      const waiting = await run(nodeId, 'poor')
      await new Promise((resolve) => void setTimeout(resolve, 1_000))
      const askedAtMs = Date.now()
      await client.jobs.cancel({ ids: [cancelled] })
      await vi.waitFor(async () => expect((await jobOf(cancelled)).state).toBe('ended'), WAIT)
      expect(Date.now() - askedAtMs).toBeLessThan(20_000)
      expect(await jobOf(cancelled)).toMatchObject({ status: 'succeeded', reason: 'finished', items: 1 })
      const texts = await textsOf(cancelled)
      expect(texts).toContain('Not stopped (INT): the node reports that the process of the run has already ended')
      expect(texts.join()).toContain('something that it started keeps the node’s process open')
      const [held] = (await client.nodes.list()).nodes.find(({ id }) => id === nodeId)!.runs
      expect(held).toMatchObject({ jobId: cancelled, isHeldOpen: true })
      await vi.waitFor(async () => {
        const { waiting: why, state } = await jobOf(waiting)
        expect([state, why?.text]).toEqual(['queued', expect.stringContaining('something that it started keeps')])
      }, WAIT)

      process.kill((await leftOver()).at(-1)!, 'SIGKILL')
      await vi.waitFor(async () => expect((await jobOf(waiting)).status).toBe('succeeded'), WAIT)

      const left = await run(nodeId, 'litter')
      await vi.waitFor(async () => expect((await jobOf(left)).state).toBe('ended'), WAIT)
      expect(await jobOf(left)).toMatchObject({ status: 'succeeded', reason: 'finished', mayHaveRunTwice: false })
      expect((await textsOf(left)).join()).toContain('something that it started keeps the node’s process open')
      process.kill((await leftOver()).at(-1)!, 'SIGKILL')
    }
  )
})
