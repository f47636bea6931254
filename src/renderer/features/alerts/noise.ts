import type { AlertRuleState } from '../../../shared/contract/index.ts'
import { ALERT_WATCHES } from '../../../shared/alert-watches.ts'
import { formatCount } from '../../ui/numbers.ts'
import { texts } from '../../../shared/texts/ui/alerts.ts'

/** Fewer say nothing of a rule yet. */
const FIRED_MIN = 10
/** A rule on which less is acted teaches people to ignore alerts. */
const ACTED_ON_MIN = 0.2

type Judged = Pick<AlertRuleState, 'watch' | 'comparison' | 'fired' | 'actedOn'>

export const isNoisy = ({ fired, actedOn }: Judged): boolean => fired >= FIRED_MIN && actedOn < fired * ACTED_ON_MIN

/** `fired 41 times, acted on 2`: in the last 30 days. */
export function firedWords({ fired, actedOn }: Judged): string {
  if (fired === 0) return texts.notFiredIn30Days
  const times = fired === 1 ? 'once' : texts.times(fired)
  return `fired ${times}, acted on ${actedOn === 0 ? 'none' : formatCount(actedOn)}`
}

/** What would make a noisy rule quieter; null: it is not noisy. */
export function adviceOf(rule: Judged): string | null {
  if (!isNoisy(rule)) return null
  if (ALERT_WATCHES[rule.watch].unit === 'yes_no') return texts.considerALongerTime
  return `consider a longer time or a ${rule.comparison === 'at_least' ? 'higher' : 'lower'} threshold`
}
