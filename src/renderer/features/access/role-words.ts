import { ROLES, type Role } from '../../../shared/roles.ts'

/** What each role may do; all but the first also may do what the roles before it may. */
export const ROLE_WORDS: Record<Role | 'none', string> = {
  none: 'Only what is named below',
  viewer: 'Reads everything, changes nothing',
  operator: 'Also runs, cancels, retries and schedules jobs',
  deployer: 'Also uploads eggs, which run code on every node',
  admin: 'Also manages nodes, webhooks, storage and engines',
  owner: 'Also manages users and the tokens of others'
}

/** Up to a role. */
export const rolesUpTo = (most: Role): Role[] => ROLES.slice(0, ROLES.indexOf(most) + 1)
