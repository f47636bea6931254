import type { Database } from './database.ts'
import type { ChangedThing } from '../../model/records.ts'
import { insertMany } from './table.ts'

export type ChangeLog = ReturnType<typeof createChangeLog>

/**
 * The maximum number of jobs that a write logs individually. A write with more jobs logs a single entry, because no
 * reader would handle the jobs one by one.
 */
const JOBS_LOGGED_ONE_BY_ONE_MAX = 200

/**
 * Each change gets a higher position than all changes before it and is logged in the transaction that makes it. `flush`
 * writes the jobs and lanes that a write has collected; `discard` drops those of a failed write.
 */
export function createChangeLog(database: Database) {
  const sql = database.fragments
  const insert = database.prepare<[string, string]>('INSERT INTO changes (noun, id) VALUES (?, ?)')
  const insertAll = database.prepareMany(insertMany('changes', { noun: 'TEXT', id: 'TEXT' }))
  const newest = database.prepare<[], number>(sql.lastChange).pluck()
  const oldest = database.prepare<[], number | null>('SELECT min(position) FROM changes').pluck()
  const after = database.prepare<[number], ChangedThing>(
    'SELECT position AS cursor, noun, id FROM changes WHERE position > ? ORDER BY position'
  )
  const prune = database.prepare<[number, number]>(
    `DELETE FROM changes WHERE position ${sql.oneOf('SELECT position FROM changes WHERE position <= ? ORDER BY position LIMIT ?')}`
  )
  const jobs = new Set<string>()
  const lanes = new Set<string>()
  let lanesToAnnounce = new Set<string>()
  let askedCursor: (() => number | undefined) | null = null

  function changeCursor(): number {
    return newest.get() ?? 0
  }

  return {
    changeCursor,

    add(noun: Exclude<ChangedThing['noun'], 'job' | 'jobs'>, id: string): void {
      insert.run(noun, id)
    },

    job(id: string): void {
      if (jobs.size <= JOBS_LOGGED_ONE_BY_ONE_MAX) jobs.add(id)
    },

    lane(lane: string): void {
      lanes.add(lane)
    },

    allJobs(): void {
      insert.run('jobs', '')
    },

    /**
     * Writes the collected changes. The returned function announces the lanes; call it after the write has taken
     * effect.
     */
    flush(): () => void {
      if (jobs.size > JOBS_LOGGED_ONE_BY_ONE_MAX) insert.run('jobs', '')
      else insertAll([...jobs].map((id) => ['job', id]))
      jobs.clear()
      return () => {
        for (const lane of lanes) lanesToAnnounce.add(lane)
        lanes.clear()
      }
    },

    /** Requests the position after this write for `cursorAsked`, without a separate round trip. */
    askCursor(): void {
      askedCursor = newest.ahead()
    },
    cursorAsked: (): number => askedCursor?.() ?? 0,

    discard(): void {
      jobs.clear()
      lanes.clear()
    },

    drainLanes(): string[] {
      const taken = [...lanesToAnnounce]
      lanesToAnnounce = new Set()
      return taken
    },

    listChanges(position: number, limit: number): { changes: ChangedThing[]; cursor: number; reset: boolean } {
      const end = changeCursor()
      const firstKept = oldest.get() ?? end + 1
      // The position is too old or from other data (a restored backup), so the reader has missed changes.
      if (position > end || position < firstKept - 1) return { changes: [], cursor: end, reset: true }
      const newestOf = new Map<string, ChangedThing>()
      let reached = position
      for (const change of after.iterate(position)) {
        const key = `${change.noun} ${change.id}`
        if (!newestOf.has(key) && newestOf.size === limit) break
        // Delete and reinsert the entry, so that the map stays in the order of positions.
        newestOf.delete(key)
        newestOf.set(key, change)
        reached = change.cursor
      }
      return { changes: [...newestOf.values()], cursor: reached, reset: false }
    },

    /** Prunes only the oldest entries, so that the remaining entries have no gap. */
    prune: (keep: number, limit: number): number => prune.run(changeCursor() - keep, limit).changes
  }
}
