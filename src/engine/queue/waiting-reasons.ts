import type { Job, Waiting } from '../../shared/contract/index.ts'
import type { StoredJob } from '../store/store.ts'

/**
 * Why queued jobs wait. Jobs of one lane wait for the same thing, so the reason is kept per lane, in memory, made anew by
 * every run of the dispatcher: reading it for a job costs one look-up however long the queue is.
 */
export class WaitingReasons {
  #byLane: ReadonlyMap<string, Waiting> = new Map()

  /** Takes the reasons of the newest plan. Returns the lanes whose reason changed. */
  replace(reasons: ReadonlyMap<string, Waiting>): string[] {
    const changed = [...reasons]
      .filter(([lane, waiting]) => this.#byLane.get(lane)?.text !== waiting.text)
      .map(([lane]) => lane)
    this.#byLane = reasons
    return changed
  }

  /** The job as clients see it. */
  complete(job: StoredJob): Job {
    const { lane, ...rest } = job
    if (job.state !== 'queued') return { ...rest, waiting: null }
    return { ...rest, waiting: this.#byLane.get(lane) ?? { code: 'next_in_line', text: 'next in line' } }
  }
}
