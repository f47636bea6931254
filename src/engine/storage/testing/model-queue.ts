import type {
  AttemptResult,
  AttemptState,
  Dependency,
  Hold,
  Outcome,
  QueuePlace
} from '../../../shared/contract/index.ts'
import type { NewJob } from '../../model/records.ts'

export interface ModelJob {
  job: NewJob
  state: 'queued' | 'starting' | 'running' | 'ended'
  outcome: Outcome | null
  hold: Hold | null
  priority: number
  rank: number
  nodeWanted: string | null
  notBeforeMs: number | null
  isCancelAsked: boolean
  restorable: 'never' | 'asked' | 'skipped'
  mayHaveRunTwice: boolean
  attempts: { state: AttemptState; result: AttemptResult | null }[]
  entries: number
}

/** A model of a Store's jobs, as simple as possible: every query scans all jobs. */
export class ModelQueue {
  readonly jobs: ModelJob[] = []
  #front = 0
  #back = 0

  byId(id: string): ModelJob {
    return this.jobs.find(({ job }) => job.id === id)!
  }

  enqueue(job: NewJob, nowMs: number): string {
    this.#back += 1
    const earlier = this.jobs.findLast((other) => job.dedupe !== null && other.job.dedupe?.key === job.dedupe.key)
    if (earlier?.job.dedupe && earlier.job.dedupe.expiresAtMs > nowMs) return earlier.job.id
    const known: ModelJob = {
      job,
      state: 'queued',
      outcome: null,
      hold: null,
      priority: job.priority,
      rank: this.#back,
      nodeWanted: job.placement.nodeId,
      notBeforeMs: job.notBeforeMs,
      isCancelAsked: false,
      restorable: 'never',
      mayHaveRunTwice: false,
      attempts: [],
      entries: 1
    }
    this.jobs.push(known)
    if (this.#isBroken(known)) this.#skip(known)
    else known.hold = this.#holdOf(known, nowMs)
    return job.id
  }

  claim(known: ModelJob, atMs: number): boolean {
    const isDue = known.job.expiresAtMs === null || known.job.expiresAtMs > atMs
    if (known.state !== 'queued' || known.hold !== null || !isDue) return false
    if (this.#isOverlapLive(known)) {
      known.hold = 'overlap'
      return false
    }
    known.state = 'starting'
    known.attempts.push({ state: 'sending', result: null })
    known.entries += 1
    return true
  }

  place(known: ModelJob, nodeWanted: string | null): void {
    Object.assign(known, { nodeWanted, entries: known.entries + 1 })
    this.#freeOverlap(known)
  }

  cancelQueued(known: ModelJob, nowMs: number): void {
    Object.assign(known, { state: 'ended', outcome: 'cancelled', hold: null, isCancelAsked: true, restorable: 'asked' })
    known.entries += 1
    this.#settle([known], nowMs)
  }

  restore(asked: ModelJob, nowMs: number): ModelJob[] {
    const restored: ModelJob[] = []
    const candidates = [asked]
    for (const known of candidates) {
      const may = known.restorable === 'skipped' || (known.restorable === 'asked' && known === asked)
      if (known.state !== 'ended' || !may || this.#isBroken(known)) continue
      Object.assign(known, { state: 'queued', outcome: null, isCancelAsked: false, restorable: 'never' })
      known.hold = this.#holdOf(known, nowMs)
      known.entries += 1
      restored.push(known)
      candidates.push(...this.#waitingFor(known))
    }
    return restored
  }

  end(known: ModelJob, outcome: Outcome, nowMs: number): void {
    Object.assign(known, { state: 'ended', outcome })
    this.#settle([known], nowMs)
  }

  queueAgain(known: ModelJob, retryAtMs: number | undefined, nowMs: number): void {
    known.state = 'queued'
    if (retryAtMs !== undefined) known.notBeforeMs = retryAtMs
    known.hold = retryAtMs !== undefined && retryAtMs > nowMs ? 'retry' : null
    this.#freeOverlap(known)
  }

  releaseDue(nowMs: number): { released: number; expired: number; nextDueMs: number | null } {
    const queued = () => this.jobs.filter(({ state }) => state === 'queued')
    const expired = queued().filter(({ job }) => job.expiresAtMs !== null && job.expiresAtMs <= nowMs)
    for (const known of expired) {
      Object.assign(known, { state: 'ended', outcome: 'cancelled', hold: null })
      known.entries += 1
    }
    this.#settle([...expired], nowMs)
    const waiting = () => queued().filter(({ hold }) => hold === 'not_before' || hold === 'retry')
    const due = waiting().filter(({ notBeforeMs }) => notBeforeMs! <= nowMs)
    for (const known of due) this.#release(known, nowMs)
    const times = [
      ...waiting().map(({ notBeforeMs }) => notBeforeMs!),
      ...queued().flatMap(({ job }) => job.expiresAtMs ?? [])
    ]
    return { released: due.length, expired: expired.length, nextDueMs: times.length === 0 ? null : Math.min(...times) }
  }

  reorder(list: ModelJob[], to: QueuePlace): ModelJob[] {
    const queued = list.filter(({ state }) => state === 'queued')
    if (typeof to !== 'object') {
      const start = to === 'front' ? (this.#front -= queued.length) - 1 : (this.#back += queued.length) - queued.length
      queued.forEach((known, index) => Object.assign(known, { rank: start + index + 1, entries: known.entries + 1 }))
      return queued
    }
    const before = this.byId(to.before)
    if (before.state !== 'queued') return []
    const moved = queued.filter((known) => known !== before)
    this.#back += moved.length
    const others = this.jobs.filter((known) => known.state === 'queued' && !moved.includes(known))
    const ahead = others.filter(({ priority, rank }) => priority === before.priority && rank < before.rank)
    const lowest = ahead.length > 0 ? Math.max(...ahead.map(({ rank }) => rank)) : before.rank - moved.length - 1
    moved.forEach((known, index) => {
      known.priority = before.priority
      known.rank = lowest + ((before.rank - lowest) * (index + 1)) / (moved.length + 1)
      known.entries += 1
    })
    return queued
  }

  inOrder(): ModelJob[] {
    return this.jobs
      .filter(({ state, hold }) => state === 'queued' && hold === null)
      .sort((one, other) => other.priority - one.priority || one.rank - other.rank)
  }

  #isOverlapLive(known: ModelJob): boolean {
    return this.#sameKey(known).some(({ state }) => state === 'starting' || state === 'running')
  }

  #sameKey(known: ModelJob): ModelJob[] {
    if (!known.job.noOverlap) return []
    return this.jobs.filter(({ job }) => job.noOverlap && job.project === known.job.project)
  }

  #isBroken({ job }: ModelJob): boolean {
    return job.after.some((dependency) => this.#stateOf(dependency) === 'broken')
  }

  #stateOf({ jobId, on }: Dependency): 'open' | 'met' | 'broken' {
    const { outcome } = this.byId(jobId)
    if (outcome === null) return 'open'
    return on === 'ended' || on === outcome ? 'met' : 'broken'
  }

  #waitingFor({ job }: ModelJob): ModelJob[] {
    return this.jobs.filter((other) => other.job.after.some(({ jobId }) => jobId === job.id))
  }

  #holdOf(known: ModelJob, nowMs: number): Hold | null {
    if (known.job.after.some((dependency) => this.#stateOf(dependency) === 'open')) return 'dependency'
    if (known.notBeforeMs !== null && known.notBeforeMs > nowMs) {
      return known.attempts.length > 0 ? 'retry' : 'not_before'
    }
    return this.#isOverlapLive(known) ? 'overlap' : null
  }

  #release(known: ModelJob, nowMs: number): void {
    known.hold = this.#holdOf(known, nowMs)
    known.entries += 1
  }

  #skip(known: ModelJob): void {
    Object.assign(known, { state: 'ended', outcome: 'cancelled', hold: null, restorable: 'skipped' })
    known.entries += 1
  }

  #settle(ended: ModelJob[], nowMs: number): void {
    for (const known of ended) {
      for (const other of this.#waitingFor(known).filter(({ hold }) => hold === 'dependency')) {
        if (this.#isBroken(other)) {
          this.#skip(other)
          ended.push(other)
        } else if (this.#holdOf(other, nowMs) !== 'dependency') this.#release(other, nowMs)
      }
    }
    for (const project of new Set(ended.filter(({ job }) => job.noOverlap).map(({ job }) => job.project))) {
      this.#freeOverlap(ended.find(({ job }) => job.noOverlap && job.project === project)!)
    }
  }

  #freeOverlap(known: ModelJob): void {
    if (this.#isOverlapLive(known)) return
    const waiting = this.#sameKey(known)
      .filter(({ hold }) => hold === 'overlap')
      .sort((one, other) => other.priority - one.priority || one.rank - other.rank)
    // Release the first job of each lane, because the first job of all may have no node to run on.
    for (const [next] of Map.groupBy(waiting, ({ nodeWanted }) => nodeWanted).values()) {
      next!.hold = null
      next!.entries += 1
    }
  }
}
