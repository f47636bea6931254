import { EventEmitter } from 'node:events'
import type { AccessRole, NewRole } from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/access.ts'
import {
  includes,
  namesOf,
  NONE,
  OWNER_PERMISSIONS,
  PERMISSION_TEXTS,
  type Permissions,
  permissionsOf,
  PROJECT_PERMISSIONS,
  READ,
  subtract,
  unite
} from '../../shared/permissions.ts'
import { permissionsOfRole, ROLES, rolesIn } from '../../shared/roles.ts'
import type { Clock } from '../runtime/clock.ts'
import type { StoredRole } from '../model/records.ts'
import type { AccessStore } from '../storage/store.ts'
import type { GivenRoles } from './given-roles.ts'
import type { InTurn } from './directory.ts'

export interface RolesParts {
  store: Pick<AccessStore, 'putRole' | 'deleteRole'>
  clock: Pick<Clock, 'nowMs'>
  inTurn: InTurn
  /** The holders of this role, such as `the user anna`. `inProjects`: only holders in single projects. */
  holdersOf: (name: string, where?: 'inProjects') => string[]
}

const ROLES_MAX = 100
const HOLDERS_NAMED = 5

/** The custom roles, in memory. Each change is on disk before it takes effect. */
export class Roles {
  readonly #parts: RolesParts
  readonly #custom: Map<string, StoredRole>
  /** For each role, the options that give it to groups of an identity provider or a proxy. */
  #configured: ReadonlyMap<string, readonly string[]> = new Map()
  readonly events = new EventEmitter<{ changed: [] }>()

  constructor(parts: RolesParts, roles: readonly StoredRole[]) {
    this.#parts = parts
    this.#custom = new Map(roles.map((role) => [role.name, role]))
  }

  /** Returns the permissions of one role or of several combined. Returns NONE if there is no such role. */
  readonly setOf = (text: string): Permissions =>
    rolesIn(text).reduce((set, name) => unite(set, this.#setOfOne(name)), NONE)

  list(): AccessRole[] {
    const custom = [...this.#custom.values()].sort((one, other) => (one.name < other.name ? -1 : 1))
    return [...ROLES.map((name) => describe(name, '', permissionsOfRole(name), true)), ...custom.map(describeCustom)]
  }

  setConfigured(roles: ReadonlyMap<string, readonly string[]>): void {
    this.#configured = roles
    this.events.emit('changed')
  }

  /** Returns the roles that options name but that do not exist. Such roles give no permissions. */
  missing(): { name: string; options: readonly string[] }[] {
    return [...this.#configured].flatMap(([name, options]) => (this.setOf(name) === NONE ? [{ name, options }] : []))
  }

  /** Rejects with ROLE_NAME_TAKEN or BAD_INPUT. */
  create({ name, description, permissions }: NewRole): Promise<AccessRole> {
    return this.#parts.inTurn(async () => {
      if (this.setOf(name) !== NONE) {
        throw new ScrapdeckError('ROLE_NAME_TAKEN', sentence('access.role_name_taken', { name }))
      }
      if (this.#custom.size >= ROLES_MAX) {
        throw new ScrapdeckError('BAD_INPUT', sentence('access.too_many_roles', { rolesMax: ROLES_MAX }))
      }
      return this.#put({ name, description, permissions, createdAtMs: this.#parts.clock.nowMs() })
    })
  }

  /** Rejects with ROLE_NOT_FOUND or BAD_INPUT. */
  update({ name, ...changes }: Partial<NewRole> & Pick<NewRole, 'name'>): Promise<AccessRole> {
    return this.#parts.inTurn(async () => {
      const before = this.#require(name)
      const permissions = changes.permissions ?? before.permissions
      const holders = this.#parts.holdersOf(name, 'inProjects')
      if (holders.length > 0) refuseInProjects(name, permissionsOf(permissions), `, as to ${list(holders)}`)
      return this.#put({ ...before, description: changes.description ?? before.description, permissions })
    })
  }

  /** Rejects with ROLE_NOT_FOUND or ROLE_IN_USE. */
  remove(name: string): Promise<boolean> {
    return this.#parts.inTurn(async () => {
      this.#require(name)
      const options = (this.#configured.get(name) ?? []).map((option) => `the option ${option}`)
      const holders = [...this.#parts.holdersOf(name), ...options]
      if (holders.length > 0) {
        throw new ScrapdeckError('ROLE_IN_USE', sentence('access.role_in_use', { name, holders: list(holders) }))
      }
      const isRemoved = await this.#parts.store.deleteRole(name)
      this.#custom.delete(name)
      this.events.emit('changed')
      return isRemoved
    })
  }

  /** Throws BAD_INPUT unless each of these roles exists and can be given for all projects or for the named ones. */
  requireGiven({ role, projects }: GivenRoles): void {
    if (role !== null) this.requireRole(role, 'role')
    for (const [project, one] of Object.entries<string>(projects)) {
      this.requireRole(one, 'projects')
      refuseInProjects(one, this.setOf(one), ` such as ${project}`)
    }
  }

  requireRole(name: string, field: string): void {
    if (this.#setOfOne(name) !== NONE) return
    const names = this.list().map((role) => role.name)
    throw new ScrapdeckError('BAD_INPUT', sentence('access.no_such_role_of', { name, names }), {
      data: { field }
    })
  }

  #setOfOne(name: string): Permissions {
    const builtIn = permissionsOfRole(name)
    if (builtIn !== NONE) return builtIn
    const custom = this.#custom.get(name)
    return custom === undefined ? NONE : setOfCustom(custom)
  }

  #require(name: string): StoredRole {
    const role = this.#custom.get(name)
    if (role !== undefined) return role
    const why =
      permissionsOfRole(name) === NONE
        ? sentence('access.no_such_role', { name })
        : sentence('access.role_built_in', { name })
    throw new ScrapdeckError('ROLE_NOT_FOUND', why)
  }

  async #put(role: StoredRole): Promise<AccessRole> {
    const stored = { ...role, permissions: namesOf(setOfCustom(role)) }
    await this.#parts.store.putRole(stored)
    this.#custom.set(stored.name, stored)
    this.events.emit('changed')
    return describeCustom(stored)
  }
}

/** Removes permissions that are reserved for owners. A database can be edited, and later versions can reserve more. */
const setOfCustom = ({ permissions }: StoredRole): Permissions =>
  unite(subtract(permissionsOf(permissions), OWNER_PERMISSIONS), READ)

const describeCustom = (role: StoredRole): AccessRole => describe(role.name, role.description, setOfCustom(role), false)

const describe = (name: string, description: string, set: Permissions, isBuiltIn: boolean): AccessRole => ({
  name,
  description,
  permissions: namesOf(set),
  isBuiltIn,
  isForProjects: includes(PROJECT_PERMISSIONS, set)
})

function refuseInProjects(name: string, set: Permissions, where: string): void {
  const tooMuch = subtract(set, PROJECT_PERMISSIONS)
  if (tooMuch === NONE) return
  const labels = namesOf(tooMuch).map((one) => PERMISSION_TEXTS[one].label)
  throw new ScrapdeckError(
    'BAD_INPUT',
    sentence('access.role_for_whole_service', { name, labels: list(labels), where })
  )
}

function list(names: readonly string[]): string {
  const more = names.length > HOLDERS_NAMED ? ` and ${names.length - HOLDERS_NAMED} more` : ''
  return `${names.slice(0, HOLDERS_NAMED).join(', ')}${more}`
}
