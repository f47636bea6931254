import type { AlertRuleState } from '../../../shared/contract/index.ts'
import { ALERT_WATCHES } from '../../../shared/alert-watches.ts'
import { texts } from '../../../shared/texts/ui/alerts.ts'

/** The minimum number of alerts before a rule is judged. */
const FIRED_MIN = 10
/** The minimum share of alerts that users act on. A rule with a lower share teaches people to ignore alerts. */
const ACTED_ON_MIN = 0.2

type Judged = Pick<AlertRuleState, 'watch' | 'comparison' | 'fired' | 'actedOn'>

export const isNoisy = ({ fired, actedOn }: Judged): boolean => fired >= FIRED_MIN && actedOn < fired * ACTED_ON_MIN

/** `fired 41 times, acted on 2`: in the last 30 days. */
export function firedWords({ fired, actedOn }: Judged): string {
  if (fired === 0) return texts.notFiredIn30Days
  return texts.firedCount(fired, actedOn)
}

/** How to make a noisy rule quieter. null: it is not noisy. */
export function adviceOf(rule: Judged): string | null {
  if (!isNoisy(rule)) return null
  if (ALERT_WATCHES[rule.watch].unit === 'yes_no') return texts.considerLongerTime
  return rule.comparison === 'at_least' ? texts.considerHigherThreshold : texts.considerLowerThreshold
}
