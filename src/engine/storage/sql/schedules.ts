import type { Database, Statement } from './database.ts'
import type { Firing, JobId, ScheduleId } from '../../../shared/contract/index.ts'
import { firingEvent, firingEventData, pausedEventData } from '../../model/events.ts'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/storage.ts'
import { decode, encode, messageOf, written } from '../../../shared/texts/message.ts'
import type { NewFiring, NewJob, StoredFiring, StoredJob, StoredSchedule, StoredBackfill } from '../../model/records.ts'
import type { ChangeLog } from './change-log.ts'
import type { createEnqueue } from './enqueue.ts'
import type { Outbox } from './outbox.ts'
import { requireNextRevision, createTable } from './table.ts'
import type { FiringFilter } from '../store.ts'
import { among, type Fragments } from './fragments.ts'
import { createScheduleList, ofOnlyProjects } from './schedule-list.ts'
import { JOB, type JobRow, type NamedRow, SCHEDULE, type ScheduleRow, toJob, toSchedule } from './rows.ts'

/** Greater than every firing id. The page before it is the newest. */
const AFTER_EVERY_FIRING = Number.MAX_SAFE_INTEGER
const ALL_STATES: Firing['state'][] = ['fired', 'skipped', 'missed', 'failed']
const FIRING = `id, schedule_id AS "scheduleId", nominal_ms AS "nominalMs", origin, backfill_id AS "backfillId", at_ms AS "atMs",
  state, reason, text, count, job_ids AS "jobIds"`

export const schedulesSql = (sql: Fragments) => ({
  all: `SELECT ${SCHEDULE} FROM schedules ${sql.thenJoin} schedule_progress ON schedule_progress.schedule_id = schedules.id
    ORDER BY ${sql.folded('name')}, id`,
  many: `SELECT ${SCHEDULE} FROM ${sql.texts('?', 'wanted')} ${sql.thenJoin} schedules ON schedules.id = wanted.value
    JOIN schedule_progress ON schedule_progress.schedule_id = schedules.id`,
  revision: 'SELECT revision FROM schedules WHERE id = ?',
  isPaused: 'SELECT paused FROM schedules WHERE id = ?',
  hasFired: `SELECT 1 FROM firings WHERE nominal_ms = ? AND schedule_id = ? AND origin <> 'manual' AND state = 'fired'`,
  findFired: `SELECT nominal_ms FROM ${sql.texts(':wanted', 'wanted')}
    ${sql.thenJoin} firings ON schedule_id = :id AND nominal_ms = CAST(wanted.value AS BIGINT) AND origin <> 'manual' AND state = 'fired'`,
  pruned:
    'SELECT pruned_from_ms AS "fromMs", pruned_until_ms AS "untilMs" FROM schedule_progress WHERE schedule_id = ?',
  newest: `SELECT ${FIRING} FROM firings WHERE id < ? ORDER BY id DESC LIMIT ?`,
  newestIn: `SELECT ${FIRING} FROM firings WHERE state = ? AND id < ? ORDER BY id DESC LIMIT ?`,
  ofSchedule: `SELECT ${FIRING} FROM firings WHERE schedule_id = ? AND id < ? ORDER BY id DESC LIMIT ?`,
  /** Names the index, because SQLite considers the index by state, which covers all schedules, equally good. */
  ofScheduleIn: `SELECT ${FIRING} FROM firings ${sql.byIndex('firings_of_schedule')}
    WHERE schedule_id = ? AND state ${among(sql, '?')} AND id < ? ORDER BY id DESC LIMIT ?`,
  changedAfter: 'SELECT changed_after_firing_id FROM schedule_progress WHERE schedule_id = ?',
  ofBackfill: `SELECT ${FIRING} FROM firings WHERE backfill_id = ? AND id < ? ORDER BY id DESC LIMIT ?`,
  jobsOf: `SELECT jobs.status, jobs.started_at_ms AS "startedAtMs", jobs.ended_at_ms AS "endedAtMs"
    FROM ${sql.texts('?', 'wanted')} ${sql.thenJoin} jobs ON jobs.id = wanted.value ${sql.inOrderOf('wanted')}`,
  removeFirings: 'DELETE FROM firings WHERE schedule_id = ?',
  liveJobs: `SELECT ${JOB} FROM jobs WHERE schedule_id = ? AND state <> 'ended'`
})

/** Prepared once per combination of states. `of`: further conditions. */
const newestOfProjects = (
  sql: Fragments,
  states: readonly Firing['state'][],
  of: string
) => `SELECT ${FIRING} FROM firings
  WHERE id < :before AND state IN (${states.map((state) => `'${state}'`).join(', ')}) ${of}
    AND schedule_id IN (SELECT id FROM schedules WHERE ${ofOnlyProjects(sql)}) ORDER BY id DESC LIMIT :limit`

type FiringRow = NamedRow<Omit<StoredFiring, 'code' | 'params' | 'statuses' | 'startedAtMs' | 'endedAtMs'>, 'jobIds'>
type FiredJob = Pick<StoredJob, 'status' | 'startedAtMs' | 'endedAtMs'>

interface Dependencies {
  database: Database
  changes: ChangeLog
  enqueue: Pick<ReturnType<typeof createEnqueue>, 'enqueueJobs'>
  outbox: Outbox
}

export function createSchedules({ database, changes, enqueue, outbox }: Dependencies) {
  const sql = database.fragments
  const statements = schedulesSql(sql)
  const all = database.prepare<[], ScheduleRow>(statements.all)
  const many = database.prepare<[string], ScheduleRow>(statements.many)
  const revision = database.prepare<[string], number>(statements.revision).pluck()
  const insert = database.prepare(
    `INSERT INTO schedules (id, revision, name, settings, paused, pause_note, paused_by, created_at_ms, changed_at_ms,
       moved_at_ms, crawl_key, crawl_order)
     VALUES (:id, :revision, :name, :settings, :paused, :pauseNote, :pausedBy, :createdAtMs, :changedAtMs,
       :movedAtMs, :crawlKey, :crawlOrder)`
  )
  // An edit never resets progress that the scheduler has made in the meantime, so no moment fires twice.
  const putProgress = database.prepare(
    `INSERT INTO schedule_progress (schedule_id, done_until_ms, run_count, failures_in_a_row, firing_count, changed_after_firing_id)
     VALUES (:id, :doneUntilMs, :runCount, :failuresInARow, 0, (SELECT coalesce(max(id), 0) FROM firings))
     ON CONFLICT (schedule_id) DO UPDATE SET
       done_until_ms = ${sql.greatest}(schedule_progress.done_until_ms, :doneUntilMs),
       run_count = ${sql.greatest}(schedule_progress.run_count, :runCount), failures_in_a_row = :failuresInARow,
       changed_after_firing_id = excluded.changed_after_firing_id`
  )
  const update = database.prepare(
    `UPDATE schedules SET revision = :revision, name = :name, settings = :settings, paused = :paused, pause_note = :pauseNote,
       paused_by = :pausedBy, changed_at_ms = :changedAtMs, moved_at_ms = :movedAtMs, crawl_key = :crawlKey, crawl_order = :crawlOrder
     WHERE id = :id`
  )
  const remove = database.prepare<[string]>('DELETE FROM schedules WHERE id = ?')
  const removeFirings = database.prepare<[string]>(statements.removeFirings)
  const moveOn = database.prepare<[number | null, number, number, string]>(
    `UPDATE schedule_progress SET done_until_ms = ${sql.greatest}(done_until_ms, coalesce(?, done_until_ms)), run_count = run_count + ?,
       firing_count = firing_count + ? WHERE schedule_id = ?`
  )
  const setFailures = database.prepare<[number, string]>(
    'UPDATE schedule_progress SET failures_in_a_row = ? WHERE schedule_id = ?'
  )
  const hasFired = database.prepare<[number, string]>(statements.hasFired)
  const insertFiring = database
    .prepare<unknown[], number>(
      `INSERT INTO firings (schedule_id, nominal_ms, origin, backfill_id, at_ms, state, reason, text, count, job_ids)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`
    )
    .pluck()
  const pruned = database.prepare<[string], { fromMs: number | null; untilMs: number | null }>(statements.pruned)
  const findFired = database.prepare<{ id: ScheduleId; wanted: string }, number>(statements.findFired).pluck()
  const newest = database.prepare<[number, number], FiringRow>(statements.newest)
  const ofProjects = new Map<string, Statement<[Record<string, unknown>], FiringRow>>()

  function preparedFor(query: string): Statement<[Record<string, unknown>], FiringRow> {
    const statement = ofProjects.get(query) ?? database.prepare<[Record<string, unknown>], FiringRow>(query)
    ofProjects.set(query, statement)
    return statement
  }

  const newestIn = database.prepare<[string, number, number], FiringRow>(statements.newestIn)
  const ofSchedule = database.prepare<[string, number, number], FiringRow>(statements.ofSchedule)
  const ofScheduleIn = database.prepare<[string, string, number, number], FiringRow>(statements.ofScheduleIn)
  const changedAfter = database.prepare<[string], number>(statements.changedAfter).pluck()
  const ofBackfill = database.prepare<[string, number, number], FiringRow>(statements.ofBackfill)
  const jobsOf = database.prepare<[string], FiredJob>(statements.jobsOf)
  const liveJobs = database.prepare<[string], JobRow>(statements.liveJobs).raw()

  const isPaused = database.prepare<[string], number>(statements.isPaused).pluck()
  const namedBy = (id: ScheduleId) => toSchedule(many.get(JSON.stringify([id]))!).settings
  const projectsOf = ({ jobs }: StoredSchedule['settings']) => jobs.map(({ project }) => project)

  function recordFiring(firing: Omit<StoredFiring, 'statuses' | 'startedAtMs' | 'endedAtMs'>): void {
    const event = firingEvent(firing.state)
    if (event === null || !outbox.isWanted(event)) return
    const settings = namedBy(firing.scheduleId)
    outbox.record(event, projectsOf(settings), firing.atMs, () => firingEventData(firing, settings))
  }

  function recordPaused(schedule: Omit<StoredSchedule, 'crawl'>): void {
    const { settings, changedAtMs } = schedule
    outbox.record('schedule.paused', projectsOf(settings), changedAtMs, () => pausedEventData(schedule))
  }

  function askForgotten(scheduleId: ScheduleId): (nominalMs: number) => boolean {
    const { fromMs = null, untilMs = null } = pruned.get(scheduleId) ?? {}
    return (nominalMs) => fromMs !== null && untilMs !== null && nominalMs >= fromMs && nominalMs <= untilMs
  }

  /**
   * Whether the moment has fired; for a backfill, also whether it may have fired. Firings by the clock are always
   * newer than the pruned rows.
   */
  function hasBeenDone({ scheduleId, nominalMs, origin, state }: NewFiring, taken: Set<string>): boolean {
    if (origin === 'manual' || state !== 'fired') return false
    const key = `${scheduleId} ${nominalMs}`
    const hasOne =
      taken.has(key) ||
      hasFired.get(nominalMs, scheduleId) !== undefined ||
      (origin === 'backfill' && askForgotten(scheduleId)(nominalMs))
    taken.add(key)
    return hasOne
  }

  const complete = (row: FiringRow): StoredFiring => ({
    ...row,
    ...written(decode(row.text)),
    jobIds: JSON.parse(row.jobIds),
    ...summaryOf(row.jobIds === '[]' ? [] : jobsOf.all(row.jobIds))
  })

  /** Reads nothing if no new job can be a duplicate or wait for others, because all new jobs are then still queued. */
  function factsOf(made: NewJob[], jobIds: JobId[]): ReturnType<typeof summaryOf> {
    if (made.some(({ dedupe, after }) => dedupe !== null || after.length > 0)) {
      return summaryOf(jobsOf.all(JSON.stringify(jobIds)))
    }
    return { statuses: made.map(() => 'queued'), startedAtMs: null, endedAtMs: null }
  }

  return {
    listSchedules: (): StoredSchedule[] => all.all().map(toSchedule),

    getSchedules(ids: ScheduleId[]): StoredSchedule[] {
      const rows = new Map(many.all(JSON.stringify(ids)).map((row) => [row.id, row]))
      return ids.flatMap((id) => rows.get(id) ?? []).map(toSchedule)
    },

    pageSchedules: createScheduleList(database),

    putSchedule({ crawl, ...schedule }: StoredSchedule): void {
      const { id, settings } = schedule
      const there = revision.get(id)
      if (there === undefined && schedule.revision !== 1) {
        throw new ScrapdeckError('SCHEDULE_NOT_FOUND', sentence('storage.schedule_removed', { name: settings.name }))
      }
      requireNextRevision(schedule.revision, there, `schedule ${settings.name}`)
      const { pauseNoteCode: code, pauseNoteParams: params, ...fields } = schedule
      const note = schedule.pauseNote === null ? null : messageOf({ text: schedule.pauseNote, code, params })
      const row = {
        ...fields,
        pauseNote: note && encode(note),
        name: settings.name,
        settings: JSON.stringify(settings),
        paused: Number(schedule.paused),
        crawlKey: crawl?.key ?? null,
        crawlOrder: crawl === null ? null : JSON.stringify({ params: crawl.params, atMs: crawl.atMs })
      }
      const isNewlyPaused = schedule.paused && isPaused.get(id) !== 1
      if (there === undefined) insert.run(row)
      else update.run(row)
      putProgress.run(row)
      changes.add('schedule', id)
      if (isNewlyPaused) recordPaused(schedule)
    },

    deleteSchedules(ids: ScheduleId[]): ScheduleId[] {
      const removed = [...new Set(ids)].filter((id) => remove.run(id).changes > 0)
      for (const id of removed) {
        removeFirings.run(id)
        changes.add('schedule', id)
      }
      return removed
    },

    setFailuresInARow(id: ScheduleId, failuresInARow: number): void {
      if (setFailures.run(failuresInARow, id).changes > 0) changes.add('schedule', id)
    },

    fire(firings: NewFiring[]): (StoredFiring | null)[] {
      const taken = new Set<string>()
      const announced = new Set<string>()
      const isNew = firings.map((firing) => {
        const { scheduleId, jobs, doneUntilMs } = firing
        const isOpen = !hasBeenDone(firing, taken)
        const runs = Number(isOpen && jobs.length > 0)
        const isThere = moveOn.run(doneUntilMs, runs, Number(isOpen), scheduleId).changes > 0
        if (isThere && !announced.has(scheduleId)) changes.add('schedule', scheduleId)
        announced.add(scheduleId)
        return isOpen && isThere
      })
      const jobs = firings.flatMap((firing, index) => (isNew[index] ? firing.jobs : []))
      const ids = jobs.length === 0 ? [] : enqueue.enqueueJobs(jobs)
      let used = 0
      return firings.map((firing, index) => {
        if (!isNew[index]) return null
        const { scheduleId, nominalMs, origin, backfillId, atMs, state, reason, message, count, jobs: made } = firing
        const jobIds = ids.slice(used, used + made.length)
        used += made.length
        const jobIdsJson = JSON.stringify(jobIds)
        const id = insertFiring.get(
          scheduleId,
          nominalMs,
          origin,
          backfillId,
          atMs,
          state,
          reason,
          encode(message),
          count,
          jobIdsJson
        )!
        const fields = { id, scheduleId, nominalMs, origin, backfillId, atMs, state, reason, count, jobIds }
        const fired = { ...fields, ...written(message), ...factsOf(made, jobIds) }
        recordFiring(fired)
        return fired
      })
    },

    listFirings(
      filter: FiringFilter,
      page: { before: number | null; limit: number; maxBytes?: number }
    ): StoredFiring[] {
      const { scheduleId, backfillId, sinceChange = false } = filter
      const { limit, maxBytes = Number.POSITIVE_INFINITY } = page
      const before = page.before ?? AFTER_EVERY_FIRING
      const after = sinceChange && scheduleId !== undefined ? (changedAfter.get(scheduleId) ?? 0) : 0
      const pageOf = (rows: Iterable<FiringRow>) =>
        withinBytes(rows, maxBytes)
          .filter(({ id }) => id > after)
          .map(complete)
      const states =
        filter.states === undefined || filter.states.length === 0 ? ALL_STATES : [...new Set(filter.states)]
      const isAnyState = states.length === ALL_STATES.length
      if (backfillId !== undefined) {
        // A backfill has a limited number of rows, and paging them by state is rare, so filter in memory.
        const rows = ofBackfill.all(backfillId, before, isAnyState ? limit : Number.MAX_SAFE_INTEGER)
        const wanted = rows.filter(
          (row) => states.includes(row.state) && (scheduleId === undefined || row.scheduleId === scheduleId)
        )
        return pageOf(wanted.slice(0, limit))
      }
      if (filter.onlyProjects !== undefined) {
        const of = scheduleId === undefined ? '' : 'AND schedule_id = :scheduleId'
        const only = { onlyProjects: JSON.stringify(filter.onlyProjects), before, limit }
        const statement = preparedFor(newestOfProjects(sql, states, of))
        return pageOf(statement.iterate({ ...only, ...(scheduleId !== undefined && { scheduleId }) }))
      }
      if (scheduleId !== undefined) {
        return pageOf(
          isAnyState
            ? ofSchedule.iterate(scheduleId, before, limit)
            : ofScheduleIn.iterate(scheduleId, JSON.stringify(states), before, limit)
        )
      }
      if (isAnyState) return pageOf(newest.iterate(before, limit))
      const rows = states.flatMap((state) => withinBytes(newestIn.iterate(state, before, limit), maxBytes))
      return pageOf(rows.sort((one, other) => other.id - one.id).slice(0, limit))
    },

    listRecentFirings: (scheduleIds: ScheduleId[], limit: number): StoredFiring[] =>
      scheduleIds.flatMap((id) => ofSchedule.all(id, AFTER_EVERY_FIRING, limit).map(complete)),

    findFired(id: ScheduleId, nominalMs: number[]): { fired: number[]; forgotten: number[] } {
      const fired = new Set(findFired.all({ id, wanted: JSON.stringify(nominalMs) }))
      const isForgotten = askForgotten(id)
      const forgotten = nominalMs.filter((time) => isForgotten(time) && !fired.has(time))
      return { fired: [...fired].sort(ascending), forgotten: forgotten.sort(ascending) }
    },

    listLiveJobsOf: (scheduleId: ScheduleId): StoredJob[] =>
      liveJobs
        .all(scheduleId)
        .map(toJob)
        .sort((one, other) => (one.id < other.id ? -1 : 1))
  }
}

function summaryOf(jobs: FiredJob[]): Pick<StoredFiring, 'statuses' | 'startedAtMs' | 'endedAtMs'> {
  const started = jobs.map(({ startedAtMs }) => startedAtMs).filter((time) => time !== null)
  const ended = jobs.map(({ endedAtMs }) => endedAtMs).filter((time) => time !== null)
  return {
    statuses: jobs.map(({ status }) => status),
    startedAtMs: started.length === 0 ? null : Math.min(...started),
    endedAtMs: ended.length === 0 ? null : Math.max(...ended)
  }
}

const ascending = (one: number, other: number) => one - other

function withinBytes(rows: Iterable<FiringRow>, maxBytes: number): FiringRow[] {
  const taken: FiringRow[] = []
  let bytes = 0
  for (const row of rows) {
    taken.push(row)
    bytes += row.jobIds.length
    if (bytes >= maxBytes) break
  }
  return taken
}

/** The newest backfill of each schedule, deleted with its schedule. Call every write in a transaction. */
export function createBackfills(database: Database) {
  const backfills = createTable<StoredBackfill>(database, {
    name: 'backfills',
    key: 'schedule_id',
    order: 'schedule_id',
    columns: { order: 'direction' },
    fields: 'id scheduleId revision fromMs untilMs order concurrency state total fired failed mayGoFirst:flag'
  })
  const revision = database.prepare<[string], number>('SELECT revision FROM backfills WHERE schedule_id = ?').pluck()

  return {
    listBackfills: backfills.all,

    putBackfill(backfill: StoredBackfill): void {
      requireNextRevision(backfill.revision, revision.get(backfill.scheduleId), 'backfill')
      backfills.put(backfill)
    }
  }
}
