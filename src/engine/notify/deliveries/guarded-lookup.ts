import { lookup } from 'node:dns'
import type { LookupFunction } from 'node:net'
import type { AddressGuard } from './addresses.ts'

/**
 * Resolves names for a connection, which then uses exactly the checked addresses, so that a name cannot change
 * between check and use (DNS rebinding). Fails with FORBIDDEN_ADDRESS and names the host and its address.
 */
export function guardedLookup(guard: AddressGuard, resolve: typeof lookup = lookup): LookupFunction {
  return (host, options, callback) => {
    resolve(host, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, [])
      const refused = addresses.find(({ address }) => !guard.isAllowed(address))
      // One forbidden address is enough, because we do not control which address the connection would use.
      if (refused !== undefined) return callback(forbidden(`${host} (${refused.address})`), [])
      if (options.all === true) callback(null, addresses)
      else callback(null, addresses[0]!.address, addresses[0]!.family)
    })
  }
}

export function forbidden(host: string): NodeJS.ErrnoException {
  return Object.assign(new Error(host), { code: 'FORBIDDEN_ADDRESS' })
}
