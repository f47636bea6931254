import type { OutcomeRules } from '../../../shared/contract/index.ts'
import { texts } from '../../../shared/texts/ui/projects.ts'

/** The reasons why the rules can fail a run. null: there are no rules. */
export function describeOutcomeRules(rules: OutcomeRules | null): string | null {
  if (rules === null) return null
  const { requireResponse, maxErrors, minItems, minPages, finishReasons } = rules
  const reasons = [
    ...(requireResponse === true ? [texts.noResponseRule] : []),
    ...(maxErrors == null ? [] : [texts.errorsAbove(maxErrors)]),
    ...(minItems == null ? [] : [texts.itemsBelow(minItems)]),
    ...(minPages == null ? [] : [texts.pagesBelow(minPages)]),
    ...(finishReasons == null ? [] : [texts.otherFinishReasons(finishReasons.join(', '))])
  ]
  return reasons.length === 0 ? null : reasons.join(', ')
}
