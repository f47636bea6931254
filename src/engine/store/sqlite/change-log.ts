import type { Database } from 'better-sqlite3'
import type { ChangedThing } from '../store.ts'

export type ChangeLog = ReturnType<typeof createChangeLog>

/** The log of what changed: positions ascend, and each is written in the transaction of the change itself. */
export function createChangeLog(database: Database) {
  const insert = database.prepare<[string, string]>('INSERT INTO changes (noun, id) VALUES (?, ?)')
  const newest = database.prepare<[], number>("SELECT seq FROM sqlite_sequence WHERE name = 'changes'").pluck()
  const oldest = database.prepare<[], number | null>('SELECT min(position) FROM changes').pluck()
  const after = database.prepare<[number], { position: number; noun: ChangedThing['noun']; id: string }>(
    'SELECT position, noun, id FROM changes WHERE position > ? ORDER BY position'
  )
  const prune = database.prepare<[number]>('DELETE FROM changes WHERE position <= ?')

  function cursor(): number {
    return newest.get() ?? 0
  }

  return {
    cursor,

    add(noun: ChangedThing['noun'], id: string): void {
      insert.run(noun, id)
    },

    list(position: number, limit: number): { changes: ChangedThing[]; cursor: number; reset: boolean } {
      const end = cursor()
      const firstKept = oldest.get() ?? end + 1
      // Ahead of the end: a position of other data (a backup was put back). Both ways the reader has missed something.
      if (position > end || position < firstKept - 1) return { changes: [], cursor: end, reset: true }
      const newestOf = new Map<string, ChangedThing>()
      let reached = position
      for (const { position: cursor, noun, id } of after.iterate(position)) {
        const key = `${noun} ${id}`
        if (!newestOf.has(key) && newestOf.size === limit) break
        // Taken out and put in again, so that the map stays in the order of positions.
        newestOf.delete(key)
        newestOf.set(key, { noun, id, cursor })
        reached = cursor
      }
      return { changes: [...newestOf.values()], cursor: reached, reset: false }
    },

    prune(keep: number): void {
      prune.run(cursor() - keep)
    }
  }
}
