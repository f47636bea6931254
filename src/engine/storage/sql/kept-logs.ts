import { among, type Fragments } from './fragments.ts'
import type { Columns, Database, ManySql, Statement } from './database.ts'
import type { AttemptNumber, JobId, ProjectName } from '../../../shared/contract/index.ts'
import { mayHoldMatch } from '../log-blocks.ts'
import { attemptKey } from './rows.ts'
import type {
  IndexedLogBlocks,
  KeptLog,
  KeptLogFilter,
  LogKey,
  LogPage,
  UnarchivedRun,
  UnindexedLog,
  ItemsRecord,
  KeptItemsFile
} from '../../model/records.ts'
import { insertMany, replaceRow } from './table.ts'

const OPEN = -1
/** Greater than every job id, because ids are hexadecimal. */
const AFTER_EVERY_ID = 'g'

interface BlocksRow {
  jobId: JobId
  number: AttemptNumber
  firstBlock: number | null
  wholeBlocks: number | null
  tailBlock: number | null
  rawBytes: number | null
}

interface KeptRow extends Omit<KeptLog, 'log'> {
  packed: Uint8Array
  rawBytes: number | null
  storedBytes: number | null
}

interface SizesRow extends LogKey {
  packedBytes: number
  rawBytes: number | null
  storedBytes: number | null
}

const KEPT = 'packed, archived_logs.raw_bytes AS "rawBytes", archived_logs.stored_bytes AS "storedBytes"'

const RUN = `attempts.job_id AS "jobId", attempts.number, attempts.jobid, jobs.project, jobs.spider,
  attempts.node_id AS "nodeId", attempts.started_at_ms AS "startedAtMs"`

function ofBlocks(column: string): string {
  return `(SELECT ${column} FROM log_blocks WHERE log_blocks.job_id = archived_logs.job_id
    AND log_blocks.attempt_number = archived_logs.attempt_number)`
}

export const keptLogsSql = (sql: Fragments) => ({
  /** Finds the end of a page in the index that has only the keys, so that no packed log is read. */
  pageEnd: `SELECT job_id AS "jobId", attempt_number AS number FROM archived_logs
    WHERE (job_id, attempt_number) < (:jobId, :number) ORDER BY job_id DESC, attempt_number DESC LIMIT 1 OFFSET :offset`,
  page: (joins: string, condition: string) => `SELECT archived_logs.job_id AS "jobId",
      archived_logs.attempt_number AS number, first_block AS "firstBlock", whole_blocks AS "wholeBlocks",
      tail_block AS "tailBlock", log_blocks.raw_bytes AS "rawBytes"
    FROM archived_logs LEFT JOIN log_blocks
      ON log_blocks.job_id = archived_logs.job_id AND log_blocks.attempt_number = archived_logs.attempt_number ${joins}
    WHERE (archived_logs.job_id, archived_logs.attempt_number) < (:jobId, :number)
      AND (archived_logs.job_id, archived_logs.attempt_number) >= (:endJobId, :endNumber) AND ${condition}
    ORDER BY archived_logs.job_id DESC, archived_logs.attempt_number DESC`,
  kept: `SELECT archived_logs.job_id AS "jobId", attempt_number AS number, ${KEPT}, jobs.project, jobs.spider,
      attempts.node_id AS "nodeId", attempts.started_at_ms AS "startedAtMs", attempts.ended_at_ms AS "endedAtMs"
    FROM archived_logs ${sql.thenJoin} attempts ON attempts.job_id = archived_logs.job_id AND number = attempt_number
      ${sql.thenJoin} jobs ON jobs.id = archived_logs.job_id
    WHERE archived_logs.job_id = ? AND attempt_number = ?`,
  stored: `SELECT ${KEPT} FROM archived_logs WHERE job_id = ? AND attempt_number = ?`,
  sizes: `SELECT job_id AS "jobId", attempt_number AS number, length(packed) AS "packedBytes", raw_bytes AS "rawBytes",
      stored_bytes AS "storedBytes"
    FROM archived_logs WHERE job_id ${among(sql, '?')}`,
  live: (condition: string) => `SELECT ${RUN} FROM attempts ${sql.thenJoin} jobs ON jobs.id = attempts.job_id
    WHERE attempts.state <> 'ended' AND ${condition} ORDER BY attempts.job_id DESC LIMIT :limit`,
  ended: (condition: string) => `SELECT ${RUN} FROM jobs ${sql.thenJoin} attempts ON attempts.job_id = jobs.id
    WHERE jobs.state = 'ended' AND jobs.ended_at_ms >= :endedSinceMs AND attempts.log_archived = 0
      AND attempts.result NOT IN ('refused', 'absent') AND ${condition} ORDER BY jobs.ended_at_ms DESC LIMIT :limit`,
  copied: (condition: string) => `SELECT ${RUN} FROM ${sql.objects(':copied', 'wanted')}
      ${sql.thenJoin} attempts ON attempts.job_id = wanted.value ->> 'jobId'
        AND attempts.number = CAST(wanted.value ->> 'number' AS BIGINT)
      ${sql.thenJoin} jobs ON jobs.id = attempts.job_id
    WHERE attempts.state = 'ended' AND attempts.log_archived = 0
      AND ${condition} ORDER BY attempts.job_id DESC LIMIT :limit`,
  // Looks up the blocks one by one: with outdated statistics, PostgreSQL would compare the few new logs with all
  // blocks.
  added: `SELECT id, job_id AS "jobId", attempt_number AS number, ${ofBlocks('tail_block')} AS "tailBlock",
      ${ofBlocks('raw_bytes')} AS "rawBytes"
    FROM archived_logs WHERE id > ? ORDER BY id LIMIT ?`
})

export const LOG_KEY: Columns = { job_id: 'TEXT', attempt_number: 'INTEGER' }

export const keptLogsMany = ({ greatest }: Fragments) =>
  ({
    record: insertMany(
      'log_blocks',
      { ...LOG_KEY, raw_bytes: 'INTEGER', first_block: 'INTEGER', whole_blocks: 'INTEGER', tail_block: 'INTEGER' },
      `ON CONFLICT (job_id, attempt_number) DO UPDATE SET tail_block = excluded.tail_block,
        first_block = coalesce(excluded.first_block, log_blocks.first_block),
        whole_blocks = ${greatest}(excluded.whole_blocks, log_blocks.whole_blocks)`
    ),
    forget: {
      sql: `DELETE FROM log_blocks USING given
        WHERE log_blocks.job_id = given.job_id AND log_blocks.attempt_number = given.attempt_number`,
      each: 'DELETE FROM log_blocks WHERE job_id = ? AND attempt_number = ?',
      given: LOG_KEY
    }
  }) satisfies Record<string, ManySql>

export const joinsOfRuns = (sql: Fragments) => `${sql.thenJoin} jobs ON jobs.id = archived_logs.job_id
  ${sql.thenJoin} attempts ON attempts.job_id = archived_logs.job_id AND attempts.number = archived_logs.attempt_number`

export type KeptLogs = ReturnType<typeof createKeptLogs>

export function createKeptLogs(database: Database) {
  const sql = database.fragments
  const statements = keptLogsSql(sql)
  const pageEnd = database.prepare<Record<string, unknown>, LogKey>(statements.pageEnd)
  const kept = database.prepare<[string, number], KeptRow>(statements.kept)
  const stored = database.prepare<[string, number], Pick<KeptRow, 'packed' | 'rawBytes' | 'storedBytes'>>(
    statements.stored
  )
  const added = database.prepare<[number, number], BlocksRow & { id: number }>(statements.added)
  const lastId = database.prepare<[], number | null>('SELECT max(id) FROM archived_logs').pluck()
  const many = keptLogsMany(sql)
  const record = database.prepareMany(many.record)
  const forget = database.prepareMany(many.forget)
  const sizes = database.prepare<[string], SizesRow>(statements.sizes)
  const forgetAll = database.prepare('DELETE FROM log_blocks')
  const end = database
    .prepare<[], number | null>(
      `SELECT max(CASE WHEN coalesce(first_block + whole_blocks, 0) > coalesce(tail_block + 1, 0)
        THEN first_block + whole_blocks ELSE coalesce(tail_block + 1, 0) END) FROM log_blocks`
    )
    .pluck()
  const pages = new Map<string, Statement<[Record<string, unknown>], BlocksRow>>()

  function pageOf(filter: KeptLogFilter) {
    const { condition, values } = conditionOf(sql, filter)
    const joins = condition === 'true' ? '' : joinsOfRuns(sql)
    const statement = pages.get(condition) ?? database.prepare(statements.page(joins, condition))
    pages.set(condition, statement as Statement<[Record<string, unknown>], BlocksRow>)
    return { statement: statement as Statement<[Record<string, unknown>], BlocksRow>, values }
  }

  function rowsBefore(filter: KeptLogFilter, before: LogKey | null, limit: number) {
    const from = before ?? { jobId: AFTER_EVERY_ID, number: 0 }
    const last = pageEnd.get({ ...from, offset: limit - 1 })
    const { statement, values } = pageOf(filter)
    const until = { endJobId: last?.jobId ?? '', endNumber: last?.number ?? 0 }
    return { rows: statement.iterate({ ...from, ...until, ...values }), next: last ?? null }
  }

  function unindexed(rows: Iterable<Pick<BlocksRow, 'jobId' | 'number' | 'tailBlock' | 'rawBytes'>>): UnindexedLog[] {
    const wanted = [...rows].filter(({ tailBlock, rawBytes }) => rawBytes === null || tailBlock === OPEN)
    return wanted
      .map((row) => ({ ...row, read: stored.ahead(row.jobId, row.number) }))
      .map(({ jobId, number, rawBytes, read }) => {
        return { jobId, number, isTailOnly: rawBytes !== null, log: toLog(read()!) }
      })
  }

  return {
    pageKeptLogs(
      filter: KeptLogFilter,
      { before, limit, candidates }: { before: LogKey | null; limit: number; candidates: Uint8Array | null }
    ): LogPage {
      const { rows, next } = rowsBefore(filter, before, limit)
      const page: LogPage = { logs: [], next, ruledOut: { logs: 0, bytes: 0 } }
      for (const row of rows) {
        const { jobId, number, rawBytes, firstBlock, wholeBlocks, tailBlock } = row
        const blocks =
          rawBytes === null
            ? null
            : { rawBytes, firstBlock, wholeBlocks: wholeBlocks!, tailBlock: tailBlock === OPEN ? 'open' : tailBlock }
        if (blocks === null || candidates === null || mayHoldMatch(blocks as IndexedLogBlocks, candidates)) {
          page.logs.push({ jobId, number, blocks: blocks as IndexedLogBlocks | null })
        } else {
          page.ruledOut.logs += 1
          page.ruledOut.bytes += blocks.rawBytes
        }
      }
      return page
    },

    readKeptLogs: (keys: LogKey[]): KeptLog[] =>
      keys
        .map(({ jobId, number }) => kept.ahead(jobId, number))
        .flatMap((read) => {
          const row = read()
          if (row === undefined) return []
          const { packed, rawBytes, storedBytes, ...rest } = row
          return [{ ...rest, log: toLog({ packed, rawBytes, storedBytes }) }]
        }),

    listUnarchivedRuns(
      filter: KeptLogFilter,
      options: { endedSinceMs: number; copied: LogKey[]; limit: number }
    ): UnarchivedRun[] {
      const { condition, values } = conditionOf(sql, filter)
      const { endedSinceMs, limit } = options
      const copied = JSON.stringify(options.copied)
      const live = database.prepare<Record<string, unknown>, UnarchivedRun>(statements.live(condition))
      const ended = database.prepare<Record<string, unknown>, UnarchivedRun>(statements.ended(condition))
      const left = database.prepare<Record<string, unknown>, UnarchivedRun>(statements.copied(condition))
      const runs = [
        ...live.all({ ...values, limit }),
        ...ended.all({ ...values, limit, endedSinceMs }),
        ...left.all({ ...values, limit, copied })
      ]
      return [...new Map(runs.map((run) => [`${run.jobId} ${run.number}`, run])).values()].sort((one, other) =>
        one.jobId < other.jobId ? 1 : one.jobId > other.jobId ? -1 : other.number - one.number
      )
    },

    listUnindexedLogs(before: LogKey | null, limit: number): { logs: UnindexedLog[]; next: LogKey | null } {
      const { rows, next } = rowsBefore({}, before, limit)
      return { logs: unindexed(rows), next }
    },

    listAddedLogs(sinceId: number | null, limit: number): { logs: UnindexedLog[]; lastId: number } {
      if (sinceId === null) return { logs: [], lastId: lastId.get() ?? 0 }
      const rows = added.all(sinceId, limit)
      return { logs: unindexed(rows), lastId: rows.at(-1)?.id ?? sinceId }
    },

    recordLogBlocks(list: (LogKey & { blocks: IndexedLogBlocks; log: { storedBytes: number | null } })[]): void {
      const rows = sizes.all(JSON.stringify(list.map(({ jobId }) => jobId)))
      const now = new Map(rows.map((row) => [attemptKey(row.jobId, row.number), sizesOf(row)?.storedBytes ?? null]))
      // Skip logs that were archived again or deleted in the meantime.
      const still = list.filter(({ jobId, number, log }) => now.get(attemptKey(jobId, number)) === log.storedBytes)
      const cells = still.map(({ jobId, number, blocks }) => {
        const { rawBytes, firstBlock, wholeBlocks, tailBlock } = blocks
        return [jobId, number, rawBytes, firstBlock, wholeBlocks, tailBlock === 'open' ? OPEN : tailBlock]
      })
      // A log can be listed twice, but a statement cannot write the same row twice.
      const isOnceEach = new Set(still.map(({ jobId, number }) => attemptKey(jobId, number))).size === cells.length
      if (isOnceEach) record(cells)
      else for (const one of cells) record([one])
    },

    forgetLogBlocks(logs: LogKey[] | null): void {
      if (logs === null) forgetAll.run()
      else forget(logs.map(({ jobId, number }) => [jobId, number]))
    },

    endOfLogBlocks: (): number => end.get() ?? 0
  }
}

export function toLog({ packed, rawBytes, storedBytes }: Pick<KeptRow, 'packed' | 'rawBytes' | 'storedBytes'>) {
  const sizes = sizesOf({ packedBytes: packed.length, rawBytes, storedBytes })
  return { packed: packed.length > 0 ? packed : null, sizes }
}

/** The sizes of a log that is stored as a blob are in its row. */
function sizesOf({ packedBytes, rawBytes, ...row }: Pick<SizesRow, 'packedBytes' | 'rawBytes' | 'storedBytes'>) {
  const storedBytes = packedBytes > 0 ? packedBytes : row.storedBytes
  return rawBytes === null || storedBytes === null ? null : { rawBytes, storedBytes }
}

function conditionOf(sql: Fragments, filter: KeptLogFilter): { condition: string; values: Record<string, unknown> } {
  const parts: string[] = []
  const values: Record<string, unknown> = {}
  const add = (part: string, more: Record<string, unknown>) => {
    parts.push(part)
    Object.assign(values, more)
  }
  const { project, spider, nodeId, outcome, sinceMs, untilMs, onlyProjects } = filter
  if (onlyProjects !== undefined) {
    add(`jobs.project ${among(sql, ':onlyProjects')}`, { onlyProjects: JSON.stringify(onlyProjects) })
  }
  for (const [name, pattern] of Object.entries({ project, spider })) {
    if (pattern === undefined) continue
    if (pattern.includes('*')) add(sql.glob(`jobs.${name}`, `:${name}`), { [name]: pattern.replace(/[[?]/g, '[$&]') })
    else add(`jobs.${name} = :${name}`, { [name]: pattern })
  }
  if (nodeId !== undefined) add('attempts.node_id = :nodeId', { nodeId })
  if (outcome !== undefined) add('jobs.outcome = :outcome', { outcome })
  if (sinceMs !== undefined) add('coalesce(attempts.ended_at_ms, :sinceMs) >= :sinceMs', { sinceMs })
  if (untilMs !== undefined) add('coalesce(attempts.started_at_ms, attempts.sent_at_ms) <= :untilMs', { untilMs })
  return { condition: parts.join(' AND ') || 'true', values }
}

interface LogSum {
  count: number
  bytes: number
  packedBytes: number
}

export type LogSums = ReturnType<typeof createLogSums>

/** The number and sizes of archived logs per project. Writers add differences, which `flush` writes once per write. */
export function createLogSums(database: Database) {
  const add = database.prepare<[string, number, number, number]>(
    `INSERT INTO log_sums VALUES (?, ?, ?, ?) ON CONFLICT (project) DO UPDATE SET
      count = log_sums.count + excluded.count, bytes = log_sums.bytes + excluded.bytes,
      packed_bytes = log_sums.packed_bytes + excluded.packed_bytes`
  )
  const drop = database.prepare<[string]>('DELETE FROM log_sums WHERE project = ? AND count = 0')
  const differences = new Map<ProjectName, LogSum>()

  return {
    add(project: ProjectName, factor: 1 | -1, { count, bytes, packedBytes }: LogSum): void {
      const sum = differences.get(project) ?? { count: 0, bytes: 0, packedBytes: 0 }
      sum.count += factor * count
      sum.bytes += factor * bytes
      sum.packedBytes += factor * packedBytes
      differences.set(project, sum)
    },

    flush(): void {
      for (const [project, { count, bytes, packedBytes }] of differences) {
        if (count === 0 && bytes === 0 && packedBytes === 0) continue
        add.run(project, count, bytes, packedBytes)
        if (count < 0) drop.run(project)
      }
      differences.clear()
    },

    discard: () => differences.clear()
  }
}

type ItemsRow = Omit<ItemsRecord, 'sizes'> & { rawBytes: number | null; storedBytes: number | null }
type ListedItemsRow = ItemsRow & { state: string | null; kept: number; mayHaveRunTwice: number }

const ITEMS = `job_id AS "jobId", attempt_number AS number, kept_items.project, kept_items.spider,
  kept_items.ended_at_ms AS "endedAtMs", raw_bytes AS "rawBytes", stored_bytes AS "storedBytes", problem,
  deleted_at_ms AS "deletedAtMs"`

export const KEPT_ITEMS_SQL = {
  one: `SELECT ${ITEMS} FROM kept_items WHERE job_id = ? AND attempt_number = ?`,
  page: `SELECT ${ITEMS}, jobs.state, coalesce(kept, 0) AS kept,
      coalesce(may_have_run_twice, 0) AS "mayHaveRunTwice"
    FROM kept_items LEFT JOIN jobs ON jobs.id = job_id
    WHERE (job_id, attempt_number) > (:jobId, :number) AND stored_bytes IS NOT NULL
    ORDER BY job_id, attempt_number LIMIT :limit`,
  forgetGone: 'DELETE FROM kept_items WHERE job_id = :jobId AND NOT EXISTS (SELECT 1 FROM jobs WHERE id = :jobId)'
}

/** The archived items files, or the reasons why there are none. Call every write in a transaction. */
export function createKeptItems(database: Database) {
  const one = database.prepare<[string, number], ItemsRow>(KEPT_ITEMS_SQL.one)
  const page = database.prepare<{ jobId: string; number: number; limit: number }, ListedItemsRow>(KEPT_ITEMS_SQL.page)
  const forgetGone = database.prepare<{ jobId: string }>(KEPT_ITEMS_SQL.forgetGone)
  const put = database.prepare(
    replaceRow('kept_items', ['job_id', 'attempt_number'], {
      job_id: ':jobId',
      attempt_number: ':number',
      project: ':project',
      spider: ':spider',
      ended_at_ms: ':endedAtMs',
      raw_bytes: ':rawBytes',
      stored_bytes: ':storedBytes',
      problem: ':problem',
      deleted_at_ms: ':deletedAtMs'
    })
  )

  return {
    findItems(jobId: JobId, number: AttemptNumber): ItemsRecord | null {
      const row = one.get(jobId, number)
      return row === undefined ? null : toRecord(row)
    },

    recordItems({ sizes, ...record }: ItemsRecord): void {
      put.run({ ...record, rawBytes: sizes?.rawBytes ?? null, storedBytes: sizes?.storedBytes ?? null })
      // When retention has deleted the job, its items can no longer be queried, so the record is not needed.
      if (sizes === null) forgetGone.run(record)
    },

    listKeptItems: (after: LogKey | null, limit: number): KeptItemsFile[] =>
      page.all({ jobId: after?.jobId ?? '', number: after?.number ?? 0, limit }).map((row) => {
        const { state, kept, mayHaveRunTwice, ...columns } = row
        const { sizes, ...record } = toRecord(columns)
        const ofJob = { hasEnded: state === 'ended', kept: kept === 1, mayHaveRunTwice: mayHaveRunTwice === 1 }
        return { ...record, sizes: sizes!, job: state === null ? null : ofJob }
      })
  }
}

function toRecord({ rawBytes, storedBytes, ...record }: ItemsRow): ItemsRecord {
  return { ...record, sizes: rawBytes === null || storedBytes === null ? null : { rawBytes, storedBytes } }
}
