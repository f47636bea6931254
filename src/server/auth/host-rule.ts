import { isIP } from 'node:net'
import { hostname } from 'node:os'

/**
 * Which `Host` headers are accepted. A web page that points its own name at this machine (DNS rebinding) sends that
 * name and is rejected. `allowedHosts` are the operator's own names; without a port they match any port.
 */
export function createHostRule(options: {
  bindAddress: string
  /** A function: with port 0 it is known only once the server listens. */
  port: () => number
  allowedHosts: string[]
  /** TLS: the port that a browser leaves out is another one. */
  isEncrypted?: boolean
}): (host: string | undefined) => boolean {
  const { bindAddress, port, isEncrypted = false } = options
  const allowed = options.allowedHosts.map((host) => host.toLowerCase())
  const isWildcard = ['', '0.0.0.0', '::'].includes(bindAddress)
  const names = new Set(['localhost', '127.0.0.1', '::1', bindAddress.toLowerCase()])
  if (!isLoopback(bindAddress)) names.add(hostname().toLowerCase())
  // Most requests name the same host; the port is known before the first of them.
  let lastAccepted: string | null = null
  const isOurs = (host: string | undefined): boolean => {
    const parts = splitHost(host, isEncrypted ? 443 : 80)
    if (parts === null) return false
    if (allowed.includes(parts.name) || allowed.includes((host as string).toLowerCase())) return true
    if (parts.port !== port()) return false
    // An address is not a name that DNS could rebind: when bound to all interfaces, any address can be ours.
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
