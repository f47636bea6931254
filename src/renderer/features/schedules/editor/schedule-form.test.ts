import { describe, expect, it } from 'vitest'
import { RunTemplate, ScheduleSettings, SECRET_MASK } from '../../../../shared/contract/index.ts'
import { newRow } from '../../../ui/fields/value-rows.ts'
import {
  copyOf,
  emptyForm,
  formOf,
  newTemplateForm,
  readArgSets,
  readSchedule,
  readTemplate,
  readTiming,
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

describe('the form of a schedule', () => {
  it('says the same as the schedule that it was made from', () => {
    expect(readSchedule(formOf(settings, NOW_MS))).toEqual({ settings })
  })

  it('keeps secrets that nobody has touched, and asks for them again in a copy', () => {
    const secret = { ...settings, jobs: [{ ...settings.jobs[0]!, args: { key: SECRET_MASK }, secretNames: ['key'] }] }
    const read = readSchedule(formOf(secret, NOW_MS))
    expect('settings' in read && read.settings.jobs[0]!.args).toEqual({ key: SECRET_MASK })
    expect(readSchedule(copyOf(secret, NOW_MS))).toEqual({ problem: 'key: enter its secret value' })
  })

  it('names what is missing, the first thing first', () => {
    const form = emptyForm(NOW_MS)
    expect(readSchedule(form)).toEqual({ problem: 'Give it a name' })
    expect(readSchedule({ ...form, name: 'n' })).toEqual({ problem: 'Choose a project' })
    const template = newTemplateForm({ project: 'shop', spiders: ['prices'] })
    const whole = { ...form, name: 'n', jobs: [template] }
    expect(readSchedule(whole)).toHaveProperty('settings')
    expect(readSchedule({ ...whole, jitter: 'soon' })).toMatchObject({ problem: expect.stringContaining('Jitter') })
    expect(readSchedule({ ...whole, maxRuns: '1.5' })).toMatchObject({ problem: expect.stringContaining('Ends after') })
    expect(readTiming({ ...whole, zone: 'Mars/Base' })).toEqual({ problem: 'Choose a time zone' })
    const two = { ...whole, rules: [form.rules[0]!, { ...form.rules[0]!, expression: '61 * * * *' }] }
    expect(readTiming(two)).toMatchObject({ problem: expect.stringContaining('Rule 2: The minute field') })
    expect(readTiming({ ...whole, rules: [{ ...form.rules[0]!, kind: 'interval', every: '' }] })).toHaveProperty(
      'problem'
    )
    expect(readTiming({ ...whole, rules: [{ ...form.rules[0]!, kind: 'once', at: '' }] })).toHaveProperty('problem')
  })

  it('refuses a placeholder that there is not, in arguments, sets and matrix alike', () => {
    const form = newTemplateForm({ project: 'shop', spiders: ['prices'] })
    const wrong = { problem: expect.stringContaining('{nominall}') }
    expect(readTemplate({ ...form, args: [newRow('day', '{nominall}')] })).toMatchObject(wrong)
    expect(readTemplate({ ...form, argSets: 'day={nominall}' })).toMatchObject(wrong)
    expect(readTemplate({ ...form, matrix: [newRow('day', 'a, {nominall}')] })).toMatchObject(wrong)
  })

  it('reads sets of arguments as they are written', () => {
    const set = { plain: 'a', empty: '', blank: 'two words', quote: 'say "hi" \\ there' }
    expect(readArgSets(`${writeArgSet(set)}\n\n${writeArgSet({ page: '2' })}`)).toEqual({ sets: [set, { page: '2' }] })
    expect(readArgSets('page=1 what')).toMatchObject({ problem: expect.stringContaining('“what”') })
  })

  it('has a template that the contract takes', () => {
    const read = readTemplate(newTemplateForm({ project: 'shop', spiders: ['prices'] }))
    expect(RunTemplate.parse(read)).toEqual(read)
  })
})
