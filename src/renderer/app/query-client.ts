import { QueryClient } from '@tanstack/react-query'

/** Cached data does not expire: changes keep it up to date (api/live/follow-changes.ts). */
export function createQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: Number.POSITIVE_INFINITY,
        refetchOnWindowFocus: false,
        refetchOnReconnect: false,
        retry: 1,
        retryDelay: 500
      }
    }
  })
}
