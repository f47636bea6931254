import { describe, expect, it } from 'vitest'
import { SECRET_MASK } from '../../../shared/contract/index.ts'
import { limitTexts } from '../../ui/fields/limits.ts'
import { newRow, problemOfRow } from '../../ui/fields/value-rows.ts'
import { readForm, startForm, withoutSecrets } from './run-form.ts'

const last = { project: 'shop', spiders: ['a'], args: { page: '2' }, settings: { LOG_LEVEL: 'INFO' }, priority: 5 }

describe('startForm', () => {
  it('begins with the last used', () => {
    expect(readForm(startForm({}, last))).toEqual({
      run: { ...last, version: null, secretNames: [], limits: null, nodeId: null, tags: [] }
    })
  })

  it('does not carry arguments over to another project or spider', () => {
    expect(startForm({ project: 'news' }, last)).toMatchObject({ project: 'news', spiders: [], args: [], priority: 0 })
    expect(startForm({ project: 'shop', spiders: ['b'] }, last)).toMatchObject({
      spiders: ['b'],
      args: [],
      settings: []
    })
  })

  it('takes over everything of a job that is run again', () => {
    const again = {
      project: 'shop',
      version: 'v1',
      spiders: ['b'],
      args: { x: '1' },
      settings: {},
      secretNames: [],
      limits: { wallSeconds: 1800 },
      priority: 2,
      nodeId: 'n1',
      tags: []
    }
    expect(readForm(startForm(again, last))).toEqual({ run: again })
  })
})

describe('problemOfRow', () => {
  it('refuses names that never reach the spider, as arguments only', () => {
    const row = newRow('jobid', '1')
    expect(problemOfRow('args', row, [row])).toContain('taken by Scrapyd')
    expect(problemOfRow('settings', row, [row])).toBeNull()
  })

  it('finds a name given twice, a value without a name and a name with blanks', () => {
    const [one, two] = [newRow('a', '1'), newRow(' a', '2')]
    expect(problemOfRow('args', one, [one, two])).toBe('a stands twice')
    expect(problemOfRow('args', newRow('', 'x'), [])).toBe('Give it a name')
    expect(problemOfRow('args', newRow('', ''), [])).toBeNull()
    expect(problemOfRow('args', newRow('a b', ''), [])).toContain('no blanks')
  })
})

describe('readForm', () => {
  const form = startForm(last, null)
  it.each([
    ['Choose a project', { ...form, project: null }],
    ['Choose at least one spider', { ...form, spiders: [] }],
    ['Choose a node, or run on any', { ...form, where: 'node' as const }],
    ['Choose a tag, or run on any node', { ...form, where: 'tags' as const }]
  ])('says %j', (missing, incomplete) => {
    expect(readForm(incomplete)).toEqual({ missing })
  })

  it('asks with a node or with tags, never with both', () => {
    expect(readForm({ ...form, where: 'tags', nodeId: 'n1', tags: 'eu|us !slow' })).toMatchObject({
      run: { nodeId: null, tags: ['eu|us', '!slow'] }
    })
  })
})

describe('secrets', () => {
  const job = {
    project: 'shop',
    spiders: ['a'],
    args: { token: SECRET_MASK, page: '2' },
    settings: { PROXY: SECRET_MASK },
    secretNames: ['token', 'PROXY']
  }

  it('are to be entered again when a job is run again: the mask never becomes a value', () => {
    const form = startForm(job, null)
    expect(readForm(form)).toEqual({ missing: 'token: enter its secret value' })
    const entered = { ...form, args: form.args.map((row) => (row.isSecret ? { ...row, value: 'abc' } : row)) }
    expect(readForm(entered)).toEqual({ missing: 'PROXY: enter its secret value' })
    const all = { ...entered, settings: form.settings.map((row) => ({ ...row, value: 'http://p' })) }
    expect(readForm(all)).toMatchObject({
      run: { args: { token: 'abc', page: '2' }, settings: { PROXY: 'http://p' }, secretNames: ['token', 'PROXY'] }
    })
  })

  it('are left out of what is kept for the next time, and their names stay', () => {
    const run = { project: 'shop', spiders: ['a'], args: { token: 'abc', page: '2' }, secretNames: ['token'] }
    expect(JSON.stringify(withoutSecrets(run))).not.toContain('abc')
    expect(startForm({}, withoutSecrets(run)).args).toMatchObject([
      { name: 'token', value: '', isSecret: true },
      { name: 'page', value: '2', isSecret: false }
    ])
  })
})

describe('limits', () => {
  it('are read in their units, and what is wrong with one is said', () => {
    const form = startForm({ project: 'shop', spiders: ['a'], limits: { wallSeconds: 1800 } }, null)
    expect(form.limits.wallSeconds).toBe('30 min')
    const typed = { ...form, limits: { ...limitTexts(null), memoryMegabytes: '2 GB' } }
    expect(readForm(typed)).toMatchObject({ run: { limits: { memoryMegabytes: 2048 } } })
    const wrong = { ...form, limits: { ...form.limits, wallSeconds: '30' } }
    expect(readForm(wrong)).toEqual({ missing: 'Wall time: 30 what? 30 s or 30 min' })
  })

  it('belong to a spider, as its arguments do', () => {
    const before = { project: 'shop', spiders: ['a'], limits: { wallSeconds: 60 } }
    expect(readForm(startForm({ project: 'shop', spiders: ['b'] }, before))).toMatchObject({ run: { limits: null } })
  })
})
