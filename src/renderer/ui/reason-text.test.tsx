import { cleanup } from '@testing-library/react'
import { afterEach, expect, test } from 'vitest'
import { en } from '../../shared/texts/en.ts'
import { type Message, render, say } from '../../shared/texts/message.ts'
import { renderBare } from '../testing/render-app.tsx'
import { explainReason } from './outcome-reasons.ts'
import { ReasonText } from './reason-text.tsx'

afterEach(cleanup)

/** The fields of a job with a reason from Scrapdeck (a message), or from Scrapy or the spider (a string). */
const ended = (why: Message | string) =>
  typeof why === 'string' ? { reason: why } : { reason: render(why), reasonCode: why.code, reasonParams: why.params }

test.each([
  [say('reason.end_hidden'), 'end not visible in the log Quiet log'],
  [say('reason.items_below', { min: 5 }), 'fewer than 5 items Few items'],
  [say('reason.no_response'), 'no response at all'],
  [say('reason.killed', { signal: 'SIGKILL' }), 'killed by SIGKILL'],
  [say('reason.exit_code', { exitCode: 1 }), 'exit code 1'],
  ['finished', 'finished'],
  ['a reason of its own', 'a reason of its own']
])('the reason %j is followed by a general term only if that adds information', (why, shown) => {
  renderBare(<ReasonText job={ended(why)} />)
  const strong = document.querySelector('strong')!
  expect((strong.closest('[tabindex]') ?? strong).textContent).toBe(shown)
})

test.each([
  ['finished', 'finished'],
  ['memusage_exceeded', 'memusage_exceeded'],
  [say('reason.memory_limit', { megabytes: 512 }), 'memusage_exceeded'],
  [say('reason.progress_limit', { seconds: 600 }), 'cancelled (stalled)'],
  [say('reason.silence_limit', { seconds: 600 }), 'cancelled (stalled)'],
  [say('reason.wall_time_limit', { seconds: 7200 }), 'cancelled (24h limit)'],
  [say('reason.out_of_memory'), 'killed by oom'],
  [say('reason.killed', { signal: 'SIGKILL' }), 'killed by oom'],
  [say('reason.killed', { signal: 'SIGTERM' }), null],
  [say('reason.exit_code', { exitCode: 1 }), 'failed'],
  [say('reason.exit_code', { exitCode: 0 }), 'finished'],
  [say('reason.errors_above', { max: 10 }), null]
])('%j is explained, and called %s by Scrapy Cloud', (why, zyte) => {
  expect(explainReason(ended(why))).toMatchObject({ zyte, hint: expect.stringMatching(/\.$/) })
})

test('a reason of the spider is not explained, even one that reads like ours', () => {
  for (const reason of ['catalogue_empty', 'finished early', 'no log', 'constructor'])
    expect(explainReason({ reason })).toBeNull()
})

/** Reasons of attempts and jobs whose text needs no explanation. */
const NEED_NO_EXPLANATION = [
  'cancelled_while_queued',
  'skipped',
  'unknown',
  'egg_not_importable',
  'by_plugin',
  'not_sent',
  'secret_unreadable',
  'refused',
  'unknown_spider',
  'never_arrived',
  'taken_back',
  'taken_by_other_node',
  'node_forgot',
  'node_removed',
  'node_off',
  'given_up',
  'scrapyd_kept_no_log',
  'ended_unexplained',
  'kubernetes'
]

test('each of our reasons is explained, or needs no explanation', () => {
  const codes = Object.keys(en).filter((code) => code.startsWith('reason.'))
  const unexplained = codes.filter((code) => explainReason({ reason: '', reasonCode: code, reasonParams: {} }) === null)
  expect(unexplained.map((code) => code.slice('reason.'.length))).toEqual(NEED_NO_EXPLANATION)
})
