import { expect, it } from 'vitest'
import { aProjectName } from '../../../shared/testing/ids.ts'
import { problemsOf } from '../../ui/fields/form-of-schema.ts'
import { liveWords, newRule, RuleForm, ruleSentence, textsOfRule } from './limits-panel.tsx'

const anything = { id: '1', project: null, spider: null, tag: null, perNode: false, max: 1 }

it('describes each limit in a sentence', () => {
  const sentences = [
    { ...anything, spider: 'price*', perNode: true },
    { ...anything, project: aProjectName('news'), max: 40 },
    { ...anything, project: aProjectName('maps'), tag: 'proxy', max: 4 },
    { ...anything, project: aProjectName('maps'), spider: 'osm', tag: 'proxy', perNode: true, max: 2 },
    { ...anything, spider: '*', max: 0 }
  ].map(ruleSentence)
  expect(sentences).toEqual([
    'up to 1 run of price* on each node',
    'up to 40 runs of project news in the fleet',
    'up to 4 runs of project maps on all nodes with tag proxy combined',
    'up to 2 runs of maps/osm on each node with tag proxy',
    'no runs of any spider in the fleet'
  ])
})

it('parses its own text', () => {
  const rule = { ...anything, project: aProjectName('shop'), tag: 'eu', max: 3 }
  expect(RuleForm.parse(textsOfRule(rule))).toEqual(rule)
})

it('gives a new rule a valid id, and says what is wrong with an incomplete one', () => {
  const fresh = newRule()
  expect(fresh.id).toMatch(/^[0-9a-f]{16}$/)
  expect([...problemsOf(RuleForm.safeParse({ ...fresh, tag: 'eu | us' })).keys()]).toEqual(['tag', 'max'])
  expect(RuleForm.parse({ ...fresh, max: 0 })).toMatchObject({ id: fresh.id, max: 0, tag: null })
})

it('counts the fullest node if each node has its own limit', () => {
  expect(liveWords({ ...anything, perNode: true, live: 1 })).toBe('1 of 1 on the busiest node')
  expect(liveWords({ ...anything, max: 40, live: 38 })).toBe('38 of 40')
})
