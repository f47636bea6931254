import type { Job, Waiting } from '../../shared/contract/index.ts'
import { maskSecrets } from '../../shared/secret-values.ts'
import type { StoredJob } from '../store/store.ts'

/**
 * Why queued jobs wait. Jobs of one lane wait for the same thing, so the reason is kept per lane, in memory, made anew by
 * every run of the dispatcher: reading it for a job costs one look-up however long the queue is.
 */
export class WaitingReasons {
  #byLane: ReadonlyMap<string, Waiting> = new Map()

  /** Takes the reasons of the newest plan. Returns the lanes whose reason changed, those that wait no longer included. */
  replace(reasons: ReadonlyMap<string, Waiting>): string[] {
    const lanes = new Set([...this.#byLane.keys(), ...reasons.keys()])
    const changed = [...lanes].filter((lane) => this.#byLane.get(lane)?.text !== reasons.get(lane)?.text)
    this.#byLane = reasons
    return changed
  }

  of(lane: string): Waiting {
    return this.#byLane.get(lane) ?? NEXT_IN_LINE
  }

  /** The job as clients see it: with why it waits, and without its secrets. */
  complete(job: StoredJob): Job {
    return { ...maskSecrets(job), waiting: job.state === 'queued' ? this.of(job.lane) : null, unknownSinceMs: null }
  }
}

const NEXT_IN_LINE: Waiting = { code: 'next_in_line', text: 'next in line' }
