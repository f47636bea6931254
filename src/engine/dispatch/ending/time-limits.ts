import { effectiveLimits } from '../../../shared/run-limits.ts'
import { formatDuration } from '../../../shared/time.ts'
import type { Timer } from '../../runtime/clock.ts'
import type { CancelLadder } from './cancel-ladder.ts'
import type { DispatchContext } from '../context.ts'
import type { LiveAttempt } from '../live-attempts.ts'

/** After a write that failed (a full disk): asking again at once would be all that the engine did. */
const RETRY_MS = 1_000
const NODE_MISSING_MS = 200

/**
 * Holds runs to their time limit on nodes that do not hold limits themselves (the local node does: launcher/runs), from
 * when any engine of ours saw them running. A run over its limit is recorded as such, then climbs the cancel ladder:
 *
 *   running --limit--> running, limit_hit recorded --INT, INT, KILL--> finishing -> ended: failed, the limit its reason
 *
 * What somebody asked to cancel before its limit was hit ends as cancelled.
 */
export class TimeLimits {
  readonly #context: DispatchContext
  readonly #ladder: Pick<CancelLadder, 'cancel'>
  readonly #timers = new Map<string, Timer>()
  #stopped = false

  constructor(context: DispatchContext, ladder: Pick<CancelLadder, 'cancel'>) {
    this.#context = context
    this.#ladder = ladder
  }

  /** It runs, and `startedAtMs` tells since when. May be called again. */
  watch(one: LiveAttempt): void {
    const { projects, clock } = this.#context
    // A last snapshot may still come in when all else has stopped.
    if (this.#stopped || one.startedAtMs === null || this.#timers.has(one.key)) return
    if (this.#context.fleet.get(one.nodeId)?.client.traits.holdsLimits) return
    // A node that forgets what it runs makes it run again to us: its limit was hit all the same, and the ladder climbs.
    if (one.limitHit !== null) return
    const limits = effectiveLimits(projects.settingsOf(one.project).limits, one.limits)
    const seconds = limits?.wallSeconds
    if (seconds == null) return
    // From here on the monotonic clock counts: one that is set must not end a run.
    const ranMs = Math.max(0, clock.nowMs() - one.startedAtMs)
    this.#set(one, Math.max(0, seconds * 1000 - ranMs), () => {
      this.#stop(one, seconds).catch((error: unknown) => {
        this.#context.logger.error({ error, jobId: one.jobId }, 'enforcing a time limit failed; retrying')
        if (!this.#stopped) this.#set(one, RETRY_MS, () => this.watch(one))
      })
    })
  }

  #set(one: LiveAttempt, delayMs: number, then: () => void): void {
    const timer = this.#context.clock.setTimer(delayMs, () => {
      this.#timers.delete(one.key)
      then()
    })
    this.#timers.set(one.key, timer)
  }

  /** It has ended. */
  forget(one: LiveAttempt): void {
    this.#timers.get(one.key)?.cancel()
    this.#timers.delete(one.key)
  }

  stop(): void {
    this.#stopped = true
    for (const timer of this.#timers.values()) timer.cancel()
    this.#timers.clear()
  }

  async #stop(one: LiveAttempt, seconds: number): Promise<void> {
    const { fleet, live, clock } = this.#context
    if (live.get(one.key) !== one || one.state === 'finishing' || one.cancelAskedAtMs !== null) return
    const node = fleet.get(one.nodeId)
    // At start the nodes come after the attempts.
    if (node === undefined) return this.#set(one, NODE_MISSING_MS, () => this.watch(one))
    if (node.client.traits.holdsLimits) return
    const ranSeconds = Math.max(seconds, Math.floor((clock.nowMs() - one.startedAtMs!) / 1000))
    const limit = `wall time limit of ${formatDuration(seconds)}`
    const limitHit = `${limit} (ran ${formatDuration(ranSeconds)})`
    const isApplied = await live.record(one, {
      from: ['running', 'uncertain', 'accepted'],
      kind: 'limit_hit',
      details: { limitHit },
      text: `Exceeded its ${limit}; stopping it`,
      evidence: { limitHit }
    })
    if (isApplied) this.#ladder.cancel(one, { force: false })
  }
}
