import { expect, test } from 'vitest'
import { createAddressGuard } from './webhooks/addresses.ts'
import { parseNodeUrl } from './nodes/scrapyd/node-url.ts'
import { parseProxyUrl } from './nodes/scrapyd/proxy.ts'
import { isMetadataAddress } from './runtime/metadata-addresses.ts'

const addresses = [
  ...['169.254.169.254', '169.254.0.1', '100.100.100.200', '168.63.129.16', '192.0.0.192'],
  ...['::ffff:168.63.129.16', '64:ff9b::168.63.129.16', '64:ff9b::a9fe:a9fe', '64:ff9b::c000:c0'],
  ...['fe80::1', 'fd00:ec2::254', 'fd20:ce::254', 'fd20:00ce:0::254']
]

test.each(addresses)('%s is never connected to: as a node, a proxy or a webhook', (address) => {
  expect(isMetadataAddress(address)).toBe(true)
  const host = address.includes(':') ? `[${address}]` : address
  expect(() => parseNodeUrl(`http://${host}:6800`)).toThrow('metadata')
  expect(() => parseProxyUrl(`http://${host}:3128`)).toThrow('metadata')
  expect(() => createAddressGuard(['0.0.0.0/0', '::/0']).checkUrl(`http://${host}/`)).toThrow('not sent')
})

test.each(['168.63.129.17', '192.0.0.193', 'fd20:ce::253', '64:ff9b::808:808', '10.0.0.1', 'eu-1', ''])(
  '%s is not one of them',
  (address) => expect(isMetadataAddress(address)).toBe(false)
)
