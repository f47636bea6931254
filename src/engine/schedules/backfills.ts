import { occurrencesOf } from '../../shared/calendar/index.ts'
import type { Backfill, JobId, Occurrence, ScheduleId } from '../../shared/contract/index.ts'
import { isScrapdeckError, ScrapdeckError } from '../../shared/errors.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Random } from '../runtime/random.ts'
import type { NewFiring, StoredBackfill, StoredFiring } from '../store/records.ts'
import type { FiringReader, ScheduleStore, BackfillStore } from '../store/store.ts'
import { hasFailed, isLive } from './failures.ts'
import type { LiveJobs } from './live-jobs.ts'
import { type AskedFiring, type JobMaker, makeFiring } from './make-firing.ts'
import type { ScheduleState } from './schedule-state.ts'
import { countJobs } from './template.ts'

export type BackfillOrder = Pick<Backfill, 'fromMs' | 'untilMs' | 'order' | 'concurrency'>

export interface BackfillsParts extends JobMaker {
  store: BackfillStore & FiringReader & ScheduleStore
  clock: Clock
  random: Random
  live: Pick<LiveJobs, 'firingsOf'>
  /** As Store.fire, with all that follows from it. */
  write(firings: NewFiring[]): Promise<(StoredFiring | null)[]>
}

interface Held {
  kept: StoredBackfill
  /** Moments to come, in its order; they are taken from the end. */
  left: number[]
  countedAtMs: number
  /** Nothing of it is live or to come: its rows say nothing new any more. */
  isOver: boolean
}

/** More is a mistake, or work for several orders. */
const MOMENTS_MAX = 100_000
const SHOWN = 10
/** Rows written in one step before others get their turn: moments that make no job come right after one another. */
const WRITES_A_STEP = 50
/** Counting reads every row of the backfill. */
const COUNT_APART_MS = 5_000
const FIRINGS_A_PAGE = 1_000

/**
 * Fires moments of the past that have no job yet, so many at a time:
 *
 *   begin ──▶ running ──step: fewer live than its concurrency──▶ fires the next moments ──┐
 *                ▲  │ none is left, and none is live                                      │
 *                │  └──▶ done                              a job ended (step) ◀───────────┘
 *                └── cancel ──▶ cancelled: what runs goes on, unless it is cancelled too
 *
 * What is kept is what was asked for; its rows tell which moments are done. So it goes on after a crash, and the
 * store's unique row keeps it from repeating what the clock or an earlier backfill fired.
 */
export class Backfills {
  readonly #parts: BackfillsParts
  readonly #held = new Map<string, Held>()

  constructor(parts: BackfillsParts) {
    this.#parts = parts
  }

  /** Goes on with those of an earlier engine. Returns which jobs backfills made, as far as they may be live. */
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
    const { revision: _, ...kept } = held.kept
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

  /** Rejects with BACKFILL_RUNNING, or BAD_INPUT where there is too much of it, or nothing. */
  async begin(state: ScheduleState, order: BackfillOrder): Promise<void> {
    const { id: scheduleId, settings } = state.stored
    if (this.#held.get(scheduleId)?.kept.state === 'running') {
      throw new ScrapdeckError(
        'BACKFILL_RUNNING',
        `A backfill of ${settings.name} is already running. Wait until it ends, or cancel it first`
      )
    }
    const { moments, forgotten } = await this.#momentsOf(state, order)
    if (moments.length === 0) {
      const none =
        forgotten === 0 ? 'that has not run' : `that has provably not run: the history of ${forgotten} was pruned`
      throw new ScrapdeckError('BAD_INPUT', `${settings.name} has no run times there ${none}. Choose another range`)
    }
    const { fromMs, untilMs, concurrency } = order
    const former = this.#held.get(scheduleId)
    const kept: StoredBackfill = {
      revision: former?.kept.revision ?? 0,
      ...{ id: this.#parts.random.hex(16), scheduleId, fromMs, untilMs, order: order.order, concurrency },
      ...{ state: 'running', total: moments.length, fired: 0, failed: 0 }
    }
    const left = inOrder(moments, order.order)
    const held = { kept, left, countedAtMs: 0, isOver: false }
    await this.#write(held, kept)
    this.#held.set(scheduleId, held)
  }

  /** Fires as many as may be live. A moment that can make no job is a row that says why. True: call again at once. */
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
    for (let writes = 0; held.left.length > 0; writes += 1) {
      const room = kept.concurrency - this.#live(kept).length
      if (room <= 0) break
      if (writes === WRITES_A_STEP) return true
      const next = held.left.slice(-room).reverse()
      const rows = await Promise.all(next.map((nominalMs) => this.#make(state, kept, nominalMs)))
      const written = await this.#parts.write(rows)
      held.left.length -= next.length
      // One that had fired meanwhile is done as well; it is none of this backfill's.
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

  /** Its last end may have been told before it was counted here; nothing else would tell of its schedule again. */
  async #publish({ stored }: ScheduleState): Promise<void> {
    await this.#parts.store.setFailuresInARow(stored.id, stored.failuresInARow)
  }

  /** Returns its live jobs. Rejects with BAD_INPUT where none is under way. */
  async cancel(scheduleId: ScheduleId): Promise<JobId[]> {
    const held = this.#held.get(scheduleId)
    if (held?.kept.state !== 'running') {
      throw new ScrapdeckError('BAD_INPUT', 'No backfill of this schedule is running, so there is nothing to cancel')
    }
    const { kept } = held
    await this.#write(held, { ...kept, state: 'cancelled' })
    held.left = []
    return this.#live(kept).flatMap(({ jobIds }) => jobIds)
  }

  /** Its schedule is gone, and its row with that. */
  forget(scheduleId: ScheduleId): void {
    this.#held.delete(scheduleId)
  }

  #live({ scheduleId, id }: StoredBackfill) {
    return this.#parts.live.firingsOf(scheduleId, id)
  }

  /** Moments of the past only: those to come are the ticker's. */
  async #momentsOf(state: ScheduleState, { fromMs, untilMs }: { fromMs: number; untilMs: number }) {
    const { id, settings } = state.stored
    const pastMs = Math.min(untilMs, this.#parts.clock.nowMs() - state.offsetMs, state.doneUntilMs)
    const range = { afterMs: fromMs - 1, untilMs: pastMs, limit: MOMENTS_MAX + 1 }
    const all: Occurrence[] = pastMs < fromMs ? [] : occurrencesOf(settings, range)
    if (all.length > MOMENTS_MAX) {
      const message = `${settings.name} has more than ${MOMENTS_MAX} run times there. Backfill a shorter range, then the next one`
      throw new ScrapdeckError('BAD_INPUT', message)
    }
    const times = all.map(({ nominalMs }) => nominalMs)
    const { fired, forgotten } = await this.#parts.store.findFired(id, times)
    const isLeftOut = new Set([...fired, ...forgotten])
    const moments = all.filter(({ nominalMs }) => !isLeftOut.has(nominalMs))
    return { moments, alreadyRun: fired.length, forgotten: forgotten.length }
  }

  /** After a crash: those without a row of this backfill, whatever it says. */
  async #stillToRun(state: ScheduleState, kept: StoredBackfill): Promise<number[]> {
    const { moments } = await this.#momentsOf(state, kept)
    const tried = new Set((await this.#rowsOf(kept.id)).map(({ nominalMs }) => nominalMs))
    const left = moments.filter(({ nominalMs }) => !tried.has(nominalMs))
    return inOrder(left, kept.order)
  }

  async #make({ stored, moments }: ScheduleState, { id }: StoredBackfill, nominalMs: number): Promise<NewFiring> {
    const nowMs = this.#parts.clock.nowMs()
    const asked = { nominalMs, origin: 'backfill', backfillId: id, doneUntilMs: null } as const
    const fired: AskedFiring = { ...asked, reason: 'backfill', text: 'Backfilled', after: [] }
    try {
      return await makeFiring(stored, moments, fired, { maker: this.#parts, nowMs })
    } catch (error) {
      if (!isScrapdeckError(error)) throw error
      const told = { state: 'failed', reason: 'refused', text: `No job was created: ${error.message}` } as const
      return { ...asked, ...told, scheduleId: stored.id, atMs: nowMs, count: 1, jobs: [] }
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

  /** Believed once it is written. */
  async #write(held: Held, kept: StoredBackfill): Promise<void> {
    const next = { ...kept, revision: kept.revision + 1 }
    await this.#parts.store.putBackfill(next)
    held.kept = next
  }
}

/** Schedules of which a backfill is under way: it goes by their rows, none of which may be pruned meanwhile. */
export async function listBackfilled(store: BackfillStore): Promise<string[]> {
  return (await store.listBackfills()).filter(({ state }) => state === 'running').map(({ scheduleId }) => scheduleId)
}

/** What was counted before is not taken back by rows that are no longer there. */
function countRows(kept: StoredBackfill, rows: readonly StoredFiring[]): void {
  const failed = rows.filter(hasFailed).length
  kept.failed = rows.length < kept.fired ? Math.max(kept.failed, failed) : failed
  kept.fired = Math.max(kept.fired, rows.length)
}

function inOrder(moments: readonly Occurrence[], order: Backfill['order']): number[] {
  const times = moments.map(({ nominalMs }) => nominalMs)
  return order === 'newest_first' ? times : times.reverse()
}
