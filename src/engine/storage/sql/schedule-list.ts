import type { Database } from './database.ts'
import { largeBytes, type StoredSchedule } from '../../model/records.ts'
import { among, type Fragments } from './fragments.ts'
import type { ScheduleFilter, SchedulePage } from '../store.ts'
import { SCHEDULE, type ScheduleRow, toSchedule } from './rows.ts'

export const ofOnlyProjects = (
  sql: Fragments
) => `NOT EXISTS (SELECT 1 FROM ${sql.objects('settings', 'planned', 'jobs')}
    WHERE NOT planned.value ->> 'project' ${among(sql, ':onlyProjects')})`

/** A query contains only the conditions in use, so that SQLite picks the matching index. */
const conditionsOf = (sql: Fragments): Record<keyof ScheduleFilter, string> => ({
  // The index on names is case-insensitive, so compare again.
  name: `${sql.folded('name')} = ${sql.folded(':name')} AND name = :name`,
  hasNamesake: 'name IN (SELECT name FROM schedules GROUP BY name HAVING count(*) > 1) AND :hasNamesake',
  pausedBy: `paused = 1 AND paused_by ${among(sql, ':pausedBy')}`,
  userId: `EXISTS (SELECT 1 FROM ${sql.objects('settings', 'planned', 'jobs')} WHERE value ->> 'userId' = :userId)`,
  crawlKey: 'crawl_key = :crawlKey',
  isCrawl: 'crawl_key IS NOT NULL AND :isCrawl',
  project: `EXISTS (SELECT 1 FROM ${sql.objects('settings', 'planned', 'jobs')} WHERE value ->> 'project' = :project)`,
  onlyProjects: ofOnlyProjects(sql),
  text: `(name ${sql.like} :text ESCAPE '\\' OR EXISTS (SELECT 1 FROM ${sql.objects('settings', 'planned', 'jobs')}
    WHERE value ->> 'project' ${sql.like} :text ESCAPE '\\' OR value ->> 'spiders' ${sql.like} :text ESCAPE '\\'))`
})

/** Returns SQL for the total and for the first page or the page after a schedule. `asked`: the filters in use. */
export function scheduleListSql(
  sql: Fragments,
  asked: (keyof ScheduleFilter)[],
  isNext: boolean
): { page: string; count: string } {
  const all = conditionsOf(sql)
  const conditions = asked.map((key) => all[key])
  const name = sql.folded('name')
  // Compare the name twice, because SQLite cannot use the index to compare whole rows.
  const after = isNext
    ? [`${name} >= ${sql.folded(':afterName')} AND (${name} > ${sql.folded(':afterName')} OR id > :afterId)`]
    : []
  const where = (all: string[]) => (all.length === 0 ? '' : `WHERE ${all.join(' AND ')}`)
  return {
    page: `SELECT ${SCHEDULE} FROM schedules
      ${sql.thenJoin} schedule_progress ON schedule_progress.schedule_id = schedules.id ${where([...conditions, ...after])}
      ORDER BY ${name}, id LIMIT :limit`,
    count: `SELECT count(*) FROM schedules ${where(conditions)}`
  }
}

/** Pages of schedules by name. A page reads only its own rows, but text and project filters scan every schedule. */
export function createScheduleList(database: Database) {
  const statements = new Map<string, ReturnType<typeof prepare>>()

  function prepare(asked: (keyof ScheduleFilter)[], isNext: boolean) {
    const sql = scheduleListSql(database.fragments, asked, isNext)
    return {
      page: database.prepare<Record<string, unknown>, ScheduleRow>(sql.page),
      count: database.prepare<Record<string, unknown>, number>(sql.count).pluck()
    }
  }

  return function page(
    { text = '', project, name, userId, crawlKey, isCrawl, pausedBy, hasNamesake, onlyProjects }: ScheduleFilter,
    { after, limit, maxBytes = Number.POSITIVE_INFINITY }: SchedulePage
  ): { schedules: StoredSchedule[]; total: number; isCut: boolean } {
    const values: Record<string, unknown> = {
      ...(text !== '' && { text: `%${text.replace(/[\\%_]/g, '\\$&')}%` }),
      ...(project !== undefined && { project }),
      ...(name !== undefined && { name }),
      ...(userId !== undefined && { userId }),
      ...(crawlKey !== undefined && { crawlKey }),
      ...(isCrawl === true && { isCrawl: 1 }),
      ...(hasNamesake === true && { hasNamesake: 1 }),
      ...(onlyProjects !== undefined && { onlyProjects: JSON.stringify(onlyProjects) }),
      ...(pausedBy !== undefined && { pausedBy: JSON.stringify(pausedBy) })
    }
    const asked = Object.keys(values) as (keyof ScheduleFilter)[]
    const key = [...asked, after !== null].join()
    const known = statements.get(key) ?? prepare(asked, after !== null)
    statements.set(key, known)
    const from = after === null ? {} : { afterName: after.name, afterId: after.id }
    const schedules: StoredSchedule[] = []
    let bytes = 0
    for (const row of known.page.iterate({ ...values, ...from, limit })) {
      schedules.push(toSchedule(row))
      bytes += largeBytes(row.settings.length + (row.crawlOrder?.length ?? 0))
      if (bytes >= maxBytes) break
    }
    return { schedules, total: known.count.get(values) ?? 0, isCut: bytes >= maxBytes }
  }
}
