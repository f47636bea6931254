import { effectiveLimits } from '../../../shared/run-limits.ts'
import { formatDuration } from '../../../shared/time.ts'
import type { Timer } from '../../runtime/clock.ts'
import type { CancelLadder } from './cancel-ladder.ts'
import type { DispatchContext } from '../context.ts'
import type { LiveAttempt } from '../live-attempts.ts'

/** Delay after a failed write (a full disk), so that the engine does not retry in a tight loop. */
const RETRY_MS = 1_000
const NODE_MISSING_MS = 200

/**
 * Enforces the time limit on nodes that do not enforce limits themselves (the local node does: launcher/runs), counted
 * from when any of our engines first saw the run. A run over its limit is recorded, then climbs the cancel ladder:
 *
 *   running --limit--> running, limit_hit recorded --INT, INT, KILL--> finishing -> ended: failed, the limit its reason
 *
 * A run whose cancel was requested before its limit was hit ends as cancelled.
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

  /** Starts the timer of a running attempt, based on `startedAtMs`. Can be called again. */
  watch(one: LiveAttempt): void {
    const { projects, clock } = this.#context
    // A last snapshot may still arrive after everything else has stopped.
    if (this.#stopped || one.startedAtMs === null || this.#timers.has(one.key)) return
    if (this.#context.fleet.get(one.nodeId)?.client.traits.holdsLimits) return
    // A run that its node forgot moves to running again. If its limit was hit before, the ladder is already climbing.
    if (one.limitHit !== null) return
    const limits = effectiveLimits(projects.settingsOf(one.project).limits, one.limits)
    const seconds = limits?.wallSeconds
    if (seconds == null) return
    // From here on the monotonic clock counts, so that setting the wall clock does not end a run.
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
    // At startup the attempts are loaded before the nodes.
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
