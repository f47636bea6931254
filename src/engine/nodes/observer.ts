import { plain } from '../../shared/texts/message.ts'
import { type Clock, unlessAborted } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { Random } from '../runtime/random.ts'
import { NodeError, type DaemonStatus, type NodeClient, type Snapshot } from './node-client.ts'
import { failure } from './node-failure.ts'
import { backoffMs } from '../runtime/backoff.ts'

export interface Observation {
  status: DaemonStatus
  latencyMs: number
}

export interface ObserverOptions {
  client: NodeClient
  clock: Clock
  random: Random
  logger: Logger
  /** Delays the first poll. Thousands of observers that start together must not all connect together. */
  firstLookAfterMs?: number
  /** Limits concurrent polls of nodes without a recent response. Default: no limit. */
  inTurn?: <T>(ask: () => Promise<T>, failures: number) => Promise<T>
  /**
   * Whether our jobs are on the node or wait for it. If so, the node is polled every second, not every five seconds.
   */
  isBusy: () => boolean
  /** Whether there is an unresolved attempt that only the job lists can resolve. */
  wantsSnapshot: () => boolean
  onStatus: (observation: Observation) => void
  /** The next poll starts only after this promise has resolved, so that snapshots are reconciled in order. */
  onSnapshot: (snapshot: Snapshot) => Promise<void>
  /** `failures`: failed polls in a row. */
  onFailure: (error: NodeError, failures: number) => void
}

export const BUSY_INTERVAL_MS = 1_000
export const IDLE_INTERVAL_MS = 5_000
const DOWN_INTERVAL_MAX_MS = 15_000
// The maximum age of the job lists. Counters can remain the same while jobs change: one ends as another starts, and
// `finished` is capped.
const SNAPSHOT_MAX_AGE_BUSY_MS = 5_000
const SNAPSHOT_MAX_AGE_IDLE_MS = 60_000

// Node.js keeps one list of timers per duration. Rounding to this step avoids thousands of lists.
const TIMER_STEP_MS = 20

/**
 * Polls one node: `daemonstatus.json` at each interval, and the job lists if the counters changed, an attempt is
 * unresolved or the last lists are old. Intervals vary by 10 % so that a thousand observers do not poll together.
 */
export class Observer {
  readonly #options: ObserverOptions
  readonly #stopping = new AbortController()
  readonly #finished: Promise<void>
  #wakeUp: (() => void) | null = null
  #poked = false
  #failures = 0
  #hasAnswered = false
  #longCalls = 0
  #lastCounters = ''
  /**
   * When the last poll received a response or failed. The next interval starts at this time, not when the response has
   * been stored.
   */
  #heardAtMs = 0
  #lastSnapshotAtMs = Number.NEGATIVE_INFINITY

  constructor(options: ObserverOptions) {
    this.#options = options
    this.#finished = this.#run()
  }

  /** Polls now. Several calls before that poll count as one. */
  poke(): void {
    this.#poked = true
    this.#wakeUp?.()
  }

  /**
   * Awaits a call that can block the node. A poll that times out in the meantime says nothing about the node's
   * health.
   */
  async duringLongCall<T>(call: Promise<T>): Promise<T> {
    this.#longCalls += 1
    try {
      return await call
    } finally {
      this.#longCalls -= 1
    }
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    this.#wakeUp?.()
    await this.#finished
  }

  async #run(): Promise<void> {
    const { firstLookAfterMs = 0, logger, clock, onFailure } = this.#options
    const { signal } = this.#stopping
    if (firstLookAfterMs > 0) await this.#waitForNext(firstLookAfterMs)
    while (!signal.aborted) {
      this.#poked = false
      try {
        await this.#observe()
      } catch (error) {
        if (signal.aborted) return
        this.#heardAtMs = clock.monotonicMs()
        this.#hasAnswered = false
        const failure = asNodeError(error)
        if (!(failure.kind === 'timeout' && this.#longCalls > 0)) this.#failures += 1
        if (!(error instanceof NodeError)) logger.error({ error }, 'polling a node failed unexpectedly')
        if (this.#failures > 0) onFailure(failure, this.#failures)
      }
      // A stop during the poll found no timer to cancel, so do not start one.
      if (!this.#poked && !signal.aborted) await this.#waitForNext(this.#untilNextMs())
    }
  }

  async #observe(): Promise<void> {
    const { client, clock, isBusy, wantsSnapshot, onStatus } = this.#options
    const { signal } = this.#stopping
    const { status, latencyMs } = await (this.#hasAnswered ? this.#ask() : this.#askInTurn())
    this.#hasAnswered = true
    this.#heardAtMs = clock.monotonicMs()
    onStatus({ status, latencyMs })
    const counters = `${status.pending} ${status.running} ${status.finished}`
    const maxAgeMs = isBusy() ? SNAPSHOT_MAX_AGE_BUSY_MS : SNAPSHOT_MAX_AGE_IDLE_MS
    const isOld = this.#heardAtMs - this.#lastSnapshotAtMs >= maxAgeMs
    if (counters !== this.#lastCounters || isOld || wantsSnapshot()) {
      const snapshot = await client.listJobs(signal)
      this.#heardAtMs = clock.monotonicMs()
      this.#failures = 0
      if (!(await this.#isApplied(snapshot))) return
      this.#lastCounters = counters
      this.#lastSnapshotAtMs = snapshot.begunAtMs
    }
    this.#failures = 0
  }

  async #ask(): Promise<Observation> {
    const { client, clock } = this.#options
    const askedAtMs = clock.monotonicMs()
    const status = await client.daemonStatus(this.#stopping.signal)
    return { status, latencyMs: clock.monotonicMs() - askedAtMs }
  }

  /** A node that does not respond can hold its connection for seconds. `stop` does not wait for such a poll. */
  #askInTurn(): Promise<Observation> {
    const { inTurn = (ask) => ask() } = this.#options
    const { signal } = this.#stopping
    const turn = inTurn(async () => {
      signal.throwIfAborted()
      return this.#ask()
    }, this.#failures)
    return unlessAborted(signal, turn)
  }

  /** Our own failure to apply a response (such as a full disk) must not count against the node. */
  async #isApplied(snapshot: Snapshot): Promise<boolean> {
    const { onSnapshot, logger } = this.#options
    try {
      await onSnapshot(snapshot)
      return true
    } catch (error) {
      if (!this.#stopping.signal.aborted) logger.error({ error }, 'applying the lists of a node failed; retrying')
      return false
    }
  }

  #untilNextMs(): number {
    const { isBusy, random, clock } = this.#options
    const usualMs = isBusy() || this.#failures > 0 ? BUSY_INTERVAL_MS : IDLE_INTERVAL_MS
    const backedOffMs = backoffMs(this.#failures, BUSY_INTERVAL_MS, DOWN_INTERVAL_MAX_MS)
    const jitter = 0.9 + random.next() * 0.2
    const intervalMs = (this.#failures > 1 ? backedOffMs : usualMs) * jitter
    const leftMs = intervalMs - (clock.monotonicMs() - this.#heardAtMs)
    return Math.max(0, Math.round(leftMs / TIMER_STEP_MS) * TIMER_STEP_MS)
  }

  #waitForNext(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        this.#wakeUp = null
        timer.cancel()
        resolve()
      }
      const timer = this.#options.clock.setTimer(delayMs, wake)
      this.#wakeUp = wake
    })
  }
}

function asNodeError(error: unknown): NodeError {
  if (error instanceof NodeError) return error
  return failure('not_scrapyd', plain(String(error)), 'unknown', error)
}
