import pLimit from 'p-limit'
import { outcomeRulesOf } from '../../../../shared/outcome-rules.ts'
import type { FleetNode } from '../../../nodes/fleet.ts'
import { NodeError, type NodeErrorKind } from '../../../nodes/node-client.ts'
import { Timers } from '../../../runtime/clock.ts'
import type { ReadLog } from '../../../runs/logs/archive/log-copies.ts'
import { fromTail, type LogBytes } from '../../../runtime/byte-window.ts'
import type { LogReading } from '../../../runs/log-collector/log-reading.ts'
import type { ArchivedLog } from '../../../model/records.ts'
import { judgeOutcome } from '../../outcome/outcome.ts'
import { applyOutcomeRules, type RuledJudgement } from '../../outcome/outcome-rules.ts'
import { CLOSING_TAIL_BYTES } from '../../../runs/log-parser/closing-stats.ts'
import { isScrapdeckError } from '../../../../shared/errors.ts'
import { asParam, say } from '../../../../shared/texts/message.ts'
import { endRun, exitEvidence } from './end-run.ts'
import type { DispatchContext } from '../context.ts'
import type { LiveAttempt } from '../live-attempts.ts'
import { backoffMs } from '../../../runtime/backoff.ts'

const AT_ONCE_MAX = 16
const RETRY_FIRST_MS = 1_000
const RETRY_MAX_MS = 30_000
// After this many failures, the job ends without an archived log or without its items.
const ARCHIVE_TRIES = 3
// After this many failures, the end of the log decides, without the figures of the whole log.
const READ_TRIES = 3
// The maximum number of runs that archive their items in parallel. Items can be large and must not delay other runs.
const ITEMS_AT_ONCE = 4
const FINAL_FOR_ITEMS = new Set<unknown>(['ITEMS_TOO_LARGE', 'ITEMS_NOT_FOUND'])
// After this many failed reads, we abandon the log. If a proxy blocks /logs, this delays the run's end by about 30 s.
const TAIL_TRIES = 6
/** Logged by resources/python/crawl.py. */
const FEEDS_UNUSABLE = "The project's own feeds cannot be used"
const NO_ANSWER = new Set<NodeErrorKind>(['unreachable', 'timeout', 'reset', 'aborted'])

/** Whether the node responds, but not with what was requested. A retry rarely helps. */
export function isAnswer(node: FleetNode, error: unknown): error is NodeError {
  if (!(error instanceof NodeError) || node.status.health !== 'up') return false
  return error.isFromProxy || !NO_ANSWER.has(error.kind)
}

const isWaitedFor = (node: FleetNode, error: unknown): boolean =>
  (error instanceof NodeError && !isAnswer(node, error)) || isScrapdeckError(error, 'BLOBS_UNUSABLE')

/** Failures so far. Except in `all`, failures of an unreachable node do not count. */
interface Failures {
  all: number
  tails: number
  /** Failures to read the whole log for its figures. */
  reads: number
  archives: number
  items: number
  itemsProblem: string | null
  /** Writes the run's end. Kept here so that the log is not fetched again if archiving the items fails. */
  end: (() => Promise<void>) | null
}

export interface LogTail extends LogBytes {
  text: string
}

/**
 * Ends attempts whose run is over: reads the end of the log, judges the outcome, archives the log (and perhaps the
 * items) before the node prunes it, and writes the outcome. While the node is unreachable, the attempt stays
 * `finishing`, holds no slot, and is finished later.
 */
export class Finisher {
  readonly #context: DispatchContext
  readonly #queued = new Set<LiveAttempt>()
  readonly #atOnce = pLimit(AT_ONCE_MAX)
  readonly #itemsAtOnce = pLimit(ITEMS_AT_ONCE)
  readonly #retries: Timers
  readonly #stopping = new AbortController()

  constructor(context: DispatchContext) {
    this.#context = context
    this.#retries = new Timers(context.clock)
  }

  finish(one: LiveAttempt): void {
    if (this.#queued.has(one)) return
    this.#queued.add(one)
    this.#enqueue(one, { all: 0, tails: 0, reads: 0, archives: 0, items: 0, itemsProblem: null, end: null })
  }

  stop(): void {
    this.#stopping.abort()
    this.#atOnce.clearQueue()
    this.#itemsAtOnce.clearQueue()
    this.#retries.stop()
  }

  /** Reads the end of a log. Null: there is no log file. Rejects with NodeError if the node does not return it. */
  async readTail(node: FleetNode, one: LiveAttempt): Promise<LogTail | null> {
    const wanted = { offset: -CLOSING_TAIL_BYTES, limitBytes: CLOSING_TAIL_BYTES }
    const range = await node.client.readLog(one, wanted, this.#stopping.signal)
    return range === null ? null : { ...range, text: new TextDecoder().decode(range.bytes) }
  }

  #enqueue(one: LiveAttempt, failures: Failures): void {
    if (!this.#stopping.signal.aborted) void this.#atOnce(() => this.#finishOrRetry(one, failures))
  }

  async #finishOrRetry(one: LiveAttempt, failures: Failures): Promise<void> {
    const { fleet, live, projects } = this.#context
    // The attempt ended in another way: its node was removed, or we gave up on it.
    if (live.get(one.key) !== one) return void this.#queued.delete(one)
    const node = fleet.get(one.nodeId)
    // On startup, the attempts are loaded before the nodes, so try again soon.
    if (node === undefined) return this.#retry(one, RETRY_FIRST_MS, failures)
    try {
      failures.end ??= await this.#prepareEnd(node, one, failures)
      if (projects.settingsOf(one.project).keepItems === true) {
        void this.#itemsAtOnce(() => this.#keepItemsAndEnd(node, one, failures))
        return
      }
      await failures.end()
      this.#queued.delete(one)
    } catch (error) {
      this.#retryAfter(error, one, failures)
    }
  }

  /** Reads and archives the log. The returned function judges the run and writes its end. */
  async #prepareEnd(node: FleetNode, one: LiveAttempt, failures: Failures): Promise<() => Promise<void>> {
    const { archive, collector, store } = this.#context
    const { tail, problem } = await this.#readTailOrGiveUp(node, one, failures)
    const reading = await this.#read(node, one, tail, failures)
    const { keepsLogs } = node.client.traits
    const earlier = one.logArchived && !keepsLogs ? await store.findArchivedLog(one.jobId, one.number) : null
    const archived = keepsLogs ? null : await this.#archive(node, one, { tail, earlier }, failures)
    const keptBytes = (archived ?? earlier)?.sizes?.rawBytes ?? 0
    // If the earlier archive is kept, it is incomplete: it was copied from a node that then became unreachable.
    const isCut = archived === null ? earlier !== null : tail === null || keptBytes < tail.sizeBytes
    // Most runs end before their log is read, so there is no copy to remove.
    const isCopied = archived !== null && (isCut || archived.packed === null || reading?.isCopied !== false)
    return async () => {
      const { exit, cancelAskedAtMs, limitHit } = one
      const cancelAsked = cancelAskedAtMs !== null
      const isStopped = cancelAsked || limitHit !== null || exit?.limit != null
      const logged = reading?.parser.figures() ?? null
      const isRefused = problem !== null
      const judged = judgeOutcome({ tail: tail?.text ?? null, logged, exit, limitHit, cancelAsked, isRefused })
      const rules = outcomeRulesOf(this.#context.projects.settingsOf(one.project), one.spider)
      const hasFailedExit = exit !== null && (exit.code !== 0 || exit.signal !== null)
      const judgement = applyOutcomeRules(judged, rules, { hasFailedExit })
      // Starts these writes together, so that they share one commit, unless the retry policy must first read earlier
      // attempts.
      await Promise.all([
        archived !== null && store.markLogArchived(one.jobId, one.number, archived),
        reading !== null && collector.record(reading, one.startedAtMs, { isStopped }),
        this.#end(one, judgement, problem, {
          logBytes: tail?.sizeBytes ?? null,
          ...(isCut ? { logKeptBytes: keptBytes } : {}),
          ...(problem === null ? {} : { logProblem: asParam(problem.said) }),
          ...(reading?.errors.hasMessage(FEEDS_UNUSABLE) === true ? { feeds: FEEDS_UNUSABLE } : {}),
          ...(failures.itemsProblem === null ? {} : { itemsProblem: failures.itemsProblem })
        })
      ])
      if (isCopied) await archive.copies.remove(one.jobId, one.number)
    }
  }

  async #keepItemsAndEnd(node: FleetNode, one: LiveAttempt, failures: Failures): Promise<void> {
    try {
      failures.itemsProblem ??= await this.#keepItems(node, one, failures)
      await failures.end!()
      this.#queued.delete(one)
    } catch (error) {
      this.#retryAfter(error, one, failures)
    }
  }

  /** Why the items could not be kept. Null: they were kept, or there are none. Rejects while a retry may succeed. */
  async #keepItems(node: FleetNode, one: LiveAttempt, failures: Failures): Promise<string | null> {
    const { itemsArchive, logger } = this.#context
    try {
      await itemsArchive.keep(one, (range, signal) => node.client.readItems(one, range, signal), this.#stopping.signal)
      return null
    } catch (error) {
      const mustWait = isWaitedFor(node, error)
      const isFinal = isScrapdeckError(error) && FINAL_FOR_ITEMS.has(error.code)
      if (mustWait || this.#stopping.signal.aborted || (!isFinal && ++failures.items < ARCHIVE_TRIES)) throw error
      const problem = error instanceof Error ? error.message : String(error)
      logger.warn({ error, jobId: one.jobId }, 'the items could not be kept')
      await itemsArchive.giveUp(one, problem)
      return problem
    }
  }

  #retryAfter(error: unknown, one: LiveAttempt, failures: Failures): void {
    if (this.#stopping.signal.aborted) return
    const delayMs = backoffMs(failures.all + 1, RETRY_FIRST_MS, RETRY_MAX_MS)
    const facts = { error, jobId: one.jobId, delayMs }
    this.#context.logger.warn(facts, 'what an ended run left could not be read yet; retrying')
    failures.all += 1
    this.#retry(one, delayMs, failures)
  }

  /**
   * Retries through the queue, because thousands of runs can end at a restart, and each end reads and writes a file.
   */
  #retry(one: LiveAttempt, delayMs: number, failures: Failures): void {
    this.#retries.set(delayMs, () => this.#enqueue(one, failures))
  }

  async #readTailOrGiveUp(
    node: FleetNode,
    one: LiveAttempt,
    failures: Failures
  ): Promise<{ tail: LogTail | null; problem: NodeError | null }> {
    try {
      return { tail: await this.readTail(node, one), problem: null }
    } catch (error) {
      if (!isAnswer(node, error) || ++failures.tails < TAIL_TRIES) throw error
      const facts = { error, jobId: one.jobId }
      this.#context.logger.warn(facts, 'the log of an ended run cannot be read; deciding without it')
      return { tail: null, problem: error }
    }
  }

  /** Null: the log could not be read completely. */
  async #read(node: FleetNode, one: LiveAttempt, tail: LogTail | null, failures: Failures): Promise<LogReading | null> {
    try {
      return await this.#context.collector.finish(one, node, tail, this.#stopping.signal)
    } catch (error) {
      const hasNoAnswer = error instanceof NodeError && !isAnswer(node, error)
      if (hasNoAnswer || ++failures.reads < READ_TRIES) throw error
      this.#context.logger.warn({ error, jobId: one.jobId }, 'the log could not be read whole; its end decides')
      return null
    }
  }

  /** Without `tail`, archives the copy made during the run. Null: it cannot be archived, or `earlier` has more. */
  async #archive(
    node: FleetNode,
    one: LiveAttempt,
    { tail, earlier }: { tail: LogTail | null; earlier: ArchivedLog | null },
    failures: Failures
  ): Promise<ArchivedLog | null> {
    const { archive, logger } = this.#context
    try {
      const { jobId, number } = one
      const { signal } = this.#stopping
      if (tail === null) return await archive.keepCopied(jobId, number, earlier, signal)
      const copied = await archive.copies.readIfAny(jobId, number, { offset: 0, limitBytes: 0 })
      const copiedBytes = copied?.sizeBytes ?? 0
      if ((earlier?.sizes?.rawBytes ?? 0) > Math.max(copiedBytes, tail.sizeBytes)) return null
      // If the copy is longer, `archive.copy` decides which of the two to keep.
      const packed = copiedBytes > tail.sizeBytes ? null : await archive.pack(jobId, number, tail)
      if (packed !== null) return { packed, sizes: { rawBytes: tail.sizeBytes, storedBytes: packed.length } }
      const read: ReadLog = fromTail(tail, (range) => node.client.readLog(one, range, signal))
      const { rawBytes, packedBytes } = await archive.copy(jobId, number, read, signal)
      return { packed: null, sizes: { rawBytes, storedBytes: packedBytes } }
    } catch (error) {
      const mustWait = isWaitedFor(node, error)
      if (mustWait || ++failures.archives < ARCHIVE_TRIES) throw error
      const facts = { error, jobId: one.jobId }
      logger.warn(facts, 'the log could not be archived; it is read from the node while available')
      return null
    }
  }

  async #end(
    one: LiveAttempt,
    judgement: RuledJudgement,
    problem: NodeError | null,
    log: Record<string, unknown>
  ): Promise<void> {
    const atMs = this.#context.clock.nowMs()
    const elapsedSeconds = judgement.stats?.['elapsed_time_seconds']
    await endRun(this.#context, one, {
      from: ['finishing'],
      result: judgement.outcome,
      reason: judgement.reason,
      killingLine: judgement.killingLine,
      message: say('timeline.ended', {
        outcome: judgement.outcome,
        reason: asParam(
          judgement.reason.code === 'reason.log_refused'
            ? say('ended.node_said', { reason: judgement.words, error: asParam(problem!.said) })
            : judgement.words
        )
      }),
      evidence: { ...(one.exit === null ? {} : { exit: exitEvidence(one.exit) }), ...log },
      details: {
        stats: judgement.stats,
        // A run shorter than the poll interval was never seen running. Its stats contain the duration.
        ...(one.startedAtMs === null && typeof elapsedSeconds === 'number'
          ? { startedAtMs: Math.round(atMs - elapsedSeconds * 1000) }
          : {})
      },
      counts: judgement.counts
    })
  }
}
