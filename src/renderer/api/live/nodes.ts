import type { NodeId } from '../../../shared/contract/index.ts'
import { LOCAL_NODE_ID } from '../../../shared/ids.ts'
import { mergeList, type NounUpdates, patch, refetch } from './query-updates.ts'

export const nodes: NounUpdates<'nodes'> = {
  thingOf: (change) => (change.kind === 'node' ? change.node.id : change.id),
  updates: (changes, query) => {
    const byId = new Map(
      changes.map((change) => (change.kind === 'node' ? [change.node.id, change.node] : [change.id, null]))
    )
    return [
      patch(query.nodes.list, (data) => ({ ...data, nodes: mergeList(data.nodes, byId, ({ id }) => id) })),
      patch(query.nodes.get, (data, { id }) => byId.get(id as NodeId) ?? data),
      // The local node changes with each sample of what its runs use.
      ...(byId.has(LOCAL_NODE_ID) ? refetch(query.jobs.running) : [])
    ]
  }
}
