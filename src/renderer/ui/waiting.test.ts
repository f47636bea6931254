import { expect, it } from 'vitest'
import { formatMoment } from './moment.ts'
import { waitingWords } from './waiting.tsx'

const nowMs = new Date(2026, 10, 21, 9, 0, 0).getTime()

it('counts down to a retry and never shows a wait of 0 s', () => {
  const retry = (untilMs: number) => waitingWords({ code: 'retry_wait', text: 'failed', untilMs }, nowMs)
  expect([retry(nowMs + 28_000), retry(nowMs + 1), retry(nowMs - 5)]).toEqual([
    'retry in 28 s',
    'retry in 1 s',
    'retrying now'
  ])
})

it('shows the time before which a job is not sent, with its day unless that is today', () => {
  const at = (day: number, hour: number) => new Date(2026, 10, day, hour).getTime()
  const words = (untilMs: number) => waitingWords({ code: 'not_before', text: 'too early', untilMs }, nowMs)
  expect([words(at(21, 14)), words(at(23, 14))]).toEqual(['not before 14:00', 'not before 23 Nov, 14:00'])
  expect(formatMoment(at(21, 14) + 5000, nowMs)).toBe('14:00:05')
})

it("shows the engine's text if no known time ends the wait", () => {
  expect(waitingWords({ code: 'limit', text: '2 of 2 run' }, nowMs)).toBe('2 of 2 run')
})
