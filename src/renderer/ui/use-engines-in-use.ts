import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useApi } from '../api/api.tsx'
import { askEngineInUse } from '../api/engine-in-use.ts'
import { useConnection } from '../state/connection.ts'

export interface EnginesInUse {
  /** The name of the engine that answers this page; null: it does not say. */
  own: string | null
  isOwnLeading: boolean
  /** null: nobody leads. */
  leader: string | null
}

/**
 * Which engine one talks to and which leads; null while there is only one. Both are read again after a reconnect:
 * another engine may answer then, and when the leader changes, all connections end.
 */
export function useEnginesInUse(): EnginesInUse | null {
  const { query } = useApi()
  const liveSinceMs = useConnection(({ state, sinceMs }) => (state === 'live' ? sinceMs : null))
  const isLive = liveSinceMs !== null
  const { data: list } = useQuery(query.engines.list.queryOptions({ enabled: isLive, staleTime: 0 }))
  const isShared = list?.shared === true
  const { data: own } = useQuery({
    queryKey: ['engine in use', liveSinceMs],
    queryFn: askEngineInUse,
    enabled: isShared && isLive,
    placeholderData: keepPreviousData
  })
  if (!isShared) return null
  const leader = list.engines.find(({ state }) => state === 'leading')?.name ?? null
  return { own: own?.engine ?? null, isOwnLeading: own?.leads === true, leader }
}
