import type { Columns, Database, ManySql } from './database.ts'
import type { Fragments } from './fragments.ts'
import type { JobId, NodeId, ProjectName } from '../../../shared/contract/index.ts'
import type { ChangeLog } from './change-log.ts'
import type { Timeline } from './timeline.ts'

export const countersSql = (sql: Fragments) => ({
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
    ON CONFLICT (${sql.laneKey('lane')}) DO UPDATE SET depth = queue_lanes.depth + excluded.depth`,
  dropLane: `DELETE FROM queue_lanes
    WHERE ${sql.laneKey('queue_lanes.lane')} = ${sql.laneKey('?')} AND depth = 0`
})

const KIND: Columns = { project: 'TEXT', spider: 'TEXT', status: 'TEXT', node_id: 'TEXT' }
/** The same for many at once, on PostgreSQL. */
export const COUNTERS_MANY = {
  kinds: addOrDrop('job_counts', KIND),
  ended: addOrDrop('ended_counts', { from_id: 'TEXT', ...KIND }),
  endedOf: addOrDrop('ended_jobs', { project: 'TEXT', spider: 'TEXT' }),
  states: {
    sql: 'UPDATE state_counts SET count = state_counts.count + given.count FROM given WHERE state_counts.state = given.state',
    given: { state: 'TEXT', count: 'INTEGER' }
  },
  lanes: {
    sql: `INSERT INTO queue_lanes SELECT lane, depth FROM given
      ON CONFLICT (scrapdeck_digest(lane)) DO UPDATE SET depth = queue_lanes.depth + excluded.depth`,
    given: { lane: 'TEXT', depth: 'INTEGER' }
  },
  dropLanes: {
    sql: `DELETE FROM queue_lanes USING given
      WHERE depth = 0 AND scrapdeck_digest(queue_lanes.lane) = scrapdeck_digest(given.left_by)`,
    given: { left_by: 'TEXT' }
  }
} satisfies Record<string, ManySql>

/** Adds a difference to each row of this key; a row that would be 0 goes. */
function addOrDrop(table: string, key: Columns): ManySql {
  const names = Object.keys(key).join(', ')
  return {
    // Not as a join with those dropped, which would compare each with each.
    with: `dropped AS (DELETE FROM ${table} WHERE (${names}, count) IN (SELECT ${names}, -count FROM given)
      RETURNING ${names})`,
    sql: `INSERT INTO ${table} SELECT ${names}, count FROM given
      WHERE (${names}) NOT IN (SELECT ${names} FROM dropped)
      ON CONFLICT (${names}) DO UPDATE SET count = ${table}.count + excluded.count`,
    given: { ...key, count: 'INTEGER' }
  }
}

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
  const statements = countersSql(database.fragments)
  const addToState = database.prepare<[number, string]>('UPDATE state_counts SET count = count + ? WHERE state = ?')
  const addToKind = database.prepare<[string, string, string, string, number]>(statements.kind)
  const dropKind = database.prepare<[string, string, string, string, number]>(statements.dropKind)
  const addToEnded = database.prepare<[string, string, string, string, string, number]>(statements.ended)
  const addToEndedOf = database.prepare<[string, string, number]>(statements.endedOf)
  const dropEndedOf = database.prepare<[string, string, number]>(statements.dropEndedOf)
  const dropEnded = database.prepare<[string, string, string, string, string, number]>(statements.dropEnded)
  const addToLane = database.prepare<[string, number]>(statements.lane)
  const dropLane = database.prepare<[string]>(statements.dropLane)
  const addToKinds = database.prepareMany?.(COUNTERS_MANY.kinds)
  const addToAllEnded = database.prepareMany?.(COUNTERS_MANY.ended)
  const addToAllEndedOf = database.prepareMany?.(COUNTERS_MANY.endedOf)
  const addToStates = database.prepareMany?.(COUNTERS_MANY.states)
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

  function writeEnded(): void {
    const of: Differences = new Map()
    const all: EndedCells[] = []
    for (const { row, difference } of ended.values()) {
      if (difference === 0) continue
      const { id, project, spider, status, node_id } = row
      change(of, `${project}\0${spider}`, row, difference)
      all.push([stretchOf(id), project, spider, status, node_id ?? '', difference])
    }
    const allOf = [...of.values()]
      .filter(({ difference }) => difference !== 0)
      .map(({ row: { project, spider }, difference }) => [project, spider, difference] as const)
    if (addToAllEnded !== undefined && addToAllEndedOf !== undefined) {
      addToAllEnded(all)
      addToAllEndedOf(allOf.map((cells) => [...cells]))
      return
    }
    for (const [from, project, spider, status, nodeId, difference] of all) {
      const key = [from, project, spider, status, nodeId] as const
      if (difference > 0 || dropEnded.run(...key, -difference).changes === 0) addToEnded.run(...key, difference)
    }
    for (const [project, spider, difference] of allOf) {
      const isLast = difference < 0 && dropEndedOf.run(project, spider, -difference).changes > 0
      if (!isLast) addToEndedOf.run(project, spider, difference)
    }
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
      writeEnded()
      const moved = [...states].filter(([, difference]) => difference !== 0)
      if (addToStates === undefined) for (const [state, difference] of moved) addToState.run(difference, state)
      else addToStates(moved)
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
type EndedCells = [from: string, ...KindCells]
type Differences = Map<string, { row: CountedRow; difference: number }>

function change(differences: Differences, key: string, row: CountedRow, amount: number): void {
  const one = differences.get(key)
  if (one === undefined) differences.set(key, { row, difference: amount })
  else one.difference += amount
}

function increase(counts: Map<string, number>, key: string, amount: number): void {
  counts.set(key, (counts.get(key) ?? 0) + amount)
}

/** The dependencies of every writer of jobs: each change goes to the change log, the timeline and the counters. */
export interface JobWriting {
  database: Database
  changes: ChangeLog
  timeline: Timeline
  counters: Counters
}
