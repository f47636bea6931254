import { expect, test } from 'vitest'
import { keptBytesOfCutLog } from './cut-log.ts'
import { anAttemptNumber } from './testing/ids.ts'

const FIRST = anAttemptNumber(1)
const SECOND = anAttemptNumber(2)
const entry = (attemptNumber: typeof FIRST | null, evidence: Record<string, unknown>) => ({ attemptNumber, evidence })

test('a log is cut if the timeline of its attempt says how much of it was kept', () => {
  const timeline = [
    entry(null, {}),
    entry(FIRST, { logKeptBytes: 6 }),
    entry(FIRST, {}),
    entry(SECOND, { logBytes: 9 })
  ]
  expect(keptBytesOfCutLog(timeline, FIRST)).toBe(6)
  expect(keptBytesOfCutLog(timeline, SECOND)).toBeNull()
  expect(keptBytesOfCutLog(timeline, undefined)).toBeNull()
})

test('the log of a run that was lost, found again and kept whole is not cut', () => {
  const timeline = [entry(FIRST, { logKeptBytes: 6 }), entry(FIRST, { logBytes: 20 })]
  expect(keptBytesOfCutLog(timeline, FIRST)).toBeNull()
})

test('a log that was empty when its node died is known to have no kept bytes', () => {
  expect(keptBytesOfCutLog([entry(FIRST, { logBytes: null, logKeptBytes: 0 })], FIRST)).toBe(0)
})
