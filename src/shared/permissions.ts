type Scope = 'project' | 'service'

export type PermissionGroup = 'jobs' | 'projects' | 'nodes' | 'service'

interface PermissionTexts {
  group: PermissionGroup
  scope: Scope
  /** Follows "may", such as "read" or "run jobs". */
  label: string
  text: string
}

/**
 * All permissions. Each operation of the contract names those that it needs (contract/operation.ts), and each role
 * is a set of them (roles.ts). Sets are stored as names, so the order here can change.
 */
const TEXTS = {
  read: {
    group: 'jobs',
    scope: 'project',
    label: 'read',
    text: 'See jobs, logs, items, errors, schedules, projects and nodes. Every role has it.'
  },
  'jobs.run': {
    group: 'jobs',
    scope: 'project',
    label: 'run jobs',
    text: 'Run and retry jobs, run a schedule now or for past days, adopt runs that were started on a node, and move jobs off nodes that do not respond.'
  },
  'jobs.cancel': {
    group: 'jobs',
    scope: 'project',
    label: 'cancel jobs',
    text: 'Cancel jobs, backfills and runs that were started on a node, and undo the cancellation of queued jobs.'
  },
  'queue.order': {
    group: 'jobs',
    scope: 'project',
    label: 'order the queue',
    text: 'Change the priority and the order of queued jobs, and the nodes on which they may run.'
  },
  'queue.pause': {
    group: 'jobs',
    scope: 'project',
    label: 'pause the queue',
    text: 'Pause and resume projects; if the role applies in all projects, the whole queue too.'
  },
  'schedules.change': {
    group: 'jobs',
    scope: 'project',
    label: 'change schedules',
    text: 'Create, change, pause and remove schedules, chains and repeated crawl orders. Their jobs run even if the user lacks the permission to run jobs.'
  },
  'results.review': {
    group: 'jobs',
    scope: 'project',
    label: 'review results',
    text: 'Mark errors as resolved or ignored, dismiss findings, and keep jobs that retention would delete.'
  },
  'alerts.answer': {
    group: 'jobs',
    scope: 'project',
    label: 'answer alerts',
    text: 'Acknowledge alerts, withdraw acknowledgements, and silence alerts for a time.'
  },
  'alerts.change': {
    group: 'jobs',
    scope: 'project',
    label: 'change alert rules',
    text: 'Create, change and remove alert rules, which send messages to existing channels.'
  },
  'code.choose': {
    group: 'jobs',
    scope: 'project',
    label: 'choose code in runs',
    text: 'Set environment variables and any Scrapy setting of a run, a schedule or a chain, which can make it execute code other than that of its egg and read files of nodes.'
  },
  'eggs.deploy': {
    group: 'projects',
    scope: 'project',
    label: 'deploy eggs',
    text: 'Upload eggs, which run as code on nodes, deploy versions to nodes, and pin a version.'
  },
  'projects.change': {
    group: 'projects',
    scope: 'project',
    label: 'change projects',
    text: 'Change all settings of projects: defaults of their jobs (including any Scrapy setting), requirements, pause, pinned version, weight, limits and outcome rules.'
  },
  'projects.delete': {
    group: 'projects',
    scope: 'project',
    label: 'delete projects and versions',
    text: 'Delete versions and whole projects, here and on all nodes.'
  },
  'environments.change': {
    group: 'projects',
    scope: 'project',
    label: 'change Python environments',
    text: 'Create, rebuild and remove the Python environments of the local node.'
  },
  'nodes.operate': {
    group: 'nodes',
    scope: 'service',
    label: 'cordon and drain nodes',
    text: 'Cordon and drain nodes, and use them again.'
  },
  'nodes.change': {
    group: 'nodes',
    scope: 'service',
    label: 'change nodes',
    text: 'Add, change and remove nodes and node sources, and create the tokens of nodes. A node receives eggs and the secrets of its jobs.'
  },
  'limits.change': {
    group: 'service',
    scope: 'service',
    label: 'change limits of the queue',
    text: 'Change how many jobs of a kind may run at once.'
  },
  'storage.change': {
    group: 'service',
    scope: 'service',
    label: 'change storage',
    text: 'Change how long jobs, logs and items are kept, delete what is due, and compact the database.'
  },
  'webhooks.change': {
    group: 'service',
    scope: 'service',
    label: 'change webhooks',
    text: 'See, change, test and replay webhooks, and the channels of alerts.'
  },
  'engines.operate': {
    group: 'service',
    scope: 'service',
    label: 'operate engines',
    text: 'Drain engines that share a database, and hand over the lead.'
  },
  'fleet.apply': {
    group: 'service',
    scope: 'service',
    label: 'use the fleet file',
    text: 'Export the fleet file, compare it, and apply the parts of it that the other permissions allow.'
  },
  'audit.read': {
    group: 'service',
    scope: 'service',
    label: 'read the audit log',
    text: 'Read, export and verify the audit log, which names who did what.'
  },
  'users.change': {
    group: 'service',
    scope: 'service',
    label: 'manage users and roles',
    text: 'Manage users, roles, and the tokens and sessions of others. Only owners have it, because a user with it could become an owner.'
  }
} as const satisfies Record<string, PermissionTexts>

export type Permission = keyof typeof TEXTS
export const PERMISSIONS = Object.keys(TEXTS) as Permission[]
export const PERMISSION_TEXTS: Readonly<Record<Permission, PermissionTexts>> = TEXTS

declare const isSet: unique symbol
/** One bit per permission, so that a check is one operation. */
export type Permissions = number & { readonly [isSet]: true }

const BITS = new Map(PERMISSIONS.map((name, index) => [name, 1 << index]))

export const NONE = 0 as Permissions

export const permissionsOf = (names: Iterable<string>): Permissions =>
  [...names].reduce((set, name) => set | (BITS.get(name as Permission) ?? 0), 0) as Permissions

export const unite = (one: Permissions, other: Permissions): Permissions => (one | other) as Permissions
export const intersect = (one: Permissions, other: Permissions): Permissions => (one & other) as Permissions
export const subtract = (one: Permissions, other: Permissions): Permissions => (one & ~other) as Permissions
export const includes = (held: Permissions, needed: Permissions): boolean => (held & needed) === needed

export const namesOf = (set: Permissions): Permission[] => PERMISSIONS.filter((name) => (set & BITS.get(name)!) !== 0)

export const ALL_PERMISSIONS = permissionsOf(PERMISSIONS)

export const PROJECT_PERMISSIONS = permissionsOf(PERMISSIONS.filter((name) => TEXTS[name].scope === 'project'))

/** Permissions that let users make themselves owners. Custom roles cannot include them. */
export const OWNER_PERMISSIONS = permissionsOf(['users.change'] satisfies Permission[])

/** Every role includes this permission, because nothing is visible without it. */
export const READ = permissionsOf(['read'] satisfies Permission[])
