import type { OutcomeRules } from '../../shared/contract/index.ts'
import type { Judgement } from './outcome.ts'

/** `words`: the reason with what broke the rule, such as `errors above 10 (had 14)`. */
export type RuledJudgement = Judgement & { words: string }

/**
 * A judgement under the operator's rules. Those about counts only concern a run that would have succeeded.
 * `finishReasons` also turns a run into a success that failed for nothing but its finish_reason. What the log does not
 * tell breaks no rule. Pure.
 */
export function applyOutcomeRules(
  judgement: Judgement,
  rules: OutcomeRules | null,
  { hasFailedExit }: { hasFailedExit: boolean }
): RuledJudgement {
  if (rules === null) return { ...judgement, words: judgement.reason }
  const finishReason = judgement.stats?.['finish_reason'] ?? null
  const isFinishReason = typeof finishReason === 'string' && judgement.reason === finishReason
  const isAccepted = isFinishReason && rules.finishReasons?.includes(finishReason) === true
  const isForgiven = judgement.outcome === 'failed' && isAccepted && !hasFailedExit
  if (judgement.outcome !== 'succeeded' && !isForgiven) return { ...judgement, words: judgement.reason }
  const broken = findBroken(judgement, rules, isFinishReason && !isAccepted ? finishReason : null)
  if (broken !== null) return { ...judgement, outcome: 'failed', ...broken }
  return { ...judgement, outcome: 'succeeded', killingLine: null, words: judgement.reason }
}

/** The first rule that is broken; errors explain most about why the others are. */
function findBroken(
  { counts: { errors, items, pages } }: Judgement,
  { maxErrors, minItems, minPages, finishReasons }: OutcomeRules,
  otherReason: string | null
): { reason: string; words: string } | null {
  const named = (reason: string, count: number) => ({ reason, words: `${reason} (had ${count})` })
  if (maxErrors != null && errors !== null && errors > maxErrors) return named(`errors above ${maxErrors}`, errors)
  if (minItems != null && items !== null && items < minItems) return named(`items below ${minItems}`, items)
  if (minPages != null && pages !== null && pages < minPages) return named(`pages below ${minPages}`, pages)
  if (finishReasons != null && otherReason !== null) {
    const reason = `finish reason ${otherReason}`
    return { reason, words: `${reason} (expected ${finishReasons.join(' or ')})` }
  }
  return null
}
