import { expect, it } from 'vitest'
import type { AlertLabels } from '../../../shared/contract/index.ts'
import { aNodeId, aProjectName, aScheduleId } from '../../../shared/testing/ids.ts'
import { problemsOf } from '../../ui/fields/form-of-schema.ts'
import { endOf, scopeOfAlert, SilenceForm } from './silence-form.ts'

const LABELS: AlertLabels = {
  ...{ project: null, spider: null, jobId: null, scheduleId: null, errorGroupId: null, nodeId: null, nodeTags: [] }
}
const NOTHING = { project: null, spider: null, scheduleId: null, nodeId: null, nodeTag: null }

it('silences the spider of a job wherever it runs, and a node', () => {
  const labels = { ...LABELS, project: aProjectName('prices'), spider: 'otto', nodeId: aNodeId('eu-1') }
  expect(scopeOfAlert({ labels })).toEqual({ ...NOTHING, project: 'prices', spider: 'otto' })
  expect(scopeOfAlert({ labels: { ...LABELS, nodeId: aNodeId('eu-1'), nodeTags: ['eu'] } })).toEqual({
    ...NOTHING,
    nodeId: 'eu-1'
  })
  const ofSchedule = { ...LABELS, project: aProjectName('prices'), scheduleId: aScheduleId('5') }
  expect(scopeOfAlert({ labels: ofSchedule })).toEqual({ ...NOTHING, project: 'prices', scheduleId: '5' })
})

it('ends after hours, at nine tomorrow, or at a time that must be ahead', () => {
  const nowMs = new Date(2026, 10, 28, 23, 30).getTime()
  expect(endOf({ until: 'hours', at: '' }, nowMs)! - nowMs).toBe(4 * 3_600_000)
  expect(endOf({ until: 'tomorrow', at: '' }, nowMs)).toBe(new Date(2026, 10, 29, 9).getTime())
  expect(endOf({ until: 'at', at: '2026-11-30T12:00' }, nowMs)).toBe(new Date(2026, 10, 30, 12).getTime())
  const form = { ...NOTHING, ruleId: null, comment: '', until: 'at' as const }
  const problem = (at: string) => problemsOf(SilenceForm.safeParse({ ...form, at })).get('at')
  expect([problem(''), problem('2020-01-01T12:00')]).toEqual(['Enter a date and time', 'This time is in the past'])
})
