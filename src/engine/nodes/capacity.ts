/** What daemonstatus.json showed at one moment. */
export interface CountersSeen {
  /** Monotonic. */
  atMs: number
  running: number
  pending: number
  finished: number
}

export interface Capacity {
  slots: number
  source: 'set' | 'learned' | 'default'
  /** To be kept and given again: what watching has shown so far. */
  learned: number | null
}

/** Scrapyd's default is four per processor, and every machine has one. */
const DEFAULT_SLOTS = 4
const MIN_POLLS = 3
/** Two poll intervals of Scrapyd (5 s each): a free slot would have been filled by then. */
const MIN_SPAN_MS = 10_000

/**
 * How many jobs a node runs at once; Scrapyd never tells. Set by the operator, else learned, else 4. Learned: nothing
 * started or ended over at least three polls and more than 10 s, although jobs were pending: all slots are busy.
 * A node that runs more than was learned has more slots than that.
 */
export function planCapacity(evidence: {
  setSlots: number | null
  /** What the node has unless told or learned: Scrapyd's four, or the CPU count of this machine. */
  defaultSlots?: number
  learned: number | null
  /** Oldest first; those of the last minute are enough. */
  polls: readonly CountersSeen[]
}): Capacity {
  const { setSlots, defaultSlots = DEFAULT_SLOTS, polls } = evidence
  const learned = learn(evidence.learned, polls)
  if (setSlots !== null) return { slots: setSlots, source: 'set', learned }
  if (learned !== null) return { slots: learned, source: 'learned', learned }
  return { slots: defaultSlots, source: 'default', learned }
}

function learn(before: number | null, polls: readonly CountersSeen[]): number | null {
  const newest = polls.at(-1)
  if (newest === undefined) return before
  // A node that runs nothing while jobs wait is stuck, not small.
  if (newest.running > 0 && isFlat(polls, newest)) return newest.running
  return before === null ? null : Math.max(before, newest.running)
}

function isFlat(polls: readonly CountersSeen[], newest: CountersSeen): boolean {
  const firstOther = polls.findLastIndex(
    (poll) => poll.pending === 0 || poll.running !== newest.running || poll.finished !== newest.finished
  )
  const flat = polls.slice(firstOther + 1)
  const oldest = flat[0]
  return oldest !== undefined && flat.length >= MIN_POLLS && newest.atMs - oldest.atMs > MIN_SPAN_MS
}
