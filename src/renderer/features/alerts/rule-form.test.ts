import { expect, it } from 'vitest'
import { AlertRuleSettings } from '../../../shared/contract/index.ts'
import { ALERT_WATCH_NAMES } from '../../../shared/alert-watches.ts'
import { aProjectName, aWebhookId } from '../../../shared/testing/ids.ts'
import { problemsOf } from '../../ui/fields/form-of-schema.ts'
import { copyOf, ruleForm, type RuleTexts, startRule } from './rule-form.ts'

const schema = ruleForm({ node: (id) => id, schedule: (id) => id })
const read = (over: Partial<RuleTexts>) => schema.safeParse({ ...startRule({ watch: 'node_down' }), ...over })
const problems = (over: Partial<RuleTexts>) => Object.fromEntries(problemsOf(read(over)))

it('the initial values of each watch are a valid rule, except for a spider that must be named', () => {
  for (const watch of ALERT_WATCH_NAMES) {
    const started = schema.safeParse(startRule({ watch }))
    expect([watch, started.success]).toEqual([watch, watch !== 'spider_overdue'])
    if (started.success) expect(AlertRuleSettings.safeParse(started.data).success).toBe(true)
  }
})

it('a rule in the form gives the same rule again, and a copy has another name', () => {
  const rule = AlertRuleSettings.parse({
    name: 'few items',
    watch: 'spider_items',
    comparison: 'at_most',
    threshold: 20,
    forSeconds: 0,
    severity: 'info',
    project: 'news',
    channels: ['f'.repeat(32)],
    groupBy: 'each',
    repeatSeconds: null,
    escalation: { afterSeconds: 900, channels: ['e'.repeat(32)] }
  })
  const { enabled, ...same } = rule
  expect(enabled).toBe(true)
  expect(schema.parse(startRule(rule))).toEqual(same)
  expect(schema.parse(startRule(copyOf({ ...rule, id: 'a' as never, revision: 1, createdAtMs: 0 }))).name).toBe(
    'few items (copy)'
  )
})

it('suggests a name from its settings, and omits what does not apply to the watch', () => {
  const made = read({ project: 'prices', nodeTag: 'eu', forSeconds: '5 min' })
  expect(made.data).toMatchObject({ name: 'A node with the tag eu does not respond for 5 min', project: null })
  const spider = schema.parse({
    ...startRule({ watch: 'spider_unusual', project: aProjectName('prices') }),
    nodeTag: 'eu'
  })
  expect(spider).toMatchObject({ project: 'prices', nodeTag: null })
})

it('reports each problem at its field', () => {
  expect(problems({ forSeconds: '5' })).toEqual({ forSeconds: 'Add a unit: 5 s or 5 min' })
  expect(problems({ watch: 'spider_errors', threshold: 'x' })).toEqual({ threshold: 'Enter a number' })
  expect(problems({ watch: 'spider_overdue' })).toMatchObject({
    project: expect.stringMatching(/meant to run regularly/),
    spider: expect.any(String)
  })
  expect(problems({ escalateAfter: '30 min' })).toEqual({ escalateTo: 'Choose at least one channel' })
  expect(problems({ escalateTo: [aWebhookId('a')] })).toHaveProperty('escalateAfter')
  expect(problems({ repeatSeconds: '5 s' })).toEqual({ repeatSeconds: 'At least 1 min' })
})
