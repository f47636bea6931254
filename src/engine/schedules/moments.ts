import { createHash } from 'node:crypto'
import { nextOccurrence, occurrencesOf, SearchBudget, TimingTooCostly } from '../../shared/calendar/index.ts'
import type { Occurrence, ScheduleId, ScheduleTiming } from '../../shared/contract/index.ts'
import { yielder } from '../runtime/yielder.ts'
import type { Clock } from '../runtime/clock.ts'

export interface Moment {
  nominalMs: number
  /** Whether a clock change skips this local time, so that the schedule does not run. The time is only recorded. */
  isLeftOut: boolean
}

const SEARCH_BACK_MS = 60_000
const SEARCH_WIDENS_BY = 8
const SEARCH_BACK_MAX_MS = 10 * 366 * 86_400_000
const LISTED_AT_ONCE = 50
/** The shared search budget of all pieces of a list: half a second of work, with pauses. */
const LISTED_WORK_MAX = 5_000_000
/** The budget for lists that are only displayed, to any user: about 30 ms, enough for a list that spans 50 years. */
const SHOWN_WORK_MAX = 300_000
const SHOWN_AT_ONCE = 10

/** The fire times of one schedule, including those skipped by a clock change, which have a row like all others. */
export class FireTimes {
  readonly #timing: ScheduleTiming
  /** The timing that shifts skipped times instead. Times found only here are the skipped ones. */
  readonly #withGaps: ScheduleTiming

  constructor(timing: ScheduleTiming) {
    this.#timing = timing
    this.#withGaps = timing.gap === 'skip' ? { ...timing, gap: 'run_at_shift' } : timing
  }

  /** The first time after `afterMs`, including times that a clock change skips. */
  next(afterMs: number): Moment | null {
    const found = nextOccurrence(this.#withGaps, afterMs)
    return found === null ? null : this.#judge(found)
  }

  nextRun(afterMs: number): number | null {
    return nextOccurrence(this.#timing, afterMs)?.nominalMs ?? null
  }

  /** Ascending, after `afterMs` and up to `untilMs` (inclusive), at most `limit`. */
  between(afterMs: number, untilMs: number, limit: number): Moment[] {
    if (untilMs <= afterMs) return []
    return occurrencesOf(this.#withGaps, { afterMs, untilMs, limit }).map((occurrence) => this.#judge(occurrence))
  }

  /** The last time before `beforeMs` that is not skipped: the value of `{previous}`, regardless of its fate. */
  previous(beforeMs: number): number | null {
    const untilMs = beforeMs - 1
    const budget = new SearchBudget(this.#timing)
    const firstAfter = (afterMs: number) =>
      occurrencesOf(this.#timing, { afterMs, untilMs, limit: 1 }, budget)[0]?.nominalMs ?? null
    for (let spanMs = SEARCH_BACK_MS; spanMs <= SEARCH_BACK_MAX_MS; spanMs *= SEARCH_WIDENS_BY) {
      let last = firstAfter(untilMs - spanMs)
      if (last === null) continue
      // A binary search, because there can be millions of times. None is after `emptyAfterMs`.
      for (let emptyAfterMs = untilMs; last < emptyAfterMs; ) {
        const middleMs: number = Math.floor((last + emptyAfterMs) / 2)
        const later = firstAfter(middleMs)
        if (later === null) emptyAfterMs = middleMs
        else last = later
      }
      return last
    }
    return null
  }

  #judge({ nominalMs, kind }: { nominalMs: number; kind: string }): Moment {
    const mayBeLeftOut = this.#withGaps !== this.#timing && kind === 'gap'
    return { nominalMs, isLeftOut: mayBeLeftOut && this.nextRun(nominalMs - 1) !== nominalMs }
  }
}

interface ListRange {
  afterMs: number
  untilMs?: number
  limit: number
}

/** Like occurrencesOf, for long lists. Yields to the event loop between pieces. Rejects with TimingTooCostly. */
export async function listOccurrences(
  timing: ScheduleTiming,
  range: ListRange,
  clock: Pick<Clock, 'monotonicMs'>
): Promise<Occurrence[]> {
  const bounds = { atOnce: LISTED_AT_ONCE, workMax: LISTED_WORK_MAX }
  const { listed, isCut } = await listWithin(timing, range, bounds, clock)
  if (isCut) throw new TimingTooCostly(timing)
  return listed
}

/** For lists that are only displayed. Returns only the times that are found with little work. */
export async function listOccurrencesToShow(
  timing: ScheduleTiming,
  range: ListRange,
  clock: Pick<Clock, 'monotonicMs'>
): Promise<Occurrence[]> {
  return (await listWithin(timing, range, { atOnce: SHOWN_AT_ONCE, workMax: SHOWN_WORK_MAX }, clock)).listed
}

async function listWithin(
  timing: ScheduleTiming,
  { afterMs, untilMs, limit }: ListRange,
  { atOnce, workMax }: { atOnce: number; workMax: number },
  clock: Pick<Clock, 'monotonicMs'>
): Promise<{ listed: Occurrence[]; isCut: boolean }> {
  const yieldTurn = yielder(clock)
  const listed: Occurrence[] = []
  let budget: SearchBudget | null = null
  for (let spent = 0; ; ) {
    budget = new SearchBudget(timing, budget)
    const count = Math.min(atOnce, limit - listed.length)
    const range = {
      afterMs: listed.at(-1)?.nominalMs ?? afterMs,
      limit: count,
      ...(untilMs !== undefined && { untilMs })
    }
    const found = occurrencesOf(timing, range, budget)
    for (const one of found) listed.push(one)
    if (found.length < count || listed.length === limit) return { listed, isCut: false }
    spent += budget.spent
    if (spent > workMax) return { listed, isCut: true }
    await yieldTurn()
  }
}

/**
 * The delay of a schedule's firings after their nominal times, at most the jitter. Always the same for a schedule, and
 * evenly distributed over all schedules.
 */
export function jitterOf(scheduleId: ScheduleId, jitterSeconds: number): number {
  if (jitterSeconds === 0) return 0
  const share = createHash('sha256').update(scheduleId).digest().readUInt32BE() / 2 ** 32
  return Math.floor(share * (jitterSeconds * 1_000 + 1))
}
