import fc from 'fast-check'
import { expect, test } from 'vitest'
import { z } from 'zod'
import type { AlertId } from '../../../../shared/contract/index.ts'
import { anAlert, aRunAlert, deliveryOf, hostileNews, NOW_MS, someNews } from '../../../testing/alert-news.ts'
import { aChannel, LINKS, openChannels, openChannelServer } from '../../../testing/channel-server.ts'
import { pagerDutyEvents } from './pagerduty.ts'

/** github.com/PagerDuty/api-schema, reference/events-v2/openapiv3.json */
const Event = z.strictObject({
  routing_key: z.string().length(32),
  event_action: z.enum(['trigger', 'resolve']),
  dedup_key: z.string().min(1).max(255),
  payload: z
    .strictObject({
      summary: z.string().min(1).max(1_024),
      source: z.string().min(1),
      severity: z.enum(['critical', 'warning', 'error', 'info']),
      timestamp: z.iso.datetime().optional(),
      component: z.string().optional(),
      group: z.string().optional(),
      class: z.string().optional(),
      custom_details: z.record(z.string(), z.unknown())
    })
    .optional(),
  client: z.string().optional(),
  client_url: z.url().optional(),
  links: z.array(z.strictObject({ href: z.url(), text: z.string() })).optional()
})
const KEY = 'a1b2c3d4'.repeat(4)
const ACCEPTED = { status: 202, body: '{"status":"success","message":"Event processed","dedup_key":"x"}' }

test('whatever alerts contain, each event is as PagerDuty documents it', () => {
  fc.assert(
    fc.property(hostileNews(5), (news) => {
      for (const event of pagerDutyEvents(news, LINKS)) {
        const result = Event.safeParse({ routing_key: KEY, ...event })
        expect(result.error).toBeUndefined()
        expect(event.event_action === 'trigger').toBe(event.payload !== undefined)
      }
    })
  )
})

const open = async (answers: Parameters<typeof openChannelServer>[0]) => {
  const server = await openChannelServer(answers)
  const channel = aChannel({ kind: 'pagerduty', url: `${server.url}/v2/enqueue` }, KEY)
  const channels = openChannels()
  const sent = () =>
    server.seen.map(({ json }) => {
      const { event_action, dedup_key } = Event.parse(json)
      return `${event_action} ${dedup_key.slice(0, 3)}`
    })
  return { ...server, channel, channels, sent }
}

test('each alert is an incident of its own, and ends as one', async () => {
  await using pager = await open(() => ACCEPTED)
  const ended = aRunAlert({ resolvedAtMs: NOW_MS })
  const news = someNews({ firing: [anAlert()], resolved: [ended] })
  expect(await pager.channels.send(pager.channel, deliveryOf(news))).toMatchObject({ isGood: true, answer: '202' })
  expect(pager.sent()).toEqual(['trigger aaa', 'resolve ccc'])
  expect(pager.seen[0]!.json).toMatchObject({
    payload: { summary: 'north is down: connection refused', source: 'north', severity: 'critical', class: 'node_down' }
  })
})

test('a message that failed halfway is sent again with the same keys, so that nothing counts twice', async () => {
  const answers = [ACCEPTED, { status: 429, headers: { 'retry-after': '9' } }, ACCEPTED, ACCEPTED]
  await using pager = await open(answers)
  const other = anAlert({ id: '9'.repeat(32) as AlertId })
  const delivery = deliveryOf(someNews({ firing: [anAlert(), other] }))
  expect(await pager.channels.send(pager.channel, delivery)).toMatchObject({ isGood: false, retryAfterSeconds: 9 })
  expect(await pager.channels.send(pager.channel, delivery)).toMatchObject({ isGood: true })
  expect(pager.sent()).toEqual(['trigger aaa', 'trigger 999', 'trigger aaa', 'trigger 999'])
})

test('alerts beyond those listed share an incident until the group is quiet', () => {
  const more = pagerDutyEvents(someNews({ moreFiring: 7 }), LINKS)
  const quiet = pagerDutyEvents(someNews({ firing: [], resolved: [anAlert({ resolvedAtMs: NOW_MS })] }), LINKS)
  expect(more[1]).toMatchObject({ event_action: 'trigger', payload: { summary: '7 more alerts from Nodes are up' } })
  expect(quiet[1]).toEqual({ event_action: 'resolve', dedup_key: more[1]!.dedup_key })
  expect(pagerDutyEvents(someNews({ firing: [], resolved: [anAlert()], stillFiring: 3 }), LINKS)).toHaveLength(1)
})

test('a test opens and resolves an incident; a wrong key is reported and not shown', async () => {
  const refusal = {
    status: 'invalid event',
    message: 'Event object is invalid',
    errors: [`'routing_key' ${KEY} is unknown`]
  }
  const answers = [ACCEPTED, ACCEPTED, { status: 400, body: JSON.stringify(refusal) }]
  await using pager = await open(answers)
  expect(await pager.channels.test(pager.channel)).toMatchObject({ ok: true })
  expect(pager.sent()).toEqual(['trigger tes', 'resolve tes'])
  const wrong = await pager.channels.test(pager.channel)
  expect(wrong).toMatchObject({ ok: false, answer: expect.stringContaining('Event object is invalid') })
  expect(JSON.stringify(wrong)).not.toContain(KEY)
})
