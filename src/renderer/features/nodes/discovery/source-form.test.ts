import { expect, it } from 'vitest'
import type { SourceState } from '../../../../shared/contract/index.ts'
import { formOfSource, NEW_SOURCE, readSource, sourceWords } from './source-form.ts'

const dns: SourceState = {
  id: 'k8s',
  source: { kind: 'dns', hostname: 'scrapyd.svc', record: 'SRV', scheme: 'https', port: 6800, basePath: '/x' },
  refreshSeconds: 10,
  node: { slots: 4, tags: ['eu'], group: 'europe', queueAhead: 1 },
  username: 'u',
  hasPassword: true,
  isFromConfiguration: false,
  refreshedAtMs: null,
  problem: null,
  found: 0,
  vanished: 0,
  vanishedNodes: []
}

it('gives back what it was begun with, and no password that was not typed', () => {
  const { id, source, refreshSeconds, node, username } = dns
  expect(readSource(formOfSource(dns))).toEqual({ input: { id, source, refreshSeconds, node, username } })
})

it('sends a password that was typed, and takes it away with the user name', () => {
  expect(readSource({ ...formOfSource(dns), password: 'p' })).toMatchObject({ input: { password: 'p' } })
  expect(readSource({ ...formOfSource(dns), username: '' })).toMatchObject({
    input: { username: null, password: null }
  })
})

it.each([
  [{ id: 'Not so' }, 'Name the source'],
  [{ kind: 'file', path: ' ' }, 'Name the file'],
  [{ kind: 'file', path: 'nodes.txt' }, 'Give the whole path'],
  [{ kind: 'list', nodes: '\n' }, 'one address a line'],
  [{ hostname: 'a b' }, 'Name the host'],
  [{ port: null }, 'Name the port'],
  [{ refreshSeconds: 1 }, 'every 5 to 86,400 seconds'],
  [{ username: 'a:b' }, 'colon']
] as const)('says what is missing with %j', (patch, words) => {
  const read = readSource({ ...NEW_SOURCE, id: 'k8s', hostname: 'scrapyd.svc', ...patch })
  expect('missing' in read && read.missing).toContain(words)
})

it('says in words what a source is', () => {
  expect(sourceWords(dns.source)).toBe('SRV records of scrapyd.svc')
  expect(sourceWords({ kind: 'file', path: '/n.txt' })).toBe('the file /n.txt')
  expect(sourceWords({ kind: 'list', nodes: '' })).toBe('a list of addresses')
})
