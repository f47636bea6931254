import type { Database } from './database.ts'
import type { ToldProblem } from '../records.ts'
import { createTable } from './table.ts'

/** The problems last reported to plugins. Writes run inside the caller's transaction. */
export function createToldProblems(database: Database) {
  const problems = createTable<ToldProblem>(database, {
    ...{ name: 'told_problems', order: 'id' },
    fields: 'id title severity'
  })
  const clear = database.prepare('DELETE FROM told_problems')

  return {
    list: problems.all,

    replace(wanted: ToldProblem[]): void {
      clear.run()
      wanted.forEach(problems.put)
    }
  }
}
