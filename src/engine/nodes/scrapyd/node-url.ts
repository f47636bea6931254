import { BlockList, isIP } from 'node:net'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/nodes.ts'
import type { Sentence } from '../../../shared/texts/sentence.ts'
import { nameOfSshHost, readSshAddress, splitAddress } from '../../../shared/ssh-address.ts'
import { isMetadataAddress } from '../../runtime/metadata-addresses.ts'

/** Host names of cloud metadata services. Checked behind an SSH host, because that host resolves the names. */
const METADATA_NAMES: ReadonlySet<string> = new Set([
  ...['metadata', 'metadata.google.internal', 'metadata.goog', 'instance-data', 'instance-data.ec2.internal']
])

/**
 * A normalized URL. `url` has a scheme, port (unless https on 443) and trailing slash, and no credentials. The URL can
 * start with an SSH host: `ssh://ops@bastion/http://10.0.0.5:6800/`.
 */
export interface NodeUrl {
  url: string
  username: string | null
  password: string | null
}

const LOOPBACK_ADDRESSES = new BlockList()
LOOPBACK_ADDRESSES.addSubnet('127.0.0.0', 8, 'ipv4')
LOOPBACK_ADDRESSES.addAddress('::1', 'ipv6')

/**
 * Parses a URL as operators paste it: `10.0.0.5`, `eu-1:6801`, `http://user:secret@eu-1:6800/base`, or one of
 * these behind `ssh://bastion/`. Defaults: http and port 6800. Idempotent for `url`. Throws NODE_URL_INVALID.
 */
export function parseNodeUrl(text: string): NodeUrl {
  const trimmed = text.trim()
  const overSsh = readSshAddress(trimmed)
  if (overSsh === null) return parseHttpUrl(trimmed)
  if (typeof overSsh === 'string') throw invalidSsh(overSsh)
  if (isMetadataAddress(addressIn(overSsh.ssh.host))) {
    throw invalidSsh(sentence('nodes.ssh_host_is_metadata', { host: overSsh.ssh.host }))
  }
  // Behind an SSH host, a metadata service returns the credentials of that host, so we refuse the same addresses.
  const { url, ...credentials } = parseHttpUrl(overSsh.inner)
  const name = new URL(url).hostname.replace(/\.$/, '')
  if (METADATA_NAMES.has(name)) {
    throw invalidSsh(sentence('nodes.name_is_metadata', { name }))
  }
  return { url: `ssh://${nameOfSshHost(overSsh.ssh)}/${url}`, ...credentials }
}

function parseHttpUrl(trimmed: string): NodeUrl {
  if (trimmed === '') throw invalid(sentence('nodes.address_empty'))
  const withScheme = /^[a-z][a-z0-9+.-]*:\/\//i.test(trimmed)
    ? trimmed
    : `http://${isIP(trimmed) === 6 ? `[${trimmed}]` : trimmed}`
  const url = parse(withScheme)
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw invalid(sentence('nodes.address_not_http', { protocol: url.protocol }))
  }
  if (url.search !== '' || url.hash !== '') {
    throw invalid(sentence('nodes.address_has_query'))
  }
  if (isMetadataAddress(hostOf(url))) {
    throw invalid(sentence('nodes.address_is_metadata', { host: url.hostname }))
  }
  const credentials = { username: decode(url.username), password: decode(url.password) }
  if (credentials.username?.includes(':')) throw invalid(sentence('nodes.user_name_has_colon'))
  return { url: `${url.protocol}//${url.hostname}${portOf(url, withScheme)}${basePathOf(url)}`, ...credentials }
}

/** Whether the connection remains on this machine, so that plain HTTP is safe. Never true for ssh://. */
export function isLoopbackUrl(url: string): boolean {
  const parsed = new URL(url)
  if (parsed.protocol === 'ssh:') return false
  const host = hostOf(parsed)
  return host === 'localhost' || host.endsWith('.localhost') || listed(LOOPBACK_ADDRESSES, host)
}

/** The part of a URL that credentials belong to: host and port, and the SSH host before them. */
export function originOf(url: string): string | null {
  const { ssh, inner } = splitAddress(url)
  const origin = URL.parse(inner)?.origin ?? null
  return ssh === null || origin === null ? origin : `ssh://${nameOfSshHost(ssh)}/${origin}`
}

function parse(text: string): URL {
  try {
    return new URL(text)
  } catch (error) {
    throw invalid(sentence('nodes.not_an_address'), error)
  }
}

// WHATWG URLs drop the default port. Here, `http://host` means port 6800 and `http://host:80` means port 80.
function portOf(url: URL, text: string): string {
  if (url.port !== '') return `:${url.port}`
  if (url.protocol === 'https:') return ''
  return /^http:[/\\]*[^/\\]*:0*80(?:[/\\]|$)/i.test(text) ? ':80' : ':6800'
}

function basePathOf(url: URL): string {
  return url.pathname.endsWith('/') ? url.pathname : `${url.pathname}/`
}

function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '')
}

/** ssh would connect to 169.254.169.254 for 0xa9fea9fe, 2852039166 and 169.254.43518. URL parsing normalizes them. */
const addressIn = (host: string): string => (isIP(host) === 6 ? host : (URL.parse(`http://${host}`)?.hostname ?? host))

function decode(part: string): string | null {
  if (part === '') return null
  try {
    return decodeURIComponent(part)
  } catch (error) {
    throw invalid(sentence('nodes.address_has_bare_percent'), error)
  }
}

function listed(list: BlockList, address: string): boolean {
  const family = isIP(address)
  return family !== 0 && list.check(address, family === 6 ? 'ipv6' : 'ipv4')
}

function invalidSsh(problem: Sentence | string): ScrapdeckError {
  return new ScrapdeckError('NODE_URL_INVALID', sentence('nodes.ssh_address_invalid', { problem }))
}

function invalid(problem: Sentence, cause?: unknown): ScrapdeckError {
  return new ScrapdeckError('NODE_URL_INVALID', sentence('nodes.address_invalid', { problem }), { cause })
}
