import { expect, it } from 'vitest'
import type { SourceState } from '../../../../shared/contract/index.ts'
import { aSourceId } from '../../../../shared/testing/ids.ts'
import { problemsOf } from '../../../ui/fields/form-of-schema.ts'
import { SourceForm, sourceWords, startSource } from './source-form.ts'

const dns: SourceState = {
  id: aSourceId('k8s'),
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

it('returns its initial values, and no password that was not typed', () => {
  const { id, source, refreshSeconds, node, username } = dns
  expect(SourceForm.parse(startSource(dns))).toEqual({ id, source, refreshSeconds, node, username })
})

it('sends a typed password, and removes it with the user name', () => {
  expect(SourceForm.parse({ ...startSource(dns), password: 'p' })).toMatchObject({ password: 'p' })
  expect(SourceForm.parse({ ...startSource(dns), username: '' })).toMatchObject({ username: null, password: null })
})

it.each([
  [{ id: 'Not so' }, 'id', 'lowercase'],
  [{ source: { kind: 'file', path: ' ' } }, 'source.path', 'Enter a path'],
  [{ source: { kind: 'file', path: 'nodes.txt' } }, 'source.path', 'absolute path'],
  [{ source: { kind: 'list', nodes: '\n' } }, 'source.nodes', 'one address per line'],
  [{ source: { hostname: 'a b' } }, 'source.hostname', 'Enter a host name'],
  [{ source: { port: '' } }, 'source.port', 'Enter a number'],
  [{ refreshSeconds: 1 }, 'refreshSeconds', 'At least 5'],
  [{ node: { tags: ['a b'] } }, 'node.tags.0', 'tag'],
  [{ username: 'a:b' }, 'username', 'colon']
])('shows at the field what is wrong with %j', (patch: Record<string, object | string | number>, field, words) => {
  const begun = { ...startSource(null), id: 'k8s' }
  begun.source = { ...begun.source, hostname: 'scrapyd.svc' }
  const texts = Object.fromEntries(
    Object.entries(begun).map(([name, value]) => {
      const change = patch[name] ?? value
      return [name, typeof value === 'object' ? { ...value, ...(change as object) } : change]
    })
  )
  const problems = problemsOf(SourceForm.safeParse(texts))
  expect([...problems]).toEqual([[field, expect.stringContaining(words)]])
})

it('describes a source as text', () => {
  expect(sourceWords(dns.source)).toBe('SRV records of scrapyd.svc')
  expect(sourceWords({ kind: 'file', path: '/n.txt' })).toBe('the file /n.txt')
  expect(sourceWords({ kind: 'list', nodes: '' })).toBe('a list of addresses')
})
