import fc from 'fast-check'
import { expect, it } from 'vitest'
import { parseAddresses } from './parse-addresses.ts'

const urls = (text: string) => parseAddresses(text).map(({ url }) => url)

it('accepts hosts, ports, schemes and base paths as people write them', () => {
  expect(
    urls('one.example.net\ntwo.example.net:6801\nhttps://three.example.net/base\n10.0.0.4\n[::1]:6802\nlocalhost')
  ).toEqual([
    'http://one.example.net:6800/',
    'http://two.example.net:6801/',
    'https://three.example.net/base/',
    'http://10.0.0.4:6800/',
    'http://[::1]:6802/',
    'http://localhost:6800/'
  ])
})

it('accepts addresses behind an SSH host, and says what is wrong with one without showing its password', () => {
  const [good, password, short, inner] = parseAddresses(
    'ssh://ops@bastion:2222/http://ann:secret@10.0.0.5\nssh://ops:secret@bastion/http://x\nssh://bastion\nssh://b/ftp://x'
  )
  const url = 'ssh://ops@bastion:2222/http://10.0.0.5/'
  expect(good).toEqual({ key: url, url, username: 'ann', password: 'secret', problem: null })
  expect(password!.url).toBe('ssh://…@bastion/http://x')
  expect([password, short, inner].map((each) => each?.problem?.split(/[,:]/)[0])).toEqual([
    'Scrapdeck does not use passwords for SSH',
    'The address ends at the SSH host',
    'Use an http or https address.'
  ])
})

it('splits credentials from the address', () => {
  expect(parseAddresses('https://deploy:p%40ss@host.example.net:6800/')).toEqual([
    {
      key: 'https://host.example.net:6800/',
      url: 'https://host.example.net:6800/',
      username: 'deploy',
      password: 'p@ss',
      problem: null
    }
  ])
  expect(parseAddresses('http://u:100%@host:6800')[0]).toMatchObject({ username: 'u', password: '100%', problem: null })
})

it('accepts inventories: notes, list marks, commas, cfg lines, duplicate servers', () => {
  expect(
    urls('# the fleet\n- one:6800   # old\nurl = http://two:6800/\none:6800, three:6800;http://one:6800/')
  ).toEqual(['http://one:6800/', 'http://two:6800/', 'http://three:6800/'])
})

it('reports words that are not addresses as one error, and a row of addresses as several', () => {
  expect(parseAddresses('not a url')).toEqual([
    {
      key: 'not a url',
      url: 'not a url',
      username: null,
      password: null,
      problem: 'This is not a valid address. Example: http://host:6800/'
    }
  ])
  expect(parseAddresses('see http://u:secret@host/ there')[0]).toMatchObject({ url: 'see http://…@host/ there' })
  expect(urls('10.0.0.1 10.0.0.2  host:6801')).toEqual([
    'http://10.0.0.1:6800/',
    'http://10.0.0.2:6800/',
    'http://host:6801/'
  ])
})

it('reports a line that is not an address instead of trying it', () => {
  expect(parseAddresses('ftp://host\nht!tp://\nhttp://').map(({ problem }) => problem)).toEqual([
    'Use an http or https address.',
    'This is not a valid address. Example: http://host:6800/',
    'This is not a valid address. Example: http://host:6800/'
  ])
})

it('never fails, and never leaves a password in the displayed address', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.stringMatching(/^[a-z]{6,12}$/), (noise, secret) => {
      for (const { url, problem } of parseAddresses(`${noise}\nhttp://user:${secret}@host.example.net/`)) {
        if (problem === null) expect(url).not.toContain(`:${secret}@`)
      }
    })
  )
})
