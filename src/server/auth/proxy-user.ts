import type { FastifyRequest } from 'fastify'
import type { Engine } from '../../engine/index.ts'
import type { Principal } from '../../engine/access/principal.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/server.ts'
import { claimName } from '../audit-origin.ts'
import { plainAddress, AddressList } from './client-address.ts'
import { groupsIn } from './group-roles.ts'
import { wasVouchedFor } from './peer-requests.ts'
import type { ProxyOptions } from './sign-in-options.ts'
import { admitVouched } from './vouched-users.ts'

const NAME_MAX = 200

/** Users that a proxy states in a header. Ignores the header if the request does not come from the proxy. */
export class ProxyUsers {
  readonly #options: ProxyOptions
  readonly #parts: Pick<Engine, 'access' | 'audit'>
  readonly #from: AddressList

  constructor(options: ProxyOptions, { access, audit }: Pick<Engine, 'access' | 'audit'>) {
    this.#options = options
    this.#parts = { access, audit }
    this.#from = new AddressList(options.from)
  }

  /** Returns null if no proxy states a user. Throws or rejects with UNAUTHORIZED or ROLE_REQUIRED. */
  find(request: FastifyRequest): Principal | null | Promise<Principal> {
    const { userHeader, groupsHeader, groupsSeparator, roles } = this.#options
    const { headers, raw } = request
    if (headers[userHeader] === undefined || !this.#isFromProxy(request)) return null
    const names = valuesOf(raw.rawHeaders, userHeader)
    const lists = valuesOf(raw.rawHeaders, groupsHeader)
    const [name = ''] = names
    claimName(request, name.slice(0, NAME_MAX))
    // A forwarding engine joins repeated headers with a comma.
    if (names.length > 1 || lists.length > 1 || name === '' || name.includes(',') || name.length > NAME_MAX) {
      throw new ScrapdeckError(
        'UNAUTHORIZED',
        sentence('server.proxy_headers_twice', { userHeader, groupsHeader, names: names.length, lists: lists.length }),
        { data: { credentials: 'wrong' } }
      )
    }
    const listed = lists.flatMap((list) => list.split(groupsSeparator))
    const groups = groupsIn({ groups: listed.map((group) => group.trim()) }, 'groups')
    return admitVouched(
      request,
      { subject: `proxy ${name}`, name, groups },
      { ...this.#parts, roles, option: 'proxy_roles' }
    )
  }

  #isFromProxy({ raw }: FastifyRequest): boolean {
    const vouched = wasVouchedFor(raw)
    return vouched ?? this.#from.has(plainAddress(raw.socket.remoteAddress ?? ''))
  }
}

/** Reads the raw headers, because Node joins the values of a repeated header. */
function valuesOf(rawHeaders: readonly string[], name: string): string[] {
  return rawHeaders.flatMap((header, at) =>
    at % 2 === 0 && header.toLowerCase() === name ? [(rawHeaders[at + 1] ?? '').trim()] : []
  )
}
