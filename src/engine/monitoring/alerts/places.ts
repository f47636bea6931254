import type { AlertRuleId } from '../../../shared/contract/index.ts'
import type { AlertWatch } from '../../../shared/alert-watches.ts'
import type { Episode } from './episodes.ts'
import type { Signal } from './signal.ts'

interface Place {
  /** null: the watched thing has disappeared, or its signal has not arrived since a restart. */
  signal: Signal | null
  open: Map<AlertRuleId, Episode>
}

/** All watched things, by watch and key. Things without a signal or alerts are dropped. */
export class Places {
  readonly #places = new Map<AlertWatch, Map<string, Place>>()

  of({ watch, key }: { watch: AlertWatch; key: string }): Place {
    let places = this.#places.get(watch)
    if (places === undefined) this.#places.set(watch, (places = new Map()))
    let place = places.get(key)
    if (place === undefined) places.set(key, (place = { signal: null, open: new Map() }))
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
    if (place?.signal === null && place.open.size === 0) this.#places.get(watch)!.delete(key)
  }
}
