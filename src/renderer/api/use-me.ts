import { useQuery, type UseQueryResult } from '@tanstack/react-query'
import type { Me } from '../../shared/contract/index.ts'
import { includesRole, type Role } from '../../shared/roles.ts'
import { useApi } from './api.tsx'

const FRESH_MS = 60_000

/** Whom this page acts for. Nothing announces a new role, so it is read again when somebody returns to the window. */
export function useMe(): UseQueryResult<Me> {
  const { query } = useApi()
  return useQuery(query.users.me.queryOptions({ staleTime: FRESH_MS, refetchOnWindowFocus: true }))
}

export interface May {
  may: boolean
  /** Why not, as a sentence for a tooltip. */
  why: string | null
}

/**
 * Whether whoever looks at this page may do what needs this role. Yes until that is known, so that nothing appears late
 * on the screen of an owner: the engine decides anyway, and says why.
 */
export function useMay(needed: Role): May {
  const { data: me } = useMe()
  if (me === undefined || includesRole(me.role, needed)) return { may: true, why: null }
  return { may: false, why: `Needs the role ${needed}; yours is ${me.role}.` }
}
