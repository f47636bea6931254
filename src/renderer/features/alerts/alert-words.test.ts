import { expect, it } from 'vitest'
import type { AlertScope } from '../../../shared/contract/index.ts'
import { ALERT_WATCH_NAMES, ALERT_WATCHES, type AlertWatch } from '../../../shared/alert-watches.ts'
import { aNodeId, aProjectName } from '../../../shared/testing/ids.ts'
import { capitalised, conditionWords, quietWords, scopeWords, valueWords } from './alert-words.ts'

const ANYTHING: AlertScope = { project: null, spider: null, scheduleId: null, nodeId: null, nodeTag: null }
const NAMES = { node: (id: string) => `name of ${id}`, schedule: (id: string) => `name of ${id}` }
const words = (watch: AlertWatch, over: Partial<Parameters<typeof conditionWords>[0]> = {}) => {
  const { compares, usual } = ALERT_WATCHES[watch]
  return conditionWords({ watch, comparison: compares[0], ...usual, ...ANYTHING, ...over }, NAMES)
}

it('describes as a sentence when a rule fires', () => {
  const otto = { project: aProjectName('prices'), spider: 'otto' }
  expect(words('spider_fails', otto)).toBe('a run of prices/otto fails or is lost')
  expect(words('spider_fails', { ...otto, threshold: 3 })).toBe('the last 3 runs of prices/otto fail or are lost')
  expect(words('spider_items', { threshold: 20 })).toBe('a run of any spider has at most 20 items')
  expect(words('spider_items')).toBe('a run of any spider has no items')
  expect(words('spider_overdue', otto)).toBe('prices/otto has not succeeded for 1 d 2 h')
  expect(words('job_waits_long', { nodeTag: 'gpu' })).toBe(
    'a job of any spider on a node with the tag gpu waits for longer than 1 h'
  )
  expect(words('node_down', { nodeId: aNodeId('eu-1') })).toBe('name of eu-1 does not respond for 2 min')
  for (const watch of ALERT_WATCH_NAMES) expect(words(watch)).not.toMatch(/undefined|null|NaN/)
})

it('names of things keep their capitalization', () => {
  expect(capitalised('a node does not respond')).toBe('A node does not respond')
  expect(capitalised('us-2 does not respond')).toBe('us-2 does not respond')
})

it('describes a scope, a measured value, and the quiet hours of a channel', () => {
  expect(scopeWords(ANYTHING, NAMES)).toBeNull()
  expect(scopeWords({ ...ANYTHING, project: aProjectName('prices'), nodeTag: 'eu' }, NAMES)).toBe(
    'project prices, nodes with the tag eu'
  )
  expect(valueWords({ watch: 'spider_items', value: 1 })).toBe('1 item')
  expect(valueWords({ watch: 'disk_free', value: 8 })).toBe('8 %')
  expect(valueWords({ watch: 'node_down', value: 1 })).toBeNull()
  expect(quietWords({ zone: 'UTC', from: '22:00', until: '07:00', days: [0, 6] })).toBe('22:00 to 07:00, Sat Sun (UTC)')
})
