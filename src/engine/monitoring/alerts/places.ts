import type { AlertRuleId } from '../../../shared/contract/index.ts'
import type { AlertWatch } from '../../../shared/alert-watches.ts'
import type { Episode } from './episodes.ts'
import type { Fact } from './fact.ts'

/** What is known of one thing that is watched, and what comes of it by rule: pending and firing ones. */
interface Place {
  /** null: not there, or nothing has been heard of it since a restart. */
  fact: Fact | null
  open: Map<AlertRuleId, Episode>
}

/** All that is watched, by watch and key. What is neither known nor alerted of takes no place. */
export class Places {
  readonly #places = new Map<AlertWatch, Map<string, Place>>()

  /** Makes it if there is none. */
  of({ watch, key }: { watch: AlertWatch; key: string }): Place {
    let places = this.#places.get(watch)
    if (places === undefined) this.#places.set(watch, (places = new Map()))
    let place = places.get(key)
    if (place === undefined) places.set(key, (place = { fact: null, open: new Map() }))
    return place
  }

  get(watch: AlertWatch, key: string): Place | undefined {
    return this.#places.get(watch)?.get(key)
  }

  keysOf(watch: AlertWatch): Iterable<string> {
    return this.#places.get(watch)?.keys() ?? []
  }

  *all(): Generator<Place> {
    for (const places of this.#places.values()) yield* places.values()
  }

  *open(): Generator<Episode> {
    for (const { open } of this.all()) yield* open.values()
  }

  close({ watch, key, ruleId }: Episode): void {
    this.get(watch, key)?.open.delete(ruleId)
    this.dropIfEmpty(watch, key)
  }

  dropIfEmpty(watch: AlertWatch, key: string): void {
    const place = this.get(watch, key)
    if (place?.fact === null && place.open.size === 0) this.#places.get(watch)!.delete(key)
  }
}
