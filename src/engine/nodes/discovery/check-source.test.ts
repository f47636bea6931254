import { expect, it } from 'vitest'
import type { SourceSettings } from '../../../shared/contract/index.ts'
import { aSourceId } from '../../../shared/testing/ids.ts'
import { checkSource } from './check-source.ts'

const dns = (values: object): SourceSettings['source'] => ({
  kind: 'dns',
  hostname: 'scrapyd.svc',
  record: 'A',
  scheme: 'http',
  port: 6800,
  basePath: '/',
  ...values
})
const settings = (source: SourceSettings['source']): SourceSettings => ({
  id: aSourceId('a'),
  source,
  refreshSeconds: 30,
  node: {}
})

it.each<[string, SourceSettings['source'], string]>([
  ['a file by half its path', { kind: 'file', path: 'nodes.txt' }, 'Enter the absolute path'],
  ['a list with lines that mean nothing', { kind: 'list', nodes: 'eu-1\nftp://x' }, 'line 2'],
  ['a list with passwords', { kind: 'list', nodes: 'http://u:p@eu-1' }, 'contains a password'],
  ['a list of nothing', { kind: 'list', nodes: '# later\n' }, 'has no nodes'],
  ['a name that is none', dns({ hostname: 'a b' }), 'is not a host name'],
  ['a name that leads elsewhere', dns({ hostname: 'user@evil' }), 'is not a host name'],
  ['a base path with a query', dns({ basePath: '/x?y' }), 'The base path is']
])('refuses %s', (_what, source, words) => {
  expect(() => checkSource(settings(source))).toThrow(
    expect.objectContaining({ code: 'BAD_INPUT', message: expect.stringContaining(words) })
  )
})

it('accepts a source that can name nodes', () => {
  checkSource(settings(dns({})))
  checkSource(settings(dns({ hostname: 'scrapyd.svc.' })))
})
