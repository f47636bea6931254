import { expect, it } from 'vitest'
import { formatStepTime } from '../features/jobs/job-timeline.tsx'
import { dayWords } from '../features/schedules/calendar/week.ts'
import { minuteWords } from '../features/schedules/load/load-chart.tsx'
import { formatMoment } from '../ui/moment.ts'
import { waitingWords } from '../ui/waiting.tsx'

it('a date in another year shows the year everywhere', () => {
  const nowMs = new Date(2026, 10, 21, 9).getTime()
  const atMs = new Date(2031, 5, 1, 9).getTime()
  expect(waitingWords({ code: 'not_before', text: 'too early', untilMs: atMs }, nowMs)).toBe(
    'not before 1 Jun 2031, 09:00'
  )
  expect(formatMoment(new Date(2031, 10, 21, 9).getTime(), nowMs)).toBe('21 Nov 2031, 09:00')
  expect(minuteWords(atMs)).toBe('Sun 1 Jun 2031, 09:00')
  expect(dayWords({ date: '2031-06-01' } as Parameters<typeof dayWords>[0])).toBe('Sun 1 Jun 2031')
  expect(formatStepTime(atMs, undefined, nowMs)).toMatch(/^1 Jun 2031, 09:00:00/)
  expect(formatStepTime(atMs + 3_600_000, atMs, nowMs)).toMatch(/^10:00:00/)
})
