import { expect, it } from 'vitest'
import { previewTimes } from './run-when-form.ts'

const cron = (expression: string) => ({ kind: 'cron' as const, zone: 'UTC', expression, name: '' })

it('previews nothing for an invalid expression', () => {
  expect(previewTimes(cron('61 * * * *'), 0)).toBeNull()
})

it('previews the next runs', () => {
  const nowMs = Date.parse('2026-11-24T12:00:00Z')
  expect(
    previewTimes(cron('30 3 * * *'), nowMs)?.next.map((atMs) => new Date(atMs).toISOString().slice(0, 16))
  ).toEqual(['2026-11-25T03:30', '2026-11-26T03:30', '2026-11-27T03:30'])
})
