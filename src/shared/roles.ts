/**
 * Roles, each with all rights of the previous ones: viewer reads; operator runs, cancels, pauses, retries and
 * schedules; deployer manages projects, eggs and environments; admin nodes, settings, webhooks and plugins; owner users
 * and secrets. Each operation of the contract and each path of the other doors names the least role that it needs.
 */
export const ROLES = ['viewer', 'operator', 'deployer', 'admin', 'owner'] as const
export type Role = (typeof ROLES)[number]

export const includesRole = (role: Role, needed: Role): boolean => ROLES.indexOf(role) >= ROLES.indexOf(needed)

/** What both allow. */
export const lesserRole = (one: Role, other: Role): Role => (includesRole(one, other) ? other : one)
