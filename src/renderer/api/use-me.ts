import { useQuery, type UseQueryResult } from '@tanstack/react-query'
import type { Me, ProjectName } from '../../shared/contract/index.ts'
import {
  includes,
  namesOf,
  type Permission,
  type Permissions,
  permissionsOf,
  READ,
  unite
} from '../../shared/permissions.ts'
import { leastRoleWith, permissionsOfRole } from '../../shared/roles.ts'
import { useRemoteEngines } from '../state/remote-engines.ts'
import { useSeenAs } from '../state/seen-as.ts'
import { useApi } from './api.tsx'
import { texts } from '../../shared/texts/ui/shared.ts'
import { texts as permissions } from '../../shared/texts/ui/permissions.ts'

const FRESH_MS = 60_000

/** The user of this page. No event announces role changes, so this is refetched when the window regains focus. */
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
        const permissions = { everywhere: [...as.permissions], projects: {}, nodeGroups: {} }
        return { ...me, role: as.name, projects: {}, nodeGroups: {}, permissions }
      }
    })
  )
}

const VIEWER = { name: 'viewer', permissions: namesOf(READ) }

/** Older engines report only built-in roles. */
function withPermissions(me: Me): Me {
  if ((me as Partial<Me>).permissions !== undefined) return me
  const named = (role: string) => namesOf(permissionsOfRole(role))
  const projects = Object.fromEntries(Object.entries(me.projects).map(([name, role]) => [name, named(role)]))
  const everywhere = me.everywhere === null ? null : named(me.everywhere)
  return { ...me, nodeGroups: {}, groups: [], permissions: { everywhere, projects, nodeGroups: {} } }
}

export interface May {
  may: boolean
  why: string | null
}

/**
 * Whether the user has this permission. The engine checks every call anyway. Returns true until the user is loaded,
 * because an owner's buttons would otherwise appear late.
 */
export function useMay(needed: Permission, where: Where = 'somewhere'): May {
  const { data: me } = useMe()
  const isReadOnly = useRemoteEngines(({ current }) => current?.readOnly === true)
  if (me === undefined) return { may: true, why: null }
  const set = permissionsOf([needed])
  if (includes(heldIn(me, where), set)) return { may: true, why: null }
  if (isReadOnly) return { may: false, why: texts.engineReadOnly }
  const facts = [permissions[`label.${needed}`], leastRoleWith(set), me.role] as const
  if (where === 'somewhere') return { may: false, why: texts.permissionMissing(...facts) }
  if (where === 'everywhere') return { may: false, why: texts.permissionMissingEverywhere(...facts) }
  const why =
    'project' in where
      ? texts.permissionMissingInProject(where.project, ...facts)
      : texts.permissionMissingForNode(...facts)
  return { may: false, why }
}

export type Where = 'somewhere' | 'everywhere' | { project: string } | { tags: readonly string[] }

/** The node groups where the user may change nodes. null: all nodes. */
export function useOwnNodeGroups(): readonly string[] | null {
  const { data: me } = useMe()
  const { may } = useMay('nodes.change', 'everywhere')
  if (may || me === undefined) return null
  return Object.entries(me.permissions.nodeGroups).flatMap(([tag, names]) =>
    names.includes('nodes.change') ? [tag] : []
  )
}

/** Whether the user has roles only in node groups and therefore cannot see projects or jobs. */
export function useSeesNodesOnly(): boolean {
  const permissions = useMe().data?.permissions
  return permissions !== undefined && permissions.everywhere === null && Object.keys(permissions.projects).length === 0
}

function heldIn({ permissions: { everywhere, projects, nodeGroups } }: Me, where: Where): Permissions {
  const base = permissionsOf(everywhere ?? [])
  const united = (sets: readonly (readonly Permission[] | undefined)[]) =>
    sets.reduce((all, names) => unite(all, permissionsOf(names ?? [])), base)
  if (where === 'everywhere') return base
  if (where === 'somewhere') return united([...Object.values(projects), ...Object.values(nodeGroups)])
  if ('tags' in where) return united(where.tags.map((tag) => nodeGroups[tag]))
  const named = projects[where.project as ProjectName]
  return named === undefined ? base : permissionsOf(named)
}
