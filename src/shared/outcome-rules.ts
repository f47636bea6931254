import type { OutcomeRules, ProjectSettings } from './contract/index.ts'

/** The rules for a spider: its own over those of its project, rule by rule. null: there are none. */
export function outcomeRulesOf(
  { outcome, spiderOutcomes }: Partial<Pick<ProjectSettings, 'outcome' | 'spiderOutcomes'>>,
  spider: string
): OutcomeRules | null {
  // Names of Object properties are not spiders.
  const ofSpider = spiderOutcomes !== undefined && Object.hasOwn(spiderOutcomes, spider) ? spiderOutcomes[spider] : null
  const given = Object.entries(ofSpider ?? {}).filter(([, value]) => value !== undefined)
  const rules: OutcomeRules = { ...outcome, ...Object.fromEntries(given) }
  return Object.values(rules).some((value) => value != null && value !== false) ? rules : null
}
