import fc from 'fast-check'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { aRunAlert, deliveryOf, harmless, hostileNews, someNews } from '../../../testing/alert-news.ts'
import { aChannel, LINKS, openChannels, openChannelServer } from '../../../testing/channel-server.ts'
import { telegramText } from './telegram.ts'

/** core.telegram.org/bots/api#sendmessage */
const SendMessage = z.strictObject({
  chat_id: z.string(),
  text: z.string().min(1).max(4_096),
  parse_mode: z.literal('HTML'),
  link_preview_options: z.strictObject({ is_disabled: z.literal(true) })
})

const markupOf = (text: string) => text.match(/<[^>]*>/g)

test('whatever alerts contain, the text keeps to the limit, and has only our tags', () => {
  fc.assert(
    fc.property(hostileNews(3), (news) => {
      const text = telegramText(news, LINKS)
      expect(text.length).toBeLessThanOrEqual(4_096)
      // Outside our tags and entities, none of the three markup characters is left.
      expect(
        text.replaceAll(
          /<\/?(?:b|code)>|<a href="https:\/\/deck\.example\.org\/[#/\w]*">|<\/a>|&(?:amp|lt|gt|quot);/g,
          ''
        )
      ).not.toMatch(/[<>&]/)
      // Foreign mentions, commands and URLs appear only in code.
      expect(text.replaceAll(/<code>[^<]*<\/code>|<a href[^>]*>/g, '')).not.toMatch(/[@/](?!b>|a>)/)
      const shown = markupOf(text)!.length
      const calm = markupOf(telegramText(harmless(news), LINKS))!
      expect(markupOf(text)).toEqual(shown === calm.length ? calm : expect.anything())
    })
  )
  fc.assert(
    fc.property(hostileNews(20), (news) => telegramText(news, LINKS).length <= 4_096),
    { numRuns: 30 }
  )
})

// python-telegram-bot, telegram.constants.MAX_MESSAGE_ENTITIES: Telegram ignores any beyond this number.
test('a message has no more markup than Telegram parses, so that foreign text never becomes a mention', () => {
  const alerts = Array.from({ length: 20 }, () => aRunAlert({ subject: 's', text: 't' }))
  const news = someNews({ kind: 'repeat', firing: alerts, resolved: alerts, stillFiring: 3 })
  for (const links of [LINKS, { base: null }, { base: 'https://a' }]) {
    expect(telegramText(news, links).match(/<(?:b|code|a href[^>]*)>/g)!.length).toBeLessThanOrEqual(100)
  }
})

test('an alert has its subject, its text, its time and its job', () => {
  const resolved = aRunAlert({ resolvedAtMs: aRunAlert().firedAtMs + 720_000, text: 'a < b & c' })
  expect(telegramText(someNews({ resolved: [resolved], moreResolved: 2, owner: '' }), LINKS)).toBe(
    `🔴 <code>Critical: north is down: connection refused</code>

<b>Firing</b>
🔴 <code>north</code> since 2026-11-28 10:37 UTC
<code>north is down: connection refused</code>

<b>Resolved</b>
🟢 <code>shop/prices</code> resolved after 12 min · <a href="https://deck.example.org/#/job/${'d'.repeat(32)}">Open job</a>
<code>a &lt; b &amp; c</code>
and 2 more

Rule: <code>Nodes are up</code>
What to do: <code>Check that the node runs and that this machine can reach it. Cordon it while you work on it: then its alerts are not sent.</code>
<a href="https://deck.example.org/#/alerts">Open in Scrapdeck</a>`
  )
})

test('Telegram gets the message; its rate limit, a moved chat and other errors are reported', async () => {
  const refuse = (error_code: number, description: string, parameters = {}) => ({
    status: error_code,
    body: JSON.stringify({ ok: false, error_code, description, parameters })
  })
  await using telegram = await openChannelServer([
    { status: 200, body: '{"ok":true,"result":{"message_id":1}}' },
    refuse(429, 'Too Many Requests: retry after 17', { retry_after: 17 }),
    refuse(400, 'Bad Request: group chat was upgraded to a supergroup chat', { migrate_to_chat_id: -1001234567890 }),
    refuse(400, 'Bad Request: chat not found'),
    refuse(400, "Bad Request: can't parse entities: unsupported start tag"),
    refuse(403, 'Forbidden: bot was kicked from the group chat'),
    refuse(404, 'Not Found')
  ])
  const channels = openChannels({ seams: { telegramApi: telegram.url } })
  const channel = aChannel({ kind: 'telegram', chatId: '-1001' }, '123456:hunter2')
  const send = () => channels.send(channel, deliveryOf(someNews()))
  expect(await send()).toMatchObject({ isGood: true })
  expect(telegram.seen[0]!.path).toBe('/bot123456:hunter2/sendMessage')
  expect(SendMessage.parse(telegram.seen[0]!.json)).toMatchObject({ chat_id: '-1001' })
  expect(await send()).toMatchObject({ isGood: false, retryAfterSeconds: 17 })
  expect(await send()).toMatchObject({ isFinal: false, answer: expect.stringContaining('id -1001234567890: enter it') })
  expect(await send()).toMatchObject({ isFinal: false, answer: '400: Bad Request: chat not found' })
  expect(await send()).toMatchObject({ isFinal: true })
  expect(await send()).toMatchObject({ isFinal: false, isGone: false })
  const tried = await channels.test(channel)
  expect(tried).toMatchObject({ ok: false, answer: '404: Not Found' })
  expect(JSON.stringify(tried)).not.toContain('hunter2')
  expect(tried.conversation[0]).toContain('/bot…/sendMessage')
})
