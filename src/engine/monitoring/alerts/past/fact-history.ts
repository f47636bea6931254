import { ALERT_WATCHES, type AlertWatch } from '../../../../shared/alert-watches.ts'
import type { StoredAlertFact } from '../../../model/records.ts'
import { areSameLabels, type Fact } from '../fact.ts'

/** What nothing else says of the past. Of runs, errors and schedules their own history does. */
export const RECORDED_WATCHES: ReadonlySet<AlertWatch> = new Set<AlertWatch>([
  ...(['node_down', 'node_stuck', 'queue_length', 'disk_free'] as const),
  ...(['service_problem', 'spider_unusual', 'certificate_days'] as const)
])

/** Figures change all the time. */
const FIGURE_EVERY_MS = 300_000
/** What has not changed is written again, so that nothing has to be read from further back than a bit more. */
const AGAIN_AFTER_MS = 86_400_000
export const FACTS_READ_BEFORE_MS = 90_000_000

/** Decides which facts are worth writing down: those that say something new. Without clock and store. */
export class FactHistory {
  readonly #newest = new Map<string, StoredAlertFact>()

  /** The newest that an earlier engine wrote. */
  restore(facts: readonly StoredAlertFact[]): void {
    this.written(facts)
  }

  /** `facts`: all there are of this watch, but for `unknown`. Nothing is believed to be written before `written`. */
  changesOf(watch: AlertWatch, facts: readonly Fact[], unknown: ReadonlySet<string>, nowMs: number): StoredAlertFact[] {
    const keys = new Set(facts.map(({ key }) => key))
    const gone = [...this.#newest.values()].filter(
      (one) => one.watch === watch && !keys.has(one.key) && !unknown.has(one.key)
    )
    return [
      ...gone.map((one) => ({ ...one, value: null, atMs: nowMs })),
      ...facts.filter((fact) => this.#isNew(fact, nowMs)).map((fact) => ({ ...fact, atMs: nowMs }))
    ]
  }

  written(facts: readonly StoredAlertFact[]): void {
    for (const fact of facts) {
      const place = `${fact.watch} ${fact.key}`
      if (fact.value === null) this.#newest.delete(place)
      else this.#newest.set(place, fact)
    }
  }

  #isNew({ watch, key, value, sinceMs, labels }: Fact, nowMs: number): boolean {
    const last = this.#newest.get(`${watch} ${key}`)
    if (last === undefined || nowMs - last.atMs >= AGAIN_AFTER_MS || !areSameLabels(last.labels, labels)) return true
    if (ALERT_WATCHES[watch].unit !== 'yes_no') return value !== last.value && nowMs - last.atMs >= FIGURE_EVERY_MS
    // Since when it is not so decides nothing.
    return value !== last.value || (value !== 0 && sinceMs !== last.sinceMs)
  }
}
