import type { ScheduleTiming } from '../contract/schedules.ts'
import { ScrapdeckError } from '../errors.ts'

/** Looks at days, hours, minutes and seconds: some 10 ms, fifty times what ordinary timings need. */
const WORK_MAX = 100_000
const SHOWN = 3

/** A timing whose rules and exclusions interlock so that its run times take too long to find. */
export class TimingTooCostly extends ScrapdeckError {
  constructor({ rules, excludedCrons }: ScheduleTiming) {
    const shown = excludedCrons.slice(0, SHOWN).map((expression) => `"${expression}"`)
    const more = excludedCrons.length > SHOWN ? `, and ${excludedCrons.length - SHOWN} more` : ''
    const count = rules.length === 1 ? 'its rule' : `its ${rules.length} rules`
    const why =
      shown.length === 0
        ? `${count} and exclusions leave almost none`
        : `the exclusions (${shown.join(', ')}${more}) leave almost nothing of ${count}`
    super(
      'BAD_INPUT',
      `The run times take too long to find: ${why}. Write fewer rules and exclusions that say the same.`
    )
  }
}

/** The work that one call may do, however many rules, exclusions and occurrences it combines. */
export class SearchBudget {
  readonly #timing: ScheduleTiming
  spent = 0

  constructor(timing: ScheduleTiming) {
    this.#timing = timing
  }

  /** Throws TimingTooCostly when it is used up. */
  spend(units: number): void {
    this.spent += units
    if (this.spent > WORK_MAX) throw new TimingTooCostly(this.#timing)
  }
}
