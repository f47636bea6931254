import { describe, expect, it } from 'vitest'
import { SECRET_MASK } from '../../../shared/contract/index.ts'
import { aJobId, aNodeId, aProjectName, aVersionName } from '../../../shared/testing/ids.ts'
import { problemsOf } from '../../ui/fields/form-of-schema.ts'
import { newRow, problemOfRow } from '../../ui/fields/form-rows.ts'
import { maskSecrets } from '../../../shared/secret-values.ts'
import { RunForm, type RunTexts, startForm } from './run-form.ts'
import { describeMore } from './run-more.tsx'

const SHOP = aProjectName('shop')

const last = { project: SHOP, spiders: ['a'], args: { page: '2' }, settings: { LOG_LEVEL: 'INFO' }, priority: 5 }
const runOf = (form: RunTexts) => RunForm.parse(form).run
const problem = (form: RunTexts) => [...problemsOf(RunForm.safeParse(form))]

describe('startForm', () => {
  it('starts with the last used values, and presets nothing else', () => {
    expect(RunForm.parse(startForm({}, last))).toEqual({
      run: { ...last, version: null, secretNames: [], limits: null },
      schedule: null
    })
  })

  it('does not carry arguments over to another project or spider', () => {
    expect(startForm({ project: aProjectName('news') }, last)).toMatchObject({
      project: 'news',
      spiders: [],
      args: [],
      priority: ''
    })
    expect(startForm({ project: SHOP, spiders: ['b'] }, last)).toMatchObject({
      spiders: ['b'],
      args: [],
      settings: []
    })
  })

  it('copies everything from a job to run it again', () => {
    const again = {
      project: SHOP,
      version: aVersionName('v1'),
      spiders: ['b'],
      args: { x: '1' },
      settings: {},
      secretNames: [],
      limits: { wallSeconds: 1800 },
      priority: 2,
      nodeId: aNodeId('n1'),
      tags: []
    }
    expect(runOf(startForm(again, last))).toEqual(again)
  })

  it('takes times and dependencies only from its initial values, never from the last run', () => {
    const atMs = new Date(2099, 0, 2, 9, 0).getTime()
    const before = { noOverlap: true, notBeforeMs: atMs, after: [{ jobId: aJobId('b'), on: 'ended' as const }] }
    expect(startForm({}, before)).toMatchObject({ when: { kind: 'now' }, notBeforeMs: '', after: [], noOverlap: true })
    expect(startForm({ notBeforeMs: atMs }, null)).toMatchObject({
      when: { kind: 'at' },
      notBeforeMs: '2099-01-02T09:00'
    })
  })
})

describe('problemOfRow', () => {
  it('refuses names that never reach the spider, as arguments only', () => {
    const row = newRow('jobid', '1')
    expect(problemOfRow('args', row, [row])).toContain('reserves jobid')
    expect(problemOfRow('settings', row, [row])).toBeNull()
  })

  it('finds a duplicate name, a value without a name and a name with spaces', () => {
    const [one, two] = [newRow('a', '1'), newRow(' a', '2')]
    expect(problemOfRow('args', one, [one, two])).toBe('a is used twice')
    expect(problemOfRow('args', newRow('', 'x'), [])).toBe('Enter a name')
    expect(problemOfRow('args', newRow('', ''), [])).toBeNull()
    expect(problemOfRow('args', newRow('a b', ''), [])).toContain('cannot contain spaces')
  })
})

describe('RunForm', () => {
  const form = startForm(last, null)
  it('shows problems at their fields', () => {
    expect(problem({ ...form, project: null, spiders: [], where: 'node' })).toEqual([
      ['project', 'Choose a project'],
      ['spiders', 'Choose at least one spider'],
      ['nodeId', 'Choose a node']
    ])
    expect(problem({ ...form, where: 'tags' })).toEqual([['tags', 'Enter a tag']])
    expect(problem({ ...form, limits: { ...form.limits, wallSeconds: '30' } })).toEqual([
      ['limits.wallSeconds', 'Add a unit: 30 s or 30 min']
    ])
    expect(problem({ ...form, when: { ...form.when, kind: 'at' } })).toEqual([['notBeforeMs', 'Enter a date and time']])
    expect(problem({ ...form, expiresAtMs: '2020-11-21T08:00' })).toEqual([['expiresAtMs', 'This time is in the past']])
    const at = { ...form, when: { ...form.when, kind: 'at' as const }, notBeforeMs: '2099-11-21T14:00' }
    expect(problem({ ...at, expiresAtMs: '2099-11-21T13:00' })).toEqual([
      ['expiresAtMs', 'Must be after the start time']
    ])
    expect(problem({ ...form, dedupe: { key: 'k', ttlSeconds: '5' } })).toEqual([
      ['dedupe.ttlSeconds', 'Add a unit: 5 s or 5 min']
    ])
  })

  it('sends a node or tags, never both', () => {
    expect(runOf({ ...form, where: 'tags', nodeId: aNodeId('n1'), tags: 'eu|us !slow' })).toMatchObject({
      nodeId: null,
      tags: ['eu|us', '!slow']
    })
  })

  it('parses everything that was entered, and summarises it in a line', () => {
    const run = runOf({
      ...form,
      when: { ...form.when, kind: 'at' },
      notBeforeMs: '2099-11-21T14:00',
      expiresAtMs: '2099-11-21T18:30',
      retry: { ...form.retry, attempts: '3' },
      noOverlap: true,
      after: [
        { jobId: aJobId('a'.repeat(32)), on: 'succeeded' },
        { jobId: aJobId('b'.repeat(32)), on: 'ended' }
      ],
      dedupe: { key: ' nightly ', ttlSeconds: '2 h' }
    })
    expect(run).toMatchObject({
      notBeforeMs: new Date(2099, 10, 21, 14, 0).getTime(),
      expiresAtMs: new Date(2099, 10, 21, 18, 30).getTime(),
      retry: { attempts: 3 },
      noOverlap: true,
      after: [{ on: 'succeeded' }, { on: 'ended' }],
      dedupe: { key: 'nightly', ttlSeconds: 7200 }
    })
    expect(describeMore(run, new Date(2099, 10, 21, 9, 0).getTime())).toBe(
      'expires 18:30 · up to 3 attempts · no overlap · after 2 other jobs · key nightly'
    )
    expect(describeMore({}, 0)).toBeNull()
  })

  it('turns the run into a schedule, without the fields of a single run', () => {
    const cron = (expression: string, name = '') => ({
      ...form,
      noOverlap: true,
      when: { ...form.when, kind: 'cron' as const, zone: 'UTC', expression, name }
    })
    expect(RunForm.parse(cron('0 3 * * *')).schedule).toMatchObject({
      name: 'a of shop',
      zone: 'UTC',
      overlap: 'skip',
      rules: [{ kind: 'cron', expression: '0 3 * * *' }],
      jobs: [{ project: 'shop', spiders: ['a'], args: { page: '2' }, priority: 5 }]
    })
    expect(RunForm.parse(cron('@daily', 'nightly')).schedule).toMatchObject({ name: 'nightly' })
    expect(problem(cron(' '))).toEqual([['when.expression', expect.stringContaining('0 3 * * *')]])
    expect(problem(cron('61 * * * *'))).toEqual([['when.expression', expect.stringContaining('minute')]])
  })
})

describe('secrets', () => {
  const job = {
    project: SHOP,
    spiders: ['a'],
    args: { token: SECRET_MASK, page: '2' },
    settings: { PROXY: SECRET_MASK },
    secretNames: ['token', 'PROXY']
  }

  it('must be entered again to run a job again: the mask never becomes a value', () => {
    const form = startForm(job, null)
    expect(problem(form)).toEqual([
      ['args.0.value', 'Enter the secret value'],
      ['settings.0.value', 'Enter the secret value']
    ])
    const entered = {
      ...form,
      args: form.args.map((row) => (row.isSecret ? { ...row, value: 'abc' } : row)),
      settings: form.settings.map((row) => ({ ...row, value: 'http://p' }))
    }
    expect(runOf(entered)).toMatchObject({
      args: { token: 'abc', page: '2' },
      settings: { PROXY: 'http://p' },
      secretNames: ['token', 'PROXY']
    })
  })

  it('are not stored for the next time, but their names are', () => {
    const run = {
      project: aProjectName('shop'),
      spiders: ['a'],
      args: { token: 'abc', page: '2' },
      secretNames: ['token']
    }
    expect(JSON.stringify(maskSecrets(run, ''))).not.toContain('abc')
    expect(startForm({}, maskSecrets(run, '')).args).toMatchObject([
      { name: 'token', value: '', isSecret: true },
      { name: 'page', value: '2', isSecret: false }
    ])
  })
})

describe('limits', () => {
  it('are parsed in their units', () => {
    const form = startForm({ project: SHOP, spiders: ['a'], limits: { wallSeconds: 1800 } }, null)
    expect(form.limits.wallSeconds).toBe('30 min')
    expect(runOf({ ...form, limits: { ...form.limits, memoryMegabytes: '2 GB' } })).toMatchObject({
      limits: { wallSeconds: 1800, memoryMegabytes: 2048 }
    })
  })

  it('belong to a spider, like its arguments', () => {
    const before = { project: SHOP, spiders: ['a'], limits: { wallSeconds: 60 } }
    expect(runOf(startForm({ project: SHOP, spiders: ['b'] }, before))).toMatchObject({ limits: null })
  })
})
