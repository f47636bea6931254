import { beforeEach, expect, it, onTestFinished } from 'vitest'
import type { AlertNews, AlertRuleSettings } from '../../../shared/contract/index.ts'
import { ALERT_WATCHES, type AlertWatch } from '../../../shared/alert-watches.ts'
import { type EngineWithFakeNode, openEngineWithFakeNode } from '../../testing/engine-with-fake-node.ts'
import type { Post } from '../../notify/deliveries/post.ts'
import { isCore } from '../../../../scripts/test-length.mjs'

let t: EngineWithFakeNode
let told: AlertNews[]
let toldElsewhere: string[]
let channelId: string
let isReceiverDown: boolean

const OTHER = 'https://other.example.org/alerts'

const post: Post = async ({ url, body }) => {
  if (url === OTHER) {
    toldElsewhere.push((JSON.parse(body) as { data: AlertNews }).data.title)
    return { kind: 'status', status: 204, retryAfterSeconds: null }
  }
  if (isReceiverDown) return { kind: 'failed', problem: 'nothing listens' }
  told.push((JSON.parse(body) as { data: AlertNews }).data)
  return { kind: 'status', status: 204, retryAfterSeconds: null }
}

beforeEach(async () => {
  told = []
  toldElsewhere = []
  isReceiverDown = false
  t = await openEngineWithFakeNode({ post })
  onTestFinished(() => t.remove())
  await t.prepare()
  const target = { kind: 'webhook' as const, url: 'https://hooks.example.org/alerts' }
  channelId = (await t.client.alertChannels.create({ name: 'Team', target })).channel.id
})

const aRule = (watch: AlertWatch, over: Partial<AlertRuleSettings> = {}) => {
  const { usual, compares } = ALERT_WATCHES[watch]
  return t.client.alertRules.create({
    ...usual,
    watch,
    comparison: compares[0],
    name: watch,
    channels: [channelId as never],
    gatherSeconds: 0,
    ...over
  })
}
const summary = () =>
  told.map(({ title, firing, resolved }) => `${title} (${firing.length} firing, ${resolved.length} resolved)`)
const runSpider = async (finishReason?: string) => {
  const { jobs } = await t.client.jobs.run({ project: 'shop', spiders: ['prices'] })
  await t.until(async () => t.node.running.length === 1)
  t.node.end(t.node.running[0]!.jobid, finishReason)
  await t.until(async () => (await t.client.jobs.get({ id: jobs[0]!.id })).job.state === 'ended')
}

it('reports once that a node is down, and that it responds again, even with a restart in between', async () => {
  await aRule('node_down', { forSeconds: 60 })
  t.node.isDown = true
  await t.until(async () => told.length === 1)
  expect(summary()).toEqual([expect.stringMatching(/^berlin is down: .* \(1 firing, 0 resolved\)$/)])
  const node = { node: 'berlin' }
  const said = { code: 'alert.node_away', params: { ...node, health: 'down', problem: expect.any(String) } }
  expect(told[0]!.firing).toMatchObject([{ subjectCode: 'alert_subject.node', subjectParams: node, ...said }])
  expect(told[0]).toMatchObject({ titleCode: said.code, titleParams: said.params })
  expect((await t.client.alerts.list({})).alerts).toMatchObject([said])
  await t.restart(60_000)
  await t.clock.advanceBy(300_000)
  expect(told).toHaveLength(1)
  t.node.isDown = false
  await t.until(async () => told.length === 2)
  expect(summary()[1]).toMatch(/\(0 firing, 1 resolved\)$/)
})

it('reports that a spider fails, who acknowledged it, and that it succeeds again', async () => {
  const { rule } = await aRule('spider_fails')
  await runSpider('shutdown')
  await t.until(async () => told.length === 1)
  expect(summary()).toEqual([expect.stringMatching(/^shop\/prices failed: .* \(1 firing, 0 resolved\)$/)])
  const { alerts } = await t.client.alerts.list({})
  expect(alerts).toMatchObject([{ ruleId: rule.id, state: 'firing', subject: 'shop/prices', acknowledged: null }])
  expect(await t.client.alerts.acknowledge({ ids: [alerts[0]!.id] })).toEqual({ acknowledged: 1 })
  expect((await t.client.alerts.list({})).alerts).toMatchObject([{ acknowledged: { by: 'the owner' } }])
  await runSpider()
  await t.until(async () => told.length === 2)
  expect((await t.client.alerts.list({})).alerts).toMatchObject([{ state: 'resolved' }])
  expect((await t.client.alertRules.list()).rules).toMatchObject([{ firing: 0, fired: 1, actedOn: 1 }])
})

it('keeps messages until the receiver accepts them', async () => {
  await aRule('node_down', { forSeconds: 0 })
  isReceiverDown = true
  t.node.isDown = true
  await t.until(async () => (await t.client.alertChannels.list()).channels[0]!.problem !== null)
  expect(told).toEqual([])
  isReceiverDown = false
  await t.until(async () => told.length === 1)
})

it.skipIf(isCore)('reports through another channel that one has failed for ten minutes, and counts it', async () => {
  await aRule('node_down', { forSeconds: 0 })
  const target = { kind: 'webhook' as const, url: OTHER }
  const other = (await t.client.alertChannels.create({ name: 'Other', target })).channel.id
  await aRule('service_problem', { channels: [channelId as never, other], forSeconds: 0 })
  isReceiverDown = true
  t.node.isDown = true
  await t.until(async () => (await t.client.alertChannels.list()).channels.some(({ problem }) => problem !== null))
  const problems = async () => (await t.client.system.status()).problems.map(({ id }) => id)
  await t.clock.advanceBy(300_000)
  expect(await problems()).not.toContain(`channel:${channelId}`)
  await t.clock.advanceBy(420_000)
  expect(await problems()).toContain(`channel:${channelId}`)
  await t.until(async () => toldElsewhere.length === 1)
  expect(toldElsewhere[0]).toMatch(/^The alert channel Team cannot deliver its messages: nothing listens\./)
  const metrics = await t.metrics()
  expect(metrics).toContain('scrapdeck_alerts{severity="critical",state="firing"} 2')
  expect(metrics).toMatch(/^scrapdeck_alert_messages_total\{channel="Team",outcome="failed"\} \d+$/m)
  expect(metrics).toContain('scrapdeck_alert_messages_total{channel="Other",outcome="delivered"} 1')
  isReceiverDown = false
  await t.until(async () => !(await problems()).includes(`channel:${channelId}`))
})

it('sends nothing about silenced alerts or a cordoned node', async () => {
  await aRule('node_down', { forSeconds: 0 })
  const { silence } = await t.client.alertSilences.create({ untilMs: t.clock.nowMs() + 3_600_000, comment: 'moving' })
  t.node.isDown = true
  await t.until(async () => (await t.client.alerts.list({})).alerts.length === 1)
  await t.clock.advanceBy(60_000)
  expect(told).toEqual([])
  expect((await t.client.alerts.list({})).alerts).toMatchObject([{ muted: 'silenced' }])
  await t.client.alertSilences.remove({ id: silence.id })
  await t.until(async () => told.length === 1)
})

it('sends nothing in a maintenance window, even over a restart, and sends what still fires when it ends', async () => {
  await aRule('node_down', { forSeconds: 0, repeatSeconds: null })
  const nowMs = t.clock.nowMs()
  const [DAY_MS, MINUTE_MS] = [86_400_000, 60_000]
  const { silence } = await t.client.alertSilences.create({
    fromMs: nowMs - DAY_MS + 5 * MINUTE_MS,
    untilMs: nowMs - DAY_MS + 30 * MINUTE_MS,
    repeats: { every: 'day', zone: 'Europe/Berlin', endsMs: null }
  })
  await t.clock.advanceBy(6 * MINUTE_MS)
  t.node.isDown = true
  await t.until(async () => (await t.client.alerts.list({})).alerts[0]?.muted === 'silenced')
  await t.restart(MINUTE_MS)
  await t.clock.advanceBy(20 * MINUTE_MS)
  expect(told).toEqual([])
  expect((await t.client.alertSilences.list()).silences).toEqual([silence])
  await t.clock.advanceBy(4 * MINUTE_MS)
  await t.until(async () => told.length === 1)
})

it('continues to escalate after an acknowledgement is withdrawn, and the audit log names the user', async () => {
  const target = { kind: 'webhook' as const, url: OTHER }
  const other = (await t.client.alertChannels.create({ name: 'Other', target })).channel.id
  await aRule('node_down', { forSeconds: 0, escalation: { afterSeconds: 300, channels: [other] } })
  t.node.isDown = true
  await t.until(async () => told.length === 1)
  const ids = (await t.client.alerts.list({})).alerts.map(({ id }) => id)
  expect(await t.client.alerts.acknowledge({ ids })).toEqual({ acknowledged: 1 })
  await t.clock.advanceBy(600_000)
  expect(toldElsewhere).toEqual([])
  expect(await t.client.alerts.unacknowledge({ ids })).toEqual({ unacknowledged: 1 })
  expect((await t.client.alerts.list({})).alerts).toMatchObject([{ acknowledged: null }])
  await t.until(async () => toldElsewhere.length === 1)
  const { entries } = await t.client.audit.list({ operation: 'alerts.unacknowledge' })
  expect(entries).toMatchObject([{ operation: 'alerts.unacknowledge' }])
})

it.skipIf(isCore)(
  'holds alerts beyond the limit of a channel, says so, and sends them once there is room',
  async () => {
    const target = { kind: 'webhook' as const, url: 'https://hooks.example.org/alerts' }
    const settings = { id: channelId as never, name: 'Team', target }
    const { channel } = await t.client.alertChannels.update({ ...settings, messagesPerHour: 1 })
    expect(channel).toMatchObject({ messagesPerHour: 1, held: null })
    await aRule('node_down', { forSeconds: 0, severity: 'warning' })
    await aRule('node_down', { forSeconds: 0, severity: 'warning', name: 'second' })
    t.node.isDown = true
    await t.until(async () => told.length === 1)
    expect(told[0]!.limit).toMatchObject({ all: false })
    const held = async () => (await t.client.alertChannels.list()).channels[0]!.held
    expect(await held()).toEqual({ messages: 1, nextAtMs: told[0]!.limit!.heldUntilMs })
    await t.restart(60_000)
    await t.clock.advanceBy(300_000)
    expect([told.length, (await held())?.messages]).toEqual([1, 1])
    await t.clock.advanceBy(3_600_000)
    await t.until(async () => told.length === 2)
    expect([summary()[1], await held()]).toEqual([expect.stringContaining('(1 firing, 0 resolved)'), null])
  }
)

it('refuses a rule whose channel does not exist, and one that compares the wrong way', async () => {
  const { usual } = ALERT_WATCHES.node_down
  const rule = { ...usual, watch: 'node_down' as const, comparison: 'at_least' as const, name: 'x' }
  await expect(t.client.alertRules.create({ ...rule, channels: ['f'.repeat(32) as never] })).rejects.toMatchObject({
    code: 'ALERT_CHANNEL_NOT_FOUND'
  })
  await expect(t.client.alertRules.create({ ...rule, comparison: 'at_most', channels: [] })).rejects.toMatchObject({
    code: 'BAD_INPUT'
  })
  expect((await t.client.alertRules.list()).rules).toEqual([])
})

it('lists alerts page by page, without losing any that ended at the same moment', async () => {
  for (let rule = 0; rule < 3; rule += 1) await aRule('node_down', { forSeconds: 0, name: `Rule ${rule}` })
  const firing = async () => (await t.client.alerts.list({ state: 'firing' })).alerts.length
  const pages = async () => {
    const listed: string[] = []
    let before: string | undefined
    do {
      const page: Awaited<ReturnType<typeof t.client.alerts.list>> = await t.client.alerts.list({ before, limit: 1 })
      listed.push(...page.alerts.map(({ state, ruleName }) => `${state} ${ruleName}`))
      before = page.nextBefore ?? undefined
    } while (before !== undefined)
    return listed.sort()
  }
  t.node.isDown = true
  await t.until(async () => (await firing()) === 3)
  t.node.isDown = false
  await t.until(async () => (await firing()) === 0)
  const { alerts } = await t.client.alerts.list({})
  expect(new Set(alerts.map(({ resolvedAtMs }) => resolvedAtMs)).size).toBe(1)
  expect(await pages()).toEqual(['resolved Rule 0', 'resolved Rule 1', 'resolved Rule 2'])
  await expect(t.client.alerts.list({ before: '40' })).rejects.toMatchObject({ code: 'BAD_REQUEST' })
})

it('refuses a rule on a field that no signal of its watch has, because it would never fire', async () => {
  const refusal = { code: 'BAD_INPUT', message: expect.stringContaining('would never fire') }
  await expect(aRule('node_down', { project: 'shop' as never })).rejects.toMatchObject(refusal)
  await expect(aRule('queue_length', { nodeTag: 'eu' })).rejects.toMatchObject(refusal)
  await expect(aRule('error_appears', { project: 'shop' as never, spider: 'prices' })).rejects.toMatchObject(refusal)
  await aRule('node_down', { nodeTag: 'eu' })
})

it('keeps sending to a desktop whose last message was lost with a restored backup', async () => {
  const { channel } = await t.client.alertChannels.create({ name: 'desk', target: { kind: 'desktop' } })
  const lost = 'msg_zzzzzzzz_zzzz'
  const { after } = await t.client.alerts.notices({ after: lost })
  await t.client.alertChannels.test({ id: channel.id })
  expect((await t.client.alerts.notices({ after })).notices).toMatchObject([{ title: 'Test: Scrapdeck' }])
})

it.skipIf(isCore)(
  'does not send that an alert fires after its end was sent, even if the first message was delayed',
  async () => {
    await aRule('node_down', { forSeconds: 0 })
    isReceiverDown = true
    t.node.isDown = true
    const waiting = async () => (await t.client.alertChannels.list({})).channels[0]!
    await t.until(async () => (await waiting()).problem !== null)
    await t.clock.advanceBy(600_000)
    isReceiverDown = false
    t.node.isDown = false
    await t.until(async () => told.length === 1)
    await t.clock.advanceBy(3_600_000)
    await t.until(async () => (await waiting()).waiting === 0)
    expect(told.map(({ firing, resolved }) => [firing.length, resolved.length])).toEqual([
      [0, 1],
      [0, 1]
    ])
    expect(told[1]).toMatchObject({
      title: expect.stringContaining('berlin'),
      resolved: [{ resolvedAtMs: expect.any(Number) }]
    })
  }
)
