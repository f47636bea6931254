import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createLogParser } from './log-parser.ts'
import { timesAheadMs, toStoredFigures } from './stored-figures.ts'

test('stored figures are small, and include everything that is not zero or unknown', () => {
  const parser = createLogParser()
  parser.push(readFileSync(join(import.meta.dirname, '..', '..', 'jobs', 'outcome', 'samples', 'finished.log')))
  parser.end()
  const figures = parser.figures()
  const kept = toStoredFigures(figures)
  expect(kept).toMatchObject({ pages: figures.pages, items: figures.items, finishReason: 'finished' })
  expect(kept).not.toHaveProperty('stats')
  expect(JSON.stringify(kept).length).toBeLessThan(2_500)
})

test('a format is stored if it is not that of Scrapy', () => {
  const figures = createLogParser().figures()
  expect(toStoredFigures({ ...figures, format: { kind: 'json' } })).toHaveProperty('format', { kind: 'json' })
  expect(toStoredFigures({ ...figures, format: { kind: 'scrapy' } })).not.toHaveProperty('format')
})

test('zero pages are stored, unknown pages are not', () => {
  const none = toStoredFigures({ ...createLogParser().figures(), pages: 0, items: null })
  expect(none).toHaveProperty('pages', 0)
  expect(none).not.toHaveProperty('items')
})

test.each([
  ['the zone that the log names', { firstAtMs: 3_600_000, zoneMinutes: 60 }, 5, 3_600_000],
  [
    'what lies between the start and the first line, in quarters',
    { firstAtMs: 7_203_000, zoneMinutes: null },
    1_000,
    7_200_000
  ],
  ['nothing, if nobody saw the start', { firstAtMs: 7_203_000, zoneMinutes: null }, null, 0]
])('a log is ahead of our clock by %s', (_what, figures, startedAtMs, aheadMs) => {
  expect(timesAheadMs(figures, startedAtMs)).toBe(aheadMs)
})
