import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { until } from '../../src/engine/testing/until.ts'
import type { Job, JobId, NodeId } from '../../src/shared/contract/index.ts'
import { LOCAL_NODE_ID } from '../../src/shared/ids.ts'
import { type Scrapyd, startScrapyd } from '../support/scrapyd-fleet.ts'
import { type Service, startService } from '../support/service.ts'
import { endsEgg, PROJECT } from './ends-project.ts'

let scrapyd: Scrapyd
let service: Service
let remote: NodeId

beforeAll(async () => {
  ;[scrapyd, service] = await Promise.all([
    startScrapyd({ maxProc: 4, configuration: { jobs_to_keep: '1' } }),
    startService({ localSlots: 3 })
  ])
  const { client } = service
  const added = await client.nodes.add({ url: scrapyd.url, name: 'remote', slots: 4, logsKept: 1 })
  remote = added.id
  await client.projects.upload({ file: await endsEgg(), project: PROJECT, version: 'v1' })
}, 120_000)
afterAll(async () => {
  await service?.stop()
  await scrapyd?.stop()
})

async function runOn(nodeId: NodeId, spider: string, args: Record<string, string> = {}): Promise<JobId> {
  const { jobs } = await service.client.jobs.run({ project: PROJECT, spiders: [spider], nodeId, args })
  return jobs[0]!.id
}

const ended = (id: JobId): Promise<Job> =>
  until(
    `the end of ${id}`,
    async () => (await service.client.jobs.get({ id })).job,
    ({ state }) => state === 'ended',
    90_000
  )

interface End {
  spider: string
  outcome: Job['outcome']
  reason: string | RegExp
  pages: number | null
  items: number | null
  errors: number
}

const ENDS: End[] = [
  { spider: 'fine', outcome: 'succeeded', reason: 'finished', pages: 12, items: 12, errors: 0 },
  { spider: 'raises', outcome: 'succeeded', reason: 'finished', pages: 12, items: 8, errors: 4 },
  { spider: 'enough', outcome: 'succeeded', reason: 'closespider_itemcount', pages: null, items: null, errors: 0 },
  { spider: 'memory', outcome: 'failed', reason: 'memusage_exceeded', pages: null, items: null, errors: 1 },
  { spider: 'other-format', outcome: 'succeeded', reason: 'finished', pages: 12, items: 12, errors: 0 },
  { spider: 'json-log', outcome: 'succeeded', reason: 'finished', pages: 12, items: 12, errors: 0 }
]

describe.each(['a real Scrapyd', 'the local node'])('what a log on %s says', (where) => {
  const nodeId = () => (where === 'the local node' ? (LOCAL_NODE_ID as NodeId) : remote)

  test('is the outcome, the figures and the errors of each kind of end', async () => {
    const ids = await Promise.all(ENDS.map(({ spider }) => runOn(nodeId(), spider)))
    const jobs = await Promise.all(ids.map(ended))
    for (const [index, { spider, outcome, reason, pages, items, errors }] of ENDS.entries()) {
      const job = jobs[index]!
      expect([spider, job.outcome, job.reason]).toEqual([spider, outcome, reason])
      if (pages !== null) expect([spider, job.pages, job.items]).toEqual([spider, pages, items])
      expect([spider, job.errors]).toEqual([spider, errors])
      const figures = await service.client.jobs.figures({ id: job.id })
      expect([spider, figures.pages, figures.items]).toEqual([spider, job.pages, job.items])
      if (pages !== null) expect([spider, figures.responses['200']]).toEqual([spider, pages])
    }
  }, 180_000)

  test('of a run that was killed is what it had said until then', async () => {
    const job = await ended(await runOn(nodeId(), 'killed'))
    expect(job.outcome).toBe('failed')
    expect(job.reason).toMatch(/SIGKILL|ended without closing stats/)
    expect(job.pages).toBeGreaterThanOrEqual(5)
  }, 120_000)

  test('of a run that could not import names the error', async () => {
    const job = await ended(await runOn(nodeId(), 'imports'))
    expect(job.killingLine).toMatch(/No module named 'a_module_that_nobody_has'/)
  }, 120_000)

  test('is there while it runs', async () => {
    const id = await runOn(nodeId(), 'quiet', { seconds: '20' })
    const live = await until(
      'figures of the running job',
      async () => (await service.client.jobs.get({ id })).job,
      ({ state, pages, items }) => state === 'ended' || ((pages ?? 0) > 3 && (items ?? 0) > 3),
      60_000
    )
    expect(live.state).toBe('running')
    const figures = await service.client.jobs.figures({ id })
    expect(figures).toMatchObject({ isLive: true, bot: 'ends' })
    expect(figures.pages).toBeGreaterThan(3)
    await service.client.jobs.cancel({ ids: [id], waitSeconds: 0 })
    await ended(id)
  }, 120_000)
})

test('logs that a Scrapyd with jobs_to_keep = 1 prunes while many runs go on are all here, whole', async () => {
  const ids = await Promise.all(Array.from({ length: 8 }, () => runOn(remote, 'quiet', { seconds: '3' })))
  const jobs = await Promise.all(ids.map(ended))
  expect(jobs.map(({ outcome }) => outcome)).toEqual(jobs.map(() => 'succeeded'))
  for (const { id, pages } of jobs) {
    const { text, complete } = await service.client.logs.read({ jobId: id, offset: 0, limitBytes: 1_000_000 })
    expect(complete).toBe(true)
    const numbers = [...text.matchAll(/number (\d+) of 15$/gm)].map(([, number]) => Number(number))
    expect(numbers.toSorted((one, other) => one - other)).toEqual(Array.from({ length: 15 }, (_, at) => at + 1))
    expect(text).toContain('Spider closed (finished)')
    expect(pages).toBe(15)
  }
}, 180_000)
