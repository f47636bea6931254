import { expect, it } from 'vitest'
import { formOfRule, liveWords, newRule, readRule, ruleSentence } from './limit-rules.ts'

const anything = { id: '1', project: null, spider: null, tag: null, perNode: false, max: 1 }

it('says each limit as a sentence', () => {
  const sentences = [
    { ...anything, spider: 'price*', perNode: true },
    { ...anything, project: 'news', max: 40 },
    { ...anything, project: 'maps', tag: 'proxy', max: 4 },
    { ...anything, project: 'maps', spider: 'osm', tag: 'proxy', perNode: true, max: 2 },
    { ...anything, spider: '*', max: 0 }
  ].map(ruleSentence)
  expect(sentences).toEqual([
    'at most 1 run of price* on each node',
    'at most 40 runs of project news in the whole fleet',
    'at most 4 runs of project maps on all nodes tagged proxy together',
    'at most 2 runs of maps/osm on each node tagged proxy',
    'no run of anything in the whole fleet'
  ])
})

it('reads back what it shows', () => {
  const rule = { ...anything, project: 'shop', tag: 'eu', max: 3 }
  expect(readRule(formOfRule(rule))).toEqual({ rule })
})

it('gives a new rule an id that the engine takes, and says what is wrong with a half written one', () => {
  const fresh = newRule()
  expect(fresh.id).toMatch(/^[0-9a-f]{16}$/)
  expect(readRule({ ...fresh, tag: 'eu | us' })).toEqual({ problem: 'One tag, without blanks, | or !' })
  expect(readRule({ ...fresh, max: '' })).toEqual({ problem: 'Say how many at most; 0 lets none start' })
})

it('counts the fullest node where each node has its own limit', () => {
  expect(liveWords({ ...anything, perNode: true, live: 1 })).toBe('1 of 1 on the fullest node')
  expect(liveWords({ ...anything, max: 40, live: 38 })).toBe('38 of 40')
})
