import { join } from 'node:path'
import DatabaseConstructor, { type Database } from 'better-sqlite3'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openTemporaryStore, type TemporaryStore } from '../../testing/temporary-store.ts'
import { alertFactsSql } from '../sql/alert-facts.ts'
import { ANSWERS_SQL } from '../sql/remembered-answers.ts'
import { alertsSql } from '../sql/alerts.ts'
import { attemptsSql } from '../sql/attempts.ts'
import { CHAIN_ENDS_MANY, chainEndsSql } from '../sql/chain-ends.ts'
import { errorGroupsSql } from '../sql/error-groups.ts'
import { findingsSql } from '../sql/findings.ts'
import { holdsSql } from '../sql/holds.ts'
import { jobListSql } from '../sql/job-list.ts'
import { jobsSql } from '../sql/jobs.ts'
import { orderSql } from '../sql/order.ts'
import { joinsOfRuns, keptLogsSql } from '../sql/kept-logs.ts'
import { outboxSql } from '../sql/outbox.ts'
import { withHiddenParameters } from './sqlite-database.ts'
import { pruningSql } from '../sql/pruning.ts'
import { queueSql } from '../sql/queue.ts'
import { retentionDeletesSql, retentionSql } from '../sql/retention.ts'
import type { ScheduleFilter } from '../store.ts'
import { scheduleListSql } from '../sql/schedule-list.ts'
import { schedulesSql } from '../sql/schedules.ts'
import { SQLITE } from '../sql/fragments.ts'

const ERROR_GROUPS_SQL = errorGroupsSql(SQLITE)
const ALERT_FACTS_SQL = alertFactsSql(SQLITE)
const CHAIN_ENDS_SQL = chainEndsSql(SQLITE)
const KEPT_LOGS_SQL = keptLogsSql(SQLITE)
const RETENTION_SQL = retentionSql(SQLITE)
const SCHEDULES_SQL = schedulesSql(SQLITE)
const ATTEMPTS_SQL = attemptsSql(SQLITE)
const FINDINGS_SQL = findingsSql(SQLITE)
const JOB_LIST_SQL = jobListSql(SQLITE)
const PRUNING_SQL = pruningSql(SQLITE)
const ALERTS_SQL = alertsSql(SQLITE)
const OUTBOX_SQL = outboxSql(SQLITE)
const HOLDS_SQL = holdsSql(SQLITE)
const ORDER_SQL = orderSql(SQLITE)
const QUEUE_SQL = queueSql(SQLITE)
const JOBS_SQL = jobsSql(SQLITE)

const PLAN_OF_LIST: Record<string, RegExp> = {
  newest: /^SEARCH jobs USING INDEX sqlite_autoindex_jobs_1 /,
  ofKind: /^SEARCH jobs USING COVERING INDEX jobs_listed \(project=\? AND spider=\? AND state=\? AND outcome=\? AND id/,
  ofKindOnNode:
    /^SEARCH jobs USING COVERING INDEX jobs_on_node \(node_id=\? AND project=\? AND spider=\? AND state=\? AND outcome=\? AND id/,
  countOfKind:
    /^SEARCH jobs USING COVERING INDEX jobs_listed \(project=\? AND spider=\? AND state=\? AND outcome=\? AND id/,
  byIds: /^SCAN wanted VIRTUAL TABLE|^SEARCH jobs USING INDEX sqlite_autoindex_jobs_1 \(id=\?\)$/,
  newestThat: /^SEARCH jobs USING INDEX sqlite_autoindex_jobs_1 |^CO-ROUTINE|^SCAN newest$/,
  later: /^SEARCH jobs USING INDEX jobs_not_before|^USE TEMP B-TREE FOR LAST TERM OF ORDER BY$/,
  countKindsOnNodes:
    /^SCAN kinds$|^CORRELATED SCALAR SUBQUERY 1$|^SEARCH jobs USING COVERING INDEX jobs_on_node \(node_id=\? AND project=\? AND spider=\? AND state=\? AND outcome=\? AND id/,
  endedBefore: /^SEARCH ended_counts USING PRIMARY KEY \(from_id<|^USE TEMP B-TREE FOR GROUP BY$/,
  endedFrom: /^SEARCH ended_counts USING PRIMARY KEY \(from_id>|^USE TEMP B-TREE FOR GROUP BY$/,
  endedBadly: /^SEARCH jobs USING COVERING INDEX jobs_ended_badly \(outcome=\? AND id/,
  liveOfSchedule: /^SEARCH jobs USING INDEX jobs_of_schedule_live \(schedule_id=\? AND id/,
  endedOfSchedule: /^SEARCH jobs USING INDEX jobs_of_schedule_ended \(schedule_id=\? AND status=\? AND id/,
  liveKindsOfSchedule: /^SEARCH jobs USING INDEX jobs_of_schedule_live \(schedule_id=\?|^USE TEMP B-TREE FOR GROUP BY$/,
  endedKindsOfSchedule:
    /^SEARCH jobs USING INDEX jobs_of_schedule_ended \(schedule_id=\?|^USE TEMP B-TREE FOR GROUP BY$/,
  liveOfUser: /^SEARCH jobs USING INDEX jobs_of_user_live \(user_id=\? AND id/,
  endedOfUser: /^SEARCH jobs USING INDEX jobs_of_user_ended \(user_id=\? AND status=\? AND id/,
  liveKindsOfUser: /^SEARCH jobs USING INDEX jobs_of_user_live \(user_id=\?|^USE TEMP B-TREE FOR GROUP BY$/,
  endedKindsOfUser: /^SEARCH jobs USING INDEX jobs_of_user_ended \(user_id=\?|^USE TEMP B-TREE FOR GROUP BY$/,
  byIdPrefix: /^SEARCH jobs USING INDEX sqlite_autoindex_jobs_1 /,
  byIdEnd:
    /^SEARCH jobs USING INDEX sqlite_autoindex_jobs_1 \(id=\?\)$|^LIST SUBQUERY \d$|^CO-ROUTINE|^SCAN (jobs USING COVERING INDEX sqlite_autoindex_jobs_1|newest)$/,
  byJobidPrefix: /^SEARCH jobs USING INDEX jobs_by_own_jobid /,
  byId: /^SEARCH jobs USING INDEX sqlite_autoindex_jobs_1 /,
  byJobid: /^SEARCH jobs USING INDEX jobs_by_own_jobid /
}

/** Checks plans, because a test has too few rows to measure speed. */
describe('query plans', () => {
  let temporary: TemporaryStore
  let database: Database

  beforeAll(async () => {
    temporary = await openTemporaryStore()
    database = new DatabaseConstructor(join(temporary.directory, 'scrapdeck.db'), { readonly: true })
  })

  afterAll(async () => {
    database.close()
    await temporary.remove()
  })

  function planOf(query: string): string[] {
    // SQLite plans a statement without the values of its parameters, so all of them can be null.
    const names = [...new Set(query.match(/:\w+/g) ?? [])].map((name) => [name.slice(1), null])
    const places = (query.match(/\?/g) ?? []).map(() => null)
    const parameters = names.length > 0 ? [Object.fromEntries(names)] : places
    const rows = database.prepare(`EXPLAIN QUERY PLAN ${withHiddenParameters(query)}`).all(...parameters) as {
      detail: string
    }[]
    return rows.map(({ detail }) => detail)
  }

  test('the head of a lane is read from the queue index in its order', () => {
    expect(planOf(QUEUE_SQL.heads)).toEqual(['SEARCH jobs USING INDEX jobs_queue (lane=?)'])
  })

  test('a search over logs scans their keys in an index, after the packed ones, and looks up the rest', () => {
    const keys = 'SEARCH archived_logs USING COVERING INDEX sqlite_autoindex_archived_logs_1'
    for (const query of [
      KEPT_LOGS_SQL.pageEnd,
      KEPT_LOGS_SQL.page('', 'true'),
      KEPT_LOGS_SQL.page(joinsOfRuns(SQLITE), 'true')
    ]) {
      const [first, ...rest] = planOf(query)
      expect(first).toContain(keys)
      for (const step of rest) expect(step).toMatch(/^SEARCH (log_blocks|jobs|attempts) USING /)
    }
    expect(planOf(KEPT_LOGS_SQL.added)[0]).toContain('USING INTEGER PRIMARY KEY')
    expect(planOf(KEPT_LOGS_SQL.live('true'))[0]).toContain('USING INDEX attempts_live')
    expect(planOf(KEPT_LOGS_SQL.ended('true'))[0]).toMatch(/jobs USING (COVERING )?INDEX jobs_ended \(ended_at_ms>/)
  })

  test('lanes and their depths are read without reading jobs', () => {
    expect(planOf(QUEUE_SQL.lanes).join()).not.toContain('jobs')
  })

  test('a claim finds its job by id', () => {
    expect(planOf(QUEUE_SQL.claim)[0]).toContain('SEARCH jobs USING INDEX sqlite_autoindex_jobs_1 (id=?)')
  })

  test('the time at which a job came into its lane is found by its id', () => {
    expect(planOf(QUEUE_SQL.cameAfter).filter((step) => !step.startsWith('SCALAR SUBQUERY'))).toEqual([
      'SEARCH jobs USING INDEX sqlite_autoindex_jobs_1 (id=?)',
      'SEARCH transitions USING INDEX transitions_by_job (job_id=?)'
    ])
  })

  test('an end scans the few chains, and no table that grows', () => {
    const scanned = planOf(CHAIN_ENDS_MANY.due.each).filter((step) => /^SCAN (?!CONSTANT ROW|given)/.test(step))
    expect(new Set(scanned)).toEqual(new Set(['SCAN chains']))
    expect(planOf(CHAIN_ENDS_SQL.listDue).join()).toContain('USING INDEX chain_ends_due')
  })

  test.each(
    Object.entries({
      ...CHAIN_ENDS_SQL,
      forgetAnswered: CHAIN_ENDS_MANY.forgetAnswered.each,
      forgetLines: CHAIN_ENDS_MANY.forgetLines.each
    })
  )('%s of chains finds a job or due ends by an index, or scans stored lines in order', (name, query) => {
    for (const plan of planOf(query)) {
      expect(plan).not.toMatch(
        name.startsWith('old')
          ? /^SCAN|TEMP B-TREE/
          : /^SCAN (jobs|chain_ends(?! USING INDEX chain_ends_due)|chain_lines)/
      )
    }
  })

  test('the past runs of a spider are the first in their index, without sorting', () => {
    expect(planOf(FINDINGS_SQL.successfulRuns)).toEqual([
      'SEARCH jobs USING INDEX jobs_listed (project=? AND spider=? AND state=? AND outcome=? AND id<?)',
      'CORRELATED SCALAR SUBQUERY 1',
      'SEARCH run_figures USING INDEX sqlite_autoindex_run_figures_1 (job_id=?)'
    ])
  })

  test('retention scans ends and sizes of logs in their indexes, without the rows', () => {
    expect(planOf(RETENTION_SQL.walk)).toEqual(['SEARCH jobs USING COVERING INDEX jobs_ended ((ended_at_ms,id)>(?,?))'])
    expect(planOf(RETENTION_SQL.logsOf)).toEqual([
      'SEARCH archived_logs USING COVERING INDEX archived_logs_sizes (job_id=?)'
    ])
  })

  test.each([...Object.values(RETENTION_SQL), ...retentionDeletesSql(SQLITE)])(
    'retention finds its rows in an index: %s',
    (query) => {
      for (const plan of planOf(query)) expect(plan).not.toMatch(/^SCAN (?!listed)/)
    }
  )

  test('live attempts are read from the index of live attempts', () => {
    expect(planOf(ATTEMPTS_SQL.live)).toEqual(['SCAN attempts USING INDEX attempts_live'])
  })

  test.each([ATTEMPTS_SQL.onNode, ATTEMPTS_SQL.endedBefore])(
    'the runs of a node are looked up one by one, however many it has had',
    (query) => {
      const first = planOf(query).filter((step) => /^(SCAN|SEARCH) (run|attempts|ended)/.test(step))
      expect(first.map((step) => step.replace(/ USING.*?(?= \(|$)/, ''))).toEqual([
        expect.stringMatching(/^SCAN run/),
        expect.stringMatching(/^SEARCH \w+ \(node_id=\? AND project=\? AND jobid=\?\)$/)
      ])
    }
  )

  test.each(Object.entries(JOB_LIST_SQL))('a page (%s) is read from its index without sorting', (name, query) => {
    for (const plan of planOf(typeof query === 'string' ? query : query('project = ? AND status = ?')))
      expect(plan).toMatch(PLAN_OF_LIST[name]!)
  })

  test.each(Object.entries({ ...HOLDS_SQL, ...ORDER_SQL }))('%s never scans the jobs', (_name, query) => {
    for (const plan of planOf(query)) {
      expect(plan).not.toMatch(/^SCAN jobs(?! USING (COVERING )?INDEX jobs_(not_before|expiring))/)
    }
  })

  test.each(Object.entries(SCHEDULES_SQL))(
    '%s of schedules scans no jobs, and firings only by their ids',
    (_name, query) => {
      for (const plan of planOf(query))
        expect(plan).not.toMatch(/^SCAN (jobs|firings|schedules$|schedule_progress)|TEMP B-TREE FOR ORDER BY/)
    }
  )

  test.each([
    {
      asked: [],
      page: /^SCAN schedules USING INDEX schedules_by_name$/,
      count: /^SCAN schedules USING COVERING INDEX /
    },
    { asked: ['name'], page: /INDEX schedules_by_name \(name=\?/, count: /INDEX schedules_by_name \(name=\?/ },
    {
      asked: ['pausedBy'],
      page: /INDEX schedules_paused \(paused_by=\?/,
      count: /INDEX schedules_paused \(paused_by=\?/
    },
    {
      asked: ['isCrawl'],
      page: /^SCAN schedules USING INDEX schedules_by_name$/,
      count: /^SEARCH schedules USING COVERING INDEX schedules_of_crawls /
    },
    { asked: ['project'], page: /^SCAN schedules USING INDEX schedules_by_name$/, count: /^SCAN schedules$/ },
    { asked: ['text'], page: /^SCAN schedules USING INDEX schedules_by_name$/, count: /^SCAN schedules$/ }
  ] as { asked: (keyof ScheduleFilter)[]; page: RegExp; count: RegExp }[])(
    'a page of schedules by $asked scans names in order, and reads no unnecessary rows',
    ({ asked, page, count }) => {
      const first = scheduleListSql(SQLITE, asked, false)
      expect([planOf(first.page)[0], planOf(first.count)[0]]).toEqual([
        expect.stringMatching(page),
        expect.stringMatching(count)
      ])
      const next = planOf(scheduleListSql(SQLITE, asked, true).page)
      if (asked[0] !== 'pausedBy') expect(next[0]).toMatch(/^SEARCH schedules USING INDEX schedules_by_name \(/)
      for (const step of [...planOf(first.page), ...next]) {
        if (asked[0] !== 'pausedBy') expect(step).not.toMatch(/TEMP B-TREE/)
        expect(step).not.toMatch(/SCAN schedule_progress/)
      }
    }
  )

  test.each(Object.entries(PRUNING_SQL))(
    '%s of pruning scans firings from the oldest on, without sorting',
    (_name, query) => {
      for (const plan of planOf(query)) expect(plan).not.toMatch(/^SCAN firings.+USING|TEMP B-TREE/)
    }
  )

  // For these queries, SQLite considers the index by state equally good, although it contains all firings.
  const ofAll = new Set(['newest', 'newestIn', 'oldest'])
  test.each(
    Object.entries({ ...SCHEDULES_SQL, ...PRUNING_SQL }).filter(
      ([name, sql]) => !ofAll.has(name) && / firings /.test(sql)
    )
  )('%s finds firings by their schedule, their backfill or their id', (_name, query) => {
    for (const plan of planOf(query).filter((step) => step.includes('firings')))
      expect(plan).toMatch(/^SEARCH firings USING .*(schedule_id|backfill_id|rowid)=\?/)
  })

  test('expired responses are found by their time', () => {
    expect(planOf(ANSWERS_SQL.prune).join()).toContain('INDEX remembered_answers_over (expires_at_ms<?)')
  })

  test.each(Object.entries(OUTBOX_SQL))('%s of the outbox scans no deliveries and does not sort', (_name, query) => {
    for (const plan of planOf(query)) expect(plan).not.toMatch(/^SCAN deliveries|TEMP B-TREE/)
  })

  test.each(Object.entries(ALERTS_SQL))(
    '%s of alerts finds them in an index, however many have ended',
    (name, query) => {
      const plan = planOf(query)
      for (const step of plan) expect(step).not.toMatch(/^SCAN (?!listed|lately)/)
      // There are few open alerts, and few alerts of the last hour or month, so sorting them is allowed.
      if (/^ended|prune/.test(name)) expect(plan.join()).not.toContain('TEMP B-TREE FOR ORDER BY')
    }
  )
  // `newest` runs once per start; `pruneOldest` reads the facts from the oldest on.
  test.each(['page', 'prune'] as const)('%s of past alerts scans no recorded signals and does not sort', (name) => {
    for (const plan of planOf(ALERT_FACTS_SQL[name])) expect(plan).not.toMatch(/^SCAN alert_facts|TEMP B-TREE/)
  })

  test.each(Object.entries(JOBS_SQL))('%s never scans the jobs', (_name, query) => {
    for (const plan of planOf(query)) expect(plan).not.toMatch(/^SCAN jobs/)
  })

  test.each(Object.entries(ERROR_GROUPS_SQL))(
    '%s of errors finds groups and their counts in an index',
    (name, query) => {
      for (const plan of planOf(query)) {
        // Only the spiders and nodes of one group, the errors of a job, and the groups of some projects are sorted.
        expect(plan).not.toMatch(/^SCAN (?!error_groups USING INDEX error_groups_by_last_seen|CONSTANT|listed|wanted)/)
        if (!['spread', 'ofJob', 'pageOfProjects'].includes(name)) expect(plan).not.toMatch(/TEMP B-TREE/)
      }
    }
  )
})
