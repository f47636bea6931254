import type { OutcomeRules, ProjectSettings } from './contract/index.ts'

/** The rules for a spider: its own over those of its project, rule by rule. null: there are none. */
export function outcomeRulesOf(
  { outcome, spiderOutcomes }: Partial<Pick<ProjectSettings, 'outcome' | 'spiderOutcomes'>>,
  spider: string
): OutcomeRules | null {
  // Names of Object are no spiders.
  const ofSpider = spiderOutcomes !== undefined && Object.hasOwn(spiderOutcomes, spider) ? spiderOutcomes[spider] : null
  const given = Object.entries(ofSpider ?? {}).filter(([, value]) => value !== undefined)
  const rules: OutcomeRules = { ...outcome, ...Object.fromEntries(given) }
  return Object.values(rules).some((value) => value != null && value !== false) ? rules : null
}

/** `more than 10 errors, fewer than 100 items`; null: no rule. */
export function describeOutcomeRules(rules: OutcomeRules | null): string | null {
  if (rules === null) return null
  const { requireResponse, maxErrors, minItems, minPages, finishReasons } = rules
  const words = [
    ...(requireResponse === true ? ['no response at all'] : []),
    ...(maxErrors == null ? [] : [`errors above ${maxErrors}`]),
    ...(minItems == null ? [] : [`items below ${minItems}`]),
    ...(minPages == null ? [] : [`pages below ${minPages}`]),
    ...(finishReasons == null ? [] : [`finish reason other than ${finishReasons.join(', ')}`])
  ]
  return words.length === 0 ? null : words.join(', ')
}
