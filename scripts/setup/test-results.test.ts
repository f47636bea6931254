import { expect, test } from 'vitest'
import { inRoot } from './platform.mjs'
import { resultOf, skipped, sums, table, triedAgain, withRetriesFailed } from './test-results.mjs'

const ofVitest = resultOf({
  numPassedTests: 3,
  numFailedTests: 1,
  testResults: [
    {
      name: inRoot('src', 'a.test.ts'),
      startTime: 1_000,
      endTime: 1_500,
      assertionResults: [
        { fullName: 'a node is polled', status: 'passed', failureMessages: ['Error: too slow\n at x'] }
      ]
    },
    {
      name: inRoot('src', 'b.test.ts'),
      startTime: 1_000,
      endTime: 3_000,
      assertionResults: [
        { fullName: 'a job is sent', status: 'passed', failureMessages: [] },
        { fullName: 'a job is sent over SSH', status: 'skipped', failureMessages: [] },
        { fullName: 'a job is cancelled', status: 'failed', failureMessages: ['Error: no', 'Error: no'] }
      ]
    }
  ]
})
const ofPlaywright = resultOf({
  stats: { expected: 4, flaky: 1, unexpected: 0 },
  suites: [
    {
      file: 'browser/queue.spec.ts',
      specs: [
        {
          title: 'a queue',
          tests: [
            {
              status: 'flaky',
              results: [{ duration: 700, errors: [{ message: 'Error: no row\nReceived: none' }] }, { duration: 300 }]
            }
          ]
        }
      ],
      suites: [
        { specs: [{ title: 'a row', tests: [{ status: 'expected', results: [{ duration: 2_000 }] }] }] },
        { specs: [{ title: 'a column', tests: [{ status: 'skipped', results: [] }] }] }
      ]
    }
  ]
})

test('the last line sums up all tests; a step that could not start is one failure', () => {
  expect(sums({ unit: ofVitest, browser: ofPlaywright }, 0)).toBe('8 passed, 1 failed')
  expect(sums({ browser: ofPlaywright }, 1)).toBe('5 passed, 1 failed')
})

test('a test that passed only when it was tried again is named, with what it said', () => {
  expect(triedAgain({ unit: ofVitest, browser: ofPlaywright })).toBe(
    'Passed only when tried again:\n  a node is polled: Error: too slow\n  a queue: Error: no row Received: none'
  )
  expect(triedAgain({})).toBe('')
})

test('in the full suite, a test that passed only when it was tried again has failed', () => {
  expect(sums(withRetriesFailed({ unit: ofVitest, browser: ofPlaywright }), 0)).toBe('6 passed, 3 failed')
})

test('files with skipped tests are named', () => {
  expect(skipped({ unit: ofVitest, browser: ofPlaywright })).toBe(
    'Skipped here:\n  1 of src/b.test.ts\n  1 of e2e/browser/queue.spec.ts'
  )
  expect(skipped({})).toBe('')
})

test('the table has a line for each part, its slowest files, and the total', () => {
  const parts = [
    { name: 'lint', title: 'Lint', beganMs: 0, tookMs: 61_000 },
    { name: 'unit', title: 'Unit tests', beganMs: 61_000, tookMs: 4_000 },
    { name: 'browser', title: 'Browser tests', beganMs: 65_000, tookMs: 9_000 }
  ]
  expect(table(parts, { unit: ofVitest, browser: ofPlaywright }, 74_000).split('\n')).toEqual([
    'Part                          began    took  tests',
    'Lint                          0.0 s  61.0 s',
    'Unit tests                   61.0 s   4.0 s      4',
    '  src/b.test.ts                       2.0 s',
    '  src/a.test.ts                       0.5 s',
    'Browser tests                65.0 s   9.0 s      5',
    '  e2e/browser/queue.spec.ts           3.0 s',
    'All                                  74.0 s'
  ])
})
