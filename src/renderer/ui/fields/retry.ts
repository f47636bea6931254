import { z } from 'zod'
import { RetryPolicy } from '../../../shared/contract/index.ts'
import { formatDuration } from '../../../shared/time.ts'
import { durationText, numberText } from './texts.ts'
import { texts } from '../../../shared/texts/ui/shared.ts'

/** If `attempts` is empty, no policy is set. */
export interface RetryTexts {
  readonly attempts: string
  readonly backoffSeconds: string
  readonly backoffFactor: string
  readonly backoffMaxSeconds: string
  readonly on: 'both' | 'failed' | 'lost'
}

const NOTHING: RetryTexts = {
  attempts: '',
  backoffSeconds: '30 s',
  backoffFactor: '2',
  backoffMaxSeconds: '1 h',
  on: 'both'
}
const WAITS_TOLD = 3

export const OUTCOMES: Record<RetryTexts['on'], string> = {
  both: texts.failedOrLost,
  failed: texts.failed,
  lost: texts.lost
}

const choiceOf = ({ on }: RetryPolicy): RetryTexts['on'] => (on.length === 2 ? 'both' : on[0]!)

export function retryTexts(retry: RetryPolicy | null | undefined): RetryTexts {
  if (retry == null) return NOTHING
  return {
    attempts: String(retry.attempts),
    backoffSeconds: formatDuration(retry.backoffSeconds),
    backoffFactor: String(retry.backoffFactor),
    backoffMaxSeconds: formatDuration(retry.backoffMaxSeconds),
    on: choiceOf(retry)
  }
}

const { shape } = RetryPolicy
const Asked = z.object({
  attempts: numberText(shape.attempts),
  backoffSeconds: durationText(shape.backoffSeconds.unwrap()),
  backoffFactor: numberText(shape.backoffFactor.unwrap()),
  backoffMaxSeconds: durationText(shape.backoffMaxSeconds.unwrap()),
  on: z
    .enum(['both', 'failed', 'lost'])
    .transform((on): RetryPolicy['on'] => (on === 'both' ? ['failed', 'lost'] : [on]))
})
export const RetryForm = z.preprocess(
  (typed: RetryTexts) => (typed.attempts.trim() === '' ? null : typed),
  Asked.nullable()
) as z.ZodType<RetryPolicy | null, RetryTexts>

/** `up to 4 attempts if failed or lost, after 30 s, 1 min, 2 min`. null: no retries. */
export function describeRetry(retry: RetryPolicy | null): string | null {
  if (retry === null || retry.attempts < 2) return null
  const waits = Array.from({ length: Math.min(WAITS_TOLD, retry.attempts - 1) }, (_, index) =>
    Math.min(retry.backoffMaxSeconds, retry.backoffSeconds * retry.backoffFactor ** index)
  )
  const isCut = retry.attempts - 1 > WAITS_TOLD
  const listed = waits.map((seconds) => formatDuration(Math.round(seconds))).join(', ')
  return texts.retryPolicy(retry.attempts, OUTCOMES[choiceOf(retry)], isCut ? `${listed} …` : listed)
}
