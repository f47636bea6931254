import type { Columns, Database, ManySql } from './database.ts'
import type { JobId, NodeId, ProjectName } from '../../../shared/contract/index.ts'
import type { ChangeLog } from './change-log.ts'

export const COUNTERS_SQL = {
  kind: `INSERT INTO job_counts VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (project, spider, status, node_id) DO UPDATE SET count = job_counts.count + excluded.count`,
  dropKind: 'DELETE FROM job_counts WHERE project = ? AND spider = ? AND status = ? AND node_id = ? AND count = ?',
  endedOf: `INSERT INTO ended_jobs VALUES (?, ?, ?)
    ON CONFLICT (project, spider) DO UPDATE SET count = ended_jobs.count + excluded.count`,
  dropEndedOf: 'DELETE FROM ended_jobs WHERE project = ? AND spider = ? AND count = ?',
  ended: `INSERT INTO ended_counts VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (from_id, project, spider, status, node_id) DO UPDATE SET count = ended_counts.count + excluded.count`,
  dropEnded: `DELETE FROM ended_counts WHERE from_id = ? AND project = ? AND spider = ? AND status = ? AND node_id = ?
    AND count = ?`,
  lane: `INSERT INTO queue_lanes VALUES (?, ?)
    ON CONFLICT (lane) DO UPDATE SET depth = queue_lanes.depth + excluded.depth`
}

const KIND: Columns = { project: 'TEXT', spider: 'TEXT', status: 'TEXT', node_id: 'TEXT', count: 'INTEGER' }
/** The same for many at once. */
export const COUNTERS_MANY = {
  // Not as a join with those dropped, which would compare each with each.
  kinds: {
    with: `dropped AS (DELETE FROM job_counts WHERE (project, spider, status, node_id, count) IN (
        SELECT project, spider, status, node_id, -count FROM given)
      RETURNING project, spider, status, node_id)`,
    sql: `INSERT INTO job_counts SELECT project, spider, status, node_id, count FROM given
      WHERE (project, spider, status, node_id) NOT IN (SELECT project, spider, status, node_id FROM dropped)
      ON CONFLICT (project, spider, status, node_id) DO UPDATE SET count = job_counts.count + excluded.count`,
    given: KIND
  },
  lanes: {
    sql: `INSERT INTO queue_lanes SELECT lane, depth FROM given
      ON CONFLICT (lane) DO UPDATE SET depth = queue_lanes.depth + excluded.depth`,
    given: { lane: 'TEXT', depth: 'INTEGER' }
  },
  dropLanes: {
    sql: 'DELETE FROM queue_lanes USING given WHERE depth = 0 AND lane = given.left_by',
    given: { left_by: 'TEXT' }
  }
} satisfies Record<string, ManySql>

export interface CountedRow {
  id: JobId
  project: ProjectName
  spider: string
  status: string
  node_id: NodeId | null
  hold: string | null
  lane: string
}

export type Counters = ReturnType<typeof createCounters>

/**
 * Counts jobs by state, by kind and by lane; ended ones also by kind and stretch of time. Every writer of a job passes
 * its counted fields before and after; the differences are accumulated, and `flush` writes them in the transaction. The
 * conformance suite recounts after every test, which detects a writer that forgets this.
 */
export function createCounters(database: Database, changes: ChangeLog) {
  const addToState = database.prepare<[number, string]>('UPDATE state_counts SET count = count + ? WHERE state = ?')
  const addToKind = database.prepare<[string, string, string, string, number]>(COUNTERS_SQL.kind)
  const dropKind = database.prepare<[string, string, string, string, number]>(COUNTERS_SQL.dropKind)
  const addToEnded = database.prepare<[string, string, string, string, string, number]>(COUNTERS_SQL.ended)
  const addToEndedOf = database.prepare<[string, string, number]>(COUNTERS_SQL.endedOf)
  const dropEndedOf = database.prepare<[string, string, number]>(COUNTERS_SQL.dropEndedOf)
  const dropEnded = database.prepare<[string, string, string, string, string, number]>(COUNTERS_SQL.dropEnded)
  const addToLane = database.prepare<[string, number]>(COUNTERS_SQL.lane)
  const dropLane = database.prepare<[string]>('DELETE FROM queue_lanes WHERE lane = ? AND depth = 0')
  const addToKinds = database.prepareMany?.(COUNTERS_MANY.kinds)
  const addToLanes = database.prepareMany?.(COUNTERS_MANY.lanes)
  const dropLanes = database.prepareMany?.(COUNTERS_MANY.dropLanes)
  const kinds: Differences = new Map()
  const ended: Differences = new Map()
  const lanes = new Map<string, number>()

  function add(row: CountedRow, amount: 1 | -1, notify: boolean): void {
    const key = `${row.project}\0${row.spider}\0${row.status}\0${row.node_id ?? ''}`
    change(kinds, key, row, amount)
    if (!LIVE_JOB_STATES.has(row.status)) change(ended, `${stretchOf(row.id)}\0${key}`, row, amount)
    if (row.status !== 'queued' || row.hold !== null) return
    increase(lanes, row.lane, amount)
    if (notify) changes.lane(row.lane)
  }

  function discard(): void {
    kinds.clear()
    ended.clear()
    lanes.clear()
  }

  /** Often the last job of a kind leaves (a spider on a node has few jobs per state): its row goes in one statement. */
  function writeKinds(added: KindCells[], left: KindCells[]): void {
    if (addToKinds !== undefined) return void addToKinds([...added, ...left])
    for (const cells of added) addToKind.run(...cells)
    for (const [project, spider, status, nodeId, difference] of left)
      if (dropKind.run(project, spider, status, nodeId, -difference).changes === 0)
        addToKind.run(project, spider, status, nodeId, difference)
  }

  function writeLanes(differences: [lane: string, difference: number][]): void {
    const maybeEmpty = differences.filter(([, difference]) => difference < 0)
    if (addToLanes === undefined || dropLanes === undefined) {
      for (const [lane, difference] of differences) addToLane.run(lane, difference)
      for (const [lane] of maybeEmpty) dropLane.run(lane)
    } else {
      addToLanes(differences)
      dropLanes(maybeEmpty.map(([lane]) => [lane]))
    }
  }

  return {
    discard,

    /** `notify: false`: the listeners of the queue already know. */
    moved(before: CountedRow | null, after: CountedRow | null, { notify = true } = {}): void {
      if (before !== null) add(before, -1, notify)
      if (after !== null) add(after, 1, notify)
    },

    flush(): void {
      const states = new Map<string, number>()
      const added: KindCells[] = []
      const left: KindCells[] = []
      for (const { row, difference } of kinds.values()) {
        if (difference === 0) continue
        const { project, spider, status } = row
        ;(difference > 0 ? added : left).push([project, spider, status, row.node_id ?? '', difference])
        increase(states, LIVE_JOB_STATES.has(status) ? status : 'ended', difference)
      }
      writeKinds(added, left)
      const endedOf: Differences = new Map()
      for (const { row, difference } of ended.values()) {
        if (difference === 0) continue
        const { id, project, spider, status, node_id } = row
        change(endedOf, `${project}\0${spider}`, row, difference)
        const key = [stretchOf(id), project, spider, status, node_id ?? ''] as const
        if (difference > 0 || dropEnded.run(...key, -difference).changes === 0) addToEnded.run(...key, difference)
      }
      for (const { row, difference } of endedOf.values()) {
        if (difference === 0) continue
        const isLast = difference < 0 && dropEndedOf.run(row.project, row.spider, -difference).changes > 0
        if (!isLast) addToEndedOf.run(row.project, row.spider, difference)
      }
      for (const [state, difference] of states) if (difference !== 0) addToState.run(difference, state)
      writeLanes([...lanes].filter(([, difference]) => difference !== 0))
      discard()
    }
  }
}

/** Live jobs: these values are both states and statuses. */
export const LIVE_JOB_STATES: ReadonlySet<string> = new Set(['queued', 'starting', 'running'])

/** Ended jobs are counted by stretches of so long, somewhat more than a day, of the times in their ids. */
export const STRETCH_MS = 2 ** 27

/** The lowest id of the stretch that the job is in: all after its first digits is left out. */
export function stretchOf(id: string): string {
  return `${id.slice(0, 5)}${id.charAt(5) < '8' ? '0' : '8'}`
}

type KindCells = [project: string, spider: string, status: string, nodeId: string, difference: number]
type Differences = Map<string, { row: CountedRow; difference: number }>

function change(differences: Differences, key: string, row: CountedRow, amount: number): void {
  const one = differences.get(key)
  if (one === undefined) differences.set(key, { row, difference: amount })
  else one.difference += amount
}

function increase(counts: Map<string, number>, key: string, amount: number): void {
  counts.set(key, (counts.get(key) ?? 0) + amount)
}
