import { expect, test } from 'vitest'
import { explainReason } from './outcome-reasons.ts'

test.each([
  ['finished', 'finished'],
  ['memusage_exceeded', 'memusage_exceeded'],
  ['memory limit of 512 MB', 'memusage_exceeded'],
  ['progress limit of 10 min', 'cancelled (stalled)'],
  ['silence limit of 10 min', 'cancelled (stalled)'],
  ['wall time limit of 2 h', 'cancelled (24h limit)'],
  ['out of memory (MemoryError)', 'killed by oom'],
  ['exit code 1', 'failed'],
  ['errors above 10', null]
])('%s is explained, and called %s by Scrapy Cloud', (reason, zyte) => {
  expect(explainReason(reason)).toMatchObject({ zyte, label: expect.any(String), text: expect.stringMatching(/\.$/) })
})

test('a custom reason of a spider is left unchanged', () => {
  expect(explainReason('catalogue_empty')).toBeNull()
  expect(explainReason('finished early')).toBeNull()
})
