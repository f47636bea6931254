/** Three of Scrapyd's poll intervals of 5 s: what it accepted it starts at its next poll. */
const PATIENCE_MS = 15_000
const PATIENCE_MAX_MS = 300_000
const PROBATION_FIRST_MS = 30_000
const PROBATION_MAX_MS = 600_000
/** Between two looks further apart than this, anything may have happened: patience starts again. */
const LISTS_GAP_MAX_MS = 30_000

/** What one look at a node's lists showed. */
export interface Lists {
  /** Monotonic, as all times here. */
  atMs: number
  running: readonly string[]
  pending: readonly string[]
  /** A job of ours is in the node's queue. */
  hasOurs: boolean
  slots: number
}

/** What is remembered of a node from one look to the next. */
export interface StartWatch {
  atMs: number
  running: ReadonlySet<string>
  pending: ReadonlySet<string>
  /** The most that it was seen to run at once: how many slots it has for sure. */
  mostRunning: number
  /** Since when a job of ours waited there beside a free slot, and nothing was started. */
  idleSinceMs: number | null
  patienceMs: number
  stuck: Stuck | null
}

export interface Stuck {
  strikes: number
  /** It is tried with one job from then on. */
  tryAgainAtMs: number
}

/**
 * Tells whether a node accepts jobs but starts none. Pure.
 *
 *   healthy --a job of ours waits there, a slot is free, nothing starts for 3 polls--> stuck
 *   stuck --after a while, longer each time--> on probation: one job
 *   on probation --it starts--> healthy;  --it does not--> stuck
 *
 * A slot is certainly free only where the node was seen to run more at once: the slots an operator set may be too many.
 * A node that polls seldom looks stuck at first. It is given more time at each try, and keeps what it needed.
 */
export function judgeLists(before: StartWatch | null, seen: Lists): StartWatch {
  const running = new Set(seen.running)
  const pending = new Set(seen.pending)
  const isRecent = before !== null && seen.atMs - before.atMs <= LISTS_GAP_MAX_MS
  const hasStarted = isRecent && isStart(before, running, pending)
  const mostRunning = Math.max(before?.mostRunning ?? 1, running.size)
  const isWaiting = seen.hasOurs && running.size < Math.min(seen.slots, mostRunning)
  const idleSinceMs = isWaiting ? ((isRecent && !hasStarted ? before.idleSinceMs : null) ?? seen.atMs) : null
  const patienceMs = before?.patienceMs ?? PATIENCE_MS
  const stuck = before?.stuck ?? null
  const watch = { atMs: seen.atMs, running, pending, mostRunning, idleSinceMs, patienceMs, stuck }
  if (watch.stuck !== null && hasStarted) {
    const tookMs = before?.idleSinceMs == null ? 0 : seen.atMs - before.idleSinceMs
    return { ...watch, stuck: null, patienceMs: clamp(3 * tookMs, PATIENCE_MS, PATIENCE_MAX_MS) }
  }
  const isOnTrial = watch.stuck === null || isOnProbation(watch.stuck, seen.atMs)
  if (!isOnTrial || idleSinceMs === null || seen.atMs - idleSinceMs < patienceMs) return watch
  const strikes = (watch.stuck?.strikes ?? 0) + 1
  return {
    ...watch,
    // If it has fewer slots than it was seen to use, it has them no longer.
    mostRunning: Math.max(1, running.size),
    idleSinceMs: null,
    patienceMs: Math.min(PATIENCE_MAX_MS, PATIENCE_MS * 2 ** strikes),
    stuck: { strikes, tryAgainAtMs: seen.atMs + Math.min(PROBATION_MAX_MS, PROBATION_FIRST_MS * 2 ** (strikes - 1)) }
  }
}

export function isOnProbation(stuck: Stuck, nowMs: number): boolean {
  return nowMs >= stuck.tryAgainAtMs
}

/** Something runs that did not, or, while it is thought healthy, has left the queue: it ran between two looks. */
function isStart(before: StartWatch, running: ReadonlySet<string>, pending: ReadonlySet<string>): boolean {
  for (const jobid of running) if (!before.running.has(jobid)) return true
  if (before.stuck !== null) return false
  for (const jobid of before.pending) if (!pending.has(jobid)) return true
  return false
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(most, Math.max(least, value))
}
