import type { FastifyRequest } from 'fastify'
import type { Engine } from '../../engine/index.ts'
import type { Principal } from '../../engine/access/principal.ts'
import type { Clock } from '../../engine/runtime/clock.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { recordVouching } from '../audit-origin.ts'
import type { BasicCredentials } from './secrets.ts'
import { noRoleText, rightsIn } from './group-roles.ts'
import type { GroupRoles } from './sign-in-options.ts'

/** Returns the user with this subject and these groups' roles. Throws or rejects with UNAUTHORIZED or ROLE_REQUIRED. */
export function admitVouched(
  request: FastifyRequest,
  { subject, name, groups }: { subject: string; name: string; groups: readonly string[] },
  { access, audit, roles, option }: Pick<Engine, 'access' | 'audit'> & { roles: GroupRoles; option: string }
): Principal | Promise<Principal> {
  const record = <T>(work: () => Promise<T>) =>
    recordVouching(audit, request, { operation: 'users.signIn', claimedName: name }, work)
  const rights = rightsIn(groups, roles) ?? access.noneOfItsOwn(subject)
  if (rights === null) {
    const refusal = new ScrapdeckError('ROLE_REQUIRED', noRoleText(name, option))
    return record(() => access.disown(subject)).then(() => {
      throw refusal
    })
  }
  const vouched = { subject, name, ...rights }
  return access.findVouched(vouched) ?? record(() => access.signIn(vouched))
}

const WRONG_FOR_MS = 60_000
const WRONG_MAX = 1_000

type PluginUsersParts = Pick<Engine, 'access' | 'audit'> & { roles: GroupRoles; clock: Clock }

/** Users whose passwords a plugin checks. The plugin must not impersonate local users. */
export class PluginUsers {
  readonly #ask: NonNullable<Engine['authenticate']>
  readonly #parts: PluginUsersParts
  /**
   * Keys of wrong passwords. These are not sent to the plugin again, because a program with an old password must not
   * lock an account elsewhere.
   */
  readonly #wrong = new Map<string, number>()

  constructor(ask: NonNullable<Engine['authenticate']>, parts: PluginUsersParts) {
    this.#ask = ask
    this.#parts = parts
  }

  /**
   * Returns null if the password is wrong. `key` is a keyed hash of the credentials. Rejects like admitVouched or with
   * SIGN_IN_UNAVAILABLE.
   */
  async find(request: FastifyRequest, given: BasicCredentials, key: string): Promise<Principal | null> {
    const { access, clock } = this.#parts
    if (given.username === '' || access.isLocalName(given.username)) return null
    if (clock.monotonicMs() < (this.#wrong.get(key) ?? 0)) return null
    const person = await this.#ask(given)
    if (person !== null) return admitVouched(request, person, { ...this.#parts, option: 'plugin_roles' })
    if (this.#wrong.size >= WRONG_MAX) this.#wrong.clear()
    this.#wrong.set(key, clock.monotonicMs() + WRONG_FOR_MS)
    return null
  }
}
