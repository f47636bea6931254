import type { Database, Statement } from './database.ts'
import type {
  JobFacets,
  JobFilter as AskedFilter,
  JobStatus,
  NodeId,
  ProjectName
} from '../../../shared/contract/index.ts'
import type { UnreachableNodes, OnlyProjects } from '../../model/records.ts'
import type { JobReader } from '../store.ts'
import { JOB_STATUSES, UNKNOWN_STATUS } from '../../../shared/choices.ts'
import { matchesGlob } from '../../../shared/glob.ts'
import { SHORT_ID_LENGTH } from '../../../shared/ids.ts'
import { LIVE_JOB_STATES, STRETCH_MS, stretchOf } from './counters.ts'
import { among, type Fragments } from './fragments.ts'
import { JOB, type JobRow, largeBytesOfRow } from './rows.ts'

type JobFilter = AskedFilter & OnlyProjects & UnreachableNodes

/** How many of the newest jobs to search per requested job, before merging the walks of all kinds. */
const SCANNED_PER_WANTED = 4
/**
 * All walks together first fetch this many ids per requested job. Continuing a walk costs more than fetching too much.
 */
const FETCHED_PER_WANTED = 3
/** The literals in the index jobs_ended_badly. SQLite uses a partial index only for queries with the same literals. */
const ENDED_BADLY: ReadonlySet<JobStatus> = new Set(['failed', 'cancelled', 'lost'])
const LIVE_STATUSES = JOB_STATUSES.filter((status) => LIVE_JOB_STATES.has(status))
const ENDED_STATUSES = JOB_STATUSES.filter((status) => !LIVE_JOB_STATES.has(status))
/** The maximum number of values per facet. Users select from them and never need more. */
const FACET_LIMIT = 500
/** The longest time from the creation of a job's id to the job's queuing. */
const ID_TIME_MARGIN_MS = 60_000
/** Greater than every job id, because ids are hexadecimal. The page before it is the newest. */
const AFTER_EVERY_ID = 'g'
/** The shortest id prefix to search for: shorter prefixes match all jobs of several minutes or more. */
const ID_PREFIX_MIN = 10
/** The maximum number of examined jobs whose ids start with the text. The limit for client jobids is the same. */
const NAMED_MAX = 10_000
/**
 * How many of the newest jobs to search for an id that ends with the text. No index covers the ends of ids, and
 * scanning this many takes about 30 ms.
 */
const ENDS_SEARCHED = 250_000
const ON_NODE_STATUSES: readonly string[] = ['starting', 'running']

interface Kind {
  project: ProjectName
  spider: string
  status: string
  nodeId: NodeId
}

interface CountedKind extends Kind {
  count: number
}

/** The columns that can name a job's owner. Each has one index for live jobs and one for ended jobs. */
type OwnerColumn = 'schedule_id' | 'user_id'

const OF_OWNER: Record<OwnerColumn, string> = {
  schedule_id: `schedule_id = :owner AND coalesce(user_id, '') = coalesce(:userId, user_id, '')`,
  user_id: 'user_id = :owner'
}

function ofOwnerIn(half: string, column: OwnerColumn): string {
  return `SELECT id, jobid, project, spider, status, coalesce(node_id, '') AS "nodeId", queued_at_ms FROM jobs
    WHERE ${half} AND ${OF_OWNER[column]} AND id < :before AND id >= :from ORDER BY id DESC`
}

function kindsOfOwnerIn(half: string, column: OwnerColumn): string {
  return `SELECT project, spider, status, coalesce(node_id, '') AS "nodeId", count(*) AS count FROM jobs
    WHERE ${half} AND ${OF_OWNER[column]} AND id >= :from AND queued_at_ms >= :sinceMs GROUP BY 1, 2, 3, 4`
}

/** The index of live jobs omits the status, which changes. With status null (any), one walk finds all live jobs. */
const LIVE = `state <> 'ended' AND status = coalesce(:status, status)`
const ENDED = `state = 'ended' AND status = :status`

/** Derived from the status, because no index contains the status itself. */
const OUTCOME_OF_KIND = `CASE WHEN kinds.status IN (${literalsOf(LIVE_STATUSES)}) THEN NULL ELSE kinds.status END`

export const jobListSql = (sql: Fragments) => ({
  newest: `SELECT ${JOB} FROM jobs WHERE id < ? AND id >= ? ORDER BY id DESC LIMIT ?`,
  byIds: `SELECT ${JOB} FROM ${sql.texts('?', 'wanted')} ${sql.thenJoin} jobs ON jobs.id = wanted.value
    ${sql.inOrderOf('wanted')}`,
  newestThat: (condition: string) => `SELECT id FROM
    (SELECT id, jobid, project, spider, status, node_id, queued_at_ms FROM jobs
      WHERE id < ? AND id >= ? ORDER BY id DESC LIMIT ?) AS newest WHERE ${condition} LIMIT ?`,
  /** Jobs from POST /crawl that wait for their time. With CASE, only the index on times can be used. */
  later: (condition: string) => `SELECT ${JOB} FROM jobs WHERE state = 'queued' AND hold IN ('not_before', 'retry')
    AND hold = 'not_before' AND source = 'crawl' AND (not_before_ms, id) > (?, ?)
    AND CASE WHEN ${condition} THEN 1 ELSE 0 END = 1
    ORDER BY not_before_ms, id LIMIT ?`,
  ofKind: `SELECT id FROM jobs WHERE project = ? AND spider = ? AND state = ? AND ${sql.sameOutcome('outcome', '?')} AND id < ? AND id >= ?
    ORDER BY id DESC LIMIT ?`,
  ofKindOnNode: `SELECT id FROM jobs WHERE node_id = ? AND project = ? AND spider = ? AND state = ? AND ${sql.sameOutcome('outcome', '?')}
    AND id < ? AND id >= ? ORDER BY id DESC LIMIT ?`,
  countOfKind: `SELECT count(*) FROM jobs
    WHERE project = ? AND spider = ? AND state = ? AND ${sql.sameOutcome('outcome', '?')} AND id >= ? AND id < ?`,
  /** One statement for all kinds on nodes. Thousands of calls would take longer than the counting itself. */
  countKindsOnNodes: `SELECT project, spider, status, node_id AS "nodeId", (SELECT count(*) FROM jobs
      WHERE jobs.node_id = kinds.node_id AND jobs.project = kinds.project AND jobs.spider = kinds.spider
        AND jobs.state = CASE WHEN kinds.status IN (${literalsOf(LIVE_STATUSES)}) THEN kinds.status ELSE 'ended' END
        AND ${sql.sameOutcome('jobs.outcome', OUTCOME_OF_KIND)}
        AND id >= ? AND id < ?) AS count
    FROM job_counts AS kinds WHERE node_id <> ''`,
  endedBefore: `SELECT project, spider, status, node_id AS "nodeId", sum(count) AS count FROM ended_counts
    WHERE from_id < ? GROUP BY 1, 2, 3, 4`,
  endedFrom: `SELECT project, spider, status, node_id AS "nodeId", sum(count) AS count FROM ended_counts
    WHERE from_id >= ? GROUP BY 1, 2, 3, 4`,
  /** These jobs are few, and operators look for them, so they have their own index. */
  endedBadly: `SELECT id FROM jobs WHERE outcome = ? AND outcome IN (${literalsOf(ENDED_BADLY)})
    AND id < ? AND id >= ? ORDER BY id DESC LIMIT ?`,
  liveOfSchedule: ofOwnerIn(LIVE, 'schedule_id'),
  endedOfSchedule: ofOwnerIn(ENDED, 'schedule_id'),
  liveKindsOfSchedule: kindsOfOwnerIn(`state <> 'ended'`, 'schedule_id'),
  endedKindsOfSchedule: kindsOfOwnerIn(`state = 'ended'`, 'schedule_id'),
  liveOfUser: ofOwnerIn(LIVE, 'user_id'),
  endedOfUser: ofOwnerIn(ENDED, 'user_id'),
  liveKindsOfUser: kindsOfOwnerIn(`state <> 'ended'`, 'user_id'),
  endedKindsOfUser: kindsOfOwnerIn(`state = 'ended'`, 'user_id'),
  byIdPrefix: `SELECT id, jobid, project, spider, status, coalesce(node_id, '') AS "nodeId", queued_at_ms FROM jobs
    WHERE id >= ? AND id < ? ORDER BY id DESC LIMIT ${NAMED_MAX}`,
  byIdEnd: `SELECT id, jobid, project, spider, status, coalesce(node_id, '') AS "nodeId", queued_at_ms FROM jobs
    WHERE id IN (SELECT id FROM (SELECT id FROM jobs ORDER BY id DESC LIMIT ${ENDS_SEARCHED}) AS newest
      WHERE id ${sql.like} ?) ORDER BY id DESC LIMIT ${NAMED_MAX}`,
  byJobidPrefix: `SELECT id, jobid, project, spider, status, coalesce(node_id, '') AS "nodeId", queued_at_ms FROM jobs
    WHERE jobid <> id AND jobid >= ? AND jobid < ? ORDER BY jobid DESC LIMIT ${NAMED_MAX}`,
  byId: `SELECT id, jobid, project, spider, status, coalesce(node_id, '') AS "nodeId", queued_at_ms FROM jobs
    WHERE id = ? AND jobid = id`,
  byJobid: `SELECT id, jobid, project, spider, status, coalesce(node_id, '') AS "nodeId", queued_at_ms FROM jobs
    WHERE jobid <> id AND jobid = ? ORDER BY ${sql.insertOrder} DESC LIMIT ${NAMED_MAX}`
})

interface Owner {
  column: OwnerColumn
  owner: string
  userId: string | null
}

function ownerOf({ scheduleId, userId }: JobFilter): Owner | null {
  if (scheduleId !== undefined) return { column: 'schedule_id', owner: scheduleId, userId: userId ?? null }
  return userId === undefined ? null : { column: 'user_id', owner: userId, userId }
}

interface NamedRow extends Kind {
  id: string
  jobid: string
  queued_at_ms: number
}

/**
 * The counters have one row per kind of job and show which kinds match a filter. A page merges one index walk per kind,
 * newest first, so its cost depends on the number of kinds, not on the number of jobs.
 */
export function createJobList(database: Database) {
  const { fragments } = database
  const statements = jobListSql(fragments)
  const newest = database.prepare<[string, string, number], JobRow>(statements.newest).raw()
  const ofKind = database.prepare<unknown[], string>(statements.ofKind).pluck()
  const ofKindOnNode = database.prepare<unknown[], string>(statements.ofKindOnNode).pluck()
  const byIdPrefix = database.prepare<[string, string], NamedRow>(statements.byIdPrefix)
  const byIdEnd = database.prepare<[string], NamedRow>(statements.byIdEnd)
  const byJobidPrefix = database.prepare<[string, string], NamedRow>(statements.byJobidPrefix)
  const byId = database.prepare<[string], NamedRow>(statements.byId)
  const byJobid = database.prepare<[string], NamedRow>(statements.byJobid)
  const ofOwner = {
    schedule_id: prepareOwner('Schedule'),
    user_id: prepareOwner('User')
  }
  const many = database.prepare<[string], JobRow>(statements.byIds).raw()
  const queuedAt = database.prepare<[string], number>('SELECT queued_at_ms FROM jobs WHERE id = ?').pluck()
  const ownersOf = database.prepare<[string], { schedule_id: string | null; user_id: string | null }>(
    'SELECT schedule_id, user_id FROM jobs WHERE id = ?'
  )
  const countOfKind = database.prepare<unknown[], number>(statements.countOfKind).pluck()
  const endedBefore = database.prepare<[string], CountedKind>(statements.endedBefore)
  const endedFrom = database.prepare<[string], CountedKind>(statements.endedFrom)
  const endedBadly = database.prepare<unknown[], string>(statements.endedBadly).pluck()
  const oldest = database.prepare<[], string | null>('SELECT min(id) FROM jobs').pluck()
  const youngest = database.prepare<[], string | null>('SELECT max(id) FROM jobs').pluck()
  const justBefore = database.prepare<[string, string, number], Kind>(
    `SELECT project, spider, status, coalesce(node_id, '') AS "nodeId" FROM jobs
     WHERE id >= ? AND id < ? AND queued_at_ms < ?`
  )

  const kept = new Map<string, Statement<unknown[], unknown>>()

  /** Caches a statement per form of a filter. There are only several hundred forms, because values are parameters. */
  function prepared<Row>(sql: string): Statement<unknown[], Row> {
    const statement = kept.get(sql) ?? database.prepare(sql)
    kept.set(sql, statement)
    return statement as Statement<unknown[], Row>
  }

  function prepareOwner(noun: 'Schedule' | 'User') {
    const kinds = [statements[`liveKindsOf${noun}`], statements[`endedKindsOf${noun}`]]
    return {
      live: database.prepare<Record<string, unknown>, NamedRow>(statements[`liveOf${noun}`]),
      ended: database.prepare<Record<string, unknown>, NamedRow>(statements[`endedOf${noun}`]),
      kinds: kinds.map((sql) => database.prepare<Record<string, unknown>, CountedKind>(sql))
    }
  }

  function isSince(sinceMs: number | undefined): (id: string) => boolean {
    return (id) => sinceMs === undefined || (queuedAt.get(id) ?? 0) >= sinceMs
  }

  function kindsOf(filter: JobFilter, columns: string): CountedKind[] {
    const { sql, values } = conditionsOf(fragments, filter, 'kind')
    return prepared<CountedKind>(
      `SELECT ${columns}, sum(count) AS count FROM job_counts WHERE ${sql} GROUP BY ${GROUPS[columns]}`
    ).all(...values)
  }

  /** Jobs whose id or client jobid starts with the text, or whose id ends with it. `filter`: the other conditions. */
  function namedBy(text: string, filter: JobFilter): NamedRow[] {
    const rows = byJobidPrefix.all(text, endOfPrefix(text))
    const digits = idPrefixOf(text)
    if (digits !== null) rows.push(...byIdPrefix.all(digits, endOfPrefix(digits)))
    const end = idEndOf(text)
    if (end !== null) rows.push(...byIdEnd.all(`%${end}`))
    const isLeft = fits(filter)
    return [...new Map(rows.map((row) => [row.id, row])).values()].filter(isLeft)
  }

  function withJobid(jobid: string, filter: JobFilter): NamedRow[] {
    const { scheduleId, userId, text } = filter
    const isOfOwners = (id: string) => {
      const owners = ownersOf.get(id)
      return (
        (scheduleId === undefined || owners?.schedule_id === scheduleId) &&
        (userId === undefined || owners?.user_id === userId)
      )
    }
    const rows = [...byId.all(jobid), ...byJobid.all(jobid)].sort((one, other) => (one.id < other.id ? 1 : -1))
    return rows.filter(fits(filter, conditionsOfName(text))).filter(({ id }) => isOfOwners(id))
  }

  /** Finds the page by scanning the newest jobs, because most filters match many of them; null: too few match. */
  function scanNewest(filter: JobFilter, below: string, from: string, limit: number): string[] | null {
    const { sql, values } = conditionsOf(fragments, filter, 'job')
    const scan = prepared<string>(statements.newestThat(sql)).pluck()
    const first = scan.all(below, from, limit, ...values, limit)
    if (first.length === limit) return first
    if (first.length * SCANNED_PER_WANTED < limit) return null
    const ids = scan.all(below, from, limit * SCANNED_PER_WANTED, ...values, limit)
    return ids.length === limit ? ids : null
  }

  function pageIds(filter: JobFilter, below: string, from: string, limit: number): string[] {
    return scanNewest(filter, below, from, limit) ?? mergeIds(filter, below, from, limit)
  }

  function mergeIds(filter: JobFilter, below: string, from: string, limit: number): string[] {
    const { nodeId, text, sinceMs, status = [] } = filter
    const { project, spider, onlyProjects } = filter
    const hasNames = [project, spider, nodeId, text || undefined, onlyProjects].some((name) => name !== undefined)
    if (!hasNames && status.length > 0 && status.every((one) => ENDED_BADLY.has(one as JobStatus))) {
      const walks = [...new Set(status)].map(
        (one): Walk =>
          (before, count) =>
            endedBadly.all(one, before, from, count)
      )
      return mergeNewestFirst(walks, below, limit, isSince(sinceMs))
    }
    const isOfNode = nodeId !== undefined || isUnknownAsked(filter)
    const kinds = kindsOf(filter, isOfNode ? KIND_ON_NODE : KIND)
    const walks = kinds.map((kind): Walk => {
      const key = [kind.project, kind.spider, ...columnsOf(kind.status)]
      // No index covers only jobs without a node. This walk also returns jobs with a node, and the merge drops
      // duplicates.
      return (before, count) =>
        isOfNode && kind.nodeId !== ''
          ? ofKindOnNode.all(kind.nodeId, ...key, before, from, count)
          : ofKind.all(...key, before, from, count)
    })
    if (text !== undefined && text !== '') {
      const ids = namedBy(text, filter).map(({ id }) => id)
      const sorted = ids.filter((id) => id < below && id >= from).sort((one, other) => (one < other ? 1 : -1))
      walks.push((before, count) => sorted.filter((id) => id < before).slice(0, count))
    }
    return mergeNewestFirst(walks, below, limit, isSince(sinceMs))
  }

  function walksOfOwner({ column, ...values }: Owner, statuses: readonly JobStatus[], from: string) {
    const [live, ended] = [true, false].map((isLive) => statuses.filter((one) => LIVE_JOB_STATES.has(one) === isLive))
    const walk = (half: 'live' | 'ended') => (status: JobStatus | null) => (before: string) =>
      ofOwner[column][half].iterate({ ...values, status, before, from })
    const isAnyLive = live!.length === LIVE_JOB_STATES.size
    return [...(isAnyLive ? [null] : live!).map(walk('live')), ...ended!.map(walk('ended'))]
  }

  /** The page of one schedule or user. Walks each status, and checks each job against the remaining conditions. */
  function pageIdsOfOwner(owner: Owner, filter: JobFilter, below: string, from: string, limit: number) {
    const { status = [], text } = filter
    const isLeft = fits(filter, conditionsOfName(text))
    const wanted = new Set<string>([...status, ...(isUnknownAsked(filter) ? ON_NODE_STATUSES : [])])
    const statuses = status.length === 0 ? JOB_STATUSES : JOB_STATUSES.filter((one) => wanted.has(one))
    const walks = walksOfOwner(owner, statuses, from).map(
      (rowsBefore): Walk =>
        (before, count) => {
          // Skips rows that do not match, because a page with too few rows would look like the end of the walk.
          const ids: string[] = []
          for (const row of rowsBefore(before)) {
            if (isLeft(row)) ids.push(row.id)
            if (ids.length === count) break
          }
          return ids
        }
    )
    return mergeNewestFirst(walks, below, limit, () => true)
  }

  function countKinds(filter: JobFilter): CountedKind[] {
    const { sinceMs, text, jobid } = filter
    if (jobid !== undefined) return withJobid(jobid, filter).map((row) => ({ ...row, count: 1 }))
    const owner = ownerOf(filter)
    if (owner !== null) {
      const from = sinceMs === undefined ? '' : idAt(sinceMs - ID_TIME_MARGIN_MS)
      if (text === undefined || text === '') {
        const isLeft = fits({ ...filter, sinceMs: undefined })
        const { column, ...values } = owner
        const kinds = ofOwner[column].kinds.flatMap((half) => half.all({ ...values, from, sinceMs: sinceMs ?? 0 }))
        return kinds.filter((kind) => isLeft(kind as unknown as NamedRow))
      }
      // Perhaps only some jobs of a kind match the text, so check each job.
      const rows = walksOfOwner(owner, JOB_STATUSES, from).flatMap((walk) => [...walk(AFTER_EVERY_ID)])
      return rows.filter(fits(filter, conditionsOfName(text))).map((row) => ({ ...row, count: 1 }))
    }
    // Adds the jobs that match by id to the kinds that match by text, without counting any twice.
    const kinds = kindsOf(filter, KIND_ON_NODE)
    const isKind = conditionsOfText(text)
    const named = text === undefined || text === '' ? [] : namedBy(text, filter).filter((row) => !isKind(row))
    const extra = named.map((row) => ({ ...row, count: 1 }))
    return sinceMs === undefined ? [...kinds, ...extra] : [...kindsSince(kinds, filter, sinceMs), ...extra]
  }

  function countInRange(kinds: CountedKind[], filter: JobFilter, status: JobStatus[], range: [string, string]) {
    const { sql, values } = conditionsOf(fragments, { ...filter, status }, 'kind')
    const counted = prepared<CountedKind>(`${statements.countKindsOnNodes} AND ${sql}`).all(...range, ...values)
    const onNodes = new Map<string, number>()
    for (const kind of counted) onNodes.set(nameOf(kind), (onNodes.get(nameOf(kind)) ?? 0) + kind.count)
    for (const kind of kinds) {
      if (kind.nodeId !== '' || !status.some((one) => one === kind.status)) continue
      const all = countOfKind.get(kind.project, kind.spider, ...columnsOf(kind.status), ...range) as number
      counted.push({ ...kind, count: all - (onNodes.get(nameOf(kind)) ?? 0) })
    }
    return counted
  }

  /**
   * Counts the jobs before or after `sinceMs`, whichever are fewer. Live jobs are counted by index. Ended jobs are
   * counted per stretch, and by index between `sinceMs` and the nearest edge of a stretch.
   */
  function kindsSince(kinds: CountedKind[], filter: JobFilter, sinceMs: number): CountedKind[] {
    const low = idAt(sinceMs - ID_TIME_MARGIN_MS)
    const edge = edgeNear(low)
    const isOlderLess = timeOf(low) - timeOf(oldest.get() ?? low) < timeOf(youngest.get() ?? low) - timeOf(low)
    const counts = new Map<string, number>()
    const add = (more: CountedKind[], sign: 1 | -1) => {
      for (const kind of more) counts.set(keyOf(kind), (counts.get(keyOf(kind)) ?? 0) + sign * kind.count)
    }
    add((isOlderLess ? endedBefore : endedFrom).all(edge), 1)
    // The jobs between `sinceMs` and the edge, which the stretches omit or wrongly include.
    const between: [string, string] = low < edge ? [low, edge] : [edge, low]
    add(countInRange(kinds, filter, ENDED_STATUSES, between), low < edge === isOlderLess ? -1 : 1)
    add(countInRange(kinds, filter, LIVE_STATUSES, isOlderLess ? ['', low] : [low, AFTER_EVERY_ID]), 1)
    const counted = kinds.map((kind): CountedKind => {
      const count = counts.get(keyOf(kind)) ?? 0
      return { ...kind, count: isOlderLess ? kind.count - count : count }
    })
    // Subtract jobs that were queued before `sinceMs`, although their ids are within the margin.
    const isKind = fits({ ...filter, sinceMs: undefined }, conditionsOfText(filter.text))
    const early = justBefore.all(low, idAt(Math.ceil(sinceMs)), sinceMs)
    for (const kind of early) if (isKind(kind as NamedRow)) counted.push({ ...kind, count: -1 })
    return counted
  }

  const rowsOf = (ids: string[], maxBytes: number | undefined) => withinBytes(many, [JSON.stringify(ids)], maxBytes)

  /** Without a transaction, each statement takes and releases read locks, which costs as much as the read itself. */
  function inOneRead<Args extends unknown[], Result>(work: (...args: Args) => Result): (...args: Args) => Result {
    return database.transaction(work)
  }

  return {
    list: inOneRead(
      (filter: JobFilter, page: { before: string | null; limit: number; maxBytes?: number }): JobRow[] => {
        const below = page.before ?? AFTER_EVERY_ID
        const from = filter.sinceMs === undefined ? '' : idAt(filter.sinceMs - ID_TIME_MARGIN_MS)
        const { status = [], project, spider, nodeId, onlyProjects, text = '' } = filter
        if (filter.jobid !== undefined) {
          const named = withJobid(filter.jobid, filter).map(({ id }) => id)
          return rowsOf(named.filter((id) => id < below).slice(0, page.limit), page.maxBytes)
        }
        const owner = ownerOf(filter)
        if (owner !== null) {
          return rowsOf(pageIdsOfOwner(owner, filter, below, from, page.limit), page.maxBytes)
        }
        const hasNames = [project, spider, nodeId, onlyProjects].some((name) => name !== undefined)
        if (status.length === 0 && text === '' && from === '' && !hasNames) {
          return withinBytes(newest, [below, from, page.limit], page.maxBytes)
        }
        return rowsOf(pageIds(filter, below, from, page.limit), page.maxBytes)
      }
    ),

    listLater: inOneRead((...[filter, page]: Parameters<JobReader['listLaterOrders']>): JobRow[] => {
      const { sql, values } = conditionsOf(fragments, filter, 'job')
      const users = filter.userId === undefined ? [] : [filter.userId]
      const later = prepared<JobRow>(statements.later(`${sql}${users.length === 0 ? '' : ' AND user_id = ?'}`)).raw()
      return withinBytes(later, [page.after.atMs, page.after.id, ...values, ...users, page.limit], page.maxBytes)
    }),

    countFacets: inOneRead((filter: JobFilter): JobFacets => {
      const { status: _, project, nodeId, ...others } = filter
      const cube = countKinds(others)
      const isStatus = hasStatus(filter)
      const isProject = (kind: Kind) => project === undefined || matchesGlob(project, kind.project)
      const isNode = (kind: Kind) => nodeId === undefined || nodeId === kind.nodeId
      const left = (...are: ((kind: Kind) => boolean)[]) => cube.filter((kind) => are.every((is) => is(kind)))
      const unknown = left(isProject, isNode, isUnknownOn(filter)).reduce((sum, { count }) => sum + count, 0)
      return {
        status: [
          ...countBy('status', left(isProject, isNode)),
          ...(unknown > 0 ? [{ value: UNKNOWN_STATUS, count: unknown }] : [])
        ],
        project: countBy('project', left(isStatus, isNode)),
        nodeId: countBy('nodeId', left(isStatus, isProject))
      }
    })
  }
}

/** Stops after the row at which large settings, arguments and variables reach `maxBytes`. */
function withinBytes<Values extends unknown[]>(
  statement: Statement<Values, JobRow>,
  values: Values,
  maxBytes: number | undefined
): JobRow[] {
  if (maxBytes === undefined) return statement.all(...values)
  const taken: JobRow[] = []
  let bytes = 0
  for (const row of statement.iterate(...values)) {
    taken.push(row)
    bytes += largeBytesOfRow(row)
    if (bytes >= maxBytes) break
  }
  return taken
}

const KIND = 'project, spider, status'
const KIND_ON_NODE = 'project, spider, status, node_id AS "nodeId"'
const GROUPS: Record<string, string> = { [KIND]: '1, 2, 3', [KIND_ON_NODE]: '1, 2, 3, 4' }

type Walk = (before: string, count: number) => string[]

function mergeNewestFirst(walks: Walk[], below: string, limit: number, isWanted: (id: string) => boolean): string[] {
  // Large enough that few walks fetch twice. Most walks whose newest job is older than the page fetch only once.
  const step = Math.max(1, Math.ceil((FETCHED_PER_WANTED * limit) / Math.max(1, walks.length)))
  const heads = walks
    .map((walk) => ({ walk, ids: walk(below, step), at: 0, step: step * 4 }))
    .filter(({ ids }) => ids.length > 0)
    .sort((one, other) => (one.ids[0]! < other.ids[0]! ? 1 : -1))
  const merged: string[] = []
  const seen = new Set<string>()
  while (heads.length > 0 && merged.length < limit) {
    let best = 0
    for (let index = 1; index < heads.length; index += 1) {
      if (heads[index]!.ids[heads[index]!.at]! > heads[best]!.ids[heads[best]!.at]!) best = index
    }
    const head = heads[best]!
    const id = head.ids[head.at]!
    head.at += 1
    if (!seen.has(id) && isWanted(id)) merged.push(id)
    seen.add(id)
    if (head.at < head.ids.length) continue
    head.ids = head.walk(id, head.step)
    head.at = 0
    head.step = Math.min(limit, head.step * 4)
    if (head.ids.length === 0) heads.splice(best, 1)
  }
  return merged
}

function countBy(name: 'status' | 'project' | 'nodeId', kinds: CountedKind[]) {
  const counts = new Map<string, number>()
  for (const kind of kinds) if (kind[name] !== '') counts.set(kind[name], (counts.get(kind[name]) ?? 0) + kind.count)
  return [...counts]
    .map(([value, count]) => ({ value, count }))
    .filter(({ count }) => count > 0)
    .sort((one, other) => other.count - one.count || (one.value < other.value ? -1 : 1))
    .slice(0, FACET_LIMIT)
}

/** Converts the filter to SQL for rows of job_counts or for jobs, which also have a time, an id and a jobid. */
function conditionsOf(fragments: Fragments, filter: JobFilter, of: 'kind' | 'job'): { sql: string; values: unknown[] } {
  const { like, glob } = fragments
  const listed = among(fragments, '?')
  const { status, project, spider, nodeId, sinceMs, text, onlyProjects } = filter
  const parts: string[] = []
  const values: unknown[] = []
  const add = (sql: string, ...more: unknown[]) => {
    parts.push(sql)
    values.push(...more)
  }
  if (of === 'kind') add('count > 0')
  else if (sinceMs !== undefined) add('queued_at_ms >= ?', sinceMs)
  if (status !== undefined && status.length > 0) {
    const isOne = `status IN (${status.map(() => '?').join(', ')})`
    const isUnknown = `(status IN ('${ON_NODE_STATUSES.join(`', '`)}') AND node_id ${listed})`
    if (isUnknownAsked(filter))
      add(`(${isOne} OR ${isUnknown})`, ...status, JSON.stringify(filter.unreachableNodes ?? []))
    else add(isOne, ...status)
  }
  for (const [column, pattern] of [
    ['project', project],
    ['spider', spider]
  ] as const) {
    if (pattern === undefined) continue
    // `*` matches anything; every other character is literal.
    if (pattern.includes('*')) add(glob(column, '?'), pattern.replace(/[[?]/g, '[$&]'))
    else add(`${column} = ?`, pattern)
  }
  if (nodeId !== undefined) add('node_id = ?', nodeId)
  if (onlyProjects !== undefined) {
    add(`project ${listed}`, JSON.stringify(onlyProjects))
  }
  if (text !== undefined && text !== '') {
    const part = `%${text.replace(/[\\%_]/g, '\\$&')}%`
    const found = `project ${like} ? ESCAPE '\\' OR spider ${like} ? ESCAPE '\\'`
    const jobid = [text, endOfPrefix(text)]
    const id = [idPrefixOf(text) ?? AFTER_EVERY_ID, endOfPrefix(idPrefixOf(text) ?? AFTER_EVERY_ID)]
    if (of === 'kind') add(`(${found})`, part, part)
    else
      add(
        `(${found} OR (jobid <> id AND jobid >= ? AND jobid < ?) OR (id >= ? AND id < ?) OR id ${like} ?)`,
        ...[part, part, ...jobid, ...id, `%${idEndOf(text) ?? AFTER_EVERY_ID}`]
      )
  }
  return { sql: parts.join(' AND ') || 'true', values }
}

function conditionsOfText(text: string | undefined): (kind: Kind) => boolean {
  if (text === undefined || text === '') return () => true
  // Like SQL's LIKE, ignores the case of ASCII letters.
  const wanted = foldCase(text)
  return ({ project, spider }) => foldCase(project).includes(wanted) || foldCase(spider).includes(wanted)
}

function conditionsOfName(text: string | undefined): (row: NamedRow) => boolean {
  const isKind = conditionsOfText(text)
  if (text === undefined || text === '') return isKind
  const [digits, end] = [idPrefixOf(text), idEndOf(text)]
  const isNamed = ({ id, jobid }: NamedRow) =>
    (jobid !== id && jobid.startsWith(text)) ||
    (digits !== null && id.startsWith(digits)) ||
    (end !== null && id.endsWith(end))
  return (row) => isKind(row) || isNamed(row)
}

function idPrefixOf(text: string): string | null {
  const digits = text.toLowerCase()
  return digits.length >= ID_PREFIX_MIN && /^[0-9a-f]+$/.test(digits) ? digits : null
}

function idEndOf(text: string): string | null {
  const digits = text.toLowerCase()
  return digits.length >= SHORT_ID_LENGTH && /^[0-9a-f]+$/.test(digits) ? digits : null
}

const endOfPrefix = (text: string) => `${text}\u{10ffff}`

const foldCase = (text: string) => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase())

function fits(filter: JobFilter, more: (row: NamedRow) => boolean = () => true): (row: NamedRow) => boolean {
  const { project, spider, nodeId, sinceMs, onlyProjects } = filter
  const isStatus = hasStatus(filter)
  return (row) =>
    isStatus(row) &&
    matchesGlob(project ?? null, row.project) &&
    matchesGlob(spider ?? null, row.spider) &&
    (nodeId === undefined || nodeId === row.nodeId) &&
    (onlyProjects === undefined || onlyProjects.includes(row.project)) &&
    (sinceMs === undefined || row.queued_at_ms >= sinceMs) &&
    more(row)
}

const isUnknownAsked = ({ status }: JobFilter): boolean => status?.includes(UNKNOWN_STATUS) === true

function isUnknownOn({ unreachableNodes }: JobFilter): (kind: Kind) => boolean {
  const unreachable = new Set(unreachableNodes)
  return ({ status, nodeId }) => unreachable.has(nodeId) && ON_NODE_STATUSES.includes(status)
}

function hasStatus(filter: JobFilter): (kind: Kind) => boolean {
  const { status = [] } = filter
  const isUnknown = isUnknownAsked(filter) ? isUnknownOn(filter) : () => false
  return (kind) => status.length === 0 || status.some((one) => one === kind.status) || isUnknown(kind)
}

function literalsOf(statuses: Iterable<JobStatus>): string {
  return [...statuses].map((status) => `'${status}'`).join(', ')
}

/**
 * Returns the columns of an index. An index with a computed column such as `status` would never be a covering index.
 * countKindsOnNodes does the same in SQL.
 */
function columnsOf(status: string): [state: string, outcome: string | null] {
  return LIVE_JOB_STATES.has(status) ? [status, null] : ['ended', status]
}

const nameOf = ({ project, spider, status }: Kind) => `${project}\0${spider}\0${status}`
const keyOf = (kind: Kind) => `${nameOf(kind)}\0${kind.nodeId}`

const timeOf = (id: string) => Number.parseInt(id.slice(0, 12), 16)

/** The lowest id that a job created at this time or later can have. */
function idAt(timeMs: number): string {
  const whole = Math.min(Math.max(0, Math.floor(timeMs)), 2 ** 48 - 1)
  return whole.toString(16).padStart(12, '0')
}

const edgeNear = (id: string) => stretchOf(idAt(timeOf(id) + STRETCH_MS / 2))
