import pLimit from 'p-limit'
import type { JobId, ScheduleId } from '../../shared/contract/index.ts'
import { problemOfTiming } from '../../shared/calendar/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { type Clock, type Timer, Timers } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { Random } from '../runtime/random.ts'
import type { NewFiring, StoredFiring, StoredSchedule } from '../store/records.ts'
import type { BackfillStore, ChangeLog, FiringStore, JobReader, ScheduleStore } from '../store/store.ts'
import { AHEAD_MS, makeAhead, claimAhead } from './ahead.ts'
import { Backfills, type BackfillOrder } from './backfills.ts'
import { ClockWatch, SLEEP_MAX_MS } from './clock-watch.ts'
import { AGAIN_AFTER_FAILURE_MS, DuePlaces } from './due-places.ts'
import { readFailures } from './failures.ts'
import { decideFirings } from './decide-firings.ts'
import { jitterOf } from './moments.ts'
import { LiveJobs } from './live-jobs.ts'
import { type AskedFiring, type JobMaker, makeFiring } from './make-firing.ts'
import { type PausedBy, pauseItself } from './pause-itself.ts'
import { createState, findNext, type DecidedFirings, healAfterClock, type ScheduleState } from './schedule-state.ts'

export interface SchedulerParts extends JobMaker {
  store: ScheduleStore & FiringStore & JobReader & ChangeLog & BackfillStore
  clock: Clock
  random: Random
  logger: Logger
  /** Jobs are in the queue. */
  onJobs(): void
  /** Rows that were written, whatever became of their moments. */
  onFired(firings: StoredFiring[]): void
  /** The ticker itself has paused it: it is over, or failed too often. */
  onPaused(schedule: StoredSchedule): void
  cancel(jobIds: JobId[]): Promise<unknown>
  /** Lets others have the event loop, between searches of the calendar. */
  giveWay?: () => Promise<void>
}

/** So long after its start an engine may not know yet what nodes have. Less than what is on time (LATE_AFTER_MS). */
const SETTLING_MS = 45_000
/** So many are written at once, while the next are made. Made ahead, they cost less together than in parts. */
const SCHEDULES_AT_ONCE = 1_000
/** Searches of the calendar before others get their turn. */
const SEARCHES_AT_ONCE = 100

/**
 * Makes jobs of schedules when their time has come. One timer for all of them:
 *
 *            start: schedules, live jobs, backfills are read
 *                          │
 *                          ▼
 *   ┌────────────────── asleep ◀────────────────────────────────┐
 *   │ until AHEAD_MS before the nearest moment, and until it;   │
 *   │ SLEEP_MAX_MS at most                                      │
 *   ▼                                                           │
 *  look: wall and monotonic time are compared (a jump?)         │
 *   │ nothing is due ─▶ what is due soon is made ahead ─────────┤
 *   ▼                                                           │
 *  go over: each due schedule's moments get their fate          │
 *   │         (fates.ts draws them), jobs are made of some      │
 *   ▼                                                           │
 *  write: rows, jobs and how far the schedule is, in one        │
 *   │ commit; a moment that has fired is skipped by the store   │
 *   ├─ failed ─▶ nothing is believed of it, again in a second ──┤
 *   ▼                                                           │
 *  find next ──▶ none, or its runs are used up ─▶ over (paused) ┘
 *
 * What else touches schedules (a change, run now, an end of a job, a backfill's step) waits for its turn in the same
 * queue, so that each sees the others' work whole.
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
  /** Schedules of which a moment could make no job: that is a failure as well. */
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

  /** Resolves when all is read; what was missed is gone over right after. */
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
   * It was added, changed, paused, resumed or removed. What was due before is fired as it was then or, where it is
   * paused now, as paused. Resumed it counts from then on; where new timing counts from, the change has set as
   * `doneUntilMs`.
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

  /** Writes the rows of what passed while it was paused, so that the pause may end. Rejects where that fails. */
  writePaused(scheduleId: ScheduleId): Promise<void> {
    return this.#inLine(async () => {
      const state = this.#states.get(scheduleId)
      if (state === undefined) return
      state.stored = { ...state.stored, paused: true }
      for (;;) {
        const gone = await decideFirings(state, this.#around(state))
        if (gone.firings.length === 0) break
        this.#believe(gone, await this.#writeRows(gone.firings))
        findNext(state)
      }
      this.#places.put(state)
      this.#plan()
    })
  }

  /** Whether it is paused or runs: somebody wants it now. Rejects as prepareJobs does. */
  runNow(scheduleId: ScheduleId): Promise<StoredFiring> {
    return this.#inLine(async () => {
      const state = this.#stateOf(scheduleId)
      const nowMs = this.#parts.clock.nowMs()
      const asked: AskedFiring = {
        ...{ nominalMs: nowMs, origin: 'manual', reason: 'run_now', text: 'Run manually' },
        ...{ backfillId: null, after: [], doneUntilMs: null }
      }
      const firing = await makeFiring(state.stored, state.moments, asked, { maker: this.#parts, nowMs })
      const [stored] = await this.#writeRows([firing])
      if (stored == null) throw notFound(scheduleId)
      return stored
    })
  }

  /** What a backfill would do; `moments` are those without a job. */
  planBackfill(scheduleId: ScheduleId, span: { fromMs: number; untilMs: number }) {
    return this.#inLine(() => this.#backfills.plan(this.#stateOf(scheduleId), span))
  }

  backfill(scheduleId: ScheduleId, order: BackfillOrder) {
    return this.#inLine(async () => {
      const state = this.#stateOf(scheduleId)
      await this.#backfills.begin(state, order)
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

  /** The newest backfill of a schedule, with its progress; null: it never had one. */
  backfillOf(scheduleId: ScheduleId) {
    return this.#backfills.of(scheduleId)
  }

  /** When it fires next, with its jitter and without; null: it will not, as things are. */
  nextOf(scheduleId: ScheduleId): { nextAtMs: number; nextNominalMs: number } | null {
    const state = this.#states.get(scheduleId)
    if (state === undefined || state.stored.paused || state.next === null) return null
    const nextNominalMs = state.next.isLeftOut ? state.moments.nextRun(state.doneUntilMs) : state.next.nominalMs
    return nextNominalMs === null ? null : { nextAtMs: nextNominalMs + state.offsetMs, nextNominalMs }
  }

  #stateOf(scheduleId: ScheduleId): ScheduleState {
    const state = this.#states.get(scheduleId)
    if (state === undefined) throw notFound(scheduleId)
    return state
  }

  #inLine<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#oneAtATime(() => {
      if (this.#isStopped) throw new ScrapdeckError('STOPPING', 'The engine is stopping; try again once it is running')
      return work()
    })
  }

  /** Believes what is stored from now on. */
  async #adopt(stored: StoredSchedule): Promise<void> {
    const { clock } = this.#parts
    const former = this.#states.get(stored.id)
    if (former !== undefined) this.#places.leave(former)
    const problem = problemOfTiming(stored.settings)
    if (problem !== null) {
      this.#states.delete(stored.id)
      if (!stored.paused) await this.#pause(stored.id, 'invalid', problem)
      return
    }
    const state = createState(stored, clock.nowMs())
    this.#states.set(stored.id, state)
    await this.#placeOrEnd(state)
  }

  /** What a crash left half done, found again by looking. */
  async #recover(stored: StoredSchedule): Promise<void> {
    if (stored.settings.overlap === 'cancel_running') {
      const live = this.#live.firingsOf(stored.id)
      if (live.length > 1) this.#cancel(live.slice(0, -1).flatMap(({ jobIds }) => jobIds))
    }
    if (stored.settings.pauseAfterFailures !== null) await this.#countFailuresOf(stored.id)
  }

  /** It has its place by its next moment, or is over. */
  async #placeOrEnd(state: ScheduleState): Promise<void> {
    const { stored } = state
    const { maxRuns } = stored.settings
    if (!stored.paused && maxRuns !== null && stored.runCount >= maxRuns) {
      return this.#pause(stored.id, 'max_runs', `It has reached its limit of ${maxRuns} runs`)
    }
    if (!stored.paused && state.next === null) return this.#pause(stored.id, 'end', 'It has no further run times')
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
    return first.state.ahead?.dueMs === first.dueMs ? first.dueMs : first.dueMs - AHEAD_MS
  }

  async #fireDue(): Promise<void> {
    if (this.#watch.check() === 'back') this.#healAll()
    for (;;) {
      const due = this.#places.removeDue(this.#parts.clock.nowMs()).map(({ state }) => state)
      if (due.length === 0) return this.#makeAhead()
      const writes: Promise<void>[] = []
      for (let index = 0; index < due.length; index += SCHEDULES_AT_ONCE) {
        const gone: DecidedFirings[] = []
        for (const [place, state] of due.slice(index, index + SCHEDULES_AT_ONCE).entries()) {
          if (place % SEARCHES_AT_ONCE === SEARCHES_AT_ONCE - 1) await this.#giveWay()
          const found = claimAhead(state, this.#live, this.#parts.clock.nowMs()) ?? (await this.#decide(state))
          if (found !== null) gone.push(found)
        }
        writes.push(this.#write(gone))
        // What was asked of the store leaves with the end of this turn: it is to write while the next are made.
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

  async #makeAhead(): Promise<void> {
    const coming = this.#places.removeDue(this.#parts.clock.nowMs() + AHEAD_MS)
    for (const { state, dueMs } of coming) this.#places.put(state, dueMs)
    const made: NewFiring[] = []
    for (const [index, one] of coming.entries()) {
      if (index % SEARCHES_AT_ONCE === SEARCHES_AT_ONCE - 1) await this.#giveWay()
      const make = () => decideFirings(one.state, { ...this.#around(one.state), nowMs: one.dueMs })
      made.push(...(await makeAhead(one, this.#live, make)))
    }
    if (made.length > 0) this.#parts.store.prepareFirings(made)
  }

  /** null: it failed for a reason that is not the schedule's; it is tried again. */
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

  /** Of one schedule, outside of a look; whether there may be more. */
  async #fireOne(state: ScheduleState): Promise<boolean> {
    const { doneUntilMs } = state
    const gone = await this.#decide(state)
    if (gone === null || gone.firings.length === 0) return false
    await this.#write([gone])
    findNext(state)
    return state.doneUntilMs !== doneUntilMs
  }

  /** All of it in one commit; if that fails, each by itself, so that one schedule's fault is not that of others. */
  async #write(gone: DecidedFirings[]): Promise<void> {
    try {
      const written = await this.#writeRows(gone.flatMap(({ firings }) => firings))
      let index = 0
      for (const one of gone) this.#believe(one, written.slice(index, (index += one.firings.length)))
    } catch (error) {
      if (gone.length > 1) for (const one of gone) await this.#write([one])
      else {
        const scheduleId = gone[0]?.state.stored.id
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

  /** Rejects where nothing was written. null: that moment had fired already. */
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

  /** After a look: to its next moment, or, where nothing could be written, to the same again. */
  async #moveOn(state: ScheduleState): Promise<void> {
    if (this.#states.get(state.stored.id) !== state) return
    const { doneUntilMs, next, offsetMs } = state
    const nowMs = this.#parts.clock.nowMs()
    const isDone = next === null || doneUntilMs >= next.nominalMs || next.nominalMs + offsetMs > nowMs
    if (!isDone) return this.#places.put(state, nowMs + AGAIN_AFTER_FAILURE_MS)
    findNext(state)
    await this.#placeOrEnd(state)
  }

  async #pause(scheduleId: ScheduleId, pausedBy: PausedBy, pauseNote: string): Promise<void> {
    const stored = await pauseItself(this.#parts, scheduleId, { pausedBy, pauseNote })
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
    // A pause keeps the count that led to it; whoever ends it starts again.
    if (state === undefined || state.stored.paused) return
    const { pauseAfterFailures } = state.stored.settings
    const failures = await readFailures(store, state.stored)
    if (failures !== state.stored.failuresInARow) {
      state.stored.failuresInARow = failures
      await store.setFailuresInARow(scheduleId, failures)
    }
    if (pauseAfterFailures === null || failures < pauseAfterFailures) return
    const note = failures === 1 ? 'Its last run failed' : `Its last ${failures} runs failed`
    await this.#pause(scheduleId, 'failures', note)
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

  /** While it stops, failures are those of rooms that close. */
  #report(facts: object, text: string): void {
    if (!this.#isStopped) this.#parts.logger.error(facts, text)
  }

  /** What a clock that was far ahead has said to be done is not believed. */
  #healAll(): void {
    for (const state of this.#states.values()) {
      if (!healAfterClock(state, this.#parts.clock.nowMs())) continue
      findNext(state)
      this.#places.put(state)
    }
  }
}

export function notFound(id: ScheduleId): ScrapdeckError {
  return new ScrapdeckError(
    'SCHEDULE_NOT_FOUND',
    `There is no schedule ${id}; it may have been removed. Reload the list`
  )
}
