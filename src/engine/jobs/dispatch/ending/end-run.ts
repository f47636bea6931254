import type { Outcome } from '../../../../shared/contract/index.ts'
import { type Message, render, say } from '../../../../shared/texts/message.ts'
import type { DispatchContext } from '../context.ts'
import type { SeenExit } from '../../../nodes/node-client.ts'
import type { AttemptEnd, LiveAttempt } from '../live-attempts.ts'
import { isCovered, planRetry } from '../decide/retry.ts'

export interface RunEnd extends Pick<AttemptEnd, 'from' | 'killingLine' | 'details' | 'counts'> {
  result: Outcome
  reason: Message
  /** As in `Failed: exit code 1`. What happens to the job next is appended. */
  message: Message
  evidence: Record<string, unknown>
  /** Whether to queue the job again regardless of its retry policy, because it is unknown whether it ran. */
  isTriedAgain?: boolean
}

/**
 * Ends an attempt that ran. Its job ends too or is retried, depending on its policy. A lost run may still be running,
 * so if its job is retried, the job is flagged. Returns false if the attempt had already ended in another way.
 */
export async function endRun(
  { store, live, clock }: Pick<DispatchContext, 'store' | 'live' | 'clock'>,
  one: LiveAttempt,
  { message, evidence, isTriedAgain = false, ...end }: RunEnd
): Promise<boolean> {
  const atMs = clock.nowMs()
  const isWanted = one.cancelAskedAtMs === null && isCovered(one.retry, end.result)
  const earlier = isWanted ? (await store.listAttempts(one.jobId)).filter(({ number }) => number < one.number) : []
  const results = earlier.map(({ result }) => result)
  const retry = isWanted ? planRetry(one.retry, end.result, results, atMs) : null
  const isRequeued = retry !== null || isTriedAgain
  const next = retry?.next ?? say('next.queued_and_flagged')
  return live.end(one, {
    ...end,
    kind: 'ended',
    jobOutcome: isRequeued ? null : end.result,
    ...(retry === null ? {} : { retryAtMs: retry.atMs }),
    ...(isRequeued && end.result === 'lost' ? { mayHaveRunTwice: true as const } : {}),
    atMs,
    message: isRequeued ? say('timeline.and_next', { what: message, next }) : message,
    evidence: retry === null ? evidence : { ...evidence, retryAtMs: retry.atMs }
  })
}

export const exitEvidence = (exit: SeenExit) => ({ ...exit, limit: exit.limit && render(exit.limit) })
