import { useCallback, useEffect, useRef, useState } from 'react'
import type { FleetLogHit, FleetLogSearchInput, FleetLogSearchProgress } from '../../../../shared/contract/index.ts'
import { useApi } from '../../../api/api.tsx'

export interface FleetSearchState {
  hits: readonly FleetLogHit[]
  /** Of this search; null before the first message. */
  progress: FleetLogSearchProgress | null
  isSearching: boolean
  error: unknown
}

export type FleetQuery = Omit<FleetLogSearchInput, 'maxSeconds' | 'maxBytes' | 'mostHits' | 'cursor'>

const NOTHING: FleetSearchState = { hits: [], progress: null, isSearching: false, error: null }
const MOST_HITS = 500

/** Searches while the query is not null; a new one, or leaving, ends the search before it. */
export function useFleetSearch(query: FleetQuery | null) {
  const { client } = useApi()
  const [state, setState] = useState<FleetSearchState>(NOTHING)
  const running = useRef<AbortController | null>(null)
  const key = query === null ? null : JSON.stringify(query)

  const start = useCallback(
    async (wanted: FleetQuery, before: FleetSearchState) => {
      running.current?.abort()
      const aborting = new AbortController()
      running.current = aborting
      const { signal } = aborting
      let now: FleetSearchState = { ...before, isSearching: true, error: null }
      const show = (next: Partial<FleetSearchState>) => {
        now = { ...now, ...next }
        if (running.current === aborting) setState(now)
      }
      show({})
      try {
        const cursor = before.progress?.cursor ?? undefined
        const messages = await client.logs.searchAll({ ...wanted, mostHits: MOST_HITS, cursor }, { signal })
        for await (const progress of messages) show({ hits: [...now.hits, ...progress.hits], progress })
        show({ isSearching: false })
      } catch (error) {
        show(signal.aborted ? { isSearching: false } : { isSearching: false, error })
      }
    },
    [client]
  )

  useEffect(() => {
    if (key === null) setState(NOTHING)
    else void start(JSON.parse(key) as FleetQuery, NOTHING)
    return () => {
      running.current?.abort()
      running.current = null
    }
  }, [key, start])

  return {
    ...state,
    stop: () => running.current?.abort(),
    /** Where the last search ended. */
    goOn: () => query !== null && void start(query, state)
  }
}
