import { expect, test } from 'vitest'
import { findDeepLink, jobIdOfDeepLink } from './app-url.ts'

const JOB_ID = '0192f0c0a1b2000000abcdef01234567'

test('parses the job id of a link', () => {
  expect(jobIdOfDeepLink(`scrapdeck://job/${JOB_ID}`)).toBe(JOB_ID)
  expect(jobIdOfDeepLink(`scrapdeck://job/${JOB_ID}/`)).toBe(JOB_ID)
})

test.each([
  `scrapdeck://job/${JOB_ID}/cancel`,
  `scrapdeck://job/${JOB_ID}?cancel=1`,
  'scrapdeck://job/../nodes',
  `scrapdeck://run/${JOB_ID}`,
  `https://job/${JOB_ID}`,
  'scrapdeck://'
])('%s is not a link to a job', (link) => expect(jobIdOfDeepLink(link)).toBeNull())

test('finds the link in command-line arguments', () => {
  expect(findDeepLink(['app', '--flag', 'scrapdeck://job/x'])).toBe('scrapdeck://job/x')
  expect(findDeepLink(['app', '--flag'])).toBeNull()
})
