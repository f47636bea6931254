import type { Transition } from './contract/index.ts'
import type { CancelWaitsMs } from './run-limits.ts'

/**
 * How a run is stopped, on every node and for every reason:
 *
 *   INT --first wait--> INT --second--> KILL --last--> KILL --twice the last--> KILL --> ... until it has ended
 *
 * Scrapy ends gracefully on the first INT (finishing open requests) and at once on the second. KILL is repeated: a
 * remote Scrapyd signals only the Python process and notices its end at its next poll.
 */
const SIGNALS = ['INT', 'INT', 'KILL'] as const
/** All later steps repeat it. */
export const LAST_STEP = SIGNALS.length - 1

export function signalOfStep(step: number): 'INT' | 'KILL' {
  return SIGNALS[Math.min(step, LAST_STEP)]!
}

/** How long a run has to end after this step before the next one. */
export function waitAfterStep(step: number, waits: CancelWaitsMs): number {
  return waits[step] ?? 2 * waits[2]
}

/** The step that is due this long after the first one (0). */
export function stepDue(sinceFirstMs: number, waits: CancelWaitsMs): number {
  const [first, second, last] = waits
  if (sinceFirstMs < first) return 0
  if (sinceFirstMs < first + second) return 1
  const sinceKillMs = sinceFirstMs - first - second
  return sinceKillMs < last ? LAST_STEP : LAST_STEP + 1 + Math.floor((sinceKillMs - last) / Math.max(1, 2 * last))
}

/** The step that follows, as recorded with the last one that was sent. `atMs`: wall time. */
export interface NextStop {
  /** What was sent last, and when. */
  sent: { text: string; atMs: number }
  signal: 'INT' | 'KILL'
  atMs: number
  /** When the first KILL follows, if this step is not one; null: not recorded. */
  killAtMs: number | null
}

/** The next step of a run that is being stopped, from its job's timeline; null: none is planned. */
export function nextStopOf(timeline: readonly Transition[]): NextStop | null {
  const last = timeline.findLast(({ kind }) => kind === 'cancel_sent' || kind === 'sending')
  if (last?.kind !== 'cancel_sent') return null
  const next = readStop(last.evidence)
  return next && { sent: { text: last.text, atMs: last.atMs }, ...next }
}

/** What is recorded with a step about those that follow it; null: nothing is planned. */
export function readStop({ next, nextAtMs, killAtMs }: Transition['evidence']): Omit<NextStop, 'sent'> | null {
  if ((next !== 'INT' && next !== 'KILL') || typeof nextAtMs !== 'number') return null
  return { signal: next, atMs: nextAtMs, killAtMs: typeof killAtMs === 'number' ? killAtMs : null }
}
