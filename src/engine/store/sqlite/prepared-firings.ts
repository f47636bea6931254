import type { NewFiring, StoredFiring } from '../records.ts'

// A thousand firings cost as much on their way to the store's thread and back as their rows cost to write. So those
// known ahead cross before their time and are named by number when it comes; what the caller knows is not sent back.

/** The firings of a call: those that the thread has already by their numbers. */
export type SentFirings = (NewFiring | number)[]
/** null: it had fired already. A number: its row's id, its jobs queued as they were made. Else as it came to be. */
export type SentFired = (StoredFiring | number | null)[]
/** Numbered from `first` on. What has a number below `oldest` will not be asked for any more. */
export interface Preparation {
  first: number
  oldest: number
  firings: NewFiring[]
}

/** Above this the oldest are forgotten: most never fired because their schedule changed. The others cross whole. */
const PREPARED_MAX = 10_000

/** The caller's side. */
export function createPreparedFirings() {
  const numbers = new Map<NewFiring, number>()
  let next = 0

  return {
    prepare(firings: NewFiring[]): Preparation {
      const first = next
      for (const firing of firings) {
        // One that was prepared before goes to the end, so that the first of the map has the lowest number.
        numbers.delete(firing)
        numbers.set(firing, next++)
      }
      for (const firing of numbers.keys()) {
        if (numbers.size <= PREPARED_MAX) break
        numbers.delete(firing)
      }
      const [oldest = next] = numbers.values()
      return { first, oldest, firings }
    },

    /** They did not arrive. */
    forget(firings: NewFiring[]): void {
      for (const firing of firings) numbers.delete(firing)
    },

    send: (firings: NewFiring[]): SentFirings =>
      firings.map((firing) => {
        const number = numbers.get(firing)
        numbers.delete(firing)
        return number ?? firing
      }),

    receive: (firings: NewFiring[], fired: SentFired): (StoredFiring | null)[] =>
      fired.map((one, index) => (typeof one === 'number' ? asMade(firings[index]!, one) : one))
  }
}

/** The thread's side. */
export function createPreparedFiringsOfThread() {
  const prepared = new Map<number, NewFiring>()

  return {
    prepare({ first, oldest, firings }: Preparation): void {
      firings.forEach((firing, index) => prepared.set(first + index, firing))
      for (const number of prepared.keys()) {
        if (number >= oldest) break
        prepared.delete(number)
      }
    },

    receive: (sent: SentFirings): NewFiring[] =>
      sent.map((one) => {
        if (typeof one !== 'number') return one
        const firing = prepared.get(one)
        if (firing === undefined) throw new Error(`The firing ${one} has not been prepared`)
        prepared.delete(one)
        return firing
      }),

    send: (firings: NewFiring[], fired: (StoredFiring | null)[]): SentFired =>
      fired.map((one, index) => (one !== null && isAsMade(firings[index]!, one) ? one.id : one))
  }
}

function isAsMade({ jobs }: NewFiring, { jobIds, statuses }: StoredFiring): boolean {
  return jobs.every(({ id }, index) => id === jobIds[index] && statuses[index] === 'queued')
}

function asMade({ jobs, doneUntilMs: _, ...firing }: NewFiring, id: number): StoredFiring {
  const times = { startedAtMs: null, endedAtMs: null }
  return { ...firing, ...times, id, jobIds: jobs.map((job) => job.id), statuses: jobs.map(() => 'queued') }
}
