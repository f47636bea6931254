import type { AttemptResult, RetryPolicy } from '../../../../shared/contract/index.ts'
import { type Message, say } from '../../../../shared/texts/message.ts'

export interface PlannedRetry {
  atMs: number
  /** As in `retrying in 30 s (run 2 of 3)`. */
  next: Message
}

/**
 * Whether and when to retry a job whose run ended badly. Null: no retry. Only failed and lost results in `earlier`
 * count as runs, and there are never more runs than the policy's `attempts`.
 */
export function planRetry(
  policy: RetryPolicy | null,
  result: AttemptResult,
  earlier: readonly (AttemptResult | null)[],
  nowMs: number
): PlannedRetry | null {
  if (!isCovered(policy, result)) return null
  const runs = 1 + earlier.filter((one) => isRun(one)).length
  if (runs >= policy.attempts) return null
  const waitSeconds = Math.min(policy.backoffMaxSeconds, policy.backoffSeconds * policy.backoffFactor ** (runs - 1))
  return {
    atMs: nowMs + Math.ceil(waitSeconds * 1000),
    next: say('next.retry', { seconds: waitSeconds, run: runs + 1, runs: policy.attempts })
  }
}

export function isCovered(policy: RetryPolicy | null, result: AttemptResult): policy is RetryPolicy {
  return policy !== null && isRun(result) && policy.on.includes(result)
}

function isRun(result: AttemptResult | null): result is 'failed' | 'lost' {
  return result === 'failed' || result === 'lost'
}
