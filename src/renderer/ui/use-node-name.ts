import { useQuery } from '@tanstack/react-query'
import { useCallback, useMemo } from 'react'
import { useApi } from '../api/api.tsx'
import { useStable } from './use-stable.ts'

/** Maps node ids to names, or to the id if the node is unknown. Changes only when a name changes. */
export function useNodeName(): (id: string) => string {
  const { query } = useApi()
  const { data, isError } = useQuery(query.nodes.list.queryOptions())
  const entries = useStable(data?.nodes.map(({ id, name }): [string, string] => [id, name]) ?? null)
  const names = useMemo(() => entries && new Map(entries), [entries])
  return useCallback((id) => names?.get(id) ?? (names === null && !isError ? '…' : id), [names, isError])
}
