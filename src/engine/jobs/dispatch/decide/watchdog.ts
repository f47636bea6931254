import { backoffMs } from '../../../runtime/backoff.ts'
/** How long a job can wait at first while a slot is free: three of Scrapyd's poll intervals of 5 s. */
const PATIENCE_MS = 15_000
/** A node that starts no job for longer than this is stuck, regardless of how rarely it polls. */
export const PATIENCE_MAX_MS = 300_000
const PROBATION_FIRST_MS = 30_000
const PROBATION_MAX_MS = 600_000
/**
 * The maximum time between two snapshots. After a longer gap, the wait restarts, because the node may have started
 * jobs.
 */
const LISTS_GAP_MAX_MS = 30_000

export interface Lists {
  /** Monotonic, like all times in this file. */
  atMs: number
  running: readonly string[]
  pending: readonly string[]
  hasOurs: boolean
  slots: number
}

export interface StartWatch {
  atMs: number
  running: ReadonlySet<string>
  pending: ReadonlySet<string>
  /** The highest number of jobs that were seen running together. Proves that the node has that many slots. */
  mostRunning: number
  /** The time since which a job of ours has waited and a slot has been free, but nothing has started. */
  idleSinceMs: number | null
  patienceMs: number
  stuck: Stuck | null
}

export interface Stuck {
  strikes: number
  tryAgainAtMs: number
}

/**
 * Detects nodes that accept jobs but start none.
 *
 *   healthy --a job of ours waits there, a slot is free, nothing starts for 3 polls--> stuck
 *   stuck --after a delay that grows with each strike--> on probation: one job
 *   on probation --it starts--> healthy;  --it does not--> stuck
 *
 * A slot counts as free only if the node was seen running more jobs together, because the configured number of slots
 * can be too high. A node that polls rarely looks stuck at first, so each strike gives it more time. When it then
 * starts a job, its `patienceMs` becomes three times the time that the start took.
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
    // The node runs fewer jobs than before although a job waits, so it may have lost slots.
    mostRunning: Math.max(1, running.size),
    idleSinceMs: null,
    patienceMs: backoffMs(strikes + 1, PATIENCE_MS, PATIENCE_MAX_MS),
    stuck: { strikes, tryAgainAtMs: seen.atMs + backoffMs(strikes, PROBATION_FIRST_MS, PROBATION_MAX_MS) }
  }
}

export function isOnProbation(stuck: Stuck, nowMs: number): boolean {
  return nowMs >= stuck.tryAgainAtMs
}

/** Whether a job started between the snapshots: a new job is running or, on a healthy node, a job left the queue. */
function isStart(before: StartWatch, running: ReadonlySet<string>, pending: ReadonlySet<string>): boolean {
  for (const jobid of running) if (!before.running.has(jobid)) return true
  if (before.stuck !== null) return false
  for (const jobid of before.pending) if (!pending.has(jobid)) return true
  return false
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(most, Math.max(least, value))
}
