import { BlockList, isIP } from 'node:net'

/**
 * Addresses that give cloud credentials to any process on this machine: nothing that an operator enters may lead there,
 * be it a node, a proxy or a webhook, as written or resolved.
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
  // Amazon, Google.
  ['fd00:ec2::254', 128],
  ['fd20:ce::254', 128]
] as const

/** Made for the first address that is checked. */
let forbidden: BlockList | null = null

function listForbidden(): BlockList {
  const list = new BlockList()
  for (const [address, bits] of NETWORKS_V4) {
    list.addSubnet(address, bits, 'ipv4')
    // The same through NAT64 (RFC 6052).
    list.addSubnet(`64:ff9b::${address}`, 96 + bits, 'ipv6')
  }
  for (const [address, bits] of NETWORKS_V6) list.addSubnet(address, bits, 'ipv6')
  return list
}

/** False for a text that is no IP address. IPv4 addresses written as IPv6 (`::ffff:10.0.0.1`) are checked as IPv4. */
export function isMetadataAddress(address: string): boolean {
  const family = isIP(address)
  if (family === 0) return false
  forbidden ??= listForbidden()
  return forbidden.check(address, family === 6 ? 'ipv6' : 'ipv4')
}
