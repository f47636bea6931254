import { beforeEach, expect, it, onTestFinished } from 'vitest'
import type { AlertRuleSettings } from '../../../../shared/contract/index.ts'
import { ALERT_WATCHES, type AlertWatch } from '../../../../shared/alert-watches.ts'
import { type EngineWithFakeNode, openEngineWithFakeNode } from '../../../testing/engine-with-fake-node.ts'
import type { Post } from '../../../notify/deliveries/post.ts'

let t: EngineWithFakeNode
const post: Post = async () => ({ kind: 'status', status: 204, retryAfterSeconds: null })

beforeEach(async () => {
  t = await openEngineWithFakeNode({ post })
  onTestFinished(() => t.remove())
  await t.prepare()
})

const settingsOf = (watch: AlertWatch, over: Partial<AlertRuleSettings> = {}) => {
  const { usual, compares } = ALERT_WATCHES[watch]
  return { ...usual, watch, comparison: compares[0], name: watch, channels: [], gatherSeconds: 0, ...over }
}
const previewOf = (watch: AlertWatch, over: Partial<AlertRuleSettings> & { days?: number } = {}) =>
  t.client.alertRules.preview({ ...settingsOf(watch, over), ...over })
const runSpider = async (finishReason?: string | null) => {
  const { jobs } = await t.client.jobs.run({ project: 'shop', spiders: ['prices'] })
  await t.until(async () => t.node.running.length === 1)
  t.node.end(t.node.running[0]!.jobid, finishReason)
  await t.until(async () => (await t.client.jobs.get({ id: jobs[0]!.id })).job.state === 'ended')
}

it('finds failures of spiders in past jobs, and when they ended', async () => {
  await runSpider('shutdown')
  await runSpider('shutdown')
  await runSpider()
  await runSpider('shutdown')
  const once = await previewOf('spider_fails')
  expect(once).toMatchObject({
    fired: 2,
    isComplete: true,
    note: '',
    alerts: [
      { subject: 'shop/prices', resolvedAtMs: null },
      { subject: 'shop/prices', resolvedAtMs: expect.any(Number) }
    ]
  })
  expect(once.alerts[0]!.text).toMatch(/^shop\/prices failed: /)
  expect(await previewOf('spider_fails', { threshold: 2 })).toMatchObject({ fired: 1 })
  expect(await previewOf('spider_fails', { threshold: 3 })).toMatchObject({ fired: 0, alerts: [] })
  expect(await previewOf('spider_fails', { project: 'other' as never })).toMatchObject({ fired: 0 })
})

it('counts a run whose outcome is unclear neither as a failure nor as a success', async () => {
  await runSpider('shutdown')
  await runSpider(null)
  await runSpider('shutdown')
  expect((await t.client.jobs.list({ status: ['unclear'] })).jobs).toHaveLength(1)
  expect(await previewOf('spider_fails', { threshold: 2 })).toMatchObject({ fired: 1 })
  expect(await previewOf('spider_fails', { threshold: 3 })).toMatchObject({ fired: 0 })
  await t.client.alertRules.create(settingsOf('spider_fails', { threshold: 2 }))
  await runSpider(null)
  await runSpider('shutdown')
  await t.until(async () => (await t.client.alerts.list({ state: 'firing' })).alerts.length === 1)
})

it('fires the same alerts as an existing rule', async () => {
  await t.client.alertRules.create(settingsOf('spider_fails'))
  await t.client.alertRules.create(settingsOf('node_down', { forSeconds: 60 }))
  const has = (state: 'firing' | 'resolved', count: number) =>
    t.until(async () => (await t.client.alerts.list({ state })).alerts.length === count)
  await runSpider('shutdown')
  await has('firing', 1)
  await runSpider()
  await has('resolved', 1)
  t.node.isDown = true
  await has('firing', 1)
  t.node.isDown = false
  await has('resolved', 2)
  const { alerts } = await t.client.alerts.list({})
  for (const watch of ['spider_fails', 'node_down'] as const) {
    const preview = await previewOf(watch, watch === 'node_down' ? { forSeconds: 60 } : {})
    const told = alerts.filter((alert) => alert.watch === watch)
    expect(preview.fired).toBe(1)
    expect(preview.alerts.map(({ subject, text }) => ({ subject, text }))).toEqual(
      told.map(({ subject, text }) => ({ subject, text }))
    )
    // Live signals arrive slightly after the event.
    expect(Math.abs(preview.alerts[0]!.firedAtMs - told[0]!.firedAtMs!)).toBeLessThan(2_000)
    expect(Math.abs(preview.alerts[0]!.resolvedAtMs! - told[0]!.resolvedAtMs!)).toBeLessThan(2_000)
  }
})

it('records which nodes were down even if no rule watches them, also across a restart', async () => {
  t.node.isDown = true
  await t.clock.advanceBy(180_000)
  await t.restart(60_000)
  await t.clock.advanceBy(60_000)
  t.node.isDown = false
  await t.until(async () => (await previewOf('node_down')).alerts[0]?.resolvedAtMs != null)
  const preview = await previewOf('node_down')
  expect(preview).toMatchObject({ fired: 1, isComplete: false, alerts: [{ subject: 'berlin' }] })
  expect(preview.note).toMatch(/^Recorded since 20\d\d-/)
  expect(preview.noteCode).toBe('preview.recorded_since')
  expect((await previewOf('node_down', { forSeconds: 86_400 })).fired).toBe(0)
})

it('finds jobs that ran or waited for a long time', async () => {
  await t.client.jobs.run({ project: 'shop', spiders: ['prices'] })
  await t.until(async () => t.node.running.length === 1)
  await t.clock.advanceBy(400_000)
  expect(await previewOf('job_runs_long', { forSeconds: 300 })).toMatchObject({
    fired: 1,
    alerts: [{ resolvedAtMs: null }]
  })
  expect(await previewOf('job_runs_long', { forSeconds: 1_200 })).toMatchObject({ fired: 0 })
  await t.client.system.setPaused({ paused: true })
  await t.client.jobs.run({ project: 'shop', spiders: ['prices'] })
  await t.clock.advanceBy(400_000)
  expect(await previewOf('job_waits_long', { forSeconds: 300 })).toMatchObject({
    fired: 1,
    alerts: [{ subject: 'shop/prices', text: 'shop/prices waited', resolvedAtMs: null }]
  })
  await t.client.system.setPaused({ paused: false })
  await t.until(async () => (await previewOf('job_waits_long', { forSeconds: 300 })).alerts[0]!.resolvedAtMs !== null)
})

it('finds that a spider was overdue', async () => {
  await runSpider()
  const of = { project: 'shop' as never, spider: 'prices', threshold: 26 }
  // The clock jumps while the engine is off, which takes no real time.
  await t.restart(25 * 3_600_000)
  expect(await previewOf('spider_overdue', of)).toMatchObject({ fired: 0 })
  await t.restart(2 * 3_600_000)
  expect(await previewOf('spider_overdue', of)).toMatchObject({ fired: 1, alerts: [{ resolvedAtMs: null }] })
  await runSpider()
  const { fired, alerts } = await previewOf('spider_overdue', of)
  expect([fired, alerts[0]!.resolvedAtMs]).toEqual([1, expect.any(Number)])
  expect(await previewOf('spider_overdue', { ...of, spider: 'other' })).toMatchObject({
    fired: 0,
    note: 'It has not succeeded yet'
  })
})

it('refuses what a rule would refuse, and stores nothing', async () => {
  await expect(previewOf('spider_overdue')).rejects.toMatchObject({ code: 'BAD_INPUT' })
  await expect(previewOf('node_down', { days: 31 })).rejects.toMatchObject({ code: 'BAD_REQUEST' })
  await previewOf('node_down')
  expect((await t.client.alertRules.list()).rules).toEqual([])
  expect((await t.client.alerts.list({})).alerts).toEqual([])
})
