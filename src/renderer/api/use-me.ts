import { useQuery, type UseQueryResult } from '@tanstack/react-query'
import type { Me, ProjectName } from '../../shared/contract/index.ts'
import { includesRole, type Role } from '../../shared/roles.ts'
import { useRemoteEngines } from '../state/remote-engines.ts'
import { useSeenAs } from '../state/seen-as.ts'
import { useApi } from './api.tsx'

const FRESH_MS = 60_000

/** Whom this page acts for. Nothing announces a new role, so it is read again when somebody returns to the window. */
export function useMe(): UseQueryResult<Me> {
  const { query } = useApi()
  const seenAs = useSeenAs(({ role }) => role)
  const isReadOnly = useRemoteEngines(({ current }) => current?.readOnly === true)
  const shownAs = isReadOnly ? 'viewer' : seenAs
  return useQuery(
    query.users.me.queryOptions({
      staleTime: FRESH_MS,
      refetchOnWindowFocus: true,
      select: (me) => (shownAs === null ? me : { ...me, role: shownAs, everywhere: shownAs, projects: {} })
    })
  )
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
export function useMay(needed: Role, where: Where = 'somewhere'): May {
  const { data: me } = useMe()
  const isReadOnly = useRemoteEngines(({ current }) => current?.readOnly === true)
  if (me === undefined) return { may: true, why: null }
  const role = roleOf(me, where)
  if (role !== null && includesRole(role, needed)) return { may: true, why: null }
  if (isReadOnly) return { may: false, why: 'This engine is open read-only on this computer.' }
  const place = where === 'somewhere' ? '' : where === 'everywhere' ? ' in all projects' : ` in ${where.project}`
  return {
    may: false,
    why: `Needs the role ${needed}${place}; ${role === null ? 'you have none' : `yours is ${role}`}.`
  }
}

/** In some project, in all of them, or in this one. */
export type Where = 'somewhere' | 'everywhere' | { project: string }

function roleOf({ role, everywhere, projects }: Me, where: Where): Role | null {
  if (where === 'somewhere') return role
  return where === 'everywhere' ? everywhere : (projects[where.project as ProjectName] ?? everywhere)
}
