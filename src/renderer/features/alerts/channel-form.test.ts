import { expect, it } from 'vitest'
import type { AlertChannel } from '../../../shared/contract/index.ts'
import { aWebhookId, branded } from '../../../shared/testing/ids.ts'
import { problemsOf } from '../../ui/fields/form-of-schema.ts'
import { channelForm, type ChannelTexts, PAGERDUTY_URL, startChannel } from './channel-form.ts'

const read = (over: Partial<ChannelTexts>, hasSecret = false) =>
  channelForm(hasSecret).safeParse({ ...startChannel(null, 'UTC'), ...over })
const problems = (over: Partial<ChannelTexts>, hasSecret = false) =>
  Object.fromEntries(problemsOf(read(over, hasSecret)))
const mail = { to: ['ops@example.net'], from: 'deck@example.net', host: 'mail.example.net' }

it('has the fields of its kind, and suggests a name', () => {
  expect(read({ kind: 'email', ...mail, secret: ' pass ' }).data).toEqual({
    settings: {
      name: 'ops@example.net',
      enabled: true,
      quiet: null,
      digest: null,
      messagesPerHour: 60,
      projects: [],
      target: { kind: 'email', ...mail, port: 587, security: 'starttls', username: '' }
    },
    secret: 'pass'
  })
  expect(read({ kind: 'pagerduty', secret: 'key' }).data?.settings).toMatchObject({
    name: 'PagerDuty',
    target: { kind: 'pagerduty', url: PAGERDUTY_URL }
  })
  expect(read({ kind: 'webhook', url: 'https://in.example.net/x' }).data?.settings.name).toBe('in.example.net')
})

it('reports problems at the fields: of the target, of quiet hours, of a missing secret', () => {
  expect(problems({ kind: 'email' })).toMatchObject({ to: 'Choose at least one', host: 'Required' })
  expect(problems({ kind: 'email', ...mail, port: 99_999 })).toEqual({ port: 'Up to 65,535' })
  expect(problems({ kind: 'webhook', url: 'example.net' })).toHaveProperty('url')
  expect(problems({ kind: 'slack' })).toEqual({ secret: 'Required' })
  expect(problems({ kind: 'slack' }, true)).toEqual({})
  const quiet = { kind: 'desktop' as const, hasQuiet: true }
  expect(problems({ ...quiet, quietFrom: '25:00' })).toEqual({ quietFrom: 'Write a time of day as 22:00' })
  expect(problems({ ...quiet, quietDays: [] })).toEqual({ quietDays: 'Choose at least one' })
})

it('has a report each day or week for kinds that people read, with problems at its fields', () => {
  const digest = { digestEvery: 'day' as const, digestAt: '07:15' }
  expect(read({ kind: 'slack', ...digest }, true).data?.settings.digest).toEqual({
    every: 'day',
    at: '07:15',
    zone: 'UTC',
    weekday: 1
  })
  expect(read({ kind: 'desktop', ...digest }).data?.settings.digest).toBeNull()
  expect(problems({ kind: 'slack', ...digest, digestAt: '' }, true)).toEqual({
    digestAt: 'Write a time of day as 08:00'
  })
  expect(problems({ kind: 'slack', ...digest, digestZone: '' }, true)).toHaveProperty('digestZone')
})

it('has a limit if it is new, and none if the field is empty', () => {
  const limitOf = (messagesPerHour: ChannelTexts['messagesPerHour']) =>
    read({ kind: 'desktop', messagesPerHour }).data?.settings.messagesPerHour
  expect([limitOf('12'), limitOf(12), limitOf('')]).toEqual([12, 12, null])
  expect(problems({ kind: 'desktop', messagesPerHour: 0 })).toEqual({ messagesPerHour: 'At least 1' })
  expect(problems({ kind: 'desktop', messagesPerHour: '1.5' })).toHaveProperty('messagesPerHour')
})

it('a channel in the form gives the same channel again, without its secret', () => {
  const channel: AlertChannel = {
    id: aWebhookId('a'),
    name: 'chat',
    enabled: false,
    target: { kind: 'telegram', chatId: '-100' },
    quiet: { zone: 'Europe/Berlin', from: '22:00', until: '07:00', days: [1, 2] },
    digest: { every: 'week', at: '08:30', zone: 'Europe/Berlin', weekday: 5 },
    messagesPerHour: 5,
    createdAtMs: 0,
    hasSecret: true,
    lastDeliveredAtMs: null,
    waiting: 0,
    dead: 0,
    held: null,
    problem: null,
    projects: branded(['shop'])
  }
  const { settings, secret } = channelForm(true).parse(startChannel(channel, 'UTC'))
  expect(secret).toBeUndefined()
  expect(channel).toMatchObject(settings)
})
