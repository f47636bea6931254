/**
 * A circuit breaker: decides when a failing cache is bypassed, and when it is tried again. Pure: the caller has the
 * clock. Only failures in a row count: one slow answer among fast ones means nothing.
 *
 *     closed ── `failuresToOpen` in a row ──> open (for `holdMs`) ── probe succeeded ──> closed
 *                                             └─ probe failed: open for twice as long, at most `LONGEST_HOLD_MS`
 */
export interface Breaker {
  isOpen: boolean
  failuresInARow: number
  /** How long it stays open now, or the next time. */
  holdMs: number
  closedAtMs: number
}

const FAILURES_TO_OPEN = 5
const FIRST_HOLD_MS = 500
const LONGEST_HOLD_MS = 15_000
/** A cache that fails again so soon serves only probes: the hold keeps growing. */
const STEADY_AFTER_MS = 30_000

export const CLOSED_BREAKER: Breaker = { isOpen: false, failuresInARow: 0, holdMs: FIRST_HOLD_MS, closedAtMs: 0 }

export function afterSuccess(breaker: Breaker, nowMs: number): Breaker {
  if (!breaker.isOpen) {
    const isSteady = nowMs - breaker.closedAtMs >= STEADY_AFTER_MS
    return { ...breaker, failuresInARow: 0, holdMs: isSteady ? FIRST_HOLD_MS : breaker.holdMs }
  }
  return { isOpen: false, failuresInARow: 0, holdMs: Math.min(breaker.holdMs * 2, LONGEST_HOLD_MS), closedAtMs: nowMs }
}

/** `isCertain`: the connection is lost, or a probe failed. */
export function afterFailure(breaker: Breaker, { isCertain }: { isCertain: boolean }): Breaker {
  if (breaker.isOpen) {
    // Calls that were under way when it opened may fail without effect; a failed probe counts.
    return isCertain ? { ...breaker, holdMs: Math.min(breaker.holdMs * 2, LONGEST_HOLD_MS) } : breaker
  }
  const failuresInARow = breaker.failuresInARow + 1
  return { ...breaker, failuresInARow, isOpen: isCertain || failuresInARow >= FAILURES_TO_OPEN }
}
