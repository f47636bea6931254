import { expect, test } from 'vitest'
import { DEFAULT_PROJECT_SETTINGS } from './contract/index.ts'
import { withSettingsChange } from './job-defaults.ts'

test('rules of a spider are replaced as a whole, and removed by null; others stay', () => {
  const spiderOutcomes = { prices: { minItems: 5, maxErrors: 1 }, stock: { minItems: 1 }, gone: { minPages: 1 } }
  const settings = { ...DEFAULT_PROJECT_SETTINGS, spiderOutcomes, outcome: { maxErrors: 9 } }
  const change = { spiderOutcomes: { prices: { minItems: 7 }, gone: null, new: { maxErrors: 0 } } }
  const changed = withSettingsChange(settings, change)
  expect(changed).toEqual({
    ...settings,
    spiderOutcomes: { prices: { minItems: 7 }, stock: { minItems: 1 }, new: { maxErrors: 0 } }
  })
  expect(withSettingsChange(changed, { outcome: null }).outcome).toBeNull()
})
