import type { OutcomeRules, ProjectSettings } from './contract/index.ts'

/** Returns the rules of the spider merged over those of its project, rule by rule, or null if there is no rule. */
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
