import type { Database } from 'better-sqlite3'

export const FILING_SQL = {
  // Ordered by schedule, since the entries of one schedule share an index page.
  file: 'UPDATE firings SET filed = 1 WHERE id IN (SELECT id FROM firings WHERE filed = 0 ORDER BY schedule_id, id LIMIT ?)'
}

/** Selects a schedule's firings that match `and`, to be merged by id: the filed ones by state, and the unfiled ones. */
export function firingsOf(columns: string, states: readonly string[], and = ''): string {
  const filed = states.map(
    (state) => `SELECT ${columns} FROM firings WHERE filed = 1 AND schedule_id = :id AND state = '${state}' ${and}`
  )
  return [`SELECT ${columns} FROM firings WHERE filed = 0 AND schedule_id = :id ${and}`, ...filed].join(' UNION ALL ')
}

/** Moves firings from the short index to the long-term index (0001-baseline.ts). Returns how many it moved. */
export function createFiling(database: Database): (limit: number) => number {
  const file = database.prepare<[number]>(FILING_SQL.file)
  return (limit) => file.run(limit).changes
}
