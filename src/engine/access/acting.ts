import { AsyncLocalStorage } from 'node:async_hooks'
import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/access.ts'
import { includes, NONE, type Permission, permissionsOf } from '../../shared/permissions.ts'
import type { ProjectName } from '../../shared/contract/index.ts'
import type { AuditTicket } from '../storage/audit/audited-store.ts'
import {
  type Principal,
  requirePermissionEverywhere,
  requirePermissionIn,
  requirePermissionOnNode
} from './principal.ts'
import { areSeen, permissionsIn, permissionsOnNode, type Rights } from './rights.ts'
import { codeIn, WITHOUT_FILES } from './run-rights.ts'

interface Acting {
  principal: Principal | null
  ticket: AuditTicket | null
  /** Absent if the actor has no session. */
  isOpen?: () => boolean
}

const CODE = permissionsOf(['code.choose'])

const acting = new AsyncLocalStorage<Acting>()

/**
 * Runs `work` as this principal. null: no actor, as for a schedule. Everything that `work` starts, including timers,
 * inherits the actor, so work that no user requested must pass null.
 */
export const actAs = <T>(principal: Principal | null, work: () => T, ticket: AuditTicket | null = null): T =>
  acting.run({ principal, ticket }, work)

/** Call this within actAs. Queued work checks `isOpen` again just before it starts (Access.inTurn). */
export const actWhile = <T>(isOpen: () => boolean, work: () => T): T =>
  acting.run({ ...acting.getStore()!, isOpen }, work)

export function refuseEndedActor(isCurrent: (principal: Principal) => boolean): void {
  const { principal = null, isOpen = () => true } = acting.getStore() ?? {}
  if (principal !== null && !(isCurrent(principal) && isOpen())) throw endedMeanwhile()
}

export const endedMeanwhile = (): ScrapdeckError =>
  new ScrapdeckError('UNAUTHORIZED', sentence('access.session_ended'), { data: { credentials: 'wrong' } })

export const auditTicket = (): AuditTicket | null => acting.getStore()?.ticket ?? null

/** Returns null for the owner of this machine, and if there is no actor. */
export function actorName(): string | null {
  const principal = acting.getStore()?.principal
  return principal?.userId == null ? null : principal.name
}

/** Adds facts, such as a file's content, to the audit entry of the request. Call this before anything is written. */
export function addToAudit(facts: Readonly<Record<string, unknown>>): void {
  auditTicket()?.add(facts)
}

export function asActorStores<Given extends { project: ProjectName; settings?: Record<string, string> | undefined }>(
  given: Given
): Given {
  const principal = acting.getStore()?.principal
  if (principal == null || includes(permissionsIn(principal.rights, given.project) ?? NONE, CODE)) return given
  return { ...given, settings: { ...given.settings, ...WITHOUT_FILES } }
}

/**
 * Returns the requested run, or the template of runs, as the actor may request it. If the actor may not choose code,
 * adds the setting that keeps the run from reading the node's files (run-rights.ts), and throws ROLE_REQUIRED if the
 * request names code. Does not check project defaults, because changing them needs a separate permission.
 */
export function asActorMayRun<Given extends Parameters<typeof codeIn>[0] & { project: ProjectName }>(
  given: Given,
  options: { isCrawl?: boolean } = {}
): Given {
  const stored = asActorStores(given)
  const code = stored === given ? null : codeIn(given, options)
  if (code === null) return stored
  const { name } = acting.getStore()!.principal!
  throw new ScrapdeckError(
    'ROLE_REQUIRED',
    sentence('access.code_needs_permission', { code, project: given.project, name }),
    { data: { needed: ['code.choose'] } }
  )
}

export function actorMayEverywhere(needed: Permission): boolean {
  const principal = acting.getStore()?.principal
  return principal == null || includes(principal.rights.everywhere ?? NONE, permissionsOf([needed]))
}

export const actorMayGoFirst = (): boolean => actorMayEverywhere('queue.order')

/**
 * Throws ROLE_REQUIRED for a priority above 0 unless the actor may reorder the whole queue. A job with such a priority
 * runs before the jobs of all projects.
 */
export function refuseHighPriority(priority: number | null | undefined): void {
  if (priority != null && priority > 0) requireOfActor(null, 'queue.order', 'A priority above 0')
}

export function actorSees(projects: readonly ProjectName[]): boolean {
  const principal = acting.getStore()?.principal
  return principal == null || areSeen(projects, principal.rights)
}

/** Throws ROLE_REQUIRED unless the actor has the permission in these projects. `null`: in all projects. */
export function requireOfActor(projects: readonly ProjectName[] | null, needed: Permission, what: string): void {
  const principal = acting.getStore()?.principal
  if (principal == null) return
  const set = permissionsOf([needed])
  if (projects === null) requirePermissionEverywhere(principal, set, what)
  else for (const project of projects) requirePermissionIn(principal, project, set, what)
}

const CHANGES_NODES = permissionsOf(['nodes.change'])

export function requireOnNodeOfActor(tags: readonly string[], needed: Permission, what: string): void {
  const principal = acting.getStore()?.principal
  if (principal != null) requirePermissionOnNode(principal, tags, permissionsOf([needed]), what)
}

/**
 * Throws ROLE_REQUIRED if the actor would move a node into or out of a node group without having rights in it.
 * `before` is null for a new node. Nothing may change the tags between this check and the write.
 */
export function refuseForeignTags(before: readonly string[] | null, after: readonly string[], what: string): void {
  const principal = acting.getStore()?.principal
  if (principal == null || mayChangeAllNodes(principal.rights)) return
  if (before !== null) requirePermissionOnNode(principal, before, CHANGES_NODES, what)
  requirePermissionOnNode(principal, after, CHANGES_NODES, what)
  const moved = [
    ...(before ?? []).filter((tag) => !after.includes(tag)),
    ...after.filter((tag) => !before?.includes(tag))
  ]
  const foreign = moved.find((tag) => !includes(principal.rights.inNodeGroups.get(tag) ?? NONE, CHANGES_NODES))
  if (foreign === undefined) return
  throw new ScrapdeckError(
    'ROLE_REQUIRED',
    sentence('access.foreign_node_group', { what, foreign, user: principal.name }),
    { data: { needed: ['nodes.change'] } }
  )
}

/** Throws ROLE_REQUIRED if the actor may change only some nodes. */
export function requireAllNodesOfActor(use: string): void {
  const principal = acting.getStore()?.principal
  if (principal == null || mayChangeAllNodes(principal.rights)) return
  throw new ScrapdeckError(
    'ROLE_REQUIRED',
    sentence('access.needs_admin_of_all_nodes', { use, user: principal.name }),
    { data: { needed: ['nodes.change'] } }
  )
}

/**
 * Throws ROLE_REQUIRED if the node source is a file on this machine and the actor is not an owner. Each line of the
 * file, even a password, would become the address of a node, which everyone can see.
 */
export function requireOwnerForFile({ source }: { source: { kind: string } }): void {
  if (source.kind === 'file') requireOfActor(null, 'users.change', 'Naming a file on the machine of Scrapdeck')
}

/** Whether the actor may see a node with these tags. Call this for nodes that are found by address instead of by id. */
export function actorSeesNode(tags: readonly string[]): boolean {
  const principal = acting.getStore()?.principal
  return principal == null || permissionsOnNode(principal.rights, tags) !== null
}

const mayChangeAllNodes = ({ everywhere }: Rights): boolean => includes(everywhere ?? NONE, CHANGES_NODES)
