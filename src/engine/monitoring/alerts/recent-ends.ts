import type { Episode } from './episodes.ts'

/**
 * An alert that ends this often within an hour is flapping. A flapping alert is resolved only after it stays quiet for
 * a while.
 */
const ENDS_OF_FLAPPING = 3
export const FLAP_WINDOW_MS = 3_600_000

type Of = Pick<Episode, 'ruleId' | 'key'>

export class RecentEnds {
  readonly #ends = new Map<string, number[]>()

  add({ ruleId, key }: Of, atMs: number): void {
    const place = `${ruleId} ${key}`
    const ends = [...(this.#ends.get(place) ?? []), atMs].filter((endMs) => isRecent(endMs, atMs))
    this.#ends.delete(place)
    this.#ends.set(place, ends)
    for (const [old, times] of this.#ends) {
      if (times.some((one) => isRecent(one, atMs))) return
      this.#ends.delete(old)
    }
  }

  isFlapping({ ruleId, key }: Of, nowMs: number): boolean {
    const ends = this.#ends.get(`${ruleId} ${key}`) ?? []
    return ends.filter((endMs) => isRecent(endMs, nowMs)).length >= ENDS_OF_FLAPPING
  }
}

const isRecent = (endMs: number, nowMs: number): boolean => endMs > nowMs - FLAP_WINDOW_MS
