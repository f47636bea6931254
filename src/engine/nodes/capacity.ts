import { type Message, say } from '../../shared/texts/message.ts'
import type { DaemonStatus } from './node-client.ts'
import { backoffMs } from '../runtime/backoff.ts'

export interface CountersSeen {
  /** Monotonic clock. */
  atMs: number
  running: number
  pending: number
  finished: number
}

export interface SlotsBelief {
  mostRan: number
  /** How many jobs ran in parallel while others waited and nothing changed. null: we have never seen the node full. */
  limit: number | null
  /** The latest proof of the limit. `times` counts consecutive proofs of the same limit. */
  proof: { atMs: number; waited: number; forMs: number; times: number } | null
  /** The current period without changes in which jobs wait or the limit is reached. null: no such period now. */
  still: { sinceMs: number; looks: number; running: number; finished: number; isWaiting: boolean } | null
}

export const NOTHING_LEARNED: SlotsBelief = { mostRan: 0, limit: null, proof: null, still: null }

export interface Capacity {
  slots: number
  isTrying: boolean
  source: 'set' | 'learned' | 'default'
  /** The evidence, for users. */
  said: Message
}

const MIN_LOOKS = 3
/**
 * A limit counts as proven after this time without changes: two of Scrapyd's 5 s poll intervals, in which Scrapyd would
 * have filled a free slot.
 */
const MIN_SPAN_MS = 10_000
// A node that used to run more jobs is probably stuck, so a lower limit takes longer to prove.
const SHRUNK_SPAN_MS = 10 * 60_000
// The time from a proof to the next test of the limit. Doubles with each new proof.
const FIRST_DOUBT_MS = 15 * 60_000
const LONGEST_DOUBT_MS = 24 * 60 * 60_000

/**
 * Updates the belief with one poll. Scrapyd does not report how many jobs it can run in parallel, so we infer it:
 *
 *   nothing has run yet                                  ->  one slot
 *   N jobs ran in parallel                               ->  N slots, and planCapacity offers one more job
 *   jobs wait and nothing changes for more than 10 s     ->  N is the limit
 *   the limit is reached and no job waits for 10 s       ->  we offer one more job, because limits can be raised:
 *                                                            15 min after the proof, then 30, … up to a day
 *
 * An estimate that is too low always grows. The cost is one job that waits in the node's own queue.
 */
export function learnFromCounters(before: SlotsBelief, seen: CountersSeen): SlotsBelief {
  const { atMs, running, pending, finished } = seen
  const isWaiting = pending > 0
  const isOverLimit = before.limit !== null && running > before.limit
  const mostRan = Math.max(before.mostRan, running, Math.min(finished, 1))
  const limit = isOverLimit ? null : before.limit
  const proof = isOverLimit ? null : before.proof
  // A node that runs nothing although jobs wait is stuck. Such a node does not reveal how many slots it has.
  const isFull = running > 0 && (isWaiting || (limit !== null && running >= limit))
  if (!isFull) {
    const isSame = before.still === null && mostRan === before.mostRan && limit === before.limit
    return isSame ? before : { mostRan, limit, proof, still: null }
  }
  const { still } = before
  const isStill =
    still !== null &&
    still.running === running &&
    still.isWaiting === isWaiting &&
    (!isWaiting || still.finished === finished)
  const next = isStill
    ? { ...still, looks: still.looks + 1, finished }
    : { sinceMs: atMs, looks: 1, running, finished, isWaiting }
  const spanMs = running < mostRan ? SHRUNK_SPAN_MS : MIN_SPAN_MS
  if (!isWaiting || !isLongEnough(next, atMs, spanMs)) return { mostRan, limit, proof, still: next }
  // One period without changes proves a limit only once.
  const isNews = limit !== running || proof === null || proof.atMs < next.sinceMs
  if (!isNews) return { mostRan, limit, proof, still: next }
  const times = limit === running && proof !== null ? proof.times + 1 : 1
  const found = { atMs, waited: pending, forMs: atMs - next.sinceMs, times }
  return { mostRan: running, limit: running, proof: found, still: next }
}

/** Prefers the configured number of slots, then the reported one, then the learned one. */
export function planCapacity(evidence: {
  setSlots: number | null
  reported?: DaemonStatus['slots']
  belief: SlotsBelief
  nowMs: number
}): Capacity {
  const { setSlots, reported, belief, nowMs } = evidence
  const known = { slots: belief.limit ?? Math.max(1, belief.mostRan), isTrying: false }
  if (setSlots !== null) return { ...known, slots: setSlots, source: 'set', said: say('slots.set') }
  if (reported != null) return { ...known, slots: reported.count, source: 'learned', said: reported.said }
  if (belief.limit !== null && belief.proof !== null) {
    const { waited, forMs } = belief.proof
    const isTrying = isDoubtful(belief.proof, belief.still, nowMs)
    const seconds = Math.round(forMs / 1000)
    const said = say('slots.proved', { slots: belief.limit, waited, seconds, isTrying })
    return { ...known, isTrying, source: 'learned', said }
  }
  if (belief.mostRan === 0) return { ...known, source: 'default', said: say('slots.unknown') }
  return { ...known, isTrying: true, source: 'learned', said: say('slots.ran', { ran: belief.mostRan }) }
}

function isDoubtful(proof: NonNullable<SlotsBelief['proof']>, still: SlotsBelief['still'], nowMs: number): boolean {
  if (still === null || still.isWaiting || !isLongEnough(still, nowMs)) return false
  return nowMs - proof.atMs > backoffMs(proof.times, FIRST_DOUBT_MS, LONGEST_DOUBT_MS)
}

function isLongEnough(still: NonNullable<SlotsBelief['still']>, nowMs: number, spanMs = MIN_SPAN_MS): boolean {
  return still.looks >= MIN_LOOKS && nowMs - still.sinceMs > spanMs
}
