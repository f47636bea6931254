import type { Database } from './database.ts'
import type { ToldProblem } from '../records.ts'

/** The problems last reported to plugins. Writes run inside the caller's transaction. */
export function createToldProblems(database: Database) {
  const all = database.prepare<[], ToldProblem>('SELECT id, title, severity FROM told_problems ORDER BY id')
  const clear = database.prepare('DELETE FROM told_problems')
  const insert = database.prepare<ToldProblem>('INSERT INTO told_problems VALUES (:id, :title, :severity)')

  return {
    list: (): ToldProblem[] => all.all(),

    replace(problems: ToldProblem[]): void {
      clear.run()
      for (const { id, title, severity } of problems) insert.run({ id, title, severity })
    }
  }
}
