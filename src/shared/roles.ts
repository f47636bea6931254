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

/** The most that anybody can be in some projects alone: what an admin does is done to the whole service. */
export const PROJECT_ROLES = ['viewer', 'operator', 'deployer'] as const
export type ProjectRole = (typeof PROJECT_ROLES)[number]

export const isProjectRole = (role: Role): role is ProjectRole => PROJECT_ROLES.some((one) => one === role)

/**
 * Roles in a node group: the nodes with one tag. A viewer sees them, an operator cordons, drains and resumes them, an
 * admin changes, adds and removes them.
 */
export const NODE_GROUP_ROLES = ['viewer', 'operator', 'admin'] as const
export type NodeGroupRole = (typeof NODE_GROUP_ROLES)[number]
