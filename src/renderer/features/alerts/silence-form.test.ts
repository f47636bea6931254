import { expect, it } from 'vitest'
import type { AlertLabels } from '../../../shared/contract/index.ts'
import { aNodeId, aProjectName, aScheduleId } from '../../../shared/testing/ids.ts'
import { problemsOf } from '../../ui/fields/form-of-schema.ts'
import { scopeOfAlert, SilenceForm, startTimes, type TimeTexts, timesOf } from './silence-form.ts'

const LABELS: AlertLabels = {
  project: null,
  spider: null,
  jobId: null,
  scheduleId: null,
  errorGroupId: null,
  nodeId: null,
  nodeTags: []
}
const NOTHING = { project: null, spider: null, scheduleId: null, nodeId: null, nodeTag: null }

it('silences the spider of a job on all nodes, and a node', () => {
  const labels = { ...LABELS, project: aProjectName('prices'), spider: 'otto', nodeId: aNodeId('eu-1') }
  expect(scopeOfAlert({ labels })).toEqual({ ...NOTHING, project: 'prices', spider: 'otto' })
  expect(scopeOfAlert({ labels: { ...LABELS, nodeId: aNodeId('eu-1'), nodeTags: ['eu'] } })).toEqual({
    ...NOTHING,
    nodeId: 'eu-1'
  })
  const ofSchedule = { ...LABELS, project: aProjectName('prices'), scheduleId: aScheduleId('5') }
  expect(scopeOfAlert({ labels: ofSchedule })).toEqual({ ...NOTHING, project: 'prices', scheduleId: '5' })
})

const TIMES = startTimes('Europe/Berlin')

it('lasts for hours, until nine tomorrow, or between two times, if the end is in the future', () => {
  const nowMs = new Date(2026, 10, 28, 23, 30).getTime()
  const times = (texts: Partial<TimeTexts>) => timesOf({ ...TIMES, ...texts }, nowMs)
  const once = { fromMs: null, repeats: null }
  expect(times({ until: 'hours' })).toEqual({ ...once, untilMs: nowMs + 4 * 3_600_000 })
  expect(times({ until: 'tomorrow' })).toEqual({ ...once, untilMs: new Date(2026, 10, 29, 9).getTime() })
  const [start, at] = ['2026-11-30T10:00', '2026-11-30T12:00']
  const untilMs = new Date(2026, 10, 30, 12).getTime()
  expect(times({ until: 'at', at })).toEqual({ ...once, untilMs })
  expect(times({ until: 'at', at, start })).toEqual({ ...once, untilMs, fromMs: untilMs - 2 * 3_600_000 })
  expect(times({ until: 'at', at: start, start: at })).toMatchObject({
    field: 'at',
    message: 'This is before the start'
  })
  const form = { ...NOTHING, ...TIMES, ruleId: null, comment: '', until: 'at' as const }
  const problem = (typed: string) => problemsOf(SilenceForm.safeParse({ ...form, at: typed })).get('at')
  expect([problem(''), problem('2020-01-01T12:00')]).toEqual(['Enter a date and time', 'This time is in the past'])
})

it('repeats each day or week from the first time that is not over, by the clocks of its zone', () => {
  /** A Wednesday, 02:30 in Berlin. */
  const nowMs = Date.parse('2026-12-02T01:30Z')
  const times = (texts: Partial<TimeTexts>) => timesOf({ ...TIMES, ...texts }, nowMs)
  const at = (text: string) => Date.parse(text)
  const repeats = { every: 'week', zone: 'Europe/Berlin', endsMs: null }
  expect(times({ repeat: 'week' })).toEqual({
    repeats,
    fromMs: at('2026-12-06T01:00Z'),
    untilMs: at('2026-12-06T03:00Z')
  })
  expect(times({ repeat: 'week', weekday: '3' })).toMatchObject({ fromMs: at('2026-12-02T01:00Z') })
  expect(times({ repeat: 'week', weekday: '3', to: '02:30' })).toMatchObject({ fromMs: at('2026-12-09T01:00Z') })
  expect(times({ repeat: 'day', from: '22:00', to: '06:00', lastDay: '2026-12-31' })).toEqual({
    fromMs: at('2026-12-01T21:00Z'),
    untilMs: at('2026-12-02T05:00Z'),
    repeats: { ...repeats, every: 'day', endsMs: at('2026-12-31T23:00Z') }
  })
  const wrong = [{ from: '' }, { to: '' }, { zone: 'Berlin' }, { lastDay: '2026-12-05' }]
  expect(wrong.map((texts) => times({ repeat: 'week', ...texts }))).toMatchObject([
    ...[{ field: 'from' }, { field: 'to' }, { field: 'zone' }, { field: 'lastDay' }]
  ])
})
