import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isScrapdeckError } from '../../../shared/errors.ts'
import { isLoopbackUrl, originOf, parseNodeUrl } from './node-url.ts'

describe('an address that an operator pastes', () => {
  test.each([
    ['10.0.0.5', 'http://10.0.0.5:6800/'],
    ['eu-1:6801', 'http://eu-1:6801/'],
    [' localhost ', 'http://localhost:6800/'],
    ['http://eu-1', 'http://eu-1:6800/'],
    ['http://eu-1:80', 'http://eu-1:80/'],
    ['http://eu-1:080/base', 'http://eu-1:80/base/'],
    ['HTTP://EU-1:6800/Base/', 'http://eu-1:6800/Base/'],
    ['https://scrapyd.example.com', 'https://scrapyd.example.com/'],
    ['https://scrapyd.example.com:443/a', 'https://scrapyd.example.com/a/'],
    ['https://h:8443/a/b', 'https://h:8443/a/b/'],
    ['::1', 'http://[::1]:6800/'],
    ['[2001:db8::1]:6801', 'http://[2001:db8::1]:6801/'],
    ['2130706433', 'http://127.0.0.1:6800/'],
    ['ssh://bastion/10.0.0.5', 'ssh://bastion/http://10.0.0.5:6800/'],
    [' SSH://ops@Bastion:022/HTTPS://Eu-1/base', 'ssh://ops@Bastion:22/https://eu-1/base/'],
    ['ssh://[2001:DB8::1]/localhost', 'ssh://[2001:DB8::1]/http://localhost:6800/']
  ])('%s is %s', (text, url) => {
    expect(parseNodeUrl(text)).toEqual({ url, username: null, password: null })
  })

  test('can contain credentials, which are removed and decoded', () => {
    const credentials = { username: 'ü', password: 'p@:ss/' }
    expect(parseNodeUrl('%C3%BC:p%40%3Ass%2F@eu-1')).toEqual({ url: 'http://eu-1:6800/', ...credentials })
    const behind = { url: 'ssh://ops@b/http://eu-1:6800/', username: 'ann', password: 's@cret' }
    expect(parseNodeUrl('ssh://ops@b/http://ann:s%40cret@eu-1')).toEqual(behind)
    expect(parseNodeUrl('http://admin@eu-1:80')).toEqual({ url: 'http://eu-1:80/', username: 'admin', password: null })
  })

  test.each([
    ['', /empty/],
    ['ftp://eu-1', /starts with ftp:\/\//],
    ['file:///etc/passwd', /starts with file:\/\//],
    ['http://', /not a valid address/],
    ['http://eu 1', /not a valid address/],
    ['eu-1:99999', /not a valid address/],
    ['javascript:alert(1)', /not a valid address/],
    ['http://eu-1/?project=x', /query/],
    ['http://eu-1/#jobs', /fragment/],
    ['http://a%3Ab:c@eu-1', /colon/],
    ['http://a%:c@eu-1', /%25/],
    ['169.254.169.254', /metadata/],
    ['http://169.254.0.1/latest', /metadata/],
    ['http://2852039166/', /metadata/],
    ['http://0xa9.0xfe.0xa9.0xfe/', /metadata/],
    ['http://[::ffff:169.254.169.254]/', /metadata/],
    ['http://[fe80::1]/', /metadata/],
    ['http://[64:ff9b::169.254.169.254]/', /metadata/],
    ['fe80::1', /metadata/],
    ['http://[fd00:ec2::254]/', /metadata/],
    ['100.100.100.200', /metadata/],
    ['ssh://bastion/http://169.254.169.254/', /metadata/],
    ['ssh://bastion/http://169.254.169.254./', /metadata/],
    ['ssh://bastion/http://2852039166/', /metadata/],
    ['ssh://bastion/http://0xa9.0xfe.0xa9.0xfe/', /metadata/],
    ['ssh://bastion/http://[::ffff:a9fe:a9fe]/', /metadata/],
    ['ssh://bastion/ftp://eu-1', /starts with ftp:\/\//]
  ])('is refused with an explanation: %s', (text, words) => {
    let error: unknown
    try {
      parseNodeUrl(text)
    } catch (thrown) {
      error = thrown
    }
    expect(isScrapdeckError(error, 'NODE_URL_INVALID')).toBe(true)
    expect((error as Error).message).toMatch(words)
    expect((error as Error).message).toContain('An address looks like http://eu-1:6800.')
  })

  test('parses to itself once it is accepted, and otherwise throws only its own error', () => {
    const pieces = fc.constantFrom(
      'http://',
      'https://',
      'ssh://',
      'eu-1',
      'a:b@',
      ':80',
      ':6800',
      '/',
      '/base',
      '[::1]',
      '@',
      '%41',
      '.',
      '0'
    )
    const texts = fc.oneof(
      fc.array(pieces, { maxLength: 6 }).map((parts) => parts.join('')),
      fc.string()
    )
    fc.assert(
      fc.property(texts, (text) => {
        let url: string
        try {
          url = parseNodeUrl(text).url
        } catch (error) {
          return isScrapdeckError(error, 'NODE_URL_INVALID')
        }
        expect(parseNodeUrl(url)).toEqual({ url, username: null, password: null })
        expect(new URL(url).href).toMatch(/\/$/)
        return true
      })
    )
  })
})

test.each([
  ['ssh://ops:secret@bastion/http://eu-1', /passwords/],
  ['ssh://169.254.169.254/http://eu-1', /metadata/],
  ['ssh://[fd00:ec2::254]/http://eu-1', /metadata/],
  ['ssh://0xa9fea9fe/http://eu-1', /metadata/],
  ['ssh://2852039166/http://eu-1', /metadata/],
  ['ssh://ops@169.254.43518:22/http://eu-1', /metadata/],
  ['ssh://bastion/http://metadata.google.internal/', /metadata service/],
  ['ssh://bastion/http://METADATA.google.internal./computeMetadata', /metadata service/],
  ['ssh://bastion/metadata:80', /metadata service/],
  ['ssh://bastion/http://instance-data/', /metadata service/],
  ['ssh://bastion', /ends at the SSH host/]
])('over SSH is refused with an explanation and an example: %s', (text, words) => {
  expect(() => parseNodeUrl(text)).toThrow(words)
  expect(() => parseNodeUrl(text)).toThrow(/looks like ssh:\/\//)
  expect(() => parseNodeUrl(text)).not.toThrow(/secret/)
})

test('includes the SSH host in what credentials belong to', () => {
  const urls = [
    'http://a:1/x/',
    'ssh://b/http://a:1/x/',
    'ssh://b/http://a:1/y/',
    'ssh://o@b/http://a:1/',
    'ssh://c/http://a:1/'
  ]
  expect(urls.map(originOf)).toEqual([
    'http://a:1',
    'ssh://b/http://a:1',
    'ssh://b/http://a:1',
    'ssh://o@b/http://a:1',
    'ssh://c/http://a:1'
  ])
})

test('of this machine is recognized', () => {
  const local = [
    'http://127.0.0.1:6800/',
    'http://127.9.9.9/',
    'http://[::1]:1/',
    'http://localhost/',
    'http://a.localhost/'
  ]
  expect(local.map(isLoopbackUrl)).toEqual([true, true, true, true, true])
  const others = [
    'http://10.0.0.5/',
    'http://localhost.example.com/',
    'http://[::2]/',
    'ssh://localhost/http://localhost/'
  ]
  expect(others.map(isLoopbackUrl)).toEqual([false, false, false, false])
})
