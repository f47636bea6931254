import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { Random } from '../runtime/random.ts'
import { NodeError, type DaemonStatus, type NodeClient, type Snapshot } from './node-client.ts'

export interface Observation {
  status: DaemonStatus
  latencyMs: number
}

export interface Observer {
  /** Look now instead of at the next interval; several pokes before it looks are one. */
  poke(): void
  /** While a long-blocking call runs on the node, a time-out of ours says nothing about its health. */
  duringLongCall<T>(call: Promise<T>): Promise<T>
  stop(): Promise<void>
}

export interface ObserverOptions {
  client: NodeClient
  clock: Clock
  random: Random
  logger: Logger
  /** Thousands of observers that start together must not all connect at once. */
  firstLookAfterMs?: number
  /** Jobs of ours are there, or jobs wait for it: look every second instead of every five. */
  isBusy: () => boolean
  /** An attempt is unresolved, so only the job lists can tell. */
  wantsSnapshot: () => boolean
  onStatus: (observation: Observation) => void
  /** The next look begins only when this has resolved: snapshots are reconciled in order. */
  onSnapshot: (snapshot: Snapshot) => Promise<void>
  /** `failures` counts the looks in a row that failed. */
  onFailure: (error: NodeError, failures: number) => void
}

export const BUSY_INTERVAL_MS = 1_000
export const IDLE_INTERVAL_MS = 5_000
const DOWN_INTERVAL_MAX_MS = 15_000
// Counters can stand still while jobs change places (one ends as another starts, `finished` is capped): look anyway.
const SNAPSHOT_MAX_AGE_BUSY_MS = 5_000
const SNAPSHOT_MAX_AGE_IDLE_MS = 60_000

// Node keeps one list of timers for each duration: few durations are cheap, thousands are not.
const TIMER_STEP_MS = 20

/**
 * Polls one node: `daemonstatus.json` each interval, the job lists only when its counters changed, something is
 * unresolved or the last lists are old. Intervals vary by a tenth, so that a thousand observers do not poll at once.
 */
export function startObserver(options: ObserverOptions): Observer {
  const { client, clock, random } = options
  const stopping = new AbortController()
  let wakeUp: (() => void) | null = null
  let poked = false
  let failures = 0
  let longCalls = 0
  let lastCounters = ''
  let lastSnapshotAtMs = Number.NEGATIVE_INFINITY

  async function observe(): Promise<void> {
    const askedAtMs = clock.monotonicMs()
    const status = await client.daemonStatus(stopping.signal)
    options.onStatus({ status, latencyMs: clock.monotonicMs() - askedAtMs })
    const counters = `${status.pending} ${status.running} ${status.finished}`
    const maxAgeMs = options.isBusy() ? SNAPSHOT_MAX_AGE_BUSY_MS : SNAPSHOT_MAX_AGE_IDLE_MS
    const isOld = clock.monotonicMs() - lastSnapshotAtMs >= maxAgeMs
    if (counters !== lastCounters || isOld || options.wantsSnapshot()) {
      const snapshot = await client.listJobs(stopping.signal)
      failures = 0
      if (!(await isApplied(snapshot))) return
      lastCounters = counters
      lastSnapshotAtMs = snapshot.begunAtMs
    }
    failures = 0
  }

  /** Our own failure with its answer (a full disk) is not the node's: it must not count as down for it. */
  async function isApplied(snapshot: Snapshot): Promise<boolean> {
    try {
      await options.onSnapshot(snapshot)
      return true
    } catch (error) {
      if (!stopping.signal.aborted) options.logger.error({ error }, 'applying the lists of a node failed; retrying')
      return false
    }
  }

  async function run(): Promise<void> {
    const { firstLookAfterMs = 0 } = options
    if (firstLookAfterMs > 0) await waitForNext(firstLookAfterMs)
    while (!stopping.signal.aborted) {
      poked = false
      try {
        await observe()
      } catch (error) {
        if (stopping.signal.aborted) return
        const failure = asNodeError(error)
        if (!(failure.kind === 'timeout' && longCalls > 0)) failures += 1
        if (!(error instanceof NodeError)) options.logger.error({ error }, 'polling a node failed unexpectedly')
        if (failures > 0) options.onFailure(failure, failures)
      }
      // A stop that came during the look has woken nobody: it must not wait for the interval.
      if (!poked && !stopping.signal.aborted) await waitForNext(intervalMs())
    }
  }

  function intervalMs(): number {
    const usualMs = options.isBusy() || failures > 0 ? BUSY_INTERVAL_MS : IDLE_INTERVAL_MS
    const backedOffMs = Math.min(DOWN_INTERVAL_MAX_MS, BUSY_INTERVAL_MS * 2 ** Math.min(failures - 1, 10))
    const jitter = 0.9 + random.next() * 0.2
    return Math.round(((failures > 1 ? backedOffMs : usualMs) * jitter) / TIMER_STEP_MS) * TIMER_STEP_MS
  }

  function waitForNext(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        wakeUp = null
        timer.cancel()
        resolve()
      }
      const timer = clock.setTimer(delayMs, wake)
      wakeUp = wake
    })
  }

  const finished = run()
  return {
    poke() {
      poked = true
      wakeUp?.()
    },
    async duringLongCall(call) {
      longCalls += 1
      try {
        return await call
      } finally {
        longCalls -= 1
      }
    },
    async stop() {
      stopping.abort()
      wakeUp?.()
      await finished
    }
  }
}

function asNodeError(error: unknown): NodeError {
  if (error instanceof NodeError) return error
  return new NodeError('not_scrapyd', String(error), { delivered: 'unknown', cause: error })
}
