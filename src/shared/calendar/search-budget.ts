import type { ScheduleTiming } from '../contract/schedules.ts'
import { ScrapdeckError } from '../errors.ts'
import { sentence } from '../texts/errors/values.ts'
import type { Sentence } from '../texts/sentence.ts'

/**
 * The maximum number of steps over days, hours, minutes and seconds. This many steps take about 10 ms. Ordinary timings
 * need a fiftieth of that.
 */
const WORK_MAX = 100_000
/** The cost of finding the clock changes of a zone in a year that is not cached: half a millisecond. */
const ZONE_YEAR_WORK = 5_000
const YEAR_MS = 364 * 86_400_000
const SHOWN = 3

export class TimingTooCostly extends ScrapdeckError {
  readonly sentence: Sentence

  constructor({ rules, excludedCrons }: ScheduleTiming) {
    const excluded = excludedCrons.slice(0, SHOWN)
    const more = excludedCrons.length - excluded.length
    const said = sentence('values.timing_too_costly', { rules: rules.length, excluded, more })
    super('BAD_INPUT', said)
    this.sentence = said
  }
}

export class SearchBudget {
  readonly #timing: ScheduleTiming
  readonly #years: Set<number>
  #searched = 0
  /**
   * The work to find clock changes. It counts in `spent` but never ends a search, because finding a single moment
   * involves only a few years.
   */
  #ofZones = 0

  /** `previous`: the budget of an earlier search for the same timing, whose years are already cached. */
  constructor(timing: ScheduleTiming, previous: SearchBudget | null = null) {
    this.#timing = timing
    this.#years = previous === null ? new Set() : previous.#years
  }

  get spent(): number {
    return this.#searched + this.#ofZones
  }

  spend(units: number): void {
    this.#searched += units
    if (this.#searched > WORK_MAX) throw new TimingTooCostly(this.#timing)
  }

  visit(atMs: number): void {
    const year = Math.floor(atMs / YEAR_MS)
    if (this.#years.has(year)) return
    this.#years.add(year)
    this.#ofZones += ZONE_YEAR_WORK
  }
}
