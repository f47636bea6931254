import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { deliveryOf, someNews } from '../../../testing/alert-news.ts'
import { aChannel, openBox, openChannels, openChannelServer } from '../../../testing/channel-server.ts'
import { plain } from '../../../../shared/texts/message.ts'
import { newsIn } from './message.ts'
import { titleOf } from './words.ts'

test('a webhook gets the recorded body with the type alert and a signature', async () => {
  await using receiver = await openChannelServer([{ status: 204 }, { status: 410 }, { status: 204 }])
  const key = Buffer.alloc(32, 7).toString('base64')
  const channel = aChannel({ kind: 'webhook', url: `${receiver.url}/hook?a=b` }, `whsec_${key}`)
  const channels = openChannels()
  const delivery = deliveryOf(someNews())
  expect(await channels.send(channel, delivery)).toMatchObject({ isGood: true, answer: '204' })
  const [{ body, headers, path }] = receiver.seen as [(typeof receiver.seen)[0]]
  expect({ body, path }).toEqual({ body: delivery.body, path: '/hook?a=b' })
  expect(JSON.parse(body)).toMatchObject({ type: 'alert', data: { title: 'north is down: connection refused' } })
  const signed = `${headers['webhook-id'] as string}.${headers['webhook-timestamp'] as string}.${body}`
  const signature = createHmac('sha256', Buffer.from(key, 'base64')).update(signed).digest('base64')
  expect(headers['webhook-signature']).toBe(`v1,${signature}`)
  expect(headers['webhook-id']).toBe(delivery.id)
  expect(await channels.send(channel, delivery)).toMatchObject({ isGood: false, isGone: true })
  const tried = await channels.test(channel)
  expect(tried).toMatchObject({ ok: true, conversation: [expect.stringContaining('signed'), '< 204'] })
  expect(newsIn(receiver.seen[2]!.body)).toMatchObject({ kind: 'test' })
  expect(JSON.stringify(tried)).not.toContain(key)
})

test('messages of one channel are sent one after another, and those of others meanwhile', async () => {
  const began: string[] = []
  const open: (() => void)[] = []
  const channels = openChannels({
    post: async ({ url }) => {
      began.push(url.slice(-3))
      await new Promise<void>((resolve) => open.push(resolve))
      return { kind: 'status', status: 200, retryAfterSeconds: null }
    }
  })
  const one = aChannel({ kind: 'slack' }, 'https://hooks.example/one')
  const other = { ...aChannel({ kind: 'slack' }, 'https://hooks.example/two'), id: 'other' as typeof one.id }
  const all = [one, one, other].map((channel) => channels.send(channel, deliveryOf(someNews())))
  await expect.poll(() => began).toEqual(['one', 'two'])
  open.splice(0).forEach((end) => end())
  await expect.poll(() => began).toEqual(['one', 'two', 'one'])
  open.splice(0).forEach((end) => end())
  expect(await Promise.all(all)).toHaveLength(3)
})

test('a message that the app shows itself counts as delivered', async () => {
  const channel = aChannel({ kind: 'desktop' })
  expect(await openChannels().send(channel, deliveryOf(someNews()))).toMatchObject({ isGood: true })
  expect(await openChannels().test(channel)).toEqual({ ok: true, answer: 'shown in the app', conversation: [] })
})

test('a secret that was encrypted with another key, or an invalid body, gives a failed result and no exception', async () => {
  const locked = { ...openBox, open: () => Promise.reject(new Error('bad decrypt of hunter2')) }
  const channel = aChannel({ kind: 'telegram', chatId: '1' }, 'hunter2')
  const sealed = await openChannels({ secretBox: locked }).send(channel, deliveryOf(someNews()))
  expect(sealed).toEqual({ isGood: false, answer: expect.stringContaining('enter it again') })
  const broken = deliveryOf(someNews(), { body: '{"hunter2' })
  expect(await openChannels().send(channel, broken)).toEqual({ isGood: false, answer: 'sending failed (SyntaxError)' })
})

test('a long title is cut between characters: half of one would be invalid, and strict receivers refuse the whole JSON', () => {
  expect(titleOf(1, plain('🕷'.repeat(150))).title.isWellFormed()).toBe(true)
})
