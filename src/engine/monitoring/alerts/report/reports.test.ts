import { beforeEach, expect, it, onTestFinished } from 'vitest'
import type { AlertReport } from '../../../../shared/contract/index.ts'
import { type EngineWithFakeNode, openEngineWithFakeNode } from '../../../testing/engine-with-fake-node.ts'
import type { Post } from '../../../notify/deliveries/post.ts'
import { isCore } from '../../../../../scripts/test-length.mjs'

let t: EngineWithFakeNode
let told: { type: string; data: AlertReport }[]

const post: Post = async ({ body }) => {
  told.push(JSON.parse(body) as (typeof told)[number])
  return { kind: 'status', status: 204, retryAfterSeconds: null }
}

const DAY_MS = 86_400_000
const target = { kind: 'webhook' as const, url: 'https://hooks.example.org/reports' }
const dueIn = (minutes: number) => ({
  every: 'day' as const,
  zone: 'UTC',
  at: new Date(t.clock.nowMs() + minutes * 60_000).toISOString().slice(11, 16)
})
const runSpider = async (finishReason?: string) => {
  const { jobs } = await t.client.jobs.run({ project: 'shop', spiders: ['prices'] })
  await t.until(async () => t.node.running.length === 1)
  t.node.end(t.node.running[0]!.jobid, finishReason)
  await t.until(async () => (await t.client.jobs.get({ id: jobs[0]!.id })).job.state === 'ended')
}

beforeEach(async () => {
  told = []
  t = await openEngineWithFakeNode({ post })
  onTestFinished(() => t.remove())
  await t.prepare()
})

it.skipIf(isCore)('a report lists the runs, and a channel gets it once per due time, even over restarts', async () => {
  await runSpider('shutdown')
  await runSpider()
  expect(await t.client.alerts.report({})).toMatchObject({
    runs: { succeeded: 1, failed: 1 },
    runsBefore: { succeeded: 0, failed: 0 },
    isComplete: true,
    failing: [{ spider: 'prices', failed: 1, runs: 2 }],
    slowest: [{ spider: 'prices', runs: 2 }],
    service: { nodes: 1, nodesDown: [] }
  })
  await t.client.alertChannels.create({ name: 'Team', target, digest: dueIn(3) })
  await t.clock.advanceBy(60_000)
  expect(told).toEqual([])
  await t.until(async () => told.length === 1)
  expect(told[0]).toMatchObject({ type: 'digest', data: { runs: { succeeded: 1, failed: 1 } } })
  await t.restart()
  await t.clock.advanceBy(180_000)
  expect(told).toHaveLength(1)
  await t.restart(3 * DAY_MS)
  await t.until(async () => told.length === 2)
  await t.clock.advanceBy(180_000)
  expect(told).toHaveLength(2)
  expect(told[1]).toMatchObject({ data: { runs: { succeeded: 0, failed: 0 } } })
})

it('new settings or a pause start again: earlier periods are not reported', async () => {
  const { channel } = await t.client.alertChannels.create({ name: 'Team', target, digest: dueIn(-60) })
  await t.clock.advanceBy(120_000)
  const settings = { id: channel.id, name: 'Team', target }
  await t.client.alertChannels.update({ ...settings, digest: dueIn(-30) })
  await t.clock.advanceBy(120_000)
  await t.client.alertChannels.update({ ...settings, digest: null })
  await t.clock.advanceBy(1_000)
  await t.client.alertChannels.update({ ...settings, digest: dueIn(-30) })
  await t.clock.advanceBy(120_000)
  expect(told).toEqual([])
  expect((await t.client.alertChannels.list()).channels).toMatchObject([{ digest: { every: 'day', weekday: 1 } }])
})

it('refuses an unknown zone, and channels that cannot show reports', async () => {
  const digest = { every: 'day' as const, at: '08:00', zone: 'Europe/Nowhere' }
  const bad = { code: expect.stringMatching(/^BAD_/) }
  await expect(t.client.alertChannels.create({ name: 'x', target, digest })).rejects.toMatchObject(bad)
  await expect(
    t.client.alertChannels.create({ name: 'x', target: { kind: 'desktop' }, digest: { ...digest, zone: 'UTC' } })
  ).rejects.toMatchObject({ code: 'BAD_INPUT' })
})
