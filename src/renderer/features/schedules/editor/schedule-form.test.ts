import { describe, expect, it } from 'vitest'
import { RunTemplate, ScheduleSettings, SECRET_MASK } from '../../../../shared/contract/index.ts'
import { aProjectName } from '../../../../shared/testing/ids.ts'
import { newRow } from '../../../ui/fields/form-rows.ts'
import { problemsOf } from '../../../ui/fields/form-of-schema.ts'
import {
  argSetsText,
  copyOf,
  emptyForm,
  formOf,
  newTemplate,
  ScheduleForm,
  type ScheduleTexts,
  templateForm,
  type TemplateTexts,
  writeArgSet
} from './schedule-form.ts'

const NOW_MS = Date.UTC(2026, 10, 21, 12)
const settings = ScheduleSettings.parse({
  name: 'nightly',
  zone: 'Europe/Berlin',
  rules: [
    { kind: 'cron', expression: '0 3 * * 1-5' },
    { kind: 'interval', everySeconds: 5_400, anchorMs: NOW_MS },
    { kind: 'once', atMs: NOW_MS + 86_400_000 }
  ],
  excludedDates: ['2026-12-24'],
  excludedCrons: ['* * 1 1 *'],
  gap: 'skip',
  doubled: 'run_twice',
  startMs: NOW_MS,
  endMs: NOW_MS + 30 * 86_400_000,
  overlap: 'queue_one',
  catchUp: 'all',
  catchUpWindowSeconds: 43_200,
  jitterSeconds: 90,
  maxRuns: 10,
  pauseAfterFailures: 3,
  jobs: [
    {
      project: 'shop',
      spiders: ['prices', 'stock'],
      args: { day: '{nominal:yyyy-MM-dd}' },
      settings: { LOG_LEVEL: 'INFO' },
      argSets: [{ page: '1', note: 'two words' }, { page: '2' }],
      matrix: { region: ['eu', 'us'] },
      tags: ['eu', '!slow'],
      priority: 4,
      limits: { wallSeconds: 3600 },
      retry: { attempts: 2, backoffSeconds: 30, backoffFactor: 2, backoffMaxSeconds: 3600, on: ['failed'] }
    }
  ]
})

const problem = (texts: ScheduleTexts) => [...problemsOf(ScheduleForm.safeParse(texts))]

describe('the form of a schedule', () => {
  it('returns the schedule that it was opened with', () => {
    expect(ScheduleForm.parse(formOf(settings, NOW_MS))).toEqual(settings)
  })

  it('keeps unchanged secrets, and asks for them again in a copy', () => {
    const secret = { ...settings, jobs: [{ ...settings.jobs[0]!, args: { key: SECRET_MASK }, secretNames: ['key'] }] }
    expect(ScheduleForm.parse(formOf(secret, NOW_MS)).jobs[0]!.args).toEqual({ key: SECRET_MASK })
    expect(problem(copyOf(secret, NOW_MS))).toEqual([['jobs.0.args.0.value', 'Enter the secret value']])
  })

  it('shows problems at their fields', () => {
    const form = emptyForm(NOW_MS)
    expect(problem(form)).toEqual([
      ['name', 'Enter a name'],
      ['jobs.0.project', 'Choose a project'],
      ['jobs.0.spiders', 'Choose at least one spider']
    ])
    const whole = { ...form, name: 'n', jobs: [newTemplate({ project: aProjectName('shop'), spiders: ['prices'] })] }
    const [rule] = form.rules
    expect(problem(whole)).toEqual([])
    expect(problem({ ...whole, jitterSeconds: 'soon' })).toEqual([['jitterSeconds', 'Not understood. Example: 30 min']])
    expect(problem({ ...whole, jitterSeconds: '2 d', maxRuns: '1.5', zone: 'Mars/Base' })).toEqual([
      ['zone', 'Choose a time zone'],
      ['jitterSeconds', 'Up to 1 d'],
      ['maxRuns', 'Enter a whole number']
    ])
    expect(problem({ ...whole, rules: [rule!, { ...rule!, expression: '61 * * * *' }] })).toEqual([
      ['rules.1.expression', expect.stringContaining('The minute field')]
    ])
    expect(problem({ ...whole, rules: [{ ...rule!, kind: 'interval', everySeconds: '', anchorMs: '' }] })).toEqual([
      ['rules.0.everySeconds', 'Required. Example: 30 min'],
      ['rules.0.anchorMs', 'Enter a date and time']
    ])
    expect(problem({ ...whole, excludedCrons: '* * 1 1 *\n99 * * * *' })[0]?.[0]).toBe('excludedCrons')
    expect(problem({ ...whole, startMs: '2026-12-02T00:00', endMs: '2026-12-01T00:00' })[0]?.[0]).toBe('endMs')
  })

  it('refuses a placeholder that does not exist, in arguments, sets and matrix alike', () => {
    const texts = newTemplate({ project: aProjectName('shop'), spiders: ['prices'] })
    const wrong = (patch: Partial<TemplateTexts>) => [
      ...problemsOf(templateForm('schedule').safeParse({ ...texts, ...patch }))
    ]
    const words = expect.stringContaining('{nominall}')
    expect(wrong({ args: [newRow('day', '{nominall}')] })).toEqual([['args.0.value', words]])
    expect(wrong({ argSets: 'day={nominall}' })).toEqual([['argSets', words]])
    expect(wrong({ matrix: [newRow('day', 'a, {nominall}')] })).toEqual([['matrix.0.value', words]])
  })

  it('parses sets of arguments as they were written', () => {
    const set = { plain: 'a', empty: '', blank: 'two words', quote: 'say "hi" \\ there' }
    const text = `${writeArgSet(set)}\n\n${writeArgSet({ page: '2' })}`
    expect(argSetsText('schedule').parse(text)).toEqual([set, { page: '2' }])
    expect(argSetsText('schedule').safeParse('page=1 what').error?.issues[0]?.message).toContain('“what”')
  })

  it('has a template that the contract accepts', () => {
    const read = templateForm('schedule').parse(newTemplate({ project: aProjectName('shop'), spiders: ['prices'] }))
    expect(RunTemplate.parse(read)).toEqual(read)
  })
})
