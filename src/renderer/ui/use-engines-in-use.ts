import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useApi } from '../api/api.tsx'
import { useConnection } from '../state/connection.ts'
import { hasBrowserSession } from '../api/browser-session.ts'

export interface EnginesInUse {
  own: string | null
  isOwnLeading: boolean
  leader: string | null
}

/**
 * Which engine serves this page and which engine leads. null: there is only one. Refetched after a reconnect: a leader
 * change ends all connections, and a different engine can respond afterwards.
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

interface EngineInUse {
  engine: string
  leads: boolean
}

/** Every engine answers this call itself, even if it forwards all other calls. null: the response names no engine. */
async function askEngineInUse(): Promise<EngineInUse | null> {
  if (!hasBrowserSession()) return null
  const response = await fetch(new URL('../health/live', document.baseURI).href)
  const { engine, leads } = (await response.json()) as Partial<EngineInUse>
  return typeof engine === 'string' && typeof leads === 'boolean' ? { engine, leads } : null
}
