import { QueryClient } from '@tanstack/react-query'

/** The cache never goes stale by age: changes keep it true (api/live/follow-changes.ts). */
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
