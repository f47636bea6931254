import type { DaemonStatus } from './node-client.ts'

/** What daemonstatus.json returned at one moment. */
export interface CountersSeen {
  /** Monotonic. */
  atMs: number
  running: number
  pending: number
  finished: number
}

/** What polling a node has shown about its slots. Pass it back in with each poll. */
export interface SlotsBelief {
  /** The most jobs that were seen running at once. */
  mostRan: number
  /** The number of jobs that ran while others waited and nothing moved: all its slots. null: never seen full. */
  limit: number | null
  /** The newest proof: when, how many waited, for how long, and how many times in a row it proved the same limit. */
  proof: { atMs: number; waited: number; forMs: number; times: number } | null
  /** Since when and for how many polls nothing has moved, while jobs waited or all believed slots were in use. */
  still: { sinceMs: number; looks: number; running: number; finished: number; isWaiting: boolean } | null
}

export const NOTHING_LEARNED: SlotsBelief = { mostRan: 0, limit: null, proof: null, still: null }

export interface Capacity {
  slots: number
  source: 'set' | 'learned' | 'default'
  /** How we know, in words. */
  text: string
}

/** Scrapyd's default is four per CPU, and every machine has at least one. */
const DEFAULT_SLOTS = 4
const MIN_LOOKS = 3
/** Two of Scrapyd's 5 s poll intervals: a free slot would have been filled by then. */
const MIN_SPAN_MS = 10_000
// A node that used to run more is more likely stuck than smaller now, so a lower limit takes longer to prove.
const SHRUNK_SPAN_MS = 10 * 60_000
// A proved limit is tested again after this time, doubled each time that it is proved again.
const FIRST_DOUBT_MS = 15 * 60_000
const LONGEST_DOUBT_MS = 24 * 60 * 60_000

/**
 * Learns from one more poll. Scrapyd does not report how many jobs it runs at once, so more are tried, one at a time:
 *
 *   all believed slots run, none waits, for more than 10 s  ->  one more is offered (planCapacity)
 *   it runs                                                 ->  at least that many: start over from there
 *   it waits, and nothing changes for more than 10 s        ->  that is the limit; after 15 min, then 30, … a day,
 *                                                               one more is offered, because limits can be raised
 *
 * So a number that is too low always grows, at the cost of one job that waits in the node's own queue.
 */
export function learnFromCounters(before: SlotsBelief, seen: CountersSeen): SlotsBelief {
  const { atMs, running, pending, finished } = seen
  const isWaiting = pending > 0
  const isOverLimit = before.limit !== null && running > before.limit
  const mostRan = Math.max(before.mostRan, running)
  const limit = isOverLimit ? null : before.limit
  const proof = isOverLimit ? null : before.proof
  // A node that runs nothing while jobs wait is stuck, not small.
  const isFull = running > 0 && (isWaiting || running >= believedSlots({ limit, mostRan }))
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
  // The same situation, continued, is not a new proof.
  const isNews = limit !== running || proof === null || proof.atMs < next.sinceMs
  if (!isNews) return { mostRan, limit, proof, still: next }
  const times = limit === running && proof !== null ? proof.times + 1 : 1
  const found = { atMs, waited: pending, forMs: atMs - next.sinceMs, times }
  return { mostRan: running, limit: running, proof: found, still: next }
}

/**
 * How many jobs a node runs at once: set, else as it reports, else learned, else Scrapyd's four; plus one if one more
 * is to be tried.
 */
export function planCapacity(evidence: {
  setSlots: number | null
  /** What the node itself says, and where it has that from. */
  told?: DaemonStatus['slots']
  belief: SlotsBelief
  nowMs: number
}): Capacity {
  const { setSlots, told, belief, nowMs } = evidence
  if (setSlots !== null) return { slots: setSlots, source: 'set', text: 'set by you' }
  if (told != null) return { slots: told.count, source: 'learned', text: told.text }
  const known = believedSlots(belief)
  const isTrying = isWorthTrying(belief, nowMs)
  const slots = isTrying ? known + 1 : known
  if (belief.limit !== null && belief.proof !== null) {
    const { waited, forMs } = belief.proof
    const proved = `learned: ${belief.limit} ran while ${waited} waited, for ${Math.round(forMs / 1000)} s`
    return { slots, source: 'learned', text: isTrying ? `${proved}; trying another` : proved }
  }
  if (belief.mostRan > DEFAULT_SLOTS) {
    return {
      slots,
      source: 'learned',
      text: `learned: ${belief.mostRan} ran at once; another is tried when all are in use`
    }
  }
  const text = 'estimated, because Scrapyd does not report it; another is tried when all are in use'
  // A slot that is only being tried is not known yet.
  return {
    slots,
    source: isTrying ? 'learned' : 'default',
    text: isTrying ? `learned: ${known} run at once; trying another` : text
  }
}

function believedSlots({ limit, mostRan }: Pick<SlotsBelief, 'limit' | 'mostRan'>): number {
  return limit ?? Math.max(DEFAULT_SLOTS, mostRan)
}

function isWorthTrying(belief: SlotsBelief, nowMs: number): boolean {
  const { limit, proof, still } = belief
  if (still === null || still.isWaiting || !isLongEnough(still, nowMs)) return false
  if (limit === null || proof === null) return true
  return nowMs - proof.atMs > Math.min(FIRST_DOUBT_MS * 2 ** Math.min(proof.times - 1, 20), LONGEST_DOUBT_MS)
}

function isLongEnough(still: NonNullable<SlotsBelief['still']>, nowMs: number, spanMs = MIN_SPAN_MS): boolean {
  return still.looks >= MIN_LOOKS && nowMs - still.sinceMs > spanMs
}
