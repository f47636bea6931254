import { BlockList, isIP } from 'node:net'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/notify.ts'
import type { Sentence } from '../../../shared/texts/sentence.ts'
import { isMetadataAddress } from '../../runtime/metadata-addresses.ts'

/**
 * Without this guard, any user who can add a webhook could make this machine send requests to its own services, its
 * private network or a cloud metadata service. Allows only public addresses and the configured networks, and never
 * cloud metadata. Checks both the URL as written and the addresses that its name resolves to when connecting.
 */
export interface AddressGuard {
  /** Throws WEBHOOK_URL_FORBIDDEN. Does not resolve a host name. Every delivery checks what the name resolves to. */
  checkUrl(text: string): URL
  isAllowed(address: string): boolean
}

/** https://www.iana.org/assignments/iana-ipv4-special-registry: not globally reachable, and multicast. */
const NOT_PUBLIC_V4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3'
]
/** Only 2000::/3 is allocated. These ranges in it are special or embed an unchecked IPv4 address (6to4, Teredo). */
const NOT_PUBLIC_V6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']

export function createAddressGuard(networks: readonly string[]): AddressGuard {
  // Created for the first address, because most engines never send a webhook.
  let lists: { allowed: BlockList; notPublic: BlockList; givenOut: BlockList } | null = null

  function isAllowed(address: string): boolean {
    const family = isIP(address)
    // Cloud metadata is refused regardless of the configuration.
    if (family === 0 || isMetadataAddress(address)) return false
    lists ??= {
      allowed: listOf(networks),
      notPublic: listOf([...NOT_PUBLIC_V4, ...NOT_PUBLIC_V6]),
      givenOut: listOf(['2000::/3'])
    }
    const { allowed, notPublic, givenOut } = lists
    if (isIn(allowed, address)) return true
    if (isIn(notPublic, address)) return false
    return family === 4 || isIn(givenOut, address)
  }

  return {
    isAllowed,
    checkUrl(text) {
      const url = parse(text)
      if (url.protocol !== 'http:' && url.protocol !== 'https:') {
        throw forbidden(sentence('notify.address_not_http', { protocol: url.protocol }))
      }
      if (url.username !== '' || url.password !== '') {
        throw forbidden(sentence('notify.address_has_credentials'))
      }
      const host = hostOf(url)
      const isLocalName = /(^|\.)localhost\.?$/i.test(host) && !isAllowed('127.0.0.1')
      if (isLocalName || (isIP(host) !== 0 && !isAllowed(host)))
        throw forbidden(sentence('notify.address_is_inside', { host }))
      return url
    }
  }
}

export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '')
}

/** Networks or addresses (`10.1.0.0/16`, `127.0.0.1`, `fd12::/16`), separated by spaces or commas. Throws BAD_INPUT. */
export function parseNetworks(text: string): string[] {
  const networks = text.split(/[\s,]+/).filter((part) => part !== '')
  for (const network of networks) {
    const [address, bits, ...rest] = network.split('/')
    const family = isIP(address!)
    const isBits = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128))
    if (family === 0 || !isBits || rest.length > 0) {
      throw new ScrapdeckError('BAD_INPUT', sentence('notify.network_invalid', { network }))
    }
  }
  return networks
}

function parse(text: string): URL {
  try {
    return new URL(text.trim())
  } catch (error) {
    throw forbidden(sentence('notify.not_an_address'), error)
  }
}

function listOf(networks: readonly string[]): BlockList {
  const list = new BlockList()
  for (const network of networks) {
    const [address, bits] = network.split('/')
    const family = isIP(address!) === 6 ? 'ipv6' : 'ipv4'
    list.addSubnet(address!, bits === undefined ? (family === 'ipv4' ? 32 : 128) : Number(bits), family)
  }
  return list
}

/** IPv4 addresses written as IPv6 (`::ffff:10.0.0.1`) are checked as IPv4. */
function isIn(list: BlockList, address: string): boolean {
  return list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')
}

function forbidden(problem: Sentence, cause?: unknown): ScrapdeckError {
  return new ScrapdeckError('WEBHOOK_URL_FORBIDDEN', problem, { cause })
}
