import fc from 'fast-check'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { aRunAlert, deliveryOf, hostileNews, someNews } from '../../../testing/alert-news.ts'
import { aChannel, LINKS, openChannels, openChannelServer } from '../../../testing/channel-server.ts'
import { teamsMessage } from './teams.ts'

/** The part of adaptivecards.io/schemas/1.4.0 that we use. Nothing else is allowed. */
const OpenUrl = { type: z.literal('Action.OpenUrl'), url: z.url() }
const TextRun = z.strictObject({
  type: z.literal('TextRun'),
  text: z.string().min(1),
  weight: z.literal('bolder').optional(),
  size: z.enum(['large', 'small']).optional(),
  color: z.enum(['default', 'attention', 'warning', 'accent', 'good']).optional(),
  isSubtle: z.boolean().optional(),
  selectAction: z.strictObject(OpenUrl).optional()
})
const Message = z.strictObject({
  type: z.literal('message'),
  attachments: z.tuple([
    z.strictObject({
      contentType: z.literal('application/vnd.microsoft.card.adaptive'),
      contentUrl: z.null(),
      content: z.strictObject({
        $schema: z.string(),
        type: z.literal('AdaptiveCard'),
        version: z.literal('1.4'),
        msteams: z.strictObject({ width: z.literal('Full') }),
        body: z.array(
          z.strictObject({
            type: z.literal('RichTextBlock'),
            spacing: z.enum(['default', 'none', 'medium']),
            inlines: z.array(TextRun).min(1)
          })
        ),
        actions: z.tuple([z.strictObject({ ...OpenUrl, title: z.string() })]).optional()
      })
    })
  ])
})

test('whatever alerts contain, a message keeps to the limit, and its text is in runs without markup', () => {
  fc.assert(
    fc.property(hostileNews(20), (news) => {
      const message = teamsMessage(news, LINKS)
      expect(Message.safeParse(message).error).toBeUndefined()
      const text = JSON.stringify(message)
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(28_000)
      expect(text).not.toMatch(/\{\{DATE|\$\{x|@\{x/)
    })
  )
})

test('of many long alerts in a three-byte script, as many are listed as fit', () => {
  const long = aRunAlert({ subject: '蜘'.repeat(90), text: '网'.repeat(390) })
  const message = teamsMessage(someNews({ firing: Array(20).fill(long), resolved: Array(20).fill(long) }), LINKS)
  const size = Buffer.byteLength(JSON.stringify(message))
  expect(size).toBeLessThanOrEqual(28_000)
  expect(size).toBeGreaterThan(24_000)
  expect(JSON.stringify(message)).toMatch(/and \d+ more/)
})

test('Teams gets the message; a response 200 that contains an error counts as one', async () => {
  await using teams = await openChannelServer([
    { status: 202 },
    { status: 200, body: '1' },
    {
      status: 200,
      body: 'Webhook message delivery failed with error: Microsoft Teams endpoint returned HTTP error 429'
    },
    { status: 429, headers: { 'retry-after': '5' } },
    { status: 502, body: '<html><body>Bad gateway</body></html>' }
  ])
  const channels = openChannels()
  const channel = aChannel({ kind: 'teams' }, `${teams.url}/workflows/abc/triggers/manual/paths/invoke?sig=hunter2`)
  const send = () => channels.send(channel, deliveryOf(someNews()))
  expect(await send()).toMatchObject({ isGood: true, answer: '202' })
  Message.parse(teams.seen[0]!.json)
  expect(await send()).toMatchObject({ isGood: true })
  expect(await send()).toMatchObject({ isGood: false, answer: expect.stringContaining('HTTP error 429') })
  expect(await send()).toMatchObject({ isGood: false, retryAfterSeconds: 5 })
  expect(await send()).toMatchObject({ isGood: false, answer: '502' })
})
