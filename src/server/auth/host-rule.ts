import { sentence } from '../../shared/texts/errors/server.ts'
import { isIP } from 'node:net'
import { hostname } from 'node:os'
import type { NoPasskeySite, PasskeySite } from '../../engine/index.ts'

/**
 * Returns a function that checks whether a `Host` header names this service. In DNS rebinding, it names another host.
 * `allowedHosts` are names that the operator configured. A name without a port matches any port.
 */
export function createHostRule(options: {
  bindAddress: string
  /** This is a function, because port 0 is resolved only when the server listens. */
  port: () => number
  allowedHosts: string[]
  /** With TLS, a Host header without a port means 443. */
  isEncrypted?: boolean
}): (host: string | undefined) => boolean {
  const { bindAddress, port, isEncrypted = false } = options
  const allowed = options.allowedHosts.map((host) => host.toLowerCase())
  const isWildcard = ['', '0.0.0.0', '::'].includes(bindAddress)
  const names = new Set(['localhost', '127.0.0.1', '::1', bindAddress.toLowerCase()])
  if (!isLoopback(bindAddress)) names.add(hostname().toLowerCase())
  // The last accepted host is cached, because most requests name the same host.
  let lastAccepted: string | null = null
  const isOurs = (host: string | undefined): boolean => {
    const parts = splitHost(host, isEncrypted ? 443 : 80)
    if (parts === null) return false
    if (allowed.includes(parts.name) || allowed.includes((host as string).toLowerCase())) return true
    if (parts.port !== port()) return false
    // DNS cannot rebind an address, so any address is accepted if the service listens on all interfaces.
    return names.has(parts.name) || (isWildcard && isIP(parts.name) !== 0)
  }
  return (host) => {
    if (host !== undefined && host === lastAccepted) return true
    const accepted = isOurs(host)
    if (accepted && host !== undefined) lastAccepted = host
    return accepted
  }
}

export function isLoopback(address: string): boolean {
  return address === 'localhost' || address === '::1' || /^127\.\d+\.\d+\.\d+$/.test(address)
}

function splitHost(host: string | undefined, usualPort: number): { name: string; port: number } | null {
  const match = /^(?:\[([0-9a-f:.]+)\]|([^:/?#@\s[\]]+))(?::(\d{1,5}))?$/i.exec(host ?? '')
  if (match === null) return null
  return {
    name: (match[1] ?? match[2] ?? '').toLowerCase(),
    port: match[3] === undefined ? usualPort : Number(match[3])
  }
}

/**
 * Returns the passkey site for a browser at `address` (`https://deck.example.org:6800`), or why there is none. Passkeys
 * belong to a host name, and browsers support them only over HTTPS and on localhost. If `publicUrl` is configured,
 * passkeys work only there.
 */
export function passkeySiteOf(address: string, publicUrl: string | null): PasskeySite | NoPasskeySite {
  if (!URL.canParse(address)) return { problem: sentence('server.passkeys_need_name') }
  if (publicUrl !== null && new URL(publicUrl).hostname !== new URL(address).hostname) {
    return { problem: sentence('server.passkeys_at_public_url', { publicUrl }) }
  }
  const { protocol, hostname, origin, port } = new URL(publicUrl ?? address)
  const plain = hostname.replaceAll(/[[\]]/g, '')
  if (isIP(plain) !== 0) {
    const here = `http://localhost${port === '' ? '' : `:${port}`}/ui/`
    const local = isLoopback(plain) ? here : null
    return { problem: sentence('server.passkeys_not_at_address', { address: plain, local }) }
  }
  const isLocal = hostname === 'localhost' || hostname.endsWith('.localhost')
  if (protocol === 'https:' || isLocal) return { origin, host: hostname }
  return { problem: sentence('server.passkeys_need_https', { origin }) }
}
