import fc from 'fast-check'
import { expect, it } from 'vitest'
import { readNodeLines } from './found-node.ts'

it('reads addresses as operators write them, and the options after them', () => {
  const text = [
    '\uFEFF# our fleet',
    'eu-1',
    '',
    'https://u:p%40ss@eu-2/base name=second slots=8 tags=eu,fast group=europe queue_ahead=2 # rented',
    '  10.0.0.5:6801\t name=third',
    'http://eu-1:6800/ name=again',
    'ssh://ops@bastion:2222/http://10.0.0.5:6800 slots=2'
  ].join('\r\n')
  expect(readNodeLines(text)).toEqual({
    nodes: [
      { url: 'http://eu-1:6800/' },
      {
        url: 'https://eu-2/base/',
        username: 'u',
        password: 'p@ss',
        name: 'second',
        slots: 8,
        tags: ['eu', 'fast'],
        group: 'europe',
        queueAhead: 2
      },
      { url: 'http://10.0.0.5:6801/', name: 'third' },
      { url: 'ssh://ops@bastion:2222/http://10.0.0.5:6800/', slots: 2 }
    ],
    problems: []
  })
})

it.each([
  ['ftp://eu-1', 'supports only http and https'],
  ['ssh://bastion', 'ends at the SSH host'],
  ['ssh://bastion/http://a!b', 'this is not a host name'],
  ['ssh://ops:secret@bastion/http://eu-1', 'does not use passwords for SSH'],
  ['eu-1 slots=many', 'slots must be a whole number from 1 to 10000'],
  ['eu-1 slots=0', 'slots must be a whole number'],
  ['eu-1 colour=red', 'after the address come name='],
  ['eu-1 tags=a|b', 'tags must be at most 20 words'],
  ['169.254.169.254', 'link-local or cloud metadata address'],
  ['http://[fe80::1]/', 'link-local or cloud metadata address'],
  ['eu-1\u0000x', 'it is not an address in text form'],
  ['x'.repeat(3000), 'it is not an address in text form'],
  ['http://', 'not a valid address'],
  ['DATABASE_URL=postgres://deck:hush@db/x', 'not a host name'],
  ['MIIEowIBAAKCAQEA1234+/hush', 'not a host name'],
  ['-----BEGIN', 'not a host name'],
  ['x'.repeat(64), 'not a host name']
])('reports the line %j with its number and what is wrong, and reads the others', (line, words) => {
  const { nodes, problems } = readNodeLines(`eu-8\n${line}\neu-9`)
  expect(nodes.map(({ url }) => url)).toEqual(['http://eu-8:6800/', 'http://eu-9:6800/'])
  expect(problems).toEqual([expect.stringContaining(words)])
  expect(problems[0]).toMatch(/^line 2: /)
})

it('never quotes unreadable lines, because the path may lead to the wrong file', () => {
  const lines = [
    'root:$6$secret:19000:0:99999:7:::',
    'secret words here',
    'SECRET=word',
    'secret://word',
    'eu-1 secret=x'
  ]
  const { nodes, problems } = readNodeLines(lines.join('\n'))
  expect(nodes).toEqual([])
  expect(problems).toHaveLength(lines.length)
  expect(problems.join()).not.toMatch(/secret/i)
})

it('refuses passwords in a list that is stored with the sources', () => {
  expect(readNodeLines('http://u:p@eu-1', { passwords: false })).toMatchObject({
    nodes: [],
    problems: [expect.stringContaining('line 1: it contains a password')]
  })
})

it('reads ten thousand lines', () => {
  const lines = Array.from({ length: 10_000 }, (_, index) => `http://10.${index >> 8}.${index & 255}.1 name=n${index}`)
  expect(readNodeLines(lines.join('\n'))).toMatchObject({ nodes: { length: 10_000 }, problems: [] })
})

it('stops after too many unreadable lines', () => {
  const lines = [...Array.from({ length: 10_000 - 1 }, () => 'no such line'), 'http://eu-1']
  const { nodes, problems } = readNodeLines(lines.join('\n'))
  expect([nodes, problems.length, problems.at(-1)]).toEqual([[], 101, 'line 101 and those after it were not read'])
})

it('accepts any text without an exception', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const { nodes, problems } = readNodeLines(text)
      expect(nodes.length + problems.length).toBeLessThanOrEqual(text.split(/\r\n|\n|\r/).length)
    })
  )
})
