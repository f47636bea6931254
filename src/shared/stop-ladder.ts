import type { Transition } from './contract/index.ts'
import type { CancelWaitsMs } from './run-limits.ts'

/**
 * How a run is stopped, on every node and for every reason:
 *
 * INT --first wait--> INT --second--> KILL --last--> KILL --twice the last--> KILL --> ... until it has ended
 *
 * Scrapy finishes its open requests on the first INT and ends immediately on the second. KILL is repeated, because
 * a remote Scrapyd signals only the Python process and notices the end of the process at its next poll.
 */
const SIGNALS = ['INT', 'INT', 'KILL'] as const
export const LAST_STEP = SIGNALS.length - 1

export function signalOfStep(step: number): 'INT' | 'KILL' {
  return SIGNALS[Math.min(step, LAST_STEP)]!
}

export function waitAfterStep(step: number, waits: CancelWaitsMs): number {
  return waits[step] ?? 2 * waits[2]
}

export function stepDue(sinceFirstMs: number, waits: CancelWaitsMs): number {
  const [first, second, last] = waits
  if (sinceFirstMs < first) return 0
  if (sinceFirstMs < first + second) return 1
  const sinceKillMs = sinceFirstMs - first - second
  return sinceKillMs < last ? LAST_STEP : LAST_STEP + 1 + Math.floor((sinceKillMs - last) / Math.max(1, 2 * last))
}

/** `stop_now`: the second INT, which ends a spider without finishing its requests. */
export type StopStep = 'finish' | LaterStep
type LaterStep = 'stop_now' | 'kill'

export interface Stops {
  /**
   * The signals that were sent, oldest first. `text`: as recorded. `step`: null for a signal that a client chose
   * itself.
   */
  sent: { step: StopStep | null; text: string; atMs: number }[]
  next: { step: LaterStep; signal: 'INT' | 'KILL'; atMs: number } | null
  /** The first KILL, if it follows `next`. `atMs` is null if it was not recorded. */
  kill: { atMs: number | null } | null
}

export function stopsOf(timeline: readonly Transition[]): Stops {
  const begin = timeline.findLastIndex(({ kind }) => kind === 'sending')
  const steps = timeline.slice(begin + 1).filter(({ kind }) => kind === 'cancel_sent')
  const sent = steps.map(({ text, atMs, evidence }) => ({ step: stepOf(evidence), text, atMs }))
  const { next: signal, nextAtMs: atMs, killAtMs } = steps.at(-1)?.evidence ?? {}
  if ((signal !== 'INT' && signal !== 'KILL') || typeof atMs !== 'number') return { sent, next: null, kill: null }
  // The first step is sent with the request, so a pending INT is the second step.
  if (signal === 'KILL') return { sent, next: { step: 'kill', signal, atMs }, kill: null }
  const kill = { atMs: typeof killAtMs === 'number' ? killAtMs : null }
  return { sent, next: { step: 'stop_now', signal, atMs }, kill }
}

function stepOf({ signal, next }: Transition['evidence']): StopStep | null {
  if (signal === 'KILL') return 'kill'
  if (signal !== 'INT' || next === undefined) return null
  return next === 'INT' ? 'finish' : 'stop_now'
}
