import { expect, test } from 'vitest'
import type { AlertId } from '../../../../shared/contract/index.ts'
import { anAlert, aRunAlert, deliveryOf, NOW_MS, someNews } from '../../../testing/alert-news.ts'
import { aChannel, openChannels, openChannelServer } from '../../../testing/channel-server.ts'
import { asOfNow } from './late.ts'

const ended = (...ids: AlertId[]) => new Map(ids.map((id) => [id, NOW_MS]))
const [north, shop] = [anAlert(), aRunAlert()]

test('a late message shows ended alerts as ended, and the others unchanged', () => {
  const news = someNews({ kind: 'repeat', firing: [north, shop], title: `2 alerts: ${north.text}` })
  expect(asOfNow(news, ended())).toBe(news)
  expect(asOfNow(news, ended(north.id))).toMatchObject({
    kind: 'repeat',
    severity: 'warning',
    title: shop.text,
    firing: [shop],
    resolved: [{ ...north, resolvedAtMs: NOW_MS }]
  })
  expect(asOfNow(news, ended(north.id, shop.id))).toMatchObject({ kind: 'news', severity: 'critical', firing: [] })
})

test('no incident is opened if its message was delayed until its alert had ended', async () => {
  await using pager = await openChannelServer([{ status: 500 }, { status: 202 }])
  const channel = aChannel({ kind: 'pagerduty', url: `${pager.url}/v2/enqueue` }, 'a1b2c3d4'.repeat(4))
  const channels = openChannels({ readEnds: async () => ended(north.id) })
  const held = deliveryOf(someNews({ stillFiring: 1 }))
  await channels.send(channel, held)
  expect(await channels.send(channel, { ...held, tries: 1 })).toMatchObject({ isGood: true })
  expect(pager.seen.map(({ json }) => (json as { event_action: string }).event_action)).toEqual(['trigger', 'resolve'])
})
