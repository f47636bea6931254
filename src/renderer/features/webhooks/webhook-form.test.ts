import { expect, it } from 'vitest'
import { WebhookEvent } from '../../../shared/contract/index.ts'
import { EVENT_GROUPS, eventWords, problemWords, readWebhook, startWebhook } from './webhook-form.ts'

const form = (over: object) => ({ ...startWebhook(null), url: 'https://hooks.example.net/in', ...over })

it('offers each event that there is, once', () => {
  expect(EVENT_GROUPS.flatMap(({ events }) => events.map(({ value }) => value)).sort()).toEqual(
    [...WebhookEvent.options].sort()
  )
})

it('is called after its host where it has no name', () => {
  expect(readWebhook(form({ name: ' ' }))).toMatchObject({ settings: { name: 'hooks.example.net', project: null } })
})

it('says what is missing', () => {
  const missing = (over: object) => (readWebhook(form(over)) as { missing: string }).missing
  expect(missing({ url: '' })).toBe('Say where to send')
  expect(missing({ url: 'ftp://x' })).toMatch(/https/)
  expect(missing({ url: 'hooks' })).toMatch(/https/)
  expect(missing({ url: 'https://me:secret@x.net' })).toMatch(/No passwords/)
  expect(missing({ events: [] })).toBe('Choose at least one event')
})

it('tells in a line what it is told of', () => {
  expect(eventWords({ events: ['job.ended', 'schedule.missed', 'job.queued'], project: 'prices' })).toBe(
    'jobs queued, ended · schedules missed a run · only of prices'
  )
})

it('tells a bare status in words', () => {
  expect(problemWords({ problem: '503', enabled: true })).toBe('It answered 503.')
  expect(problemWords({ problem: '410', enabled: false })).toMatch(/switched off/)
  expect(problemWords({ problem: 'nothing listens on 127.0.0.1:9', enabled: true })).toMatch(/^nothing listens/)
})
