import { describe, expect, it } from 'vitest'
import { newRow, problemOfRow, readForm, startForm } from './run-form.ts'

const last = { project: 'shop', spiders: ['a'], args: { page: '2' }, settings: { LOG_LEVEL: 'INFO' }, priority: 5 }

describe('startForm', () => {
  it('begins with the last used', () => {
    expect(readForm(startForm({}, last))).toEqual({
      run: { ...last, version: null, nodeId: null, tags: [] }
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
    expect(readForm({ ...form, where: 'tags', nodeId: 'n1', tags: ['eu'] })).toMatchObject({
      run: { nodeId: null, tags: ['eu'] }
    })
  })
})
