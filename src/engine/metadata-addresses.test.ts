import { expect, test } from 'vitest'
import { createAddressGuard } from './notify/deliveries/addresses.ts'
import { parseNodeUrl } from './nodes/scrapyd/node-url.ts'
import { parseProxyUrl } from './nodes/scrapyd/proxy.ts'
import { isMetadataAddress } from './runtime/metadata-addresses.ts'

const addresses = [
  ...['169.254.169.254', '169.254.0.1', '100.100.100.200', '168.63.129.16', '192.0.0.192'],
  ...['::ffff:168.63.129.16', '64:ff9b::168.63.129.16', '64:ff9b::a9fe:a9fe', '64:ff9b::c000:c0'],
  ...['fe80::1', 'fd00:ec2::254', 'fd00:ec2::23', 'fd20:ce::254', 'fd20:00ce:0::254'],
  // Every form in which an IPv6 address embeds an IPv4 address.
  ...['::a9fe:a9fe', '::169.254.169.254', '::ffff:0:a9fe:a9fe', '::ffff:0:168.63.129.16'],
  ...['64:ff9b:1::a9fe:a9fe', '64:ff9b:1:7:8:9:a9fe:a9fe', '64:ff9b:1:a9fe:a9:fe00::', '64:ff9b:1:00a9:fe:a9fe::'],
  ...['64:ff9b:1:0:a9:fea9:fe00:0', '2002:a9fe:a9fe::', '2002:a9fe:a9fe:1:2:3:4:5', '2002:c000:c0::1']
]

test.each(addresses)('the metadata address %s is never connected to: as a node, a proxy or a webhook', (address) => {
  expect(isMetadataAddress(address)).toBe(true)
  const host = address.includes(':') ? `[${address}]` : address
  expect(() => parseNodeUrl(`http://${host}:6800`)).toThrow('metadata')
  expect(() => parseProxyUrl(`http://${host}:3128`)).toThrow('metadata')
  expect(() => createAddressGuard(['0.0.0.0/0', '::/0']).checkUrl(`http://${host}/`)).toThrow('not sent')
})

const others = [
  ...['168.63.129.17', '192.0.0.193', 'fd20:ce::253', '64:ff9b::808:808', '10.0.0.1', 'eu-1', ''],
  ...['::1', '::', '::ffff:10.0.0.1', '64:ff9b:1::808:808', '2002:a00:1::', '2001:db8:a9fe:a9fe::', 'fd00:ec3::1']
]

test.each(others)('%s is not a metadata address', (address) => expect(isMetadataAddress(address)).toBe(false))
