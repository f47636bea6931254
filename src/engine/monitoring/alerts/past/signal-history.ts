import { ALERT_WATCHES, type AlertWatch } from '../../../../shared/alert-watches.ts'
import type { StoredAlertFact } from '../../../model/records.ts'
import { areSameLabels, type Signal } from '../signal.ts'

/**
 * Watches whose signals are recorded. Runs, errors and schedules need no recording, because the store has their
 * history.
 */
export const RECORDED_WATCHES: ReadonlySet<AlertWatch> = new Set<AlertWatch>([
  ...(['node_down', 'node_stuck', 'queue_length', 'disk_free'] as const),
  ...(['service_problem', 'spider_unusual', 'certificate_days'] as const)
])

/** The shortest time between two records of a figure. Figures change all the time. */
const FIGURE_EVERY_MS = 300_000
/** The time after which an unchanged value is recorded again. This limits how far back reads must go. */
const AGAIN_AFTER_MS = 86_400_000
export const SIGNALS_READ_BEFORE_MS = 90_000_000

export class SignalHistory {
  readonly #newest = new Map<string, StoredAlertFact>()

  restore(signals: readonly StoredAlertFact[]): void {
    this.written(signals)
  }

  /**
   * Returns the records to write. `signals`: all signals of the watch, except those with a key in `unknown`. Call
   * `written` after writing the records.
   */
  changesOf(
    watch: AlertWatch,
    signals: readonly Signal[],
    unknown: ReadonlySet<string>,
    nowMs: number
  ): StoredAlertFact[] {
    const keys = new Set(signals.map(({ key }) => key))
    const gone = [...this.#newest.values()].filter(
      (one) => one.watch === watch && !keys.has(one.key) && !unknown.has(one.key)
    )
    return [
      ...gone.map((one) => ({ ...one, value: null, atMs: nowMs })),
      ...signals.filter((signal) => this.#isNew(signal, nowMs)).map((signal) => ({ ...signal, atMs: nowMs }))
    ]
  }

  written(signals: readonly StoredAlertFact[]): void {
    for (const signal of signals) {
      const place = `${signal.watch} ${signal.key}`
      if (signal.value === null) this.#newest.delete(place)
      else this.#newest.set(place, signal)
    }
  }

  #isNew({ watch, key, value, sinceMs, labels }: Signal, nowMs: number): boolean {
    const last = this.#newest.get(`${watch} ${key}`)
    if (last === undefined || nowMs - last.atMs >= AGAIN_AFTER_MS || !areSameLabels(last.labels, labels)) return true
    if (ALERT_WATCHES[watch].unit !== 'yes_no') return value !== last.value && nowMs - last.atMs >= FIGURE_EVERY_MS
    // `sinceMs` does not matter if the value is 0.
    return value !== last.value || (value !== 0 && sinceMs !== last.sinceMs)
  }
}
