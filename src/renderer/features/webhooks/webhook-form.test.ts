import { expect, it } from 'vitest'
import { WebhookEvent } from '../../../shared/contract/index.ts'
import { aProjectName } from '../../../shared/testing/ids.ts'
import { problemsOf } from '../../ui/fields/form-of-schema.ts'
import { EVENT_GROUPS, eventWords, problemWords, startWebhook, WebhookForm } from './webhook-form.ts'

const form = (over: object) => ({ ...startWebhook(null), url: 'https://hooks.example.net/in', ...over })

it('offers each existing event once', () => {
  expect(EVENT_GROUPS.flatMap(({ events }) => events.map(({ value }) => value)).sort()).toEqual(
    [...WebhookEvent.options].sort()
  )
})

it('is named after its host if it has no name', () => {
  expect(WebhookForm.parse(form({ name: ' ' }))).toMatchObject({ name: 'hooks.example.net', project: null })
})

it('shows problems at their fields', () => {
  const problem = (over: object) => [...problemsOf(WebhookForm.safeParse(form(over)))]
  expect(problem({ url: '', events: [] })).toEqual([
    ['url', 'Enter a URL'],
    ['events', 'Choose at least one event']
  ])
  for (const url of ['ftp://x', 'hooks']) expect(problem({ url })).toEqual([['url', expect.stringContaining('https')]])
  expect(problem({ url: 'https://me:secret@x.net' })).toEqual([['url', expect.stringContaining('credentials')]])
})

it('summarises its events in a line', () => {
  expect(eventWords({ events: ['job.ended', 'schedule.missed', 'job.queued'], project: aProjectName('prices') })).toBe(
    'jobs queued, ended · schedules missed run · project prices'
  )
})

it('explains a bare status code', () => {
  expect(problemWords({ problem: '503', enabled: true })).toBe('The receiver returned 503.')
  expect(problemWords({ problem: '410', enabled: false })).toMatch(/turned off/)
  expect(problemWords({ problem: 'nothing listens on 127.0.0.1:9', enabled: true })).toMatch(/^nothing listens/)
})
