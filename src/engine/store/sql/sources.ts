import type { Database } from './database.ts'
import type { NodeId, SourceId, SourceSettings } from '../../../shared/contract/index.ts'
import type { StoredSource, VanishedNode } from '../records.ts'
import { requireNextRevision } from './revisions.ts'
import { replaceRow } from './upsert.ts'

interface SourceRow extends Omit<StoredSource, 'settings'> {
  settings: string
}

/** Node sources, and the nodes that they no longer list. Writes run inside the caller's transaction. */
export function createSources(database: Database) {
  const all = database.prepare<[], SourceRow>(
    'SELECT revision, settings, sealed_password AS sealedPassword FROM discovery_sources ORDER BY position'
  )
  const revision = database.prepare<[string], number>('SELECT revision FROM discovery_sources WHERE id = ?').pluck()
  const put = database.prepare<SourceRow & { id: SourceId }>(
    `INSERT INTO discovery_sources (id, revision, settings, sealed_password) VALUES (:id, :revision, :settings, :sealedPassword)
     ON CONFLICT (id) DO UPDATE SET revision = :revision, settings = :settings, sealed_password = :sealedPassword`
  )
  const remove = database.prepare<[string]>('DELETE FROM discovery_sources WHERE id = ?')
  const vanished = database.prepare<[], VanishedNode>(
    'SELECT node_id AS nodeId, since_ms AS sinceMs, state FROM vanished_nodes ORDER BY node_id'
  )
  const putVanished = database.prepare<VanishedNode>(
    replaceRow('vanished_nodes', ['node_id'], { node_id: ':nodeId', since_ms: ':sinceMs', state: ':state' })
  )
  const removeVanished = database.prepare<[string]>('DELETE FROM vanished_nodes WHERE node_id = ?')

  return {
    listSources: (): StoredSource[] =>
      all.all().map((row) => ({ ...row, settings: JSON.parse(row.settings) as SourceSettings })),

    putSource(source: StoredSource): void {
      const { id } = source.settings
      requireNextRevision(source.revision, revision.get(id), 'source of nodes')
      put.run({ ...source, id, settings: JSON.stringify(source.settings) })
    },

    deleteSource: (id: SourceId): boolean => remove.run(id).changes > 0,

    listVanishedNodes: (): VanishedNode[] => vanished.all(),

    putVanishedNodes(nodes: VanishedNode[]): void {
      for (const node of nodes) putVanished.run(node)
    },

    deleteVanishedNodes(nodeIds: NodeId[]): void {
      for (const nodeId of nodeIds) removeVanished.run(nodeId)
    }
  }
}
