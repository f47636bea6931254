import { BlockList, isIP } from 'node:net'

/**
 * Addresses that give cloud credentials to any process on this machine. No address that an operator enters for a node,
 * proxy or webhook may lead to them, neither directly nor after name resolution.
 */
const NETWORKS_V4 = [
  ['169.254.0.0', 16],
  // Alibaba, Azure, Oracle.
  ['100.100.100.200', 32],
  ['168.63.129.16', 32],
  ['192.0.0.192', 32]
] as const
const NETWORKS_V6 = [
  ['fe80::', 10],
  // Amazon (instance metadata, EKS Pod Identity and other local services), Google.
  ['fd00:ec2::', 32],
  ['fd20:ce::254', 128]
] as const

const LAST_FOUR = [12, 13, 14, 15] as const

/** Networks whose addresses embed an IPv4 address. `bytes`: the positions that its four bytes can have. */
const EMBEDDING: readonly { network: readonly [string, number]; bytes: readonly (readonly number[])[] }[] = [
  // IPv4-compatible and IPv4-mapped (RFC 4291), IPv4-translated (RFC 2765).
  { network: ['::', 96], bytes: [LAST_FOUR] },
  { network: ['::ffff:0:0', 96], bytes: [LAST_FOUR] },
  { network: ['::ffff:0:0:0', 96], bytes: [LAST_FOUR] },
  // NAT64: the common prefix, and local prefixes of each length (RFC 6052, RFC 8215).
  { network: ['64:ff9b::', 96], bytes: [LAST_FOUR] },
  { network: ['64:ff9b:1::', 48], bytes: [[6, 7, 9, 10], [7, 9, 10, 11], [9, 10, 11, 12], LAST_FOUR] },
  // 6to4 (RFC 3056).
  { network: ['2002::', 16], bytes: [[2, 3, 4, 5]] }
]

let lists: { forbidden: BlockList; embedding: { list: BlockList; bytes: readonly (readonly number[])[] }[] } | null =
  null

function makeLists() {
  const forbidden = new BlockList()
  for (const [address, bits] of NETWORKS_V4) forbidden.addSubnet(address, bits, 'ipv4')
  for (const [address, bits] of NETWORKS_V6) forbidden.addSubnet(address, bits, 'ipv6')
  const embedding = EMBEDDING.map(({ network, bytes }) => {
    const list = new BlockList()
    list.addSubnet(...network, 'ipv6')
    return { list, bytes }
  })
  return { forbidden, embedding }
}

/**
 * False for text that is not an IP address. IPv4 addresses inside IPv6 ones (`::ffff:10.0.0.1`) are checked as IPv4.
 */
export function isMetadataAddress(address: string): boolean {
  const family = isIP(address)
  if (family === 0) return false
  lists ??= makeLists()
  const { forbidden, embedding } = lists
  if (family === 4) return forbidden.check(address, 'ipv4')
  if (forbidden.check(address, 'ipv6')) return true
  const places = embedding.flatMap(({ list, bytes }) => (list.check(address, 'ipv6') ? bytes : []))
  if (places.length === 0) return false
  const all = bytesOf(address)
  return places.some((place) => forbidden.check(place.map((index) => all[index]).join('.'), 'ipv4'))
}

function bytesOf(address: string): number[] {
  // Normalizes the address as in URLs: no zone, no dotted part, lower case.
  const written = new URL(`http://[${address.split('%', 1)[0]}]`).hostname.slice(1, -1)
  const [before = [], after = []] = written.split('::').map((half) => (half === '' ? [] : half.split(':')))
  const groups = [...before, ...Array<string>(8 - before.length - after.length).fill('0'), ...after]
  return groups.flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 255])
}
