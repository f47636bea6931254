import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { until } from '../../src/engine/testing/until.ts'
import type { Job, NodeId, ProjectName } from '../../src/shared/contract/index.ts'
import { LOCAL_NODE_ID } from '../../src/shared/ids.ts'
import { type PruningNode, startPruningNode } from './pruning-node.ts'

let world: PruningNode
let service: PruningNode['service']
let remote: NodeId

beforeAll(async () => {
  world = await startPruningNode({ slots: 6, localSlots: 3 })
  ;({ service, remote } = world)
}, 120_000)
afterAll(() => world?.stop())

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

// The tests run concurrently, within the nodes' slots, because nearly all of their time is waiting.
describe.concurrent.each(['a real Scrapyd', 'the local node'])('the log of a run on %s', (where) => {
  const nodeId = () => (where === 'the local node' ? (LOCAL_NODE_ID as NodeId) : remote)

  test('gives the outcome, the figures and the errors of each kind of end', async () => {
    const ids = await Promise.all(ENDS.map(({ spider }) => world.runOn(nodeId(), spider)))
    const jobs = await Promise.all(ids.map(world.ended))
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

  test('leaves the outcome unclear if it hides how the run ended, unless the node is local', async () => {
    const isLocal = where === 'the local node'
    const unclear = { outcome: 'unclear', reason: 'end not visible in the log' }
    const finished = isLocal ? { outcome: 'succeeded', reason: 'finished' } : unclear
    const expected = {
      'hides-end': { ...finished, errors: null },
      'hushes-scrapy': { ...finished, errors: null },
      // The log of `disables-logging` looks as if the spider had been killed.
      'disables-logging': isLocal ? finished : { outcome: 'failed', reason: 'ended without closing stats' },
      'hides-limit': isLocal ? { outcome: 'failed', reason: 'closespider_errorcount' } : unclear
    }
    const ids = await Promise.all(Object.keys(expected).map((spider) => world.runOn(nodeId(), spider)))
    const jobs = await Promise.all(ids.map(world.ended))
    for (const [index, end] of Object.values(expected).entries()) {
      expect(jobs[index]).toMatchObject({ ...end, attemptCount: 1 })
      if (!isLocal) continue
      // The log does not show these numbers, so they must not be 0.
      expect([jobs[index]!.items, jobs[index]!.errors]).not.toContain(0)
      // The line that reports the end of the spider's process is not output of the spider.
      const printed = { jobId: jobs[index]!.id, offset: 0, printed: true }
      await expect(service.client.logs.read(printed)).rejects.toMatchObject({ code: 'LOG_NOT_FOUND' })
    }
  }, 120_000)

  test('makes a run without any response fail, unless the rule is off for its spider', async () => {
    const job = await world.ended(await world.runOn(nodeId(), 'unreachable'))
    expect(job).toMatchObject({ outcome: 'failed', reason: 'no response at all', pages: 0, items: 0 })
    await service.client.projects.changeSettings({
      project: job.project as ProjectName,
      settings: { spiderOutcomes: { 'unreachable-too': { requireResponse: false } } }
    })
    const other = await world.ended(await world.runOn(nodeId(), 'unreachable-too'))
    expect(other).toMatchObject({ outcome: 'succeeded', reason: 'finished' })
  }, 120_000)

  test('shows each error of a pipeline that cannot open, and why the run failed', async () => {
    const job = await world.ended(await world.runOn(nodeId(), 'pipeline'))
    const reason = where === 'the local node' ? 'exit code 1' : 'shutdown'
    expect(job).toMatchObject({
      outcome: 'failed',
      reason,
      errors: 2,
      killingLine: expect.stringContaining('no database')
    })
  }, 120_000)

  test('gives the figures of a killed run until its end', async () => {
    const job = await world.ended(await world.runOn(nodeId(), 'killed'))
    expect(job.outcome).toBe('failed')
    expect(job.reason).toMatch(/SIGKILL|ended without closing stats/)
    expect(job.pages).toBeGreaterThanOrEqual(5)
  }, 120_000)

  test('names the error of a failed import', async () => {
    const job = await world.ended(await world.runOn(nodeId(), 'imports'))
    expect(job.killingLine).toMatch(/No module named 'a_module_that_nobody_has'/)
  }, 120_000)

  test('gives figures while the run is still going', async () => {
    const id = await world.runOn(nodeId(), 'long', { seconds: '20' })
    const live = await until(
      'figures of the running job',
      async () => (await service.client.jobs.get({ id })).job,
      ({ state, pages, items }) => state === 'ended' || ((pages ?? 0) > 3 && (items ?? 0) > 3),
      90_000
    )
    expect(live.state).toBe('running')
    const figures = await service.client.jobs.figures({ id })
    expect(figures).toMatchObject({ isLive: true, bot: 'ends' })
    expect(figures.pages).toBeGreaterThan(3)
    await service.client.jobs.cancel({ ids: [id], waitSeconds: 0 })
    await world.ended(id)
  }, 180_000)
})

test.concurrent('many concurrent runs have complete logs here although a Scrapyd with jobs_to_keep = 1 deletes them', async () => {
  const ids = await Promise.all(Array.from({ length: 8 }, () => world.runOn(remote, 'quiet', { seconds: '2' })))
  const jobs = await Promise.all(ids.map(world.ended))
  expect(jobs.map(({ outcome }) => outcome)).toEqual(jobs.map(() => 'succeeded'))
  for (const { id, pages } of jobs) {
    const { text, complete } = await service.client.logs.read({ jobId: id, offset: 0, limitBytes: 1_000_000 })
    expect(complete).toBe(true)
    const numbers = [...text.matchAll(/number (\d+) of 10$/gm)].map(([, number]) => Number(number))
    expect(numbers.toSorted((one, other) => one - other)).toEqual(Array.from({ length: 10 }, (_, at) => at + 1))
    expect(text).toContain('Spider closed (finished)')
    expect(pages).toBe(10)
  }
}, 180_000)
