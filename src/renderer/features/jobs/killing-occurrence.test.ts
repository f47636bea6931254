import { expect, test } from 'vitest'
import type { ErrorOccurrence } from '../../../shared/contract/index.ts'
import { occurrenceOf } from './last-error.tsx'

const error = (line: number, over: Partial<ErrorOccurrence> & { exceptionType?: string } = {}) => {
  const { exceptionType = null, ...rest } = over
  const occurrence = { attemptNumber: 1, line, lastSeenMs: line, message: `message ${line}`, ...rest }
  return { group: { exceptionType }, occurrence: occurrence as ErrorOccurrence }
}
const lineOf = (killing: string, ...errors: ReturnType<typeof error>[]) => occurrenceOf(killing, errors)?.line ?? null

test.each([
  ['with its text', 'no price', [error(3), error(5, { message: 'Spider: no price' }), error(7)], 5],
  [
    'the newest with its exception',
    "KeyError: 'price'",
    [3, 9, 5].map((at) => error(at, { exceptionType: 'KeyError' })),
    9
  ],
  ['whose exception has a module', 'twisted.TimeoutError: 5', [error(3, { exceptionType: 'x.y.TimeoutError' })], 3],
  [
    'of the last attempt',
    'no price',
    [error(3, { message: 'no price' }), error(5, { attemptNumber: 2 as never })],
    null
  ],
  ['unless there is none', 'no price', [], null]
] as const)('the fatal line of a job belongs to the error %s', (_what, killing, errors, line) => {
  expect(lineOf(killing, ...errors)).toBe(line)
})
