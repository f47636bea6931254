import type { Backfill, JobId, Occurrence, ScheduleId } from '../../shared/contract/index.ts'
import { isScrapdeckError, ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/api.ts'
import { say } from '../../shared/texts/message.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Random } from '../runtime/random.ts'
import type { NewFiring, StoredBackfill, StoredFiring } from '../model/records.ts'
import type { FiringReader, ScheduleStore, BackfillStore } from '../storage/store.ts'
import { hasFailed, isLive } from './failures.ts'
import type { LiveJobs } from './live-jobs.ts'
import { type FiringRequest, type JobMaker, makeFiring } from './make-firing.ts'
import { listOccurrences } from './moments.ts'
import type { ScheduleState } from './schedule-state.ts'
import { countJobs, inTurn, WEIGHT_AT_ONCE } from './template.ts'

export type BackfillOrder = Pick<Backfill, 'fromMs' | 'untilMs' | 'order' | 'concurrency'>

export interface BackfillsParts extends JobMaker {
  store: BackfillStore & FiringReader & ScheduleStore
  clock: Clock
  random: Random
  live: Pick<LiveJobs, 'firingsOf'>
  write(firings: NewFiring[]): Promise<(StoredFiring | null)[]>
}

interface Held {
  kept: StoredBackfill
  /** Remaining times in reverse order, so that the next one is at the end. */
  left: number[]
  countedAtMs: number
  isOver: boolean
}

/** The maximum number of times per backfill. A request for more is a mistake, or must be split. */
const MOMENTS_MAX = 100_000
const SHOWN = 10
/**
 * The number of writes per step. After that, other work gets a turn, because times that create no jobs follow one
 * another without a pause.
 */
const WRITES_A_STEP = 50
/** The minimum interval between recounts, because each recount reads every row of the backfill. */
const COUNT_APART_MS = 5_000
const FIRINGS_A_PAGE = 1_000

/**
 * Fires past times that have no job yet, with limited concurrency:
 *
 *   begin ──▶ running ──step: fewer live than its concurrency──▶ fires the next moments ──┐
 *                ▲  │ none left, and none live                                            │
 *                │  └──▶ done                              a job ended (step) ◀───────────┘
 *                └── cancel ──▶ cancelled: running jobs continue unless they are cancelled too
 *
 * Only the request is stored. The firing rows show which times are done, so a backfill continues after a crash. The
 * store's unique index prevents a backfill from repeating times that the clock or an earlier backfill fired.
 */
export class Backfills {
  readonly #parts: BackfillsParts
  readonly #held = new Map<string, Held>()

  constructor(parts: BackfillsParts) {
    this.#parts = parts
  }

  /**
   * Resumes the backfills of an earlier engine. Returns their jobs that may be live, each with the id of its
   * backfill.
   */
  async load(scheduleIds: ReadonlySet<ScheduleId>): Promise<Map<JobId, string>> {
    const backfillOf = new Map<JobId, string>()
    const all = await this.#parts.store.listBackfills()
    for (const kept of all.filter(({ scheduleId }) => scheduleIds.has(scheduleId))) {
      this.#held.set(kept.scheduleId, { kept, left: [], countedAtMs: 0, isOver: kept.state === 'done' })
      if (kept.state === 'done') continue
      const rows = await this.#rowsOf(kept.id)
      countRows(kept, rows)
      for (const { statuses, jobIds } of rows) {
        if (statuses.some(isLive)) for (const jobId of jobIds) backfillOf.set(jobId, kept.id)
      }
    }
    return backfillOf
  }

  running(): ScheduleId[] {
    return [...this.#held.values()].filter(({ kept }) => kept.state === 'running').map(({ kept }) => kept.scheduleId)
  }

  of(scheduleId: ScheduleId): Backfill | null {
    const held = this.#held.get(scheduleId)
    if (held === undefined) return null
    const { revision: _, mayGoFirst: _first, ...kept } = held.kept
    return { ...kept, ended: kept.fired - this.#live(held.kept).length }
  }

  async plan(state: ScheduleState, span: { fromMs: number; untilMs: number }) {
    const { moments, alreadyRun, forgotten } = await this.#momentsOf(state, span)
    return {
      count: moments.length,
      jobs: moments.length * countJobs(state.stored.settings.jobs),
      alreadyRun,
      forgotten,
      first: moments.slice(0, SHOWN),
      last: moments.slice(-SHOWN)
    }
  }

  /** Rejects with BACKFILL_RUNNING, or with BAD_INPUT if there are too many times, or none. */
  async begin(state: ScheduleState, order: BackfillOrder, { mayGoFirst }: { mayGoFirst: boolean }): Promise<void> {
    const { id: scheduleId, settings } = state.stored
    if (this.#held.get(scheduleId)?.kept.state === 'running') {
      throw new ScrapdeckError('BACKFILL_RUNNING', sentence('api.backfill_already_running', { name: settings.name }))
    }
    const { moments, forgotten } = await this.#momentsOf(state, order)
    if (moments.length === 0) {
      const none =
        forgotten === 0 ? 'that has not run' : `that has provably not run: the history of ${forgotten} was pruned`
      throw new ScrapdeckError('BAD_INPUT', sentence('api.no_run_times', { name: settings.name, none }))
    }
    const { fromMs, untilMs, concurrency } = order
    const former = this.#held.get(scheduleId)
    const kept: StoredBackfill = {
      revision: former?.kept.revision ?? 0,
      id: this.#parts.random.hex(16),
      scheduleId,
      fromMs,
      untilMs,
      order: order.order,
      concurrency,
      mayGoFirst,
      state: 'running',
      total: moments.length,
      fired: 0,
      failed: 0
    }
    const left = inOrder(moments, order.order)
    const held = { kept, left, countedAtMs: 0, isOver: false }
    await this.#write(held, kept)
    this.#held.set(scheduleId, held)
  }

  /**
   * Fires the next times. If a time cannot create a job, writes a row with the reason. Returns whether to call `step`
   * again.
   */
  async step(state: ScheduleState): Promise<boolean> {
    const held = this.#held.get(state.stored.id)
    if (held === undefined || held.isOver) return false
    const { kept } = held
    if (kept.state === 'cancelled') {
      await this.#recount(held)
      if (this.#live(kept).length === 0) {
        await this.#write(held, kept)
        held.isOver = true
      }
      await this.#publish(state)
      return false
    }
    if (held.left.length === 0 && kept.fired < kept.total) held.left = await this.#stillToRun(state, kept)
    let weight = 0
    for (let writes = 0; held.left.length > 0; writes += 1) {
      const room = kept.concurrency - this.#live(kept).length
      if (room <= 0) break
      if (writes === WRITES_A_STEP || weight > WEIGHT_AT_ONCE) return true
      const next = held.left.slice(-room).reverse()
      const rows: NewFiring[] = []
      while (rows.length < next.length && weight <= WEIGHT_AT_ONCE) {
        const made = await this.#make(state, kept, next[rows.length]!)
        rows.push(made.firing)
        weight += made.weight
      }
      const written = await this.#parts.write(rows)
      held.left.length -= rows.length
      // A time that fired in the meantime is done, but this backfill did not fire it.
      const fired = written.filter((row) => row !== null).length
      kept.total -= written.length - fired
      kept.fired += fired
    }
    const isDone = held.left.length === 0 && this.#live(kept).length === 0
    await this.#recount(held, isDone)
    if (isDone) {
      await this.#write(held, { ...kept, state: 'done' })
      held.isOver = true
      await this.#publish(state)
    }
    return false
  }

  /** Publishes the schedule again, because the last job's end may have been published before it was counted here. */
  async #publish({ stored }: ScheduleState): Promise<void> {
    await this.#parts.store.setFailuresInARow(stored.id, stored.failuresInARow)
  }

  async cancel(scheduleId: ScheduleId): Promise<JobId[]> {
    const held = this.#held.get(scheduleId)
    if (held?.kept.state !== 'running') {
      throw new ScrapdeckError('BAD_INPUT', sentence('api.no_backfill_running'))
    }
    const { kept } = held
    await this.#write(held, { ...kept, state: 'cancelled' })
    held.left = []
    return this.#live(kept).flatMap(({ jobIds }) => jobIds)
  }

  forget(scheduleId: ScheduleId): void {
    this.#held.delete(scheduleId)
  }

  #live({ scheduleId, id }: StoredBackfill) {
    return this.#parts.live.firingsOf(scheduleId, id)
  }

  /** Lists only past times. The scheduler fires future ones. */
  async #momentsOf(state: ScheduleState, { fromMs, untilMs }: { fromMs: number; untilMs: number }) {
    const { id, settings } = state.stored
    const pastMs = Math.min(untilMs, this.#parts.clock.nowMs() - state.offsetMs, state.doneUntilMs)
    const range = { afterMs: fromMs - 1, untilMs: pastMs, limit: MOMENTS_MAX + 1 }
    const all = pastMs < fromMs ? [] : await listOccurrences(settings, range, this.#parts.clock)
    if (all.length > MOMENTS_MAX) {
      const message = sentence('api.too_many_run_times', { name: settings.name, momentsMax: MOMENTS_MAX })
      throw new ScrapdeckError('BAD_INPUT', message)
    }
    const times = all.map(({ nominalMs }) => nominalMs)
    const { fired, forgotten } = await this.#parts.store.findFired(id, times)
    const isLeftOut = new Set([...fired, ...forgotten])
    const moments = all.filter(({ nominalMs }) => !isLeftOut.has(nominalMs))
    return { moments, alreadyRun: fired.length, forgotten: forgotten.length }
  }

  /** After a crash: the times for which this backfill has no row in any state. */
  async #stillToRun(state: ScheduleState, kept: StoredBackfill): Promise<number[]> {
    const { moments } = await this.#momentsOf(state, kept)
    const tried = new Set((await this.#rowsOf(kept.id)).map(({ nominalMs }) => nominalMs))
    const left = moments.filter(({ nominalMs }) => !tried.has(nominalMs))
    return inOrder(left, kept.order)
  }

  async #make({ stored, moments }: ScheduleState, { id, mayGoFirst }: StoredBackfill, nominalMs: number) {
    const nowMs = this.#parts.clock.nowMs()
    const asked = { nominalMs, origin: 'backfill', backfillId: id, doneUntilMs: null } as const
    const fired: FiringRequest = { ...asked, reason: 'backfill', message: say('firing.backfill'), after: [] }
    try {
      return await makeFiring(mayGoFirst ? stored : inTurn(stored), moments, fired, { maker: this.#parts, nowMs })
    } catch (error) {
      if (!isScrapdeckError(error)) throw error
      const message = say('firing.refused', { error: error.message })
      const failure = { state: 'failed', reason: 'refused', message } as const
      const firing: NewFiring = { ...asked, ...failure, scheduleId: stored.id, atMs: nowMs, count: 1, jobs: [] }
      return { firing, weight: 0 }
    }
  }

  async #recount(held: Held, isUrgent = this.#live(held.kept).length === 0): Promise<void> {
    const nowMs = this.#parts.clock.monotonicMs()
    if (!isUrgent && nowMs - held.countedAtMs < COUNT_APART_MS) return
    held.countedAtMs = nowMs
    countRows(held.kept, await this.#rowsOf(held.kept.id))
  }

  async #rowsOf(backfillId: string): Promise<StoredFiring[]> {
    const rows: StoredFiring[] = []
    for (let before: number | null = null; ; ) {
      const limit = FIRINGS_A_PAGE
      const page: StoredFiring[] = await this.#parts.store.listFirings({ backfillId }, { before, limit })
      rows.push(...page)
      if (page.length < FIRINGS_A_PAGE) return rows
      before = page.at(-1)!.id
    }
  }

  async #write(held: Held, kept: StoredBackfill): Promise<void> {
    const next = { ...kept, revision: kept.revision + 1 }
    await this.#parts.store.putBackfill(next)
    held.kept = next
  }
}

/** Returns the schedules with a running backfill, which relies on their firing rows. Do not prune these rows. */
export async function listBackfilled(store: BackfillStore): Promise<string[]> {
  return (await store.listBackfills()).filter(({ state }) => state === 'running').map(({ scheduleId }) => scheduleId)
}

/** Counts never decrease, even if rows have been pruned. */
function countRows(kept: StoredBackfill, rows: readonly StoredFiring[]): void {
  const failed = rows.filter(hasFailed).length
  kept.failed = rows.length < kept.fired ? Math.max(kept.failed, failed) : failed
  kept.fired = Math.max(kept.fired, rows.length)
}

function inOrder(moments: readonly Occurrence[], order: Backfill['order']): number[] {
  const times = moments.map(({ nominalMs }) => nominalMs)
  return order === 'newest_first' ? times : times.reverse()
}
