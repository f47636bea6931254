import type { JobId, ScheduleId } from '../../shared/contract/index.ts'
import { Alarm, type Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { ChangeLog, JobReader, ScheduleStore } from '../storage/store.ts'
import { isLive } from './failures.ts'
import type { LiveFiring } from './fates.ts'

/** The delay before a scan, which is harmless because the store itself releases the jobs that wait for ended jobs. */
const SCAN_AFTER_MS = 200
const CHANGES_AT_ONCE = 1_000
const JOBS_AT_ONCE = 500

interface Tracked {
  nominalMs: number
  backfillId: string | null
  jobIds: Set<JobId>
}

export interface LiveJobsParts {
  store: JobReader & ScheduleStore & ChangeLog
  clock: Clock
  logger: Logger
  onEnded(scheduleIds: Set<ScheduleId>): void
}

/** Live jobs of schedules, in memory. Follows the change log to detect ends. */
export class LiveJobs {
  readonly #parts: LiveJobsParts
  readonly #bySchedule = new Map<ScheduleId, Tracked[]>()
  readonly #scheduleOf = new Map<JobId, ScheduleId>()
  /** Jobs that were written before they were tracked. Their earlier changes may have been missed. */
  #fresh: JobId[] = []
  /** null: changes were not followed (nothing was tracked, or a scan failed), so all tracked jobs are read. */
  #cursor: number | null = null
  readonly #alarm: Alarm
  #isScanning = false
  /** Whether a change arrived during a scan. The scan may have missed the change. */
  #hasChanged = false
  #isStopped = false
  #unsubscribe: () => void = () => undefined

  constructor(parts: LiveJobsParts) {
    this.#parts = parts
    this.#alarm = new Alarm(parts.clock, () => void this.#scan())
  }

  /** `backfillOf` maps jobs to the backfill that created them. */
  async load(scheduleIds: ScheduleId[], backfillOf: ReadonlyMap<JobId, string>): Promise<void> {
    const cursor = await this.#parts.store.changeCursor()
    for (let index = 0; index < scheduleIds.length; index += JOBS_AT_ONCE) {
      const some = scheduleIds.slice(index, index + JOBS_AT_ONCE)
      await Promise.all(some.map((id) => this.#read(id, backfillOf)))
    }
    if (this.#scheduleOf.size > 0) this.#cursor = cursor
    this.#unsubscribe = this.#parts.store.onChange(() => this.#scanSoon())
  }

  stop(): void {
    this.#isStopped = true
    this.#alarm.stop()
    this.#unsubscribe()
  }

  add(scheduleId: ScheduleId, { nominalMs, backfillId, jobIds }: Omit<Tracked, 'jobIds'> & { jobIds: JobId[] }): void {
    if (jobIds.length === 0) return
    if (this.#scheduleOf.size === 0) this.#cursor = null
    const tracked = this.#bySchedule.get(scheduleId) ?? []
    this.#bySchedule.set(scheduleId, tracked)
    tracked.push({ nominalMs, backfillId, jobIds: new Set(jobIds) })
    for (const id of jobIds) this.#scheduleOf.set(id, scheduleId)
    this.#fresh.push(...jobIds)
    this.#scanSoon()
  }

  /** Whether the schedule has live jobs. Some of them may just have ended. */
  hasAny(scheduleId: ScheduleId): boolean {
    return this.#bySchedule.has(scheduleId)
  }

  /** Live firings of one backfill, or (null) those by the clock and by hand, oldest first. */
  firingsOf(scheduleId: ScheduleId, backfillId: string | null = null): LiveFiring[] {
    return (this.#bySchedule.get(scheduleId) ?? [])
      .filter((tracked) => tracked.backfillId === backfillId)
      .map(({ nominalMs, jobIds }) => ({ nominalMs, jobIds: [...jobIds] }))
  }

  async readFirings(scheduleId: ScheduleId): Promise<LiveFiring[]> {
    if (this.firingsOf(scheduleId).length === 0) return []
    await this.#read(scheduleId, new Map())
    return this.firingsOf(scheduleId)
  }

  forget(scheduleId: ScheduleId): void {
    for (const { jobIds } of this.#bySchedule.get(scheduleId) ?? [])
      for (const id of jobIds) this.#scheduleOf.delete(id)
    this.#bySchedule.delete(scheduleId)
  }

  async #read(scheduleId: ScheduleId, backfillOf: ReadonlyMap<JobId, string>): Promise<void> {
    const jobs = await this.#parts.store.listLiveJobsOf(scheduleId)
    const known = new Map(
      (this.#bySchedule.get(scheduleId) ?? []).flatMap((one) => [...one.jobIds].map((id) => [id, one]))
    )
    this.forget(scheduleId)
    const byMoment = new Map<string, Tracked>()
    for (const { id, nominalMs } of jobs) {
      const backfillId = known.get(id)?.backfillId ?? backfillOf.get(id) ?? null
      const key = `${nominalMs} ${backfillId}`
      const tracked = byMoment.get(key) ?? { nominalMs: nominalMs ?? 0, backfillId, jobIds: new Set() }
      byMoment.set(key, tracked)
      tracked.jobIds.add(id)
      this.#scheduleOf.set(id, scheduleId)
    }
    if (byMoment.size > 0) this.#bySchedule.set(scheduleId, [...byMoment.values()])
    // Jobs that have ended since then are not listed, so their end is reported too.
    if ([...known.keys()].some((id) => !this.#scheduleOf.has(id))) this.#parts.onEnded(new Set([scheduleId]))
  }

  #scanSoon(): void {
    this.#hasChanged = true
    if (!this.#isScanning && this.#scheduleOf.size > 0) this.#alarm.set(SCAN_AFTER_MS)
  }

  async #scan(): Promise<void> {
    this.#isScanning = true
    this.#hasChanged = false
    try {
      const ended = await this.#findEnded()
      if (ended.size > 0 && !this.#isStopped) this.#parts.onEnded(ended)
    } catch (error) {
      if (this.#isStopped) return
      this.#cursor = null
      this.#parts.logger.error({ error }, 'finding ended jobs of schedules failed; retrying with the next change')
    } finally {
      this.#isScanning = false
    }
    if (this.#hasChanged) this.#scanSoon()
  }

  async #findEnded(): Promise<Set<ScheduleId>> {
    const { store } = this.#parts
    const fresh = this.#fresh
    this.#fresh = []
    const wanted = new Set(fresh)
    if (this.#cursor === null) for (const id of this.#scheduleOf.keys()) wanted.add(id)
    for (let from = this.#cursor ?? (await store.changeCursor()); ; ) {
      const { changes, cursor, reset } = await store.listChanges(from, CHANGES_AT_ONCE)
      this.#cursor = from = cursor
      const areAll = reset || changes.some(({ noun }) => noun === 'jobs')
      const changedIds = changes.flatMap((change) => (change.noun === 'job' ? [change.id] : []))
      for (const id of areAll ? this.#scheduleOf.keys() : changedIds) wanted.add(id)
      if (changes.length < CHANGES_AT_ONCE) break
    }
    const ids = [...wanted].filter((id) => this.#scheduleOf.has(id))
    const schedules = new Set<ScheduleId>()
    for (let index = 0; index < ids.length; index += JOBS_AT_ONCE) {
      for (const { id, status } of await store.getJobs(ids.slice(index, index + JOBS_AT_ONCE))) {
        const scheduleId = this.#scheduleOf.get(id)
        if (isLive(status) || scheduleId === undefined) continue
        this.#drop(scheduleId, id)
        schedules.add(scheduleId)
      }
    }
    return schedules
  }

  #drop(scheduleId: ScheduleId, jobId: JobId): void {
    this.#scheduleOf.delete(jobId)
    const tracked = this.#bySchedule.get(scheduleId) ?? []
    for (const one of tracked) one.jobIds.delete(jobId)
    const left = tracked.filter(({ jobIds }) => jobIds.size > 0)
    if (left.length > 0) this.#bySchedule.set(scheduleId, left)
    else this.#bySchedule.delete(scheduleId)
  }
}
