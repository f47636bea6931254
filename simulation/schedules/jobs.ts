import { aJobId, anAttemptNumber, aScheduleId } from '../../src/shared/testing/ids.ts'
import type { NewJob } from '../../src/engine/model/records.ts'
import type { Store } from '../../src/engine/storage/store.ts'
import { anAttemptStart, entry } from '../../src/engine/testing/builders.ts'
import type { VirtualTime } from '../world/time.ts'
import { CANCEL_TAKES_MS } from './plan.ts'

export type JobOutcome = 'succeeded' | 'failed' | 'cancelled'

export interface JobPlan {
  lifeMs: number
  isFailing: boolean
  project: string
  spider: string
  /** null: a chain created the job. */
  of: { scheduleId: string; nominalMs: number; index: number } | null
  /** The chains that led to this job. */
  line: string[]
}

export interface RanJob extends JobPlan {
  id: string
  endsAtMs: number | null
  ended: { atMs: number; outcome: JobOutcome } | null
}

/** The story's jobs. They run, end and are cancelled independently of the engine, as on other machines. */
export class Jobs {
  readonly all = new Map<string, RanJob>()
  readonly #parts: { time: VirtualTime; store: Store; nowMs: () => number }
  readonly #timers = new Map<string, { cancel(): void }>()
  /** Ids of jobs that wait for other jobs, by schedule. */
  readonly #held = new Map<string, Set<string>>()

  constructor(parts: { time: VirtualTime; store: Store; nowMs: () => number }) {
    this.#parts = parts
  }

  /** Call this when the jobs are in the queue. */
  async add(made: NewJob[], planOf: (job: NewJob, index: number) => JobPlan): Promise<void> {
    for (const [index, job] of made.entries()) {
      const plan = planOf(job, index)
      this.all.set(job.id, { ...plan, id: job.id, endsAtMs: null, ended: null })
      if (job.after.length === 0) this.#start(job.id)
      else this.#heldOf(plan).add(job.id)
    }
    // The jobs that the new ones wait for may have ended while the new ones were written.
    const scheduleId = made.find(({ after }) => after.length > 0)?.scheduleId ?? null
    if (scheduleId !== null) await this.#startReleased(scheduleId)
  }

  /** Held jobs end immediately; running ones take CANCEL_TAKES_MS. */
  async cancel(ids: string[]): Promise<void> {
    const held = ids.filter((id) => this.all.get(id)!.endsAtMs === null)
    for (const id of ids) {
      if (!held.includes(id)) this.#endAt(id, this.#parts.time.nowMs + CANCEL_TAKES_MS, 'cancelled')
    }
    for (const id of held) await this.#end(id, 'cancelled')
  }

  #start(id: string): void {
    const job = this.all.get(id)!
    if (job.endsAtMs !== null || job.ended !== null) return
    this.#endAt(id, this.#parts.time.nowMs + job.lifeMs, job.isFailing ? 'failed' : 'succeeded')
  }

  #endAt(id: string, atMs: number, outcome: JobOutcome): void {
    const job = this.all.get(id)!
    if (job.endsAtMs !== null && job.endsAtMs <= atMs) return
    this.#timers.get(id)?.cancel()
    job.endsAtMs = atMs
    this.#timers.set(
      id,
      this.#parts.time.after(atMs - this.#parts.time.nowMs, () => void this.#end(id, outcome))
    )
  }

  async #end(id: string, outcome: JobOutcome): Promise<void> {
    const { store, time, nowMs } = this.#parts
    const job = this.all.get(id)!
    const told = entry('its run is over', { atMs: nowMs() })
    this.#timers.delete(id)
    this.#heldOf(job).delete(id)
    job.ended = { atMs: time.nowMs, outcome }
    if (outcome === 'cancelled') await store.cancelQueued([aJobId(id)], told)
    else {
      const change = {
        jobId: aJobId(id),
        attemptNumber: anAttemptNumber(1),
        from: ['sending' as const],
        to: 'ended' as const,
        kind: 'ended' as const
      }
      const begun = store.beginAttempts([anAttemptStart({ id }, { entry: told })])
      await Promise.all([begun, store.applyChanges([{ ...change, result: outcome, entry: told }])])
    }
    if (job.of !== null) await this.#startReleased(job.of.scheduleId)
  }

  async #startReleased(scheduleId: string): Promise<void> {
    const held = this.#held.get(scheduleId)
    if (held === undefined || held.size === 0) return
    for (const { id, hold } of await this.#parts.store.listLiveJobsOf(aScheduleId(scheduleId))) {
      if (hold === null && held.delete(id)) this.#start(id)
    }
  }

  #heldOf({ of }: JobPlan): Set<string> {
    const key = of?.scheduleId ?? ''
    const held = this.#held.get(key) ?? new Set()
    this.#held.set(key, held)
    return held
  }
}
