import type { JobId, RunLimits } from '../../../../shared/contract/index.ts'
import { effectiveRunLimits, LOG_LIMITS } from '../../../../shared/run-limits.ts'
import { limitOf } from '../../../../shared/texts/limit-hits.ts'
import { asParam, type Message, render, say } from '../../../../shared/texts/message.ts'
import type { Timer } from '../../../runtime/clock.ts'
import type { CancelLadder } from './cancel-ladder.ts'
import type { DispatchContext } from '../context.ts'
import { findHeldLimitHit } from '../decide/limit-hits.ts'
import type { LiveAttempt } from '../live-attempts.ts'

const RETRY_MS = 1_000
const NODE_MISSING_MS = 200

interface Watched {
  one: LiveAttempt
  runLimits: RunLimits
  ranBeforeMs: number
  /** The monotonic time when this engine started to watch the run. Wall clock changes cannot end the run. */
  watchedAtMs: number
  timer: Timer | null
  isStopping: boolean
}

/**
 * Enforces the limits that a node does not enforce itself. On all nodes, these are the limits that need the log. They
 * are checked after each read of the log. On remote nodes, the wall time is enforced too. Its timer starts when one
 * of our engines first sees the run. If a run exceeds a limit, this is recorded, and the cancel ladder starts:
 *
 *   running --limit--> running, limit_hit recorded --INT, INT, KILL--> finishing -> ended: failed, the limit its
 *   reason
 *
 * If a cancel was requested before the limit was hit, the run ends as cancelled.
 */
export class LimitEnforcer {
  readonly #context: DispatchContext
  readonly #ladder: Pick<CancelLadder, 'cancel'>
  readonly #watched = new Map<string, Watched>()
  #stopped = false

  constructor(context: DispatchContext, ladder: Pick<CancelLadder, 'cancel'>) {
    this.#context = context
    this.#ladder = ladder
  }

  watch(one: LiveAttempt): void {
    const { projects, clock } = this.#context
    if (this.#stopped || one.startedAtMs === null || this.#watched.has(one.key)) return
    // A run that its node forgot returns to `running`. If it hit a limit before, the cancel ladder is already running.
    if (one.limitHit !== null) return
    const runLimits = effectiveRunLimits(projects.settingsOf(one.project).limits, one.runLimits)
    if (runLimits === null || ![runLimits.wallSeconds, ...LOG_LIMITS.map((name) => runLimits[name])].some(isSet)) return
    const ranBeforeMs = Math.max(0, clock.nowMs() - one.startedAtMs)
    const watchedAtMs = clock.monotonicMs()
    const watched: Watched = { one, runLimits, ranBeforeMs, watchedAtMs, timer: null, isStopping: false }
    this.#watched.set(one.key, watched)
    this.#waitForWall(watched)
  }

  /** Call this after the log of a running job was read. */
  judge(jobId: JobId): void {
    const one = this.#context.live.ofJob(jobId)
    const watched = one === undefined ? undefined : this.#watched.get(one.key)
    if (watched !== undefined) this.#judge(watched)
  }

  forget(one: LiveAttempt): void {
    this.#watched.get(one.key)?.timer?.cancel()
    this.#watched.delete(one.key)
  }

  stop(): void {
    this.#stopped = true
    for (const { timer } of this.#watched.values()) timer?.cancel()
    this.#watched.clear()
  }

  #waitForWall(watched: Watched): void {
    const { wallSeconds } = watched.runLimits
    if (wallSeconds == null || this.#holdsWall(watched.one)) return
    this.#judgeIn(watched, Math.max(0, wallSeconds * 1000 - this.#ranMs(watched)))
  }

  #judgeIn(watched: Watched, delayMs: number): void {
    if (this.#stopped || this.#watched.get(watched.one.key) !== watched) return
    watched.timer?.cancel()
    watched.timer = this.#context.clock.setTimer(delayMs, () => {
      watched.timer = null
      this.#judge(watched)
    })
  }

  #judge(watched: Watched): void {
    const { live, fleet, collector, logger } = this.#context
    const { one, runLimits, isStopping } = watched
    if (this.#stopped || isStopping || one.limitHit !== null) return
    if (live.get(one.key) !== one || one.state === 'finishing' || one.cancelAskedAtMs !== null) return
    // On startup, the attempts are loaded before the nodes, so try again soon.
    if (fleet.get(one.nodeId) === undefined) return this.#judgeIn(watched, NODE_MISSING_MS)
    const held = this.#holdsWall(one) ? { ...runLimits, wallSeconds: null } : runLimits
    const limitHit = findHeldLimitHit(held, { ranMs: this.#ranMs(watched), log: collector.progressOf(one.jobId) })
    if (limitHit === null) {
      if (watched.timer === null) this.#waitForWall(watched)
      return
    }
    watched.isStopping = true
    this.#end(one, limitHit).catch((error: unknown) => {
      logger.error({ error, jobId: one.jobId }, 'enforcing a limit failed; retrying')
      watched.isStopping = false
      this.#judgeIn(watched, RETRY_MS)
    })
  }

  async #end(one: LiveAttempt, limitHit: Message): Promise<void> {
    const isApplied = await this.#context.live.record(one, {
      from: ['running', 'uncertain', 'accepted'],
      kind: 'limit_hit',
      details: { limitHit },
      message: say('timeline.limit_exceeded', { limit: asParam(limitOf(limitHit)) }),
      evidence: { limitHit: render(limitHit) }
    })
    // If a cancel was requested in the meantime, the ladder has already started.
    if (isApplied && one.cancelAskedAtMs === null) this.#ladder.cancel(one, { force: false })
  }

  #ranMs({ ranBeforeMs, watchedAtMs }: Watched): number {
    return ranBeforeMs + this.#context.clock.monotonicMs() - watchedAtMs
  }

  #holdsWall({ nodeId }: LiveAttempt): boolean {
    return this.#context.fleet.get(nodeId)?.client.traits.holdsLimits ?? false
  }
}

const isSet = (value: unknown) => value != null
