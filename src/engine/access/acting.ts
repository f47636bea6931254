import { AsyncLocalStorage } from 'node:async_hooks'
import { ScrapdeckError } from '../../shared/errors.ts'
import { includesRole, type Role } from '../../shared/roles.ts'
import type { ProjectName } from '../../shared/contract/index.ts'
import type { AuditTicket } from '../store/audit/audited-store.ts'
import { type Principal, requireRoleEverywhere, requireRoleIn } from './principal.ts'
import { areSeen, roleIn } from './rights.ts'
import { codeIn } from './run-rights.ts'

interface Acting {
  principal: Principal | null
  ticket: AuditTicket | null
}

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
 * a project are a deployer's, and so are not asked about.
 */
export function refuseCodeInRun(
  given: Parameters<typeof codeIn>[0] & { project: ProjectName },
  options: { isCrawl?: boolean } = {}
): void {
  const principal = acting.getStore()?.principal
  if (principal == null) return
  const role = roleIn(principal.rights, given.project)
  if (role !== null && includesRole(role, 'deployer')) return
  const code = codeIn(given, options)
  if (code === null) return
  const { name } = principal
  throw new ScrapdeckError(
    'ROLE_REQUIRED',
    `${code}, so it needs the role deployer. ${name} has ${role === null ? 'none there' : `the role ${role}`}: ask a deployer to make it a default of the project.`,
    { data: { ...(role !== null && { role }), needed: 'deployer' } }
  )
}

/**
 * Throws ROLE_REQUIRED unless whoever acts has this role in all projects: `what` is taken from others, whose slots
 * somebody with a role in single projects has no say over.
 */
export function requireSayOverAll(needed: Role, what: string): void {
  const principal = acting.getStore()?.principal
  if (principal != null) requireRoleEverywhere(principal, needed, what)
}

/** For a run or a template: jobs of a priority above 0 go before those of all projects. */
export function refuseHighPriority(priority: number | null | undefined): void {
  if (priority != null && priority > 0) requireSayOverAll('operator', 'A priority above 0')
}

/** Whether whoever acts may see all of these: what is found by a name is checked like what is named by its id. */
export function actorSees(projects: readonly ProjectName[]): boolean {
  const principal = acting.getStore()?.principal
  return principal == null || areSeen(projects, principal.rights)
}

/** For projects that whoever acts may see. Throws ROLE_REQUIRED. */
export function requireRoleOfActor(projects: readonly ProjectName[], needed: Role, what: string): void {
  const principal = acting.getStore()?.principal
  if (principal == null) return
  for (const project of projects) requireRoleIn(principal, project, needed, what)
}
