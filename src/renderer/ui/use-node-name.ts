import { useQuery } from '@tanstack/react-query'
import type { NodeId } from '../../shared/contract/index.ts'
import { useApi } from '../api/api.tsx'

/** Names of nodes by id; the id itself only if the node is gone. */
export function useNodeName(): (id: NodeId) => string {
  const { query } = useApi()
  const { data } = useQuery(query.nodes.list.queryOptions())
  return (id) => (data === undefined ? '…' : (data.nodes.find((node) => node.id === id)?.name ?? id))
}
