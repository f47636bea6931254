import type { Outcome } from '../../../shared/contract/index.ts'
import { limitOf } from '../../../shared/texts/limit-hits.ts'
import { type Message, plain, say } from '../../../shared/texts/message.ts'
import {
  CLOSING_TAIL_BYTES,
  type ClosingStats,
  killingLineOf,
  parseClosingStats,
  type ScrapyStats
} from '../../runs/log-parser/closing-stats.ts'
import type { LogFigures } from '../../runs/log-parser/figures.ts'
import { createLogParser } from '../../runs/log-parser/log-parser.ts'

interface ProcessEnd {
  code: number | null
  signal: string | null
  /** Why the spider closed, if the log does not show it. */
  finishReason?: string | null | undefined
  /** The limit for which the local node stopped the process. */
  limit?: Message | null
}

export interface Judgement {
  outcome: Outcome
  /** Scrapy's finish_reason as untrusted text, or a substitute. */
  reason: Message
  killingLine: string | null
  stats: ScrapyStats | null
  finishReason: string | null
  counts: { pages: number | null; items: number | null; errors: number | null }
}

/**
 * Does not report a kill, because Scrapy writes no closing stats after a second INT either. Only the signal that ended
 * the process proves a kill.
 */
const NO_CLOSING_STATS = say('reason.no_closing_stats')
const NO_RECORDS: LogFigures['records'] = { DEBUG: 0, INFO: 0, WARNING: 0, ERROR: 0, CRITICAL: 0 }

// Limits that mean "enough": the spider did its work. The other closespider_… limits indicate a problem.
const LIMITS_REACHED = new Set(['closespider_itemcount', 'closespider_pagecount', 'closespider_timeout'])

export type LoggedSoFar = Pick<
  LogFigures,
  'pages' | 'items' | 'records' | 'stats' | 'showsEnd' | 'format' | 'finishReason'
>

/**
 * Judges how a run ended from its log and, if the node reports it, from the exit of its process. The first matching
 * row:
 *
 * | log says                           | process            | cancel asked | outcome   | reason                      |
 * | ---------------------------------- | ------------------ | ------------ | --------- | --------------------------- |
 * | `finished`, or a limit reached     | 0 or unknown       | no matter    | succeeded | finish_reason               |
 * | no matter                          | hit a limit        | no matter    | failed    | the limit                   |
 * | no matter                          | exit ≠ 0 or signal | yes          | cancelled | finish_reason, else its end |
 * | `finished`, a limit, or `shutdown` | exit ≠ 0 or signal | no           | failed    | exit code N / killed by S   |
 * | `shutdown` or `cancelled`          | 0 or unknown       | yes          | cancelled | finish_reason               |
 * | `shutdown` or `cancelled`          | no matter          | no           | failed    | finish_reason               |
 * | any finish_reason not named above  | no matter          | no matter    | failed    | finish_reason               |
 * | nothing of its end                 | 0 or unknown       | yes          | cancelled | ended without closing stats |
 * | nothing of its end                 | exit ≠ 0 or signal | no           | failed    | exit code N / killed by S   |
 * | nothing, and it hides its end      | 0                  | no           | succeeded | exit code 0                 |
 * | there is no log                    | unknown            | no           | failed    | no log                      |
 * | its head or end was not read       | unknown            | no           | unclear   | log not fully read          |
 * | its node refuses it                | unknown            | no           | unclear   | log refused                 |
 * | nothing, and it hides its end      | unknown            | no           | unclear   | end not visible in the log  |
 * | nothing of its end                 | 0 or unknown       | no           | failed    | ended without closing stats |
 *
 * - On the local node, the process reports why the spider closed if the log does not.
 * - A process hit a limit (memory, time, …) if the local node, or we on a remote node, stopped it for that. It then
 *   closes with `shutdown` or is killed. If it had `finished` before the signal arrived and exits with code 0, it
 *   succeeded.
 * - "exit code N" and "ended without closing stats" become "out of memory (MemoryError)" if the log ends with that.
 * - Limits reached are CLOSESPIDER_ITEMCOUNT, _PAGECOUNT and _TIMEOUT.
 * - An unrequested `shutdown` is a failure: the machine or another user stopped the spider.
 * - A log hides its end if Scrapy itself logs nothing at level INFO after it applied the spider's settings, and the
 *   crawl did not fail with an exception. Exit code 0 alone proves nothing, because Scrapy also returns it after a
 *   forced shutdown.
 * - Logged errors are counted and shown but fail a run only if a project's rules say so (outcome-rules.ts).
 */
export function judgeOutcome(evidence: {
  /** The last CLOSING_TAIL_BYTES of the log. Null: no log. */
  tail: string | null
  /** Figures of the whole log. Absent: only the tail was read. */
  logged?: LoggedSoFar | null
  /** Null: the node does not report it. No remote Scrapyd does. */
  exit: ProcessEnd | null
  /** The limit for which we stopped a remote run. The local node reports the limits that it enforces in `exit`. */
  limitHit?: Message | null
  cancelAsked: boolean
  /** The node may have a log but does not return it. `tail` is null. */
  isRefused?: boolean
}): Judgement {
  const { tail, exit, cancelAsked } = evidence
  const limit = exit?.limit ?? evidence.limitHit ?? null
  const closing = tail === null ? null : parseClosingStats(tail)
  const logged = evidence.logged ?? readTail(tail ?? '')
  // If the node deleted the log, the figures of the copied part may include the end.
  const loggedReason = closing === null ? logged.finishReason : closing.finishReason
  const finishReason = loggedReason ?? exit?.finishReason ?? null
  // If only the process reports why the spider closed, the log is incomplete.
  const counted = finishReason === loggedReason ? logged : { ...logged, pages: null, items: null, showsEnd: false }
  const exitFailure = exit === null || (exit.code === 0 && exit.signal === null) ? null : describeExit(exit)
  const isDone = finishReason !== null && (finishReason === 'finished' || LIMITS_REACHED.has(finishReason))
  const { outcome, reason } = decide()
  return {
    outcome,
    reason,
    killingLine: outcome !== 'failed' || tail === null ? null : killingLineOf(tail, { isStopped: limit !== null }),
    stats: closing?.stats ?? logged.stats,
    finishReason,
    counts: mergeCounts(closing, counted)
  }

  function decide(): { outcome: Outcome; reason: Message } {
    const closed = finishReason === null ? null : plain(finishReason)
    if (limit !== null && !(isDone && exitFailure === null)) {
      return { outcome: 'failed', reason: limitOf(limit) }
    }
    if (exitFailure !== null && cancelAsked) {
      return { outcome: 'cancelled', reason: closed ?? describeKill(exit) }
    }
    if (closed !== null) {
      // Scrapy also reports `shutdown` after an exception. The exit of the process is more specific.
      if (exitFailure !== null && (isDone || finishReason === 'shutdown')) {
        return { outcome: 'failed', reason: exitFailure }
      }
      if (isDone) return { outcome: 'succeeded', reason: closed }
      const asked = cancelAsked && (finishReason === 'shutdown' || finishReason === 'cancelled')
      return { outcome: asked ? 'cancelled' : 'failed', reason: closed }
    }
    const unread = exit === null ? whyUnread() : null
    if (cancelAsked) return { outcome: 'cancelled', reason: unread ?? describeKill(exit) }
    if (exitFailure === null && (unread !== null || hidesEnd())) {
      if (exit !== null) return { outcome: 'succeeded', reason: say('reason.exit_code', { exitCode: 0 }) }
      if (tail === null && unread === null) return { outcome: 'failed', reason: say('reason.no_log') }
      return { outcome: 'unclear', reason: unread ?? say('reason.end_hidden') }
    }
    if (exit?.signal == null && /\bMemoryError\b/.test(closing?.killingLine ?? '')) {
      return { outcome: 'failed', reason: say('reason.out_of_memory') }
    }
    return { outcome: 'failed', reason: exitFailure ?? NO_CLOSING_STATS }
  }

  /** Why the log's deciding part (its end, or its head if the tail shows nothing) was not read. Null: it was read. */
  function whyUnread(): Message | null {
    if (evidence.isRefused === true) return say('reason.log_refused')
    const isUnread =
      tail === null
        ? Object.values(logged.records).some((count) => count > 0)
        : evidence.logged == null && Buffer.byteLength(tail) >= CLOSING_TAIL_BYTES && hidesEnd()
    return isUnread ? say('reason.log_not_whole') : null
  }

  function hidesEnd(): boolean {
    return !showsEnd(tail ?? '', logged) && !CRAWL_RAISED.test(tail ?? '')
  }
}

/** A traceback of the crawl itself contains one of these Scrapy functions. In JSON, the path is escaped. */
const CRAWL_RAISED = /scrapy[\\/]{1,4}crawler\.py\\?", line \d+, in (?:crawl|_crawl|crawl_async|_crawl_and_track)\b/

/** If the log's format has no recognizable record heads, looks for the text of Scrapy's messages. */
function showsEnd(tail: string, { showsEnd: isShown, format }: LoggedSoFar): boolean {
  return isShown || (format === null && /(?:Spider opened|(?:Closing spider|Spider closed) \(\w+\))\s*$/m.test(tail))
}

function readTail(tail: string): LoggedSoFar {
  const parser = createLogParser()
  parser.push(Buffer.from(tail))
  parser.end()
  const figures = parser.figures()
  // If the log is longer than the tail, its totals are unknown.
  return Buffer.byteLength(tail) < CLOSING_TAIL_BYTES
    ? figures
    : { ...figures, pages: null, items: null, records: NO_RECORDS }
}

/**
 * Pages and items come from the closing stats. For errors, the higher number counts, because errors can be logged
 * before or after Scrapy counts them.
 */
function mergeCounts(closing: ClosingStats | null, { pages, items, records, showsEnd: isShown }: LoggedSoFar) {
  const counted = closing?.errors ?? null
  const logged = records.ERROR + records.CRITICAL
  // A log that hides its end can also hide errors (LOG_LEVEL=CRITICAL).
  const isKnown = counted !== null || isShown || logged > 0
  return {
    pages: closing?.pages ?? pages,
    items: closing?.items ?? items,
    errors: isKnown ? Math.max(counted ?? 0, logged) : null
  }
}

function describeExit({ code, signal }: ProcessEnd): Message {
  if (signal !== null) return say('reason.killed', { signal })
  return code === null ? say('reason.ended_unexplained') : say('reason.exit_code', { exitCode: code })
}

function describeKill(exit: ProcessEnd | null): Message {
  return exit?.signal ? say('reason.killed', { signal: exit.signal }) : NO_CLOSING_STATS
}
