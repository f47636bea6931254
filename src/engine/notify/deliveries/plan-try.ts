import type { Random } from '../../runtime/random.ts'
import type { DeliveryTry } from '../../model/records.ts'

export interface SendResult {
  isGood: boolean
  /** For users: `204`, `500`, `nothing listens on ...`. */
  answer: string
  /** How long the receiver wants us to wait. */
  retryAfterSeconds?: number | null
  /** The receiver will never accept events again (410). */
  isGone?: boolean
  /** The receiver will never accept this message but may accept others. We do not retry it. */
  isFinal?: boolean
}

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
/** Delays after the first, second, … attempt: over three days in total, so that a weekend's outage loses nothing. */
export const BACK_OFF_MS: readonly number[] = [
  5 * SECOND_MS,
  30 * SECOND_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  14 * HOUR_MS,
  20 * HOUR_MS,
  24 * HOUR_MS
]
/**
 * Delays are randomly lengthened by up to this share, so that deliveries that failed together do not retry together.
 */
const JITTER_SHARE = 0.1
const RETRY_AFTER_MAX_MS = 24 * HOUR_MS
const ANSWER_MAX_CHARACTERS = 500

/** Plans what follows an attempt to deliver. `tries` does not include this attempt. */
export function planTry(
  delivery: { id: string; tries: number },
  result: SendResult,
  { nowMs, random, backOffMs = BACK_OFF_MS }: { nowMs: number; random: Random; backOffMs?: readonly number[] }
): DeliveryTry {
  const { id } = delivery
  const answer = result.answer.slice(0, ANSWER_MAX_CHARACTERS)
  const ended = { id, atMs: nowMs, nextTryAtMs: null, answer }
  if (result.isGood) return { ...ended, state: 'delivered' }
  if (result.isGone === true) return { ...ended, state: 'dead', isGone: true }
  if (result.isFinal === true) return { ...ended, state: 'dead' }
  const waitMs = backOffMs[delivery.tries]
  if (waitMs === undefined) return { ...ended, state: 'dead' }
  const askedMs = Math.min(RETRY_AFTER_MAX_MS, (result.retryAfterSeconds ?? 0) * SECOND_MS)
  const delayMs = Math.round(Math.max(waitMs, askedMs) * (1 + JITTER_SHARE * random.next()))
  return { ...ended, state: 'waiting', nextTryAtMs: nowMs + delayMs }
}
