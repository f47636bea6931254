import { BlockList, isIP } from 'node:net'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/nodes.ts'
import { splitAddress } from '../../../shared/ssh-address.ts'
import { isMetadataAddress } from '../../runtime/metadata-addresses.ts'
import { isLoopbackUrl } from './node-url.ts'

/** The setting for no proxy, even if the environment names one. */
export const DIRECT = 'direct'

export type Environment = Readonly<Record<string, string | undefined>>

/** Parses a proxy as operators write it (default scheme http). Idempotent. Throws NODE_CONNECTION_INVALID. */
export function parseProxyUrl(text: string): string {
  const trimmed = text.trim()
  if (trimmed.toLowerCase() === DIRECT) return DIRECT
  const url = URL.parse(/^[a-z][a-z0-9+.-]*:\/\//i.test(trimmed) ? trimmed : `http://${trimmed}`)
  if (url === null || url.hostname === '') throw invalid('This is not a valid proxy address')
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw invalid(`Only http and https proxies are supported, not ${url.protocol.slice(0, -1)}`)
  }
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '') {
    throw invalid('A proxy address must end with its port')
  }
  if (isMetadataAddress(url.hostname.replace(/^\[|\]$/g, ''))) {
    throw invalid(`${url.hostname} is a link-local or cloud metadata address, where no proxy can be`)
  }
  try {
    decodeURIComponent(`${url.username}:${url.password}`)
  } catch {
    // The message must not quote credentials.
    throw invalid('The user name or password of the proxy contains a % that is not an escape; write it as %25')
  }
  return url.href
}

/** Throws NODE_CONNECTION_INVALID if a node behind an SSH host has a proxy, because ssh would not use it. */
export function refuseProxyOverSsh({ url, proxyUrl }: { url: string; proxyUrl: string | null }): void {
  if (proxyUrl === null || proxyUrl === DIRECT || splitAddress(url).ssh === null) return
  throw new ScrapdeckError('NODE_CONNECTION_INVALID', sentence('nodes.proxy_behind_ssh'))
}

export function withoutCredentials(proxyUrl: string): string {
  const url = URL.parse(proxyUrl)
  if (url === null) return proxyUrl
  url.username = ''
  url.password = ''
  return url.href
}

/**
 * A node's own proxy, otherwise the one from HTTP_PROXY, HTTPS_PROXY and NO_PROXY. They are read as in curl:
 * lower-case variables take precedence, a host covers its subdomains, `*` covers everything, and networks are written
 * as 10.0.0.0/8. The environment never applies to loopback addresses, because a proxy would connect to its own machine.
 */
export function chooseProxy(setting: string | null, nodeUrl: string, environment: Environment): string | null {
  if (setting === DIRECT) return null
  if (setting !== null) return setting
  const url = new URL(nodeUrl)
  const named = url.protocol === 'https:' ? variable(environment, 'https_proxy') : variable(environment, 'http_proxy')
  if (named === null || isLoopbackUrl(nodeUrl) || isExempt(url, variable(environment, 'no_proxy') ?? '')) return null
  return parseProxyUrl(named)
}

function variable(environment: Environment, name: string): string | null {
  return environment[name] || environment[name.toUpperCase()] || null
}

function isExempt(url: URL, noProxy: string): boolean {
  const host = url.hostname.replace(/^\[|\]$/g, '').toLowerCase()
  const port = url.port || (url.protocol === 'https:' ? '443' : '80')
  return noProxy
    .toLowerCase()
    .split(/[\s,]+/)
    .some((entry) => {
      if (entry === '') return false
      if (entry === '*') return true
      if (entry.includes('/')) return isInNetwork(host, entry)
      const [, name = '', wantedPort] = /^\*?\.?(\[.*\]|[^:]*|.*:.*:.*?)(?::(\d+))?$/.exec(entry) ?? []
      if (wantedPort !== undefined && wantedPort !== port) return false
      const bare = name.replace(/^\[|\]$/g, '')
      return bare !== '' && (host === bare || host.endsWith(`.${bare}`))
    })
}

function isInNetwork(host: string, network: string): boolean {
  const [address = '', bits] = network.split('/')
  const family = isIP(host)
  const width = Number(bits)
  if (family === 0 || isIP(address) !== family || !Number.isInteger(width) || width < 0) return false
  if (width > (family === 4 ? 32 : 128)) return false
  const list = new BlockList()
  const kind = family === 6 ? 'ipv6' : 'ipv4'
  list.addSubnet(address, width, kind)
  return list.check(host, kind)
}

function invalid(problem: string): ScrapdeckError {
  return new ScrapdeckError('NODE_CONNECTION_INVALID', sentence('nodes.proxy_invalid', { problem }))
}
