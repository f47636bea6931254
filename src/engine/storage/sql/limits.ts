import type { Database } from './database.ts'
import type { LimitRule } from '../../../shared/contract/index.ts'
import type { StoredLimits } from '../../model/records.ts'
import { requireNextRevision } from './revisions.ts'

/** The limits on live jobs, in their order. Writes run inside the caller's transaction. */
export function createLimits(database: Database) {
  const all = database.prepare<[], Omit<LimitRule, 'perNode'> & { perNode: number }>(
    'SELECT id, project, spider, tag, per_node AS "perNode", max FROM limit_rules ORDER BY position'
  )
  const revision = database.prepare<[], number>('SELECT revision FROM limit_revision').pluck()
  const setRevision = database.prepare<[number]>('UPDATE limit_revision SET revision = ?')
  const clear = database.prepare('DELETE FROM limit_rules')
  const insert = database.prepare(
    `INSERT INTO limit_rules (id, project, spider, tag, per_node, max) VALUES (:id, :project, :spider, :tag, :perNode, :max)`
  )

  return {
    get: (): StoredLimits => ({
      revision: revision.get()!,
      rules: all.all().map((row) => ({ ...row, perNode: row.perNode === 1 }))
    }),

    replace(limits: StoredLimits): void {
      requireNextRevision(limits.revision, revision.get(), 'list of limits')
      setRevision.run(limits.revision)
      clear.run()
      for (const rule of limits.rules) insert.run({ ...rule, perNode: rule.perNode ? 1 : 0 })
    }
  }
}
