import { useQueryClient } from '@tanstack/react-query'
import { useApi } from '../../api/api.tsx'

/** Users and tokens are not in the stream of changes: the screen reads them when it opens, and while it is open. */
export const READ_AGAIN = { staleTime: 0, refetchInterval: 30_000 }

/** After a change here; with it, `me` may have another role. */
export function useReadAccess(): () => Promise<unknown> {
  const { query } = useApi()
  const queries = useQueryClient()
  return () =>
    Promise.all(
      [query.users, query.tokens, query.signIn, query.sessions].map((noun) =>
        queries.invalidateQueries({ queryKey: noun.key() })
      )
    )
}
