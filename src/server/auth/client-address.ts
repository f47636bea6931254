import { isIP, isIPv6 } from 'node:net'
import type { FastifyRequest } from 'fastify'

const REMEMBERED_MAX = 1000
/** IPv6 with a zone. */
const LONGEST_ADDRESS = 100

/**
 * The address of the client, for logs and limits. Behind a trusted proxy (`trusted_proxies`) it is the one that the
 * proxy reports. `socket`: the client is on the Unix socket.
 */
export function addressOf(request: FastifyRequest): string {
  // Fastify follows X-Forwarded-For through the trusted proxies.
  return read(request.ip ?? '') ?? plainAddress(request.raw.socket.remoteAddress ?? 'socket')
}

/** null: no address. Some proxies report `address:port`. */
const read = remember((text) => {
  const reported = text.replace(/^\[(.+)\](?::\d+)?$|^([\d.]+):\d+$/, '$1$2')
  return isIP(reported) === 0 ? null : plainAddress(reported)
})

/** Every request asks for its address, most of them for one of a few. */
function remember<T>(find: (text: string) => T): (text: string) => T {
  const found = new Map<string, T>()
  return (text) => {
    let one = found.get(text)
    if (one === undefined) {
      one = find(text)
      if (found.size >= REMEMBERED_MAX) found.clear()
      if (text.length <= LONGEST_ADDRESS) found.set(text, one)
    }
    return one
  }
}

/**
 * What limits count as one client: an IPv4 address, or an IPv6 network of 64 bits, which is what a single customer
 * gets: counted by address, he would have 2^64 clients.
 */
export const clientOf = remember((address: string): string => {
  if (!isIPv6(address)) return address
  const [front = '', back] = (address.split('%', 1)[0] as string).split('::')
  const groups = front === '' ? [] : front.split(':')
  const rest = back === undefined || back === '' ? [] : back.split(':')
  // An IPv4 address at the end takes two groups.
  const restLength = rest.length + (rest.at(-1)?.includes('.') === true ? 1 : 0)
  const zeros = back === undefined ? 0 : 8 - groups.length - restLength
  const all = [...groups, ...Array.from({ length: zeros }, () => '0'), ...rest]
  return `${all
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`
})

/** `::ffff:192.0.2.1` is how a socket for both versions reports an IPv4 address. */
export function plainAddress(address: string): string {
  return /^::ffff:[\d.]+$/i.test(address) ? address.slice('::ffff:'.length) : address
}
