import { describe, expect, it } from 'vitest'
import { createAddressGuard, parseNetworks } from './addresses.ts'

const guard = createAddressGuard([])

describe('the addresses that webhooks can use', () => {
  it.each(['93.184.215.14', '1.1.1.1', '100.63.255.255', '172.32.0.1', '2606:4700::1111'])(
    'include the public address %s',
    (address) => expect(guard.isAllowed(address)).toBe(true)
  )

  it.each([
    ...['127.0.0.1', '127.8.9.1', '0.0.0.0', '10.0.0.5', '172.16.0.1', '172.31.255.255', '192.168.1.1', '100.64.0.1'],
    ...['169.254.169.254', '100.100.100.200', '224.0.0.1', '255.255.255.255', '198.18.0.1', '192.0.2.1'],
    ...[
      '::',
      '::1',
      '::ffff:127.0.0.1',
      '::ffff:10.0.0.1',
      '::ffff:8.8.8.8',
      '::7f00:1',
      'fe80::1',
      'fc00::1',
      'fd00:ec2::254',
      'ff02::1'
    ],
    ...['64:ff9b::7f00:1', '64:ff9b::a9fe:a9fe', '2002:7f00:1::', '2001:0:1::', '2001:db8::1', 'nonsense', '']
  ])('exclude %s', (address) => expect(guard.isAllowed(address)).toBe(false))

  it.each([
    ['http://127.0.0.1/', /private network/],
    ['http://2130706433/', /private network/],
    ['http://0x7f.1/', /private network/],
    ['http://[::1]:6800/', /private network/],
    ['http://[::ffff:169.254.169.254]/', /private network/],
    ['http://localhost:6800/', /private network/],
    ['http://a.LOCALHOST./', /private network/],
    ['ftp://example.org/', /http and https/],
    ['file:///etc/passwd', /http and https/],
    ['http://ann:secret@example.org/', /user name or password/],
    ['example.org/hook', /not a valid address/],
    ['', /not a valid address/]
  ])('exclude the URL %s at once', (url, words) => {
    const refused = () => guard.checkUrl(url)
    expect(refused).toThrow(words)
    expect(refused).toThrow(expect.objectContaining({ code: 'WEBHOOK_URL_FORBIDDEN' }))
  })

  it('include what the configuration names, and nothing else', () => {
    const inside = createAddressGuard(parseNetworks('10.1.0.0/16, 127.0.0.1\nfd12::/16'))
    const asked = ['10.1.2.3', '10.2.0.1', '127.0.0.1', '127.0.0.2', 'fd12::5', 'fd13::5', '::ffff:10.1.0.1']
    expect(asked.filter((address) => inside.isAllowed(address))).toEqual([
      '10.1.2.3',
      '127.0.0.1',
      'fd12::5',
      '::ffff:10.1.0.1'
    ])
    expect(inside.checkUrl('http://localhost:9000/').port).toBe('9000')
  })

  it('never include those where clouds keep credentials', () => {
    const open = createAddressGuard(parseNetworks('0.0.0.0/0 ::/0'))
    const asked = [
      '169.254.169.254',
      '::ffff:169.254.169.254',
      '64:ff9b::a9fe:a9fe',
      'fd00:ec2::254',
      '100.100.100.200'
    ]
    expect(asked.filter((address) => open.isAllowed(address))).toEqual([])
    expect(open.isAllowed('192.168.0.1')).toBe(true)
  })

  it.each(['10.0.0.0/33', '10.0.0/8', 'example.org', '::/129', '10.0.0.0/8/8', '10.0.0.0/-1'])(
    'do not include the invalid network %s',
    (text) => expect(() => parseNetworks(text)).toThrow(expect.objectContaining({ code: 'BAD_INPUT' }))
  )
})
