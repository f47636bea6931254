import type { Outcome } from '../../shared/contract/index.ts'
import { nameOfLimit } from '../../shared/run-limits.ts'
import { parseClosingStats, type ScrapyStats } from '../understanding/closing-stats.ts'

interface ProcessEnd {
  code: number | null
  signal: string | null
  /** The limit that the local node stopped it for, in words. */
  limit?: string | null
}

export interface Judgement {
  outcome: Outcome
  /** A few words: Scrapy's finish_reason, or a substitute for it. */
  reason: string
  killingLine: string | null
  stats: ScrapyStats | null
  counts: { pages: number | null; items: number | null; errors: number | null }
}

/** After a second INT, too, Scrapy writes none: only a signal that the process died of proves that it was killed. */
const NO_CLOSING_STATS = 'ended without closing stats'

// Limits that mean "enough": the spider did its work. The other closespider_… limits indicate a problem.
const LIMITS_REACHED = new Set(['closespider_itemcount', 'closespider_pagecount', 'closespider_timeout'])

/**
 * How a run ended, from the end of its log and, on the local node, from its process's exit. The first matching row:
 *
 * | log says                        | process              | cancel asked | outcome   | reason                      |
 * | ------------------------------- | -------------------- | ------------ | --------- | --------------------------- |
 * | `finished`, or a limit reached  | 0 or unknown         | no matter    | succeeded | finish_reason               |
 * | any other                       | hit a limit          | no matter    | failed    | the limit                   |
 * | any                             | exit ≠ 0 or signal   | yes          | cancelled | finish_reason, else its end |
 * | `finished`, or a limit reached  | exit ≠ 0 or signal   | no           | failed    | exit code N / killed by S   |
 * | `shutdown` or `cancelled`       | 0 or unknown         | yes          | cancelled | finish_reason               |
 * | any other finish_reason         | no matter            | no matter    | failed    | finish_reason               |
 * | nothing of its end              | 0 or unknown         | yes          | cancelled | ended without closing stats |
 * | nothing of its end              | exit ≠ 0 or signal   | no           | failed    | exit code N / killed by S   |
 * | nothing at all of level INFO    | 0                    | no           | succeeded | exit code 0                 |
 * | nothing of its end              | 0 or unknown         | no           | failed    | ended without closing stats |
 * | there is no log                 | unknown              | no           | failed    | no log                      |
 *
 * A process hit a limit (memory, time, …) if the local node, or we on a remote node, stopped it for that. It then
 * closes with `shutdown` or is killed. One that had `finished` before the signal arrived, with exit code 0, has still
 * succeeded. "exit code N" and "ended without closing stats" become "out of memory (MemoryError)" if the log ends with
 * that. Limits reached are CLOSESPIDER_ITEMCOUNT, _PAGECOUNT and _TIMEOUT. A `shutdown` that nobody requested is a
 * failure: the machine or another user stopped the spider. Exit code 0 with a log without INFO lines is a spider whose
 * LOG_LEVEL hides its end. Exit code 0 alone proves nothing, because Scrapy also returns it after a forced shutdown.
 * Logged errors are counted and shown, but do not make a run fail, unless a project says so (outcome-rules.ts).
 */
export function judgeOutcome(evidence: {
  /** The last CLOSING_TAIL_BYTES of the log; null: there is no log. */
  tail: string | null
  /** null: the node does not report it (every remote Scrapyd). */
  exit: ProcessEnd | null
  /** The limit that we stopped a remote run for, in words. The local node reports its own in `exit`. */
  limitHit?: string | null
  cancelAsked: boolean
}): Judgement {
  const { tail, exit, cancelAsked } = evidence
  const limit = exit?.limit ?? evidence.limitHit ?? null
  const closing = tail === null ? null : parseClosingStats(tail)
  const finishReason = closing?.finishReason ?? null
  const exitFailure = exit === null || (exit.code === 0 && exit.signal === null) ? null : describeExit(exit)
  const isDone = finishReason !== null && (finishReason === 'finished' || LIMITS_REACHED.has(finishReason))
  const { outcome, reason } = decide()
  return {
    outcome,
    reason,
    killingLine: outcome === 'failed' ? (closing?.killingLine ?? null) : null,
    stats: closing?.stats ?? null,
    counts: { pages: closing?.pages ?? null, items: closing?.items ?? null, errors: closing?.errors ?? null }
  }

  function decide(): { outcome: Outcome; reason: string } {
    if (limit !== null && !(isDone && exitFailure === null)) {
      return { outcome: 'failed', reason: nameOfLimit(limit) }
    }
    if (exitFailure !== null && cancelAsked) {
      return { outcome: 'cancelled', reason: finishReason ?? describeKill(exit) }
    }
    if (finishReason !== null) {
      if (isDone) {
        if (exitFailure !== null) return { outcome: 'failed', reason: exitFailure }
        return { outcome: 'succeeded', reason: finishReason }
      }
      const asked = cancelAsked && (finishReason === 'shutdown' || finishReason === 'cancelled')
      return { outcome: asked ? 'cancelled' : 'failed', reason: finishReason }
    }
    if (cancelAsked) return { outcome: 'cancelled', reason: describeKill(exit) }
    if (exitFailure === null && exit !== null && !closing?.showsInfo) {
      return { outcome: 'succeeded', reason: 'exit code 0' }
    }
    if (exit?.signal == null && /\bMemoryError\b/.test(closing?.killingLine ?? '')) {
      return { outcome: 'failed', reason: 'out of memory (MemoryError)' }
    }
    if (exitFailure !== null) return { outcome: 'failed', reason: exitFailure }
    return { outcome: 'failed', reason: tail === null ? 'no log' : NO_CLOSING_STATS }
  }
}

function describeExit(exit: ProcessEnd): string {
  if (exit.signal !== null) return `killed by ${exit.signal}`
  return exit.code === null ? 'ended for an unknown reason' : `exit code ${exit.code}`
}

function describeKill(exit: ProcessEnd | null): string {
  return exit?.signal ? `killed by ${exit.signal}` : NO_CLOSING_STATS
}
