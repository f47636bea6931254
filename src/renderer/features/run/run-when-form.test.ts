import { expect, it } from 'vitest'
import type { RunInput } from '../../../shared/contract/index.ts'
import { lookAhead, readSchedule, startWhen } from './run-when-form.ts'

const run: RunInput = { project: 'prices', spiders: ['otto', 'zalando'], args: { page: '2' }, priority: 3 }
const cron = (expression: string, name = '') => ({
  ...startWhen(''),
  kind: 'cron' as const,
  zone: 'UTC',
  expression,
  name
})

it('begins with now, or with the time that it was opened with', () => {
  expect(startWhen('').kind).toBe('now')
  expect(startWhen('2026-11-21T14:00').kind).toBe('at')
})

it('makes a schedule of what would be run', () => {
  expect(readSchedule(cron('0 3 * * *'), run)).toMatchObject({
    settings: {
      name: 'otto, zalando of prices',
      zone: 'UTC',
      rules: [{ kind: 'cron', expression: '0 3 * * *' }],
      jobs: [{ project: 'prices', spiders: ['otto', 'zalando'], args: { page: '2' }, priority: 3 }]
    }
  })
  expect(readSchedule(cron('@daily', 'nightly'), run)).toMatchObject({ settings: { name: 'nightly' } })
})

it('says what is wrong with an expression', () => {
  expect(readSchedule(cron(' '), run)).toMatchObject({ missing: expect.stringContaining('0 3 * * *') })
  expect(readSchedule(cron('61 * * * *'), run)).toHaveProperty('missing')
  expect(lookAhead(cron('61 * * * *'), 0)).toBeNull()
})

it('looks ahead', () => {
  const nowMs = Date.parse('2026-11-24T12:00:00Z')
  expect(lookAhead(cron('30 3 * * *'), nowMs)?.next.map((atMs) => new Date(atMs).toISOString().slice(0, 16))).toEqual([
    '2026-11-25T03:30',
    '2026-11-26T03:30',
    '2026-11-27T03:30'
  ])
})
