import type { Database } from './database.ts'
import type { NodeId, SourceId, SourceSettings } from '../../../shared/contract/index.ts'
import type { StoredSource, VanishedNode } from '../../model/records.ts'
import { requireNextRevision } from './revisions.ts'
import { createTable } from './table.ts'

interface SourceRow extends Omit<StoredSource, 'settings'> {
  settings: string
}

/** Node sources, and the nodes that they no longer list. Writes run inside the caller's transaction. */
export function createSources(database: Database) {
  const all = database.prepare<[], SourceRow>(
    'SELECT revision, settings, sealed_password AS "sealedPassword" FROM discovery_sources ORDER BY position'
  )
  const revision = database.prepare<[string], number>('SELECT revision FROM discovery_sources WHERE id = ?').pluck()
  const put = database.prepare<SourceRow & { id: SourceId }>(
    `INSERT INTO discovery_sources (id, revision, settings, sealed_password) VALUES (:id, :revision, :settings, :sealedPassword)
     ON CONFLICT (id) DO UPDATE SET revision = :revision, settings = :settings, sealed_password = :sealedPassword`
  )
  const remove = database.prepare<[string]>('DELETE FROM discovery_sources WHERE id = ?')
  const vanished = createTable<VanishedNode>(database, {
    ...{ name: 'vanished_nodes', key: 'node_id', order: 'node_id' },
    fields: 'nodeId sinceMs state'
  })

  return {
    listSources: (): StoredSource[] =>
      all.all().map((row) => ({ ...row, settings: JSON.parse(row.settings) as SourceSettings })),

    putSource(source: StoredSource): void {
      const { id } = source.settings
      requireNextRevision(source.revision, revision.get(id), 'source of nodes')
      put.run({ ...source, id, settings: JSON.stringify(source.settings) })
    },

    deleteSource: (id: SourceId): boolean => remove.run(id).changes > 0,

    listVanishedNodes: vanished.all,
    putVanishedNodes: (nodes: VanishedNode[]): void => nodes.forEach(vanished.put),
    deleteVanishedNodes: (nodeIds: NodeId[]): void => nodeIds.forEach(vanished.remove)
  }
}
