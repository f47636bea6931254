/** What daemonstatus.json showed at one moment. */
export interface CountersSeen {
  /** Monotonic. */
  atMs: number
  running: number
  pending: number
  finished: number
}

/** What watching a node has shown of its slots. To be kept, and given again with each look. */
export interface SlotsBelief {
  /** The most that were seen to run at once. */
  mostRan: number
  /** So many ran, while others waited and nothing moved: all its slots. null: it has never been seen full. */
  limit: number | null
  /** Of the newest proof: when, how many waited, for how long, and how often in a row it proved the same. */
  proof: { atMs: number; waited: number; forMs: number; times: number } | null
  /** Since when nothing has moved, in how many looks, while jobs waited or while as many ran as we believe it can. */
  still: { sinceMs: number; looks: number; running: number; finished: number; isWaiting: boolean } | null
}

export const NOTHING_LEARNED: SlotsBelief = { mostRan: 0, limit: null, proof: null, still: null }

export interface Capacity {
  slots: number
  source: 'set' | 'learned' | 'default'
  /** How we know, in words. */
  text: string
}

/** Scrapyd's default is four per processor, and every machine has one. */
const DEFAULT_SLOTS = 4
const MIN_LOOKS = 3
/** Two poll intervals of Scrapyd (5 s each): a free slot would have been filled by then. */
const MIN_SPAN_MS = 10_000
// A node that ran more before is rather stuck than smaller now; that it is smaller takes longer to believe.
const SHRUNK_SPAN_MS = 10 * 60_000
// A limit that was proved is doubted after this, and after twice as long each time that it is proved again.
const FIRST_DOUBT_MS = 15 * 60_000
const LONGEST_DOUBT_MS = 24 * 60 * 60_000

/**
 * What one more poll shows. Scrapyd never reports how many jobs it runs at once, so it is tried, one job at a time:
 *
 *   all believed slots run, none waits, for more than 10 s  ->  one more is offered (planCapacity)
 *   it runs                                                 ->  at least so many: again from above
 *   it waits, and nothing changes for more than 10 s        ->  that is the limit; after 15 min, then 30, … a day,
 *                                                               one more is offered: limits are raised, too
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
  // The same again while it goes on is not another proof.
  const isNews = limit !== running || proof === null || proof.atMs < next.sinceMs
  if (!isNews) return { mostRan, limit, proof, still: next }
  const times = limit === running && proof !== null ? proof.times + 1 : 1
  const found = { atMs, waited: pending, forMs: atMs - next.sinceMs, times }
  return { mostRan: running, limit: running, proof: found, still: next }
}

/** How many jobs a node runs at once: set, else learned, else Scrapyd's four; plus one where that is to be tried. */
export function planCapacity(evidence: { setSlots: number | null; belief: SlotsBelief; nowMs: number }): Capacity {
  const { setSlots, belief, nowMs } = evidence
  if (setSlots !== null) return { slots: setSlots, source: 'set', text: 'set by you' }
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
  // What is only being tried is not known yet.
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
