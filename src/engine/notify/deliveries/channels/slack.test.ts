import fc from 'fast-check'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { aRunAlert, deliveryOf, harmless, hostileNews, NOW_MS, someNews } from '../../../testing/alert-news.ts'
import { aChannel, LINKS, openChannels, openChannelServer } from '../../../testing/channel-server.ts'
import { slackBlocks, slackMessage } from './slack.ts'

/** The blocks that we send, as docs.slack.dev/reference/block-kit defines them. Nothing else is allowed. */
const Plain = (most: number) =>
  z.strictObject({ type: z.literal('plain_text'), text: z.string().min(1).max(most), emoji: z.literal(false) })
const Element = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('text'),
    text: z.string().min(1).max(3_000),
    style: z.strictObject({ bold: z.literal(true) }).optional()
  }),
  z.strictObject({
    type: z.literal('date'),
    timestamp: z.number().int(),
    format: z.string(),
    fallback: z.string()
  }),
  z.strictObject({ type: z.literal('link'), url: z.url(), text: z.string() })
])
const Block = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('header'), text: Plain(150) }),
  z.strictObject({ type: z.literal('context'), elements: z.array(Plain(3_000)).min(1).max(10) }),
  z.strictObject({
    type: z.literal('rich_text'),
    elements: z.tuple([z.strictObject({ type: z.literal('rich_text_section'), elements: z.array(Element).min(1) })])
  }),
  z.strictObject({
    type: z.literal('actions'),
    elements: z.tuple([
      z.strictObject({ type: z.literal('button'), action_id: z.string(), text: Plain(75), url: z.url().max(3_000) })
    ])
  })
])
const Message = z.strictObject({
  text: z.string().max(4_000),
  blocks: z.array(Block).max(50),
  mrkdwn: z.literal(false),
  link_names: z.literal(false),
  unfurl_links: z.literal(false),
  unfurl_media: z.literal(false)
})

test('whatever alerts contain, a message keeps to the limits, and its text is in elements without markup', () => {
  fc.assert(
    fc.property(hostileNews(20), (news) => {
      const message = slackMessage(news, LINKS)
      expect(Message.safeParse(message).error).toBeUndefined()
      expect(message['text']).not.toMatch(/[<>]/)
      const texts = JSON.stringify(message['blocks']).match(/"text":"(?:[^"\\]|\\.)*"/g)!
      expect(texts.join('').length).toBeLessThan(13_000)
      const typesOf = (blocks: unknown) =>
        JSON.stringify(blocks)
          .match(/"type":"\w+"/g)!
          .slice(0, 3)
      expect(typesOf(slackBlocks(news, LINKS))).toEqual(typesOf(slackBlocks(harmless(news), LINKS)))
    })
  )
})

const TO_DO = expect.stringMatching(/^What to do: Open the job and compare its items with those of an earlier run\. /)

test('an alert has its subject, its text, its time in the zone of the reader, and its job', () => {
  const news = someNews({ firing: [aRunAlert()], severity: 'warning', title: 'shop/prices: 3 items' })
  expect(slackBlocks(news, LINKS)).toMatchObject([
    { type: 'header', text: { text: '🟠 Warning: shop/prices: 3 items' } },
    { type: 'context', elements: [{ text: 'Rule: Nodes are up' }, { text: 'Owner: crawl team' }, { text: TO_DO }] },
    {
      elements: [
        {
          elements: [
            { text: '🟠 ' },
            { text: 'shop/prices', style: { bold: true } },
            { text: '\nshop/prices: 3 items, at least 1,000 were expected\n' },
            { text: 'since ' },
            { type: 'date', timestamp: NOW_MS / 1000 - 720, fallback: '2026-11-28 10:37 UTC' },
            { text: ' · ' },
            { type: 'link', url: `https://deck.example.org/#/job/${'d'.repeat(32)}` }
          ]
        }
      ]
    },
    { type: 'actions', elements: [{ url: 'https://deck.example.org/#/alerts' }] }
  ])
  expect(JSON.stringify(slackBlocks(news, { base: null }))).not.toContain('http')
})

test('Slack gets the message; its refusals and its rate limit are reported', async () => {
  await using slack = await openChannelServer([
    { status: 200, body: 'ok' },
    { status: 429, headers: { 'retry-after': '30' } },
    { status: 400, body: 'invalid_blocks' },
    { status: 403, body: 'action_prohibited' },
    { status: 410, body: 'channel_is_archived' }
  ])
  const secret = `${slack.url}/services/T000/B000/hunter2`
  const channel = aChannel({ kind: 'slack' }, secret)
  const channels = openChannels()
  const send = () => channels.send(channel, deliveryOf(someNews()))
  expect(await send()).toMatchObject({ isGood: true, answer: '200' })
  expect(Message.safeParse(slack.seen[0]!.json).error).toBeUndefined()
  expect(slack.seen[0]).toMatchObject({ path: '/services/T000/B000/hunter2', method: 'POST' })
  expect(await send()).toMatchObject({ isGood: false, retryAfterSeconds: 30, isFinal: false })
  expect(await send()).toMatchObject({ isGood: false, answer: '400: invalid_blocks', isFinal: true })
  expect(await send()).toMatchObject({ isGood: false, answer: '403: action_prohibited', isFinal: false })
  expect(await send()).toMatchObject({ isGood: false, isGone: true })
})

test('a test shows both sides without the secret address, even if the service repeats it', async () => {
  await using slack = await openChannelServer((request) => ({ status: 404, body: `no_service ${request.path}` }))
  const secret = `${slack.url}/services/T000/B000/hunter2`
  const { ok, answer, conversation } = await openChannels().test(aChannel({ kind: 'slack' }, secret))
  expect(ok).toBe(false)
  expect(answer).toContain('404: no_service')
  expect(conversation).toEqual([
    expect.stringMatching(/^> POST http:\/\/127\.0\.0\.1:\d+\/… \(\d+ bytes\)$/),
    `< ${answer}`.replace(':', '')
  ])
  expect(JSON.stringify({ answer, conversation })).not.toContain('hunter2')
})

test('plain HTTP to a name, a private address and an invalid one are not connected to', async () => {
  const channels = openChannels()
  const answerOf = async (secret: string) =>
    (await channels.send(aChannel({ kind: 'slack' }, secret), deliveryOf(someNews()))).answer
  expect(await answerOf('http://hooks.slack.example/services/x')).toContain('must start with https')
  expect(await answerOf('https://10.0.0.1/services/x')).toContain('webhook_networks')
  expect(await answerOf('not an address')).toContain('not valid')
})
