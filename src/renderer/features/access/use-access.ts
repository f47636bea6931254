import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { AccessRole } from '../../../shared/contract/index.ts'
import { useApi } from '../../api/api.tsx'
import { BUILT_IN_ROLES } from './role-words.ts'

/** The change feed has no users, roles or tokens, so the screen polls while it is open. */
export const READ_AGAIN = { staleTime: 0, refetchInterval: 30_000 }

export function useRoles(): readonly AccessRole[] {
  const { query } = useApi()
  return useQuery(query.roles.list.queryOptions(READ_AGAIN)).data?.roles ?? BUILT_IN_ROLES
}

/** Refetches all access data, because one change can affect the rest, such as the current user's role. */
export function useReadAccess(): () => Promise<unknown> {
  const { query } = useApi()
  const queries = useQueryClient()
  const keys = [query.users, query.groups, query.roles, query.tokens, query.secondFactors, query.sessions]
  return () => Promise.all(keys.map((noun) => queries.invalidateQueries({ queryKey: noun.key() })))
}
