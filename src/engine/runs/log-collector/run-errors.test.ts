import { expect, test } from 'vitest'
import type { LoggedError } from '../log-parser/error-record.ts'
import { RunErrors } from './run-errors.ts'

const cancelled = (line: number): LoggedError => ({
  level: 'ERROR',
  logger: 'scrapy.core.scraper',
  message: 'Error downloading',
  atMs: line,
  offset: line,
  line,
  exceptions: [{ type: 'twisted.internet.defer.CancelledError', value: '', frames: [], depth: 0 }]
})

test('interruptions of a run that we did not stop are all counted at its end, and none before', () => {
  const errors = new RunErrors()
  for (let line = 1; line <= 5_000; line += 1) errors.add([cancelled(line)])
  expect(errors.hasChanged).toBe(false)
  errors.addInterruptions()
  expect(errors.takeChanged()).toMatchObject([{ count: 5_000, firstAtMs: 1, lastAtMs: 5_000 }])
  errors.addInterruptions()
  expect(errors.hasChanged).toBe(false)
})
