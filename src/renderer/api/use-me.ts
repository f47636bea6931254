import { useQuery, type UseQueryResult } from '@tanstack/react-query'
import type { Me, ProjectName } from '../../shared/contract/index.ts'
import {
  includes,
  namesOf,
  type Permission,
  PERMISSION_TEXTS,
  type Permissions,
  permissionsOf,
  READ,
  unite
} from '../../shared/permissions.ts'
import { leastRoleWith, permissionsOfRole } from '../../shared/roles.ts'
import { useRemoteEngines } from '../state/remote-engines.ts'
import { useSeenAs } from '../state/seen-as.ts'
import { useApi } from './api.tsx'

const FRESH_MS = 60_000

/** Whom this page acts for. Nothing announces a new role, so it is read again when somebody returns to the window. */
export function useMe(): UseQueryResult<Me> {
  const { query } = useApi()
  const seenAs = useSeenAs((state) => state.role)
  const isReadOnly = useRemoteEngines(({ current }) => current?.readOnly === true)
  return useQuery(
    query.users.me.queryOptions({
      staleTime: FRESH_MS,
      refetchOnWindowFocus: true,
      select: (me) => {
        const as = isReadOnly ? VIEWER : seenAs
        if (as === null) return withPermissions(me)
        const permissions = { everywhere: [...as.permissions], projects: {} }
        return { ...me, role: as.name, projects: {}, permissions }
      }
    })
  )
}

const VIEWER = { name: 'viewer', permissions: namesOf(READ) }

/** An older engine says only built-in roles. */
function withPermissions(me: Me): Me {
  if ((me as Partial<Me>).permissions !== undefined) return me
  const named = (role: string) => namesOf(permissionsOfRole(role))
  const projects = Object.fromEntries(Object.entries(me.projects).map(([name, role]) => [name, named(role)]))
  return { ...me, permissions: { everywhere: me.everywhere === null ? null : named(me.everywhere), projects } }
}

export interface May {
  may: boolean
  /** Why not, as a sentence for a tooltip. */
  why: string | null
}

/**
 * Whether whoever looks at this page may do what needs this permission. Yes until that is known, so that nothing
 * appears late on the screen of an owner: the engine decides anyway, and says why.
 */
export function useMay(needed: Permission, where: Where = 'somewhere'): May {
  const { data: me } = useMe()
  const isReadOnly = useRemoteEngines(({ current }) => current?.readOnly === true)
  if (me === undefined) return { may: true, why: null }
  const set = permissionsOf([needed])
  if (includes(heldIn(me, where), set)) return { may: true, why: null }
  if (isReadOnly) return { may: false, why: 'This engine is open read-only on this computer.' }
  const place = where === 'somewhere' ? '' : where === 'everywhere' ? ' in all projects' : ` in ${where.project}`
  const { label } = PERMISSION_TEXTS[needed]
  return {
    may: false,
    why: `Needs the permission “${label}”${place}, which the role ${leastRoleWith(set)} has. Your role is ${me.role}.`
  }
}

/** In some project, in all of them, or in this one. */
export type Where = 'somewhere' | 'everywhere' | { project: string }

function heldIn({ permissions: { everywhere, projects } }: Me, where: Where): Permissions {
  const base = permissionsOf(everywhere ?? [])
  if (where === 'everywhere') return base
  if (where === 'somewhere') {
    return Object.values(projects).reduce((all, names) => unite(all, permissionsOf(names)), base)
  }
  const named = projects[where.project as ProjectName]
  return named === undefined ? base : permissionsOf(named)
}
