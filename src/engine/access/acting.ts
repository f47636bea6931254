import { AsyncLocalStorage } from 'node:async_hooks'
import { ScrapdeckError } from '../../shared/errors.ts'
import { includes, NONE, type Permission, permissionsOf } from '../../shared/permissions.ts'
import type { ProjectName } from '../../shared/contract/index.ts'
import type { AuditTicket } from '../store/audit/audited-store.ts'
import { type Principal, requirePermissionEverywhere, requirePermissionIn } from './principal.ts'
import { areSeen, permissionsIn } from './rights.ts'
import { codeIn } from './run-rights.ts'

interface Acting {
  principal: Principal | null
  ticket: AuditTicket | null
}

const CODE = permissionsOf(['code.choose'])

const acting = new AsyncLocalStorage<Acting>()

/**
 * What `work` does is done by this principal; null: by nobody, such as a schedule. Whatever it starts inherits that, a
 * timer too: rooms that act on their own time say so.
 */
export const actAs = <T>(principal: Principal | null, work: () => T, ticket: AuditTicket | null = null): T =>
  acting.run({ principal, ticket }, work)

/** The entry in the audit log of what is being done; null: it has none. */
export const auditTicket = (): AuditTicket | null => acting.getStore()?.ticket ?? null

/** For the end of a sentence: ` by anna`. Empty: the owner of this machine, or nobody, such as a schedule. */
export function byWhom(): string {
  const principal = acting.getStore()?.principal
  return principal?.userId == null ? '' : ` by ${principal.name}`
}

/** Adds to the request in its entry of the audit log, before anything is written: what a file turned out to say. */
export function addToAudit(facts: Readonly<Record<string, unknown>>): void {
  auditTicket()?.add(facts)
}

/**
 * Throws ROLE_REQUIRED if whoever acts may run spiders, but not other code on their nodes (run-rights.ts). Defaults of
 * a project need a permission of their own, and so are not asked about.
 */
export function refuseCodeInRun(
  given: Parameters<typeof codeIn>[0] & { project: ProjectName },
  options: { isCrawl?: boolean } = {}
): void {
  const principal = acting.getStore()?.principal
  if (principal == null) return
  if (includes(permissionsIn(principal.rights, given.project) ?? NONE, CODE)) return
  const code = codeIn(given, options)
  if (code === null) return
  const { name } = principal
  throw new ScrapdeckError(
    'ROLE_REQUIRED',
    `${code} can make a run execute other code, so it needs the permission "choose code in runs" in ${given.project}, which the role deployer has and ${name} has not: ask a deployer to make it a default of the project.`,
    { data: { needed: ['code.choose'] } }
  )
}

/** Whether whoever acts may see all of these: what is found by a name is checked like what is named by its id. */
export function actorSees(projects: readonly ProjectName[]): boolean {
  const principal = acting.getStore()?.principal
  return principal == null || areSeen(projects, principal.rights)
}

/** For projects that whoever acts may see; `null`: for all. Throws ROLE_REQUIRED. */
export function requireOfActor(projects: readonly ProjectName[] | null, needed: Permission, what: string): void {
  const principal = acting.getStore()?.principal
  if (principal == null) return
  const set = permissionsOf([needed])
  if (projects === null) requirePermissionEverywhere(principal, set, what)
  else for (const project of projects) requirePermissionIn(principal, project, set, what)
}
