import type { AlertId, AlertRule, AlertRuleId, AlertRuleSettings } from '../../../../shared/contract/index.ts'
import type { AlertWatch } from '../../../../shared/alert-watches.ts'
import { AlertBook } from '../alert-book.ts'
import { type Episode, textsOf } from '../episodes.ts'
import type { Signal } from '../signal.ts'

export type PastEvent = { atMs: number; signal: Signal } | { atMs: number; gone: { watch: AlertWatch; key: string } }

export interface PastAlert extends ReturnType<typeof textsOf> {
  firedAtMs: number
  resolvedAtMs: number | null
}

const EVENTS_AT_ONCE = 250

/**
 * Returns the alerts that this rule would have fired since `fromMs`, newest first. Nothing is sent, muted or held back.
 */
export async function replay(
  settings: AlertRuleSettings,
  events: Iterable<PastEvent>,
  { fromMs, untilMs, giveWay }: { fromMs: number; untilMs: number; giveWay: () => Promise<void> }
): Promise<PastAlert[]> {
  let lastId = 0
  const book = new AlertBook(() => String((lastId += 1)) as AlertId)
  const rule: AlertRule = {
    ...settings,
    enabled: true,
    channels: [],
    escalation: null,
    repeatSeconds: null,
    id: 'preview' as AlertRuleId,
    revision: 1,
    createdAtMs: fromMs
  }
  const setup = { rules: [rule], channels: new Map(), muting: { silences: [], cordonedNodes: new Set<never>() } }
  book.configure(setup, Number.NEGATIVE_INFINITY)
  const fired = new Map<AlertId, PastAlert>()
  const collect = () => {
    for (const one of book.take().episodes) {
      if (one.firedAtMs !== null && one.firedAtMs >= fromMs) fired.set(one.id, alertOf(one))
    }
  }
  let count = 0
  for (const event of events) {
    if (event.atMs > untilMs) break
    if ('signal' in event) book.receive(event.signal, event.atMs)
    else book.forget(event.gone.watch, event.gone.key, event.atMs)
    count += 1
    if (count % EVENTS_AT_ONCE === 0) {
      collect()
      await giveWay()
    }
  }
  book.advance(untilMs)
  collect()
  return [...fired.values()].sort((one, other) => other.firedAtMs - one.firedAtMs)
}

const alertOf = (one: Episode): PastAlert => ({
  ...textsOf(one),
  firedAtMs: one.firedAtMs!,
  resolvedAtMs: one.resolvedAtMs
})
