import type { Database } from 'better-sqlite3'
import type { ChangedThing } from '../records.ts'

export type ChangeLog = ReturnType<typeof createChangeLog>

/** A write that touches more jobs than this is logged as one entry: nobody looks at so many one by one. */
const JOBS_TOLD_ONE_BY_ONE_MAX = 200

/**
 * The log of what changed: positions ascend, and each is written in the transaction of the change itself. Jobs and
 * lanes are gathered during a write; `flush` ends it, `discard` forgets those of a write that failed.
 */
export function createChangeLog(database: Database) {
  const insert = database.prepare<[string, string]>('INSERT INTO changes (noun, id) VALUES (?, ?)')
  const newest = database.prepare<[], number>("SELECT seq FROM sqlite_sequence WHERE name = 'changes'").pluck()
  const oldest = database.prepare<[], number | null>('SELECT min(position) FROM changes').pluck()
  const after = database.prepare<[number], ChangedThing>(
    'SELECT position AS cursor, noun, id FROM changes WHERE position > ? ORDER BY position'
  )
  const prune = database.prepare<[number, number]>(
    'DELETE FROM changes WHERE position IN (SELECT position FROM changes WHERE position <= ? ORDER BY position LIMIT ?)'
  )
  const jobs = new Set<string>()
  const lanes = new Set<string>()
  let lanesToTell = new Set<string>()

  function cursor(): number {
    return newest.get() ?? 0
  }

  return {
    cursor,

    add(noun: Exclude<ChangedThing['noun'], 'job' | 'jobs'>, id: string): void {
      insert.run(noun, id)
    },

    job(id: string): void {
      // One more than are told one by one says already that there are too many.
      if (jobs.size <= JOBS_TOLD_ONE_BY_ONE_MAX) jobs.add(id)
    },

    /** Jobs came into this lane, left it, or changed their order there. */
    lane(lane: string): void {
      lanes.add(lane)
    },

    allJobs(): void {
      insert.run('jobs', '')
    },

    flush(): void {
      if (jobs.size > JOBS_TOLD_ONE_BY_ONE_MAX) insert.run('jobs', '')
      else for (const id of jobs) insert.run('job', id)
      for (const lane of lanes) lanesToTell.add(lane)
      jobs.clear()
      lanes.clear()
    },

    discard(): void {
      jobs.clear()
      lanes.clear()
    },

    /** The lanes of all flushed writes since the last call. */
    drainLanes(): string[] {
      const taken = [...lanesToTell]
      lanesToTell = new Set()
      return taken
    },

    list(position: number, limit: number): { changes: ChangedThing[]; cursor: number; reset: boolean } {
      const end = cursor()
      const firstKept = oldest.get() ?? end + 1
      // Ahead of the end: a position of other data (a backup was put back). Both ways the reader has missed something.
      if (position > end || position < firstKept - 1) return { changes: [], cursor: end, reset: true }
      const newestOf = new Map<string, ChangedThing>()
      let reached = position
      for (const change of after.iterate(position)) {
        const key = `${change.noun} ${change.id}`
        if (!newestOf.has(key) && newestOf.size === limit) break
        // Taken out and put in again, so that the map stays in the order of positions.
        newestOf.delete(key)
        newestOf.set(key, change)
        reached = change.cursor
      }
      return { changes: [...newestOf.values()], cursor: reached, reset: false }
    },

    /** The oldest first: those that are left are without a gap. */
    prune: (keep: number, limit: number): number => prune.run(cursor() - keep, limit).changes
  }
}
