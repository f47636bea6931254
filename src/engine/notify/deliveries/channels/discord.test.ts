import fc from 'fast-check'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { ALERT_WATCH_NAMES } from '../../../../shared/alert-watches.ts'
import { stateOf } from '../../../monitoring/health/channel-problems.ts'
import { aRunAlert, deliveryOf, hostileNews, NOW_MS, someNews } from '../../../testing/alert-news.ts'
import { aChannel, LINKS, openChannels, openChannelServer } from '../../../testing/channel-server.ts'
import { discordMessage } from './discord.ts'

/** discord.com/developers/docs/resources/webhook#execute-webhook and resources/message#embed-object-embed-limits */
const Embed = z.strictObject({
  title: z.string().max(256),
  url: z.url().optional(),
  color: z.number().int().max(0xffffff),
  description: z.string().max(4_096),
  fields: z
    .array(
      z.strictObject({ name: z.string().min(1).max(256), value: z.string().min(1).max(1_024), inline: z.boolean() })
    )
    .max(25)
    .optional()
})
const Message = z.strictObject({
  content: z.string().min(1).max(2_000),
  embeds: z.array(Embed).min(1).max(10),
  allowed_mentions: z.strictObject({ parse: z.tuple([]) })
})

/** The text without escapes and our own markup. */
const foreign = (text: string) =>
  text
    .replaceAll(/^and \d+ more$/gm, '')
    .replaceAll(/ · <t:\d+:R>| · \[Open job\]\(<https:\/\/deck\.example\.org\/#\/job\/\w+>\)/g, '')
    .replaceAll(/(?<=^\S+ )\*\*|\*\*$/gm, '')
    .replaceAll(/\\[!-/:-@[-`{-~]/g, '')

test('whatever alerts contain, a message keeps to the limits, pings no one and has only our markup', () => {
  fc.assert(
    fc.property(hostileNews(20), (news) => {
      const { content, embeds, allowed_mentions } = Message.parse(discordMessage(news, LINKS))
      expect(allowed_mentions).toEqual({ parse: [] })
      const texts = embeds.flatMap(({ title, description, fields = [] }) => [
        ...[title, description],
        ...fields.flatMap(({ name, value }) => [name, value])
      ])
      expect(texts.join('').length).toBeLessThanOrEqual(6_000)
      for (const text of [content, ...texts]) expect(foreign(text)).not.toMatch(/[!-/:-@[-`{-~]/)
    })
  )
})

test('a full message keeps to the limits of Discord', () => {
  const signs = '*'.repeat(400)
  const full = ALERT_WATCH_NAMES.map((watch) => {
    const alert = aRunAlert({ watch, subject: signs, text: signs })
    const alerts = { firing: Array(20).fill(alert), resolved: Array(20).fill({ ...alert, resolvedAtMs: NOW_MS }) }
    const counts = { moreFiring: 999, moreResolved: 999, stillFiring: 9_999 }
    const news = someNews({ ...alerts, ...counts, kind: 'repeat', ruleName: signs, owner: signs })
    const { embeds } = Message.parse(discordMessage(news, LINKS))
    const fields = embeds.flatMap((embed) => embed.fields ?? []).flatMap(({ name, value }) => [name, value])
    return [...embeds.flatMap(({ title, description }) => [title, description]), ...fields].join('').length
  })
  expect(Math.max(...full)).toBeGreaterThan(5_000)
  expect(Math.max(...full)).toBeLessThanOrEqual(6_000)
})

test('an alert has its subject, its text, how long ago it was, and its job', () => {
  const resolved = aRunAlert({ resolvedAtMs: aRunAlert().firedAtMs + 1_000 })
  const { content, embeds } = discordMessage(someNews({ resolved: [resolved], stillFiring: 2 }), LINKS)
  expect(content).toBe(String.raw`🔴 Critical\: north is down\: connection refused`)
  expect(embeds).toMatchObject([
    {
      title: 'Firing',
      description: String.raw`🔴 **north** · <t:1795862220:R>
north is down\: connection refused`,
      fields: [
        ...[{ value: 'Nodes are up' }, { value: 'crawl team' }, { value: '2 reported earlier', inline: true }],
        { name: 'What to do', value: expect.stringMatching(/^Check that the node runs/), inline: false }
      ]
    },
    { title: 'Resolved', description: expect.stringContaining(`[Open job](<https://deck.example.org/#/job/ddd`) }
  ])
})

test('Discord gets the message and confirms it; rate limits and deleted webhooks are reported', async () => {
  await using discord = await openChannelServer([
    { status: 200, body: '{"id":"1"}' },
    {
      status: 429,
      headers: { 'retry-after': '1' },
      body: '{"message":"You are being rate limited.","retry_after":64.57,"global":false}'
    },
    { status: 404, body: '{"message":"Unknown Webhook","code":10015}' },
    { status: 404, body: '{"message":"Unknown Channel","code":10003}' }
  ])
  const channels = openChannels()
  const channel = aChannel({ kind: 'discord' }, `${discord.url}/api/webhooks/1/hunter2?thread_id=7`)
  const send = () => channels.send(channel, deliveryOf(someNews()))
  expect(await send()).toMatchObject({ isGood: true })
  expect(discord.seen[0]!.path).toBe('/api/webhooks/1/hunter2?thread_id=7&wait=true')
  Message.parse(discord.seen[0]!.json)
  expect(await send()).toMatchObject({ isGood: false, retryAfterSeconds: 65 })
  const gone = await send()
  expect(gone).toMatchObject({ isGood: false, isGone: true, answer: expect.stringContaining('Discord') })
  // Otherwise, the channel would be turned off silently.
  const stored = { enabled: false, problem: gone.answer, lastDeliveredAtMs: null }
  expect(stateOf(stored, null, null, NOW_MS)).toMatchObject({ state: 'gone' })
  expect(await send()).toMatchObject({ isGood: false, isGone: false })
})
