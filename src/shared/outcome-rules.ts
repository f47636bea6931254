import type { OutcomeRules, ProjectSettings } from './contract/index.ts'

/**
 * Returns the rules of the spider, and the rules of its project that the spider does not override. null: there is no
 * rule.
 */
export function outcomeRulesOf(
  { outcome, spiderOutcomes }: Partial<Pick<ProjectSettings, 'outcome' | 'spiderOutcomes'>>,
  spider: string
): OutcomeRules | null {
  // Checks own properties only, so that `constructor` is not a spider.
  const ofSpider = spiderOutcomes !== undefined && Object.hasOwn(spiderOutcomes, spider) ? spiderOutcomes[spider] : null
  const given = Object.entries(ofSpider ?? {}).filter(([, value]) => value !== undefined)
  const rules: OutcomeRules = { ...outcome, ...Object.fromEntries(given) }
  return Object.values(rules).some((value) => value != null && value !== false) ? rules : null
}
