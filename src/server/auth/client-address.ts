import { isIP, isIPv6, BlockList } from 'node:net'
import type { FastifyRequest } from 'fastify'
import { remember } from '../remember.ts'
import { clientAddressOfPeer } from './peer-requests.ts'

/** Addresses and networks from a validated setting, such as `127.0.0.1 10.1.0.0/16`. */
export class AddressList {
  readonly #list = new BlockList()

  constructor(networks: readonly string[]) {
    for (const network of networks) {
      const [address = '', bits] = network.split('/')
      const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
      if (bits === undefined) this.#list.addAddress(address, family)
      else this.#list.addSubnet(address, Number(bits), family)
    }
  }

  /** Returns false for a string that is not an address, such as the path of a Unix socket. */
  has(address: string): boolean {
    const version = isIP(address)
    return version !== 0 && this.#list.check(address, version === 6 ? 'ipv6' : 'ipv4')
  }
}

/** The client's address for logs and limits, as reported by a trusted proxy. Returns `socket` for the Unix socket. */
export function addressOf(request: FastifyRequest): string {
  const ofPeer = clientAddressOfPeer(request.raw)
  if (ofPeer !== null) return read(ofPeer) ?? 'peer'
  // `request.ip` is the address that the trusted proxies report in X-Forwarded-For.
  return read(request.ip ?? '') ?? plainAddress(request.raw.socket.remoteAddress ?? 'socket')
}

/** Returns null if the string is not an address. Some proxies report `address:port`. */
const read = remember((text) => {
  const reported = text.replace(/^\[(.+)\](?::\d+)?$|^([\d.]+):\d+$/, '$1$2')
  return isIP(reported) === 0 ? null : plainAddress(reported)
})

/**
 * Returns the key that limits use for a client: its IPv4 address or its IPv6 /64 network, because providers assign
 * whole /64 networks to customers.
 */
export const clientOf = remember((address: string): string => {
  if (!isIPv6(address)) return address
  const groups = groupsOf(address).slice(0, 4)
  return `${groups.map((group) => group.toString(16)).join(':')}::/64`
})

/**
 * Converts an IPv4 address in IPv6 notation (`::ffff:10.0.0.1`), as reported by a socket that accepts both versions.
 */
export function plainAddress(address: string): string {
  if (!isIPv6(address)) return address
  const groups = groupsOf(address)
  if (!groups.slice(0, 6).every((group, at) => group === (at === 5 ? 0xffff : 0))) return address
  return groups
    .slice(6)
    .flatMap((group) => [group >> 8, group & 0xff])
    .join('.')
}

function groupsOf(address: string): number[] {
  const [front = [], back] = (address.split('%', 1)[0] as string).split('::').map(readGroups)
  return back === undefined ? front : [...front, ...Array<number>(8 - front.length - back.length).fill(0), ...back]
}

function readGroups(text: string): number[] {
  if (text === '') return []
  return text.split(':').flatMap((group) => {
    if (!group.includes('.')) return Number.parseInt(group, 16)
    const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number)
    return [a * 256 + b, c * 256 + d]
  })
}
