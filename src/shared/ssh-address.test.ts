import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { nameOfSshHost, readSshAddress, shortNameOf, splitAddress } from './ssh-address.ts'

describe('an address with an SSH host', () => {
  test.each([
    ['ssh://bastion/http://10.0.0.5:6800', { user: null, host: 'bastion', port: null }, 'http://10.0.0.5:6800'],
    ['ssh://ops@bastion:2222/http://a:b@x/', { user: 'ops', host: 'bastion', port: 2222 }, 'http://a:b@x/'],
    ['SSH://Bastion:022/10.0.0.5', { user: null, host: 'Bastion', port: 22 }, '10.0.0.5'],
    ['ssh://a.b-c_d@[2001:db8::1]:22/localhost', { user: 'a.b-c_d', host: '2001:db8::1', port: 22 }, 'localhost']
  ])('%s is read', (text, ssh, inner) => {
    expect(readSshAddress(text)).toEqual({ ssh, inner })
  })

  test.each([
    ['ssh://ops:secret@bastion/http://x', /does not use passwords/],
    ['ssh://ops:s/x@bastion/http://x', /does not use passwords|must be/],
    ['ssh://-oProxyCommand=x@bastion/http://x', /SSH user/],
    ['ssh://@bastion/http://x', /SSH user/],
    ['ssh://a b@bastion/http://x', /SSH user/],
    ['ssh://-oProxyCommand=touch%20x/http://x', /SSH host/],
    ['ssh://%h/http://x', /SSH host/],
    ['ssh://$(id)/http://x', /SSH host/],
    ['ssh://a\nb/http://x', /SSH host/],
    ['ssh://a b/http://x', /SSH host/],
    ['ssh:///http://x', /SSH host/],
    ['ssh://[::1/http://x', /SSH host/],
    ['ssh://[fe80::1%eth0]/http://x', /SSH host/],
    ['ssh://bastion:0/http://x', /SSH port/],
    ['ssh://bastion:65536/http://x', /SSH port/],
    ['ssh://bastion:/http://x', /SSH port/],
    ['ssh://bastion:22x/http://x', /SSH port/],
    ['ssh://bastion', /ends at the SSH host/],
    ['ssh://bastion/', /ends at the SSH host/],
    ['ssh://a/ssh://b/http://x', /ProxyJump/],
    ['ssh://a/http:/x', /must begin with/]
  ])('%j is refused with a message that shows no password', (text, words) => {
    const read = readSshAddress(text)
    expect(read).toMatch(words)
    expect(read).not.toContain('secret')
  })

  test('of another kind is ignored', () => {
    expect([readSshAddress('http://eu-1'), readSshAddress('ssh.example.com:6800')]).toEqual([null, null])
  })

  test('that is accepted cannot be taken for an option, a token or a second word by ssh', () => {
    const pieces = fc.constantFrom(
      'ssh://',
      '-o',
      'a',
      '@',
      ':',
      '22',
      '/',
      '%h',
      ' ',
      '\n',
      '[',
      ']',
      '::1',
      '$',
      'http://'
    )
    const texts = fc.oneof(
      fc.array(pieces, { maxLength: 9 }).map((parts) => `ssh://${parts.join('')}`),
      fc.string()
    )
    fc.assert(
      fc.property(texts, (text) => {
        const read = readSshAddress(text)
        if (read === null || typeof read === 'string') return
        const { user, host, port } = read.ssh
        for (const word of [user ?? 'u', host]) expect(word).toMatch(/^[A-Za-z0-9_:][A-Za-z0-9_.:+-]*$/)
        if (port !== null) expect(port > 0 && port < 65_536).toBe(true)
        expect(readSshAddress(`ssh://${nameOfSshHost(read.ssh)}/x`)).toEqual({ ssh: read.ssh, inner: 'x' })
      })
    )
  })
})

test('gives the node a short name, even on the SSH host itself', () => {
  const urls = [
    'http://eu-1:6800/',
    'https://eu-1/base/',
    'ssh://b/http://10.0.0.5:6800/',
    'ssh://o@b:1/http://localhost:6800/'
  ]
  expect(urls.map(shortNameOf)).toEqual(['eu-1:6800', 'eu-1', '10.0.0.5:6800', 'b'])
  expect(splitAddress('https://eu-1/base/')).toEqual({ ssh: null, inner: 'https://eu-1/base/' })
})
