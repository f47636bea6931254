import type { JobId, Placement, QueuePlace, VersionName } from '../../../shared/contract/index.ts'
import { holdOf, overlapKey } from '../../model/holds.ts'
import { nextAfterPlacement } from '../../model/timeline.ts'
import { laneText } from '../../model/lane.ts'
import type { TimelineEntry } from '../../model/attempt-change.ts'
import { COUNTED, type Holds } from './holds.ts'
import type { CountedRow, JobWriting } from './counters.ts'
import type { Fragments } from './fragments.ts'
import type { NewJob } from '../../model/records.ts'
import { PUT_DEDUPE_KEY } from './table.ts'

export const orderSql = (sql: Fragments) => ({
  /** The highest rank below `:rank` with this priority. Searches held jobs in an index, and other jobs lane by lane. */
  before: `SELECT max(rank) FROM (
      SELECT max(rank) AS rank FROM jobs
        WHERE state = 'queued' AND hold IS NOT NULL AND priority = :priority AND rank < :rank
      UNION ALL SELECT (SELECT max(rank) FROM jobs
        WHERE state = 'queued' AND hold IS NULL AND ${sql.sameLane('lane', 'queue_lanes.lane')} AND priority = :priority AND rank < :rank) AS rank
        FROM queue_lanes) AS ranks`
})

interface QueuedRow extends CountedRow {
  version: VersionName | null
  priority: number
  rank: number
  overlap_key: string | null
  dedupe_key: string | null
  attempt_count: number
}

export type Order = ReturnType<typeof createOrder>

interface Dependencies extends JobWriting {
  holds: Pick<Holds, 'freeOverlap' | 'isOverlapLive'>
}

/**
 * Ranks are fractions, so that another rank nearly always fits between two ranks. At either end, ranks continue from
 * the last rank issued (`queue_ends`), so none is issued twice.
 */
export function createOrder({ database, changes, timeline, counters, holds }: Dependencies) {
  const queued = database.prepare<[string], QueuedRow>(
    `SELECT version, priority, rank, overlap_key, dedupe_key, attempt_count, ${COUNTED} FROM jobs WHERE id = ? AND state = 'queued'`
  )
  const moveBack = database.prepare<[number], number>('UPDATE queue_ends SET back = back + ? RETURNING back').pluck()
  const moveFront = database
    .prepare<[number], number>('UPDATE queue_ends SET front = front - ? RETURNING front')
    .pluck()
  const rankBefore = database
    .prepare<{ priority: number; rank: number }, number | null>(orderSql(database.fragments).before)
    .pluck()
  const setPriority = database.prepare<[number, string]>('UPDATE jobs SET priority = ? WHERE id = ?')
  const setRank = database.prepare<[number, string]>('UPDATE jobs SET rank = ? WHERE id = ?')
  const setPlacement = database.prepare<[string | null, string, string, string]>(
    'UPDATE jobs SET placement_node_id = ?, placement_tags = ?, lane = ? WHERE id = ?'
  )
  const setContent = database.prepare<unknown[]>(
    `UPDATE jobs SET settings = ?, args = ?, env = ?, secret_names = ?, not_before_ms = ?, overlap_key = ?,
       dedupe_key = ?, hold = ? WHERE id = ?`
  )
  const forgetKey = database.prepare<[string | null, string]>('DELETE FROM dedupe_keys WHERE key = ? AND job_id = ?')
  const putKey = database.prepare<[string, string, number]>(PUT_DEDUPE_KEY)
  const countOf = database.prepare<[number], number>(
    "SELECT count(*) FROM jobs WHERE state = 'queued' AND priority = ?"
  )
  const lanes = database.prepare<[], string>('SELECT lane FROM queue_lanes').pluck()
  const renumber = database.prepare<{ priority: number; start: number }>(
    `UPDATE jobs SET rank = :start + numbered.number FROM (
       SELECT id, row_number() OVER (ORDER BY rank, id) AS number FROM jobs
       WHERE state = 'queued' AND priority = :priority) AS numbered
     WHERE jobs.id = numbered.id`
  )

  function queuedRows(ids: JobId[]): QueuedRow[] {
    return [...new Set(ids)].map((id) => queued.get(id)).filter((row) => row !== undefined)
  }

  function recordChange(row: QueuedRow, entry: TimelineEntry): void {
    timeline.add(row.id, null, 'changed', entry)
    changes.job(row.id)
    if (row.hold === null) changes.lane(row.lane)
  }

  function ranksAtBack(count: number): number {
    return (moveBack.get(count) as number) - count
  }

  function moveBefore(rows: QueuedRow[], before: QueuedRow): void {
    // Move the jobs out of the way first, so that none of them becomes its own neighbour.
    let aside = ranksAtBack(rows.length)
    for (const row of rows) {
      aside += 1
      setRank.run(aside, row.id)
      if (row.priority !== before.priority) setPriority.run(before.priority, row.id)
    }
    const ranks = ranksBetween(before, rows.length) ?? ranksAfterRenumbering(before, rows.length)
    rows.forEach((row, index) => setRank.run(ranks[index]!, row.id))
  }

  function ranksBetween({ priority, rank }: QueuedRow, count: number): number[] | null {
    const lowest = rankBefore.get({ priority, rank }) ?? rank - count - 1
    const ranks = Array.from({ length: count }, (_, index) => lowest + ((rank - lowest) * (index + 1)) / (count + 1))
    const isAscending = [lowest, ...ranks, rank].every((each, index, all) => index === 0 || each > all[index - 1]!)
    return isAscending ? ranks : null
  }

  /** Renumbers all jobs with this priority with gaps, because no number is left between two neighbours. */
  function ranksAfterRenumbering({ id, priority }: QueuedRow, count: number): number[] {
    const number = countOf.pluck().get(priority) as number
    renumber.run({ priority, start: ranksAtBack(number) })
    changes.allJobs()
    // Otherwise, caches of these lanes' first jobs would compare old ranks with new ones.
    for (const lane of lanes.all()) changes.lane(lane)
    return ranksBetween(queued.get(id) as QueuedRow, count)!
  }

  return {
    ranksAtBack,

    setPriority(ids: JobId[], priority: number, entry: TimelineEntry): JobId[] {
      const rows = queuedRows(ids)
      for (const row of rows) {
        if (row.priority === priority) continue
        setPriority.run(priority, row.id)
        recordChange(row, entry)
      }
      return rows.map(({ id }) => id)
    },

    reorder(ids: JobId[], to: QueuePlace, entry: TimelineEntry): JobId[] {
      const rows = queuedRows(ids)
      if (typeof to === 'object') {
        const before = queued.get(to.before)
        if (before === undefined) return []
        const { priority } = before
        const moved = rows.filter(({ id }) => id !== to.before)
        moveBefore(moved, before)
        const prioritised = { ...entry, evidence: { ...entry.evidence, priority } }
        for (const row of moved) recordChange(row, row.priority === priority ? entry : prioritised)
      } else {
        let rank = to === 'back' ? ranksAtBack(rows.length) : (moveFront.get(rows.length) as number) - 1
        for (const row of rows) {
          rank += 1
          setRank.run(rank, row.id)
          recordChange(row, entry)
        }
      }
      return rows.map(({ id }) => id)
    },

    changeQueued(job: NewJob): JobId[] {
      const [row] = queuedRows([job.id])
      if (row === undefined || row.attempt_count > 0) return []
      const { id, notBeforeMs, dedupe, entry } = job
      const key = job.noOverlap ? overlapKey(job) : null
      const hold = holdOf({ notBeforeMs, overlapKey: key, attemptCount: 0 }, 'met', entry.atMs, holds.isOverlapLive)
      const texts = [job.settings, job.args, job.env, job.secretNames].map((value) => JSON.stringify(value))
      setContent.run(...texts, notBeforeMs, key, dedupe?.key ?? null, hold, id)
      forgetKey.run(row.dedupe_key, id)
      if (dedupe !== null) putKey.run(dedupe.key, id, dedupe.expiresAtMs)
      recordChange({ ...row, hold }, entry)
      counters.moved(row, { ...row, hold })
      if (row.overlap_key !== null && row.hold === null)
        holds.freeOverlap(row.overlap_key, nextAfterPlacement(entry.atMs))
      return [id]
    },

    placeQueued(ids: JobId[], placement: Placement, entry: TimelineEntry): JobId[] {
      const rows = queuedRows(ids)
      for (const row of rows) {
        const lane = laneText({ ...row, placement })
        setPlacement.run(placement.nodeId, JSON.stringify(placement.tags), lane, row.id)
        recordChange(row, entry)
        counters.moved(row, { ...row, lane })
      }
      // A lane has one released job per overlap key, but a move can leave a lane without one or bring a second one
      // into it.
      for (const key of new Set(rows.map(({ overlap_key }) => overlap_key))) {
        if (key !== null) holds.freeOverlap(key, nextAfterPlacement(entry.atMs))
      }
      return rows.map(({ id }) => id)
    }
  }
}
