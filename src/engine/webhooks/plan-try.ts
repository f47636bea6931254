import type { Random } from '../runtime/random.ts'
import type { DeliveryTry } from '../store/records.ts'

/** What came of telling somebody: a receiver, or a plugin's hook. */
export interface SendResult {
  isGood: boolean
  /** For people: `204`, `500`, `nothing listens on ...`. */
  answer: string
  /** It asked for so much time. */
  retryAfterSeconds?: number | null
  /** Nothing will ever come of it again (410). */
  isGone?: boolean
}

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
/** After the first try, the second, …: three days and a few hours in all, so an outage over a weekend loses nothing. */
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
/** Up to so much longer, so that what failed together does not come together again. */
const JITTER_SHARE = 0.1
const RETRY_AFTER_MAX_MS = 24 * HOUR_MS
const ANSWER_MAX_CHARACTERS = 500

/** What becomes of a delivery that had been tried `tries` times before this one. */
export function planTry(
  delivery: { id: string; tries: number },
  told: SendResult,
  { nowMs, random, backOffMs = BACK_OFF_MS }: { nowMs: number; random: Random; backOffMs?: readonly number[] }
): DeliveryTry {
  const { id } = delivery
  const answer = told.answer.slice(0, ANSWER_MAX_CHARACTERS)
  const ended = { id, atMs: nowMs, nextTryAtMs: null, answer }
  if (told.isGood) return { ...ended, state: 'delivered' }
  if (told.isGone === true) return { ...ended, state: 'dead', isGone: true }
  const waitMs = backOffMs[delivery.tries]
  if (waitMs === undefined) return { ...ended, state: 'dead' }
  const askedMs = Math.min(RETRY_AFTER_MAX_MS, (told.retryAfterSeconds ?? 0) * SECOND_MS)
  const delayMs = Math.round(Math.max(waitMs, askedMs) * (1 + JITTER_SHARE * random.next()))
  return { ...ended, state: 'waiting', nextTryAtMs: nowMs + delayMs }
}
