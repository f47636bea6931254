import type { UserId } from '../../shared/contract/index.ts'
import type { Directory } from './directory.ts'
import { givenRights, type GivenRoles, type SetOfRole, shownRole } from './given-roles.ts'
import { NO_RIGHTS, type Rights, uniteRights } from './rights.ts'

export class RightsOfUsers {
  readonly #directory: Directory
  readonly #setOf: SetOfRole
  #known = new WeakMap<GivenRoles, Rights>()
  readonly #ofUsers = new Map<UserId, Rights>()

  constructor(directory: Directory, setOf: SetOfRole) {
    this.#directory = directory
    this.#setOf = setOf
    directory.events.on('changed', () => this.#ofUsers.clear())
  }

  forget(): void {
    this.#known = new WeakMap()
    this.#ofUsers.clear()
  }

  of(given: GivenRoles): Rights {
    const known = this.#known.get(given)
    if (known !== undefined) return known
    const rights = givenRights(given, this.#setOf)
    this.#known.set(given, rights)
    return rights
  }

  /** Returns NO_RIGHTS for a deleted user. */
  ofUser(id: UserId): Rights {
    const known = this.#ofUsers.get(id)
    if (known !== undefined) return known
    const rights = this.#givenTo(id).reduce((all, given) => uniteRights(all, this.of(given)), NO_RIGHTS)
    this.#ofUsers.set(id, rights)
    return rights
  }

  shownRoleOf(id: UserId): string {
    return shownRole(this.#givenTo(id), this.#setOf)
  }

  #givenTo(id: UserId): GivenRoles[] {
    const user = this.#directory.user(id)
    return user === undefined ? [] : [user, ...this.#directory.groupsOf(id)]
  }
}
