import { expect, it } from 'vitest'
import type { SourceSettings, SourceState } from '../../shared/contract/index.ts'
import { aSourceId } from '../../shared/testing/ids.ts'
import type { Discovery } from '../nodes/discovery/discovery.ts'
import { DiscoveryCommands } from './discovery-commands.ts'

const taken: { settings: SourceSettings; password: string | null | undefined }[] = []
const commands = new DiscoveryCommands({
  discovery: {
    async put(settings: SourceSettings, password: string | null | undefined) {
      taken.push({ settings, password })
      return {} as SourceState
    }
  } as Discovery
})

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
  ['a file by half its path', { kind: 'file', path: 'nodes.txt' }, 'Give the whole path'],
  ['a list with lines that mean nothing', { kind: 'list', nodes: 'eu-1\nftp://x' }, 'line 2'],
  ['a list with passwords', { kind: 'list', nodes: 'http://u:p@eu-1' }, 'has a password'],
  ['a list of nothing', { kind: 'list', nodes: '# later\n' }, 'names no node'],
  ['a name that is none', dns({ hostname: 'a b' }), 'is no name of a host'],
  ['a name that leads elsewhere', dns({ hostname: 'user@evil' }), 'is no name of a host'],
  ['a base path with a query', dns({ basePath: '/x?y' }), 'The base path is']
])('refuses %s', async (_what, source, words) => {
  await expect(commands.put(settings(source))).rejects.toMatchObject({
    code: 'BAD_INPUT',
    message: expect.stringContaining(words)
  })
})

it('passes on what could name nodes, with the password beside it', async () => {
  taken.length = 0
  await commands.put({ ...settings(dns({})), password: 'p' })
  await commands.put(settings(dns({ hostname: 'scrapyd.svc.' })))
  expect(taken).toEqual([
    { settings: settings(dns({})), password: 'p' },
    { settings: settings(dns({ hostname: 'scrapyd.svc.' })), password: undefined }
  ])
})
