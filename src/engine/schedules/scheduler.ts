import pLimit from 'p-limit'
import type { JobId, ScheduleId } from '../../shared/contract/index.ts'
import { problemOfTiming } from '../../shared/calendar/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/api.ts'
import { type Message, plain, say } from '../../shared/texts/message.ts'
import { type Clock, type Timer, Timers } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { Random } from '../runtime/random.ts'
import type { NewFiring, StoredFiring, StoredSchedule } from '../model/records.ts'
import type { BackfillStore, ChangeLog, FiringStore, JobReader, ScheduleStore } from '../storage/store.ts'
import { PREFETCH_MS, prefetch, claimPrefetched } from './prefetch.ts'
import { Backfills, type BackfillOrder } from './backfills.ts'
import { ClockWatch, SLEEP_MAX_MS } from './clock-watch.ts'
import { AGAIN_AFTER_FAILURE_MS, DuePlaces } from './due-places.ts'
import { readFailures } from './failures.ts'
import { decideFirings } from './decide-firings.ts'
import { jitterOf } from './moments.ts'
import { LiveJobs } from './live-jobs.ts'
import { type FiringRequest, type JobMaker, makeFiring } from './make-firing.ts'
import { type PausedBy, pauseItself } from './pause-itself.ts'
import { inTurn, WEIGHT_AT_ONCE } from './template.ts'
import {
  createState,
  type DecidedFirings,
  dueAt,
  findNext,
  healAfterClock,
  type ScheduleState
} from './schedule-state.ts'

export interface SchedulerParts extends JobMaker {
  store: ScheduleStore & FiringStore & JobReader & ChangeLog & BackfillStore
  clock: Clock
  random: Random
  logger: Logger
  onJobs(): void
  onFired(firings: StoredFiring[]): void
  onPaused(schedule: StoredSchedule): void
  cancel(jobIds: JobId[]): Promise<unknown>
  giveWay?: () => Promise<void>
}

/** The time after startup in which an engine may not know the nodes' projects yet. Less than LATE_AFTER_MS. */
const SETTLING_MS = 45_000
/**
 * The maximum number of schedules per write. The next schedules are decided during the write. One write of prepared
 * firings costs less than several.
 */
const SCHEDULES_AT_ONCE = 1_000
const SEARCHES_AT_ONCE = 100

/**
 * Creates jobs of schedules when they are due. One timer serves all schedules:
 *
 *            start: read schedules, live jobs, backfills
 *                          │
 *                          ▼
 *   ┌────────────────── asleep ◀────────────────────────────────┐
 *   │ until PREFETCH_MS before the next moment, then until it;  │
 *   │ SLEEP_MAX_MS at most                                      │
 *   ▼                                                           │
 *  check the clock: compare wall and monotonic time             │
 *   │ nothing is due ─▶ prepare what is due soon ───────────────┤
 *   ▼                                                           │
 *  decide: the fate of each due moment (see fates.ts),          │
 *   │         and the jobs of those that fire                   │
 *   ▼                                                           │
 *  write: rows, jobs and each schedule's progress in one        │
 *   │ commit; the store skips moments that have fired already   │
 *   ├─ failed ─▶ memory is unchanged, retry in a second ────────┤
 *   ▼                                                           │
 *  find next ──▶ none, or its runs are used up ─▶ over (paused) ┘
 *
 * All other work on schedules (a change, run now, the end of a job, a backfill's step) goes through the same queue, so
 * that each sees the complete effect of the others.
 */
export class Scheduler {
  readonly #parts: SchedulerParts
  readonly #states = new Map<string, ScheduleState>()
  readonly #live: LiveJobs
  readonly #backfills: Backfills
  readonly #places = new DuePlaces()
  readonly #timers: Timers
  readonly #giveWay: () => Promise<void>
  readonly #oneAtATime = pLimit(1)
  #timer: Timer | null = null
  readonly #watch: ClockWatch
  #settledAtMonotonicMs = 0
  readonly #refused = new Set<string>()
  #isStopped = false

  constructor(parts: SchedulerParts) {
    this.#parts = parts
    const { store, clock, logger } = parts
    this.#timers = new Timers(clock)
    this.#watch = new ClockWatch(clock, logger)
    this.#giveWay = parts.giveWay ?? (() => new Promise((resolve) => setImmediate(resolve)))
    const onEnded = (scheduleIds: Set<ScheduleId>) =>
      void this.#inLine(() => this.#applyEnds(scheduleIds)).catch((error: unknown) =>
        this.#report({ error }, 'applying ended jobs to their schedules failed')
      )
    this.#live = new LiveJobs({ store, clock, logger, onEnded })
    this.#backfills = new Backfills({ ...parts, live: this.#live, write: (firings) => this.#writeRows(firings) })
  }

  /** Resolves when everything is read. Missed firings are handled right afterwards. */
  async start(): Promise<void> {
    await this.#inLine(async () => {
      const { store, clock } = this.#parts
      this.#settledAtMonotonicMs = clock.monotonicMs() + SETTLING_MS
      const all = await store.listSchedules()
      const ids = all.map(({ id }) => id)
      await this.#live.load(ids, await this.#backfills.load(new Set(ids)))
      for (const [index, stored] of all.entries()) {
        if (index % SEARCHES_AT_ONCE === SEARCHES_AT_ONCE - 1) await this.#giveWay()
        await this.#adopt(stored)
      }
      for (const { stored } of this.#states.values()) await this.#recover(stored)
      for (const id of this.#backfills.running()) await this.#stepBackfill(id)
    })
    this.#plan()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#timer?.cancel()
    this.#live.stop()
    this.#timers.stop()
    await this.#oneAtATime(async () => {})
    this.#timer?.cancel()
  }

  /**
   * Call this after a schedule was added, changed, paused, resumed or removed. Earlier due times fire with the old
   * settings or, if the schedule is paused now, are recorded as paused.
   */
  refresh(scheduleId: ScheduleId): Promise<void> {
    return this.#inLine(async () => {
      const [stored] = await this.#parts.store.getSchedules([scheduleId])
      const before = this.#states.get(scheduleId)
      if (stored === undefined) {
        this.#forget(scheduleId)
        this.#backfills.forget(scheduleId)
        return
      }
      if (before !== undefined) {
        if (stored.paused) before.stored = { ...before.stored, paused: true }
        while (await this.#fireOne(before));
        const isResumed = before.stored.paused && !stored.paused
        const offsetMs = jitterOf(scheduleId, stored.settings.jitterSeconds)
        const countsFromMs = isResumed ? stored.changedAtMs - offsetMs : 0
        stored.doneUntilMs = Math.max(stored.doneUntilMs, before.doneUntilMs, countsFromMs)
      }
      await this.#adopt(stored)
      this.#plan()
    })
  }

  writePaused(scheduleId: ScheduleId): Promise<void> {
    return this.#inLine(async () => {
      const state = this.#states.get(scheduleId)
      if (state === undefined) return
      state.stored = { ...state.stored, paused: true }
      for (;;) {
        const decided = await decideFirings(state, this.#around(state))
        if (decided.firings.length === 0) break
        this.#believe(decided, await this.#writeRows(decided.firings))
        findNext(state)
      }
      this.#places.put(state)
      this.#plan()
    })
  }

  /**
   * Fires even while the schedule is paused. `mayGoFirst`: the caller may set priorities above 0. Rejects like
   * prepareJobs.
   */
  runNow(scheduleId: ScheduleId, { mayGoFirst = false } = {}): Promise<StoredFiring> {
    return this.#inLine(async () => {
      const state = this.#stateOf(scheduleId)
      const nowMs = this.#parts.clock.nowMs()
      const asked: FiringRequest = {
        nominalMs: nowMs,
        origin: 'manual',
        reason: 'run_now',
        message: say('firing.run_now'),
        backfillId: null,
        after: [],
        doneUntilMs: null
      }
      const schedule = mayGoFirst ? state.stored : inTurn(state.stored)
      const { firing } = await makeFiring(schedule, state.moments, asked, { maker: this.#parts, nowMs })
      const [stored] = await this.#writeRows([firing])
      if (stored == null) throw notFound(scheduleId)
      return stored
    })
  }

  /** `count` includes only times without a job. */
  planBackfill(scheduleId: ScheduleId, span: { fromMs: number; untilMs: number }) {
    return this.#inLine(() => this.#backfills.plan(this.#stateOf(scheduleId), span))
  }

  backfill(scheduleId: ScheduleId, order: BackfillOrder, { mayGoFirst = false } = {}) {
    return this.#inLine(async () => {
      const state = this.#stateOf(scheduleId)
      await this.#backfills.begin(state, order, { mayGoFirst })
      await this.#stepBackfill(scheduleId)
      return this.#backfills.of(scheduleId)!
    })
  }

  cancelBackfill(scheduleId: ScheduleId, cancelJobs: boolean) {
    return this.#inLine(async () => {
      this.#stateOf(scheduleId)
      const jobIds = await this.#backfills.cancel(scheduleId)
      if (cancelJobs && jobIds.length > 0) await this.#parts.cancel(jobIds)
      return this.#backfills.of(scheduleId)!
    })
  }

  backfillOf(scheduleId: ScheduleId) {
    return this.#backfills.of(scheduleId)
  }

  /** When the schedule fires next, with and without its jitter. null: never with its current settings. */
  nextOf(scheduleId: ScheduleId): { nextAtMs: number; nextNominalMs: number } | null {
    const state = this.#states.get(scheduleId)
    if (state === undefined || state.stored.paused || state.nextRunMs === null) return null
    return { nextAtMs: state.nextRunMs + state.offsetMs, nextNominalMs: state.nextRunMs }
  }

  dueSinceMs(): number | null {
    const nowMs = this.#parts.clock.nowMs()
    let first: number | null = null
    for (const state of this.#states.values()) {
      const dueMs = state.stored.paused ? null : dueAt(state)
      if (dueMs !== null && dueMs <= nowMs && (first === null || dueMs < first)) first = dueMs
    }
    return first
  }

  #stateOf(scheduleId: ScheduleId): ScheduleState {
    const state = this.#states.get(scheduleId)
    if (state === undefined) throw notFound(scheduleId)
    return state
  }

  #inLine<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#oneAtATime(() => {
      if (this.#isStopped) throw new ScrapdeckError('STOPPING', sentence('api.engine_stopping'))
      return work()
    })
  }

  async #adopt(stored: StoredSchedule): Promise<void> {
    const { clock } = this.#parts
    const former = this.#states.get(stored.id)
    if (former !== undefined) this.#places.leave(former)
    const problem = problemOfTiming(stored.settings)
    if (problem !== null) {
      this.#states.delete(stored.id)
      if (!stored.paused) await this.#pause(stored.id, 'invalid', plain(problem.text))
      return
    }
    const state = createState(stored, clock.nowMs())
    this.#states.set(stored.id, state)
    await this.#placeOrEnd(state)
  }

  async #recover(stored: StoredSchedule): Promise<void> {
    if (stored.settings.overlap === 'cancel_running') {
      const live = this.#live.firingsOf(stored.id)
      if (live.length > 1) this.#cancel(live.slice(0, -1).flatMap(({ jobIds }) => jobIds))
    }
    if (stored.settings.pauseAfterFailures !== null) await this.#countFailuresOf(stored.id)
  }

  async #placeOrEnd(state: ScheduleState): Promise<void> {
    const { stored } = state
    const { maxRuns } = stored.settings
    if (!stored.paused && maxRuns !== null && stored.runCount >= maxRuns) {
      return this.#pause(stored.id, 'max_runs', say('pause.max_runs', { runs: maxRuns }))
    }
    if (!stored.paused && state.problem !== null) return this.#pause(stored.id, 'invalid', plain(state.problem))
    if (!stored.paused && state.next === null) return this.#pause(stored.id, 'end', say('pause.end'))
    this.#places.put(state)
  }

  #forget(scheduleId: ScheduleId): void {
    const state = this.#states.get(scheduleId)
    if (state !== undefined) this.#places.leave(state)
    this.#states.delete(scheduleId)
    this.#live.forget(scheduleId)
  }

  #plan(): void {
    this.#timer?.cancel()
    this.#timer = null
    if (this.#isStopped || this.#states.size === 0) return
    const delayMs = this.#wakeAtMs() - this.#parts.clock.nowMs()
    this.#timer = this.#parts.clock.setTimer(Math.max(0, Math.min(delayMs, SLEEP_MAX_MS)), () => {
      this.#timer = null
      void this.#inLine(() => this.#fireDue())
        .catch((error: unknown) => this.#report({ error }, 'firing due schedules failed'))
        .finally(() => this.#plan())
    })
  }

  #wakeAtMs(): number {
    const first = this.#places.first()
    if (first === null) return Number.POSITIVE_INFINITY
    return first.state.prefetched?.dueMs === first.dueMs ? first.dueMs : first.dueMs - PREFETCH_MS
  }

  async #fireDue(): Promise<void> {
    if (this.#watch.check() === 'back') this.#healAll()
    for (;;) {
      const due = this.#places.removeDue(this.#parts.clock.nowMs()).map(({ state }) => state)
      if (due.length === 0) return this.#prefetch()
      const writes: Promise<void>[] = []
      for (let index = 0; index < due.length; index += SCHEDULES_AT_ONCE) {
        let decided: DecidedFirings[] = []
        let weight = 0
        for (const [place, state] of due.slice(index, index + SCHEDULES_AT_ONCE).entries()) {
          if (place % SEARCHES_AT_ONCE === SEARCHES_AT_ONCE - 1) await this.#giveWay()
          const found = claimPrefetched(state, this.#live, this.#parts.clock.nowMs()) ?? (await this.#decide(state))
          if (found === null) continue
          decided.push(found)
          weight += found.weight
          if (weight <= WEIGHT_AT_ONCE) continue
          await Promise.all([...writes, this.#write(decided)])
          decided = []
          weight = 0
        }
        writes.push(this.#write(decided))
        // Requests to the store are sent when this event loop turn ends, so yield before deciding the next schedules.
        await this.#giveWay()
      }
      await Promise.all(writes)
      for (const [index, state] of due.entries()) {
        if (index % SEARCHES_AT_ONCE === SEARCHES_AT_ONCE - 1) await this.#giveWay()
        await this.#moveOn(state)
        if (this.#refused.delete(state.stored.id)) await this.#countFailuresOf(state.stored.id)
      }
    }
  }

  async #prefetch(): Promise<void> {
    const coming = this.#places.removeDue(this.#parts.clock.nowMs() + PREFETCH_MS)
    for (const { state, dueMs } of coming) this.#places.put(state, dueMs)
    let weight = 0
    for (const [index, one] of coming.entries()) {
      if (index % SEARCHES_AT_ONCE === SEARCHES_AT_ONCE - 1) await this.#giveWay()
      const make = async () => {
        // Prepared firings stay in memory until they are written, so the remaining schedules are decided when due.
        if (weight > WEIGHT_AT_ONCE) return null
        const decided = await decideFirings(one.state, { ...this.#around(one.state), nowMs: one.dueMs })
        weight += decided.weight
        return decided
      }
      await prefetch(one, this.#live, make)
    }
  }

  /** null: the decision failed for a reason outside the schedule, and is retried. */
  async #decide(state: ScheduleState): Promise<DecidedFirings | null> {
    const around = this.#around(state)
    try {
      return await decideFirings(state, around)
    } catch (error) {
      const facts = { error, scheduleId: state.stored.id }
      if (around.isSettling) this.#parts.logger.debug(facts, 'a schedule waits for what nodes have')
      else this.#report(facts, 'firing a schedule failed; retrying in a second')
      return null
    }
  }

  #around(state: ScheduleState) {
    const { clock } = this.#parts
    return {
      nowMs: clock.nowMs(),
      cause: this.#watch.causeOf((state.next?.nominalMs ?? 0) + state.offsetMs),
      isSettling: clock.monotonicMs() < this.#settledAtMonotonicMs,
      live: this.#live,
      maker: this.#parts
    }
  }

  async #fireOne(state: ScheduleState): Promise<boolean> {
    const { doneUntilMs } = state
    const decided = await this.#decide(state)
    if (decided === null || decided.firings.length === 0) return false
    await this.#write([decided])
    findNext(state)
    return state.doneUntilMs !== doneUntilMs
  }

  /** If the single commit fails, writes each schedule separately, so that one cannot block the rest. */
  async #write(decided: DecidedFirings[]): Promise<void> {
    try {
      const written = await this.#writeRows(decided.flatMap(({ firings }) => firings))
      let index = 0
      for (const one of decided) this.#believe(one, written.slice(index, (index += one.firings.length)))
    } catch (error) {
      if (decided.length > 1) for (const one of decided) await this.#write([one])
      else {
        const scheduleId = decided[0]?.state.stored.id
        this.#report({ error, scheduleId }, 'firings could not be written; retrying in a second')
      }
    }
  }

  #believe({ state, cancels, doneUntilMs }: DecidedFirings, written: (StoredFiring | null)[]): void {
    state.doneUntilMs = doneUntilMs
    for (const firing of written) if (firing !== null && firing.jobIds.length > 0) state.stored.runCount += 1
    if (written.some((row) => row?.state === 'failed')) this.#refused.add(state.stored.id)
    for (const { index, jobIds } of cancels) if (written[index] != null) this.#cancel(jobIds)
  }

  /** Rejects if nothing was written. null: the time had fired already. */
  async #writeRows(firings: NewFiring[]): Promise<(StoredFiring | null)[]> {
    if (firings.length === 0) return []
    const written = await this.#parts.store.fire(firings)
    const rows = written.filter((row) => row !== null)
    for (const { scheduleId, nominalMs, backfillId, jobIds } of rows) {
      this.#live.add(scheduleId, { nominalMs, backfillId, jobIds })
    }
    if (rows.some(({ jobIds }) => jobIds.length > 0)) this.#parts.onJobs()
    if (rows.length > 0) this.#parts.onFired(rows)
    return written
  }

  /** After a pass: moves to the next time or, if nothing could be written, retries the same time. */
  async #moveOn(state: ScheduleState): Promise<void> {
    if (this.#states.get(state.stored.id) !== state) return
    const { doneUntilMs, next, offsetMs } = state
    const nowMs = this.#parts.clock.nowMs()
    const isDone = next === null || doneUntilMs >= next.nominalMs || next.nominalMs + offsetMs > nowMs
    if (!isDone) return this.#places.put(state, nowMs + AGAIN_AFTER_FAILURE_MS)
    findNext(state)
    await this.#placeOrEnd(state)
  }

  async #pause(scheduleId: ScheduleId, pausedBy: PausedBy, note: Message): Promise<void> {
    const stored = await pauseItself(this.#parts, scheduleId, { pausedBy, note })
    if (stored !== null) await this.#adopt(stored)
  }

  async #applyEnds(scheduleIds: Set<ScheduleId>): Promise<void> {
    for (const id of scheduleIds) {
      const state = this.#states.get(id)
      if (state === undefined) continue
      await this.#countFailuresOf(id)
      await this.#stepBackfill(id)
    }
  }

  async #countFailuresOf(scheduleId: ScheduleId): Promise<void> {
    const { store } = this.#parts
    const state = this.#states.get(scheduleId)
    // A pause keeps the failure count that caused it. Resuming resets the count.
    if (state === undefined || state.stored.paused) return
    const { pauseAfterFailures } = state.stored.settings
    const failures = await readFailures(store, state.stored)
    if (failures !== state.stored.failuresInARow) {
      state.stored.failuresInARow = failures
      await store.setFailuresInARow(scheduleId, failures)
    }
    if (pauseAfterFailures === null || failures < pauseAfterFailures) return
    await this.#pause(scheduleId, 'failures', say('pause.failures', { runs: failures }))
    this.#plan()
  }

  async #stepBackfill(scheduleId: ScheduleId): Promise<void> {
    const state = this.#states.get(scheduleId)
    if (state === undefined) return
    let againInMs = 0
    try {
      if (!(await this.#backfills.step(state))) return
    } catch (error) {
      this.#report({ error, scheduleId }, 'a backfill step failed; retrying in a second')
      againInMs = AGAIN_AFTER_FAILURE_MS
    }
    this.#timers.set(againInMs, () => void this.#inLine(() => this.#stepBackfill(scheduleId)).catch(() => undefined))
  }

  #cancel(jobIds: JobId[]): void {
    this.#parts
      .cancel(jobIds)
      .catch((error: unknown) => this.#report({ error, jobIds }, 'a schedule could not cancel its previous run'))
  }

  /** Failures while stopping are expected, because other parts are closing. */
  #report(facts: object, text: string): void {
    if (!this.#isStopped) this.#parts.logger.error(facts, text)
  }

  #healAll(): void {
    for (const state of this.#states.values()) {
      if (!healAfterClock(state, this.#parts.clock.nowMs())) continue
      findNext(state)
      this.#places.put(state)
    }
  }
}

export function notFound(id: ScheduleId): ScrapdeckError {
  return new ScrapdeckError('SCHEDULE_NOT_FOUND', sentence('api.no_schedule', { id }))
}
