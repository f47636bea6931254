import { ORPCError } from '@orpc/client'
import { expect, it } from 'vitest'
import { z } from 'zod'
import {
  Chain,
  ChainSettings,
  CrawlInput,
  JobFilter,
  JobId,
  NodeSettings,
  NodeTag,
  QueuePlace,
  RunItem,
  Schedule,
  ScheduleSettings,
  Webhook,
  WebhookSettings
} from './contract/index.ts'
import { wordsOfZodError } from './issue-words.ts'
import { toWireError } from './wire-errors.ts'

function refusalOf(schema: z.ZodType, input: unknown): string {
  const { error } = schema.safeParse(input)
  return toWireError(new ORPCError('BAD_REQUEST', { data: { issues: error!.issues } })).message
}

it('if several forms are accepted, the message is about the intended one', () => {
  expect(refusalOf(CrawlInput, { spider: 'a', interval: '12 parsecs' })).toContain(
    'interval: Write seconds, or a number followed by s, m, h or d: 30m'
  )
  expect(refusalOf(CrawlInput, { spider: 'a', interval: 0 })).toContain('interval: must be at least 1')
  expect(refusalOf(CrawlInput, { spider: 'a', schedule_at: '24.12.2026' })).toContain(
    'schedule_at: Write a time such as 2026-12-24T18:00:00+01:00, or milliseconds since 1970'
  )
  expect(refusalOf(CrawlInput, { spider: 'a', schedule_at: {} })).toMatch(/schedule_at: must be a number, or text$/)
  expect(refusalOf(CrawlInput, { spider: 'a', user_id: {} })).toContain('user_id: must be text, or a number')
  expect(refusalOf(JobFilter, { status: 'bogus' })).toContain('status: must be one of "queued", "starting"')
  expect(refusalOf(JobFilter, { status: ['queued', 'bogus'] })).toContain('status.1: must be one of "queued"')
  expect(refusalOf(QueuePlace, 'middle')).toContain('must be "front", or "back"')
})

it('a value with a known format is explained by that format, not by a regular expression', () => {
  expect(refusalOf(JobId, '019b')).toContain('A job id has 32 hexadecimal digits')
  const schedule = { name: 'a', zone: 'UTC', rules: [], excludedDates: ['25.12.'], jobs: [] }
  expect(refusalOf(ScheduleSettings, schedule)).toContain('excludedDates.0: Write a day as 2026-12-24')
})

it('the message does not repeat long input', () => {
  const name = 'x'.repeat(100_000)
  expect(refusalOf(CrawlInput, { spider: 'a', params: { [name]: {} } }).length).toBeLessThan(1_000)
})

it('a name with an invisible character is refused with that character; a stored one can still be listed', () => {
  const hidden = 'abc\u202egpj'
  const words = 'The name contains the invisible character U+202E'
  expect(refusalOf(ScheduleSettings.shape.name, hidden)).toContain(words)
  expect(refusalOf(ChainSettings.shape.name, hidden)).toContain(words)
  expect(refusalOf(WebhookSettings.shape.name, hidden)).toContain(words)
  expect(refusalOf(NodeSettings.shape.name, hidden)).toContain(words)
  expect(refusalOf(NodeSettings.shape.group, hidden)).toContain(words)
  expect(refusalOf(RunItem.shape.spider, hidden)).toContain(words)
  expect(refusalOf(NodeTag, hidden)).toContain('A tag must not contain invisible characters')
  for (const { shape } of [Schedule, Chain, Webhook]) expect(shape.name.safeParse(hidden).success).toBe(true)
})

it('no message uses the wording of zod', () => {
  const zods = /Too (small|big)|Invalid|expected|received|Unrecognized/
  for (const [schema, input] of [
    [ScheduleSettings, { zone: 'UTC', rules: [], jobs: [] }],
    [z.object({ limit: z.number().int().max(500) }), { limit: 501 }],
    [z.object({ limit: z.number().int() }), { limit: 1.5 }],
    [z.strictObject({}), { b: 1 }],
    [z.enum(['a', 'b']), undefined],
    [z.url(), 'c'],
    [z.record(z.string().regex(/^x$/), z.string()), { y: '' }],
    [z.union([z.string(), z.number()]), null],
    [z.number().refine((value) => value > 3), 1]
  ] as const) {
    expect(refusalOf(schema, input)).not.toMatch(zods)
  }
  expect(wordsOfZodError(z.object({ limits: z.array(z.number()) }).safeParse({ limits: ['1'] }).error!)).toBe(
    'limits.0 must be a number'
  )
})
