import { expect, test, onTestFinished } from 'vitest'
import type { AlertNotice } from '../shared/contract/index.ts'
import { openEngineWithFakeNode } from '../engine/testing/engine-with-fake-node.ts'
import { type EngineReads, followEngine } from './follow-engine.ts'

async function open() {
  const t = await openEngineWithFakeNode()
  onTestFinished(() => t.remove())
  await t.prepare()
  const { channel } = await t.client.alertChannels.create({ name: 'desk', target: { kind: 'desktop' } })
  const seen = { notices: [] as string[], alerts: [] as number[], running: [] as number[], broken: 0 }
  const stopping = new AbortController()
  onTestFinished(() => stopping.abort())
  const follow = (client: EngineReads = t.client) =>
    followEngine(
      client,
      {
        figures: ({ running }) => seen.running.push(running),
        alerts: (count) => seen.alerts.push(count),
        notices: (notices: AlertNotice[]) => seen.notices.push(...notices.map(({ title }) => title))
      },
      { clock: t.clock, signal: stopping.signal, onBroken: () => (seen.broken += 1) }
    )
  return { t, seen, stopping, follow, test: () => t.client.alertChannels.test({ id: channel.id }), channel }
}

test('notices from before the start are not shown, and later ones are shown once', async () => {
  const { t, seen, stopping, follow, test: tell } = await open()
  await tell()
  const following = follow()
  await t.until(async () => seen.alerts.length > 0)
  expect(seen.notices).toEqual([])
  await tell()
  await t.until(async () => seen.notices.length === 1)
  await tell()
  await t.until(async () => seen.notices.length === 2)
  await t.clock.advanceBy(60_000)
  expect(seen).toMatchObject({ notices: ['Test: Scrapdeck', 'Test: Scrapdeck'], broken: 0 })
  stopping.abort()
  await following
})

test('open alerts are counted as they fire and are acknowledged', async () => {
  const { t, seen, follow, channel } = await open()
  void follow()
  await t.client.alertRules.create({
    name: 'down',
    watch: 'node_down',
    comparison: 'at_least',
    threshold: 1,
    forSeconds: 0,
    severity: 'critical',
    channels: [channel.id],
    gatherSeconds: 0
  })
  t.node.isDown = true
  await t.until(async () => seen.alerts.at(-1) === 1 && seen.notices.length === 1)
  expect(seen.notices).toEqual(['Critical: berlin'])
  const { alerts } = await t.client.alerts.list({})
  await t.client.alerts.acknowledge({ ids: alerts.map(({ id }) => id) })
  await t.until(async () => seen.alerts.at(-1) === 0)
})

test('a broken connection is opened again, and notices of the meantime are shown then', async () => {
  const { t, seen, follow, test: tell } = await open()
  let isDown = false
  const cut = new Set<AbortController>()
  const client = {
    alerts: t.client.alerts,
    system: t.client.system,
    events: {
      subscribe: async (input: { after?: string }, options: { signal?: AbortSignal } = {}) => {
        if (isDown) throw new Error('nothing listens')
        const broken = new AbortController()
        cut.add(broken)
        const signals = [broken.signal, ...(options.signal ? [options.signal] : [])]
        return t.client.events.subscribe(input, { signal: AbortSignal.any(signals) })
      }
    }
  } as EngineReads
  void follow(client)
  await t.until(async () => seen.alerts.length > 0)
  isDown = true
  for (const one of cut) one.abort()
  await t.until(async () => seen.broken > 0)
  await tell()
  await t.clock.advanceBy(20_000)
  expect(seen.notices).toEqual([])
  isDown = false
  await t.until(async () => seen.notices.length === 1)
  await t.clock.advanceBy(20_000)
  expect(seen.notices).toHaveLength(1)
})

test('an engine that always has more notices is read in limited rounds, and blocks nothing else', async () => {
  const { t, seen, follow } = await open()
  let asked = 0
  const notice = {
    id: '1',
    atMs: 0,
    groupId: 'g',
    severity: null,
    title: 'spam',
    body: '',
    alertIds: [],
    retryJobIds: []
  }
  const client = {
    events: t.client.events,
    system: t.client.system,
    alerts: {
      list: t.client.alerts.list,
      notices: async () => {
        asked += 1
        if (asked > 1_000) throw new Error('asked without end')
        return { notices: [notice], after: `msg_1_${asked}` }
      }
    }
  } as unknown as EngineReads
  void follow(client)
  await t.until(async () => seen.alerts.length > 0)
  expect(asked).toBeLessThanOrEqual(50)
  expect(seen.broken).toBe(0)
})

test('a notice after many hidden messages is shown without waiting for another change', async () => {
  const { t, seen, follow } = await open()
  const pages = [
    { notices: [], after: '0' },
    { notices: [], after: 'msg_1_1' },
    {
      notices: [
        { id: '1', atMs: 0, groupId: 'g', severity: null, title: 'seen', body: '', alertIds: [], retryJobIds: [] }
      ],
      after: 'msg_1_2'
    }
  ]
  const client = {
    events: t.client.events,
    system: t.client.system,
    alerts: { list: t.client.alerts.list, notices: async () => pages.shift() ?? { notices: [], after: 'msg_1_2' } }
  } as unknown as EngineReads
  void follow(client)
  await t.until(async () => seen.alerts.length > 0)
  expect(seen.notices).toEqual(['seen'])
})
