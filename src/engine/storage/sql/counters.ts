import type { Cell, Columns, Database, ManySql } from './database.ts'
import type { Fragments } from './fragments.ts'
import type { JobId, NodeId, ProjectName } from '../../../shared/contract/index.ts'
import type { ChangeLog } from './change-log.ts'
import { insertMany } from './table.ts'
import type { Timeline } from './timeline.ts'

const KIND: Columns = { project: 'TEXT', spider: 'TEXT', status: 'TEXT', node_id: 'TEXT' }

export const countersMany = (sql: Fragments) =>
  ({
    kinds: addOrDrop('job_counts', KIND),
    ended: addOrDrop('ended_counts', { from_id: 'TEXT', ...KIND }),
    endedOf: addOrDrop('ended_jobs', { project: 'TEXT', spider: 'TEXT' }),
    states: {
      sql: 'UPDATE state_counts SET count = state_counts.count + given.count FROM given WHERE state_counts.state = given.state',
      each: 'UPDATE state_counts SET count = count + ? WHERE state = ?',
      given: { count: 'INTEGER', state: 'TEXT' }
    },
    lanes: insertMany(
      'queue_lanes',
      { lane: 'TEXT', depth: 'INTEGER' },
      `ON CONFLICT (${sql.laneKey('lane')}) DO UPDATE SET depth = queue_lanes.depth + excluded.depth`
    ),
    dropLanes: {
      sql: `DELETE FROM queue_lanes USING given
      WHERE depth = 0 AND ${sql.laneKey('queue_lanes.lane')} = ${sql.laneKey('given.left_by')}`,
      each: 'DELETE FROM queue_lanes WHERE lane = ? AND depth = 0',
      given: { left_by: 'TEXT' }
    }
  }) satisfies Record<string, ManySql>

/**
 * Adds to counts and deletes rows that reach 0. Rows often reach 0, because a spider on a node has few jobs per
 * state.
 */
function addOrDrop(table: string, key: Columns) {
  const names = Object.keys(key).join(', ')
  const conflict = `ON CONFLICT (${names}) DO UPDATE SET count = ${table}.count + excluded.count`
  const isKey = Object.keys(key).map((name) => `${name} = ?`)
  return {
    // A join with the deleted rows would compare every row with every other.
    with: `dropped AS (DELETE FROM ${table} WHERE (${names}, count) IN (SELECT ${names}, -count FROM given)
      RETURNING ${names})`,
    sql: `INSERT INTO ${table} SELECT ${names}, count FROM given
      WHERE (${names}) NOT IN (SELECT ${names} FROM dropped) ${conflict}`,
    each: [
      `DELETE FROM ${table} WHERE ${isKey.join(' AND ')} AND count = -?`,
      `INSERT INTO ${table} VALUES (${Object.keys(key).map(() => '?')}, ?) ${conflict}`
    ],
    given: { ...key, count: 'INTEGER' }
  } satisfies ManySql
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
 * Every writer of a job passes the job's counted fields before and after. `flush` writes the summed differences in the
 * transaction. The conformance suite recounts after every test, to catch a writer that omits this.
 */
export function createCounters(database: Database, changes: ChangeLog) {
  const many = countersMany(database.fragments)
  const addToKinds = database.prepareMany(many.kinds)
  const addToEnded = database.prepareMany(many.ended)
  const addToEndedOf = database.prepareMany(many.endedOf)
  const addToStates = database.prepareMany(many.states)
  const addToLanes = database.prepareMany(many.lanes)
  const dropLanes = database.prepareMany(many.dropLanes)
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

  function writeEnded(): void {
    const of: Differences = new Map()
    const all: Cell[][] = []
    for (const { row, difference } of ended.values()) {
      if (difference === 0) continue
      const { id, project, spider, status, node_id } = row
      change(of, `${project}\0${spider}`, row, difference)
      all.push([stretchOf(id), project, spider, status, node_id ?? '', difference])
    }
    addToEnded(all)
    const moved = [...of.values()].filter(({ difference }) => difference !== 0)
    addToEndedOf(moved.map(({ row: { project, spider }, difference }) => [project, spider, difference]))
  }

  return {
    discard,

    /** `notify: false`: the queue's listeners already know about the change. */
    moved(before: CountedRow | null, after: CountedRow | null, { notify = true } = {}): void {
      if (before !== null) add(before, -1, notify)
      if (after !== null) add(after, 1, notify)
    },

    flush(): void {
      const states = new Map<string, number>()
      const moved: Cell[][] = []
      for (const { row, difference } of kinds.values()) {
        if (difference === 0) continue
        const { project, spider, status } = row
        moved.push([project, spider, status, row.node_id ?? '', difference])
        increase(states, LIVE_JOB_STATES.has(status) ? status : 'ended', difference)
      }
      addToKinds(moved)
      writeEnded()
      const changed = [...states].filter(([, difference]) => difference !== 0)
      addToStates(changed.map(([state, difference]) => [difference, state]))
      const changedLanes = [...lanes].filter(([, difference]) => difference !== 0)
      addToLanes(changedLanes)
      dropLanes(changedLanes.filter(([, difference]) => difference < 0).map(([lane]) => [lane]))
      discard()
    }
  }
}

/** The states of jobs that have not ended. Each is also a status. */
export const LIVE_JOB_STATES: ReadonlySet<string> = new Set(['queued', 'starting', 'running'])

/** Ended jobs are counted per stretch of time, according to their ids. A stretch is about 37 hours long. */
export const STRETCH_MS = 2 ** 27

export function stretchOf(id: string): string {
  return `${id.slice(0, 5)}${id.charAt(5) < '8' ? '0' : '8'}`
}

type Differences = Map<string, { row: CountedRow; difference: number }>

function change(differences: Differences, key: string, row: CountedRow, amount: number): void {
  const one = differences.get(key)
  if (one === undefined) differences.set(key, { row, difference: amount })
  else one.difference += amount
}

function increase(counts: Map<string, number>, key: string, amount: number): void {
  counts.set(key, (counts.get(key) ?? 0) + amount)
}

/** What every writer of jobs needs: each change is added to the change log, the timeline and the counters. */
export interface JobWriting {
  database: Database
  changes: ChangeLog
  timeline: Timeline
  counters: Counters
}
