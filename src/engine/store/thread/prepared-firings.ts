import type { NewFiring, StoredFiring } from '../records.ts'

// Sending a thousand firings to the store's thread and back costs as much as writing their rows. Firings known in
// advance are therefore sent early and later named by number; data that the caller already has is not sent back.

/** The firings of a call; a number names one that the thread already has. */
export type SentFirings = (NewFiring | number)[]
/** null: it had fired already. A number: the row's id, its jobs queued as prepared. Otherwise the row as written. */
export type SentFired = (StoredFiring | number | null)[]
/** Numbered from `first` on. Numbers below `oldest` are no longer used. */
export interface Preparation {
  first: number
  oldest: number
  firings: NewFiring[]
}

/** Above this the oldest are dropped: most never fired because their schedule changed. The others are sent in full. */
const PREPARED_MAX = 10_000

/** The caller's side. */
export function createPreparedFirings() {
  const numbers = new Map<NewFiring, number>()
  let next = 0

  return {
    prepare(firings: NewFiring[]): Preparation {
      const first = next
      for (const firing of firings) {
        // Reinsert one that was prepared before, so that the first of the map has the lowest number.
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

    /** Call if the preparation could not be sent. */
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
