import { expect, it } from 'vitest'
import type { NameResolver } from './name-resolver.ts'
import { readDns } from './read-dns.ts'

const A = {
  kind: 'dns',
  hostname: 'scrapyd.crawl.svc',
  record: 'A',
  scheme: 'http',
  port: 6800,
  basePath: '/'
} as const

const resolver = (values: Partial<NameResolver>): NameResolver => ({
  addresses: async () => [],
  services: async () => [],
  ...values
})
const failing = (code: string) =>
  resolver({ addresses: () => Promise.reject(Object.assign(new Error(`query ${code}`), { code })) })

it('every address of a name is one node, named after both', async () => {
  expect(await readDns(A, resolver({ addresses: async () => ['10.0.0.5', '10.0.0.6', '10.0.0.5'] }))).toEqual({
    nodes: [
      { url: 'http://10.0.0.5:6800/', name: 'scrapyd-10-0-0-5' },
      { url: 'http://10.0.0.6:6800/', name: 'scrapyd-10-0-0-6' }
    ],
    problems: []
  })
})

it('IPv6 addresses are in brackets, with the scheme, port and base path of the source', async () => {
  const source = { ...A, record: 'AAAA', scheme: 'https', port: 8443, basePath: 'scrapyd' } as const
  expect(await readDns(source, resolver({ addresses: async () => ['fd00::5'] }))).toMatchObject({
    nodes: [{ url: 'https://[fd00::5]:8443/scrapyd/', name: 'scrapyd-fd00-5' }]
  })
})

it('a service record names hosts with their own ports, and pods by their names', async () => {
  const services = async () => [
    { name: 'scrapyd-0.scrapyd.crawl.svc.cluster.local.', port: 6801 },
    { name: 'scrapyd-1.scrapyd.crawl.svc.cluster.local', port: 6800 }
  ]
  expect((await readDns({ ...A, record: 'SRV' }, resolver({ services }))).nodes).toEqual([
    { url: 'http://scrapyd-0.scrapyd.crawl.svc.cluster.local:6801/', name: 'scrapyd-0' },
    { url: 'http://scrapyd-1.scrapyd.crawl.svc.cluster.local:6800/', name: 'scrapyd-1' }
  ])
})

it('a response cannot lead to addresses where no Scrapyd can be', async () => {
  const answer = await readDns(A, resolver({ addresses: async () => ['169.254.169.254', '10.0.0.5'] }))
  expect(answer.nodes.map(({ url }) => url)).toEqual(['http://10.0.0.5:6800/'])
  expect(answer.problems).toEqual([
    expect.stringContaining('169.254.169.254 is a link-local or cloud metadata address')
  ])
})

it.each([
  ['ENOTFOUND', 'the name does not exist (NXDOMAIN)'],
  ['ENODATA', 'no record of this type'],
  ['ESERVFAIL', 'the name server failed (SERVFAIL)'],
  ['ETIMEOUT', 'did not answer in time'],
  ['ESOMETHING', 'the lookup failed (ESOMETHING)']
])('%s is reported with an explanation', async (code, words) => {
  await expect(readDns(A, failing(code))).rejects.toThrow(words)
})

it('a record without a host name is a problem; it becomes no node and is not quoted', async () => {
  const services = async () =>
    ['evil\nname.svc', 'deck:pw@evil', 'evil/../x', '', 'scrapyd-0.svc'].map((name) => ({ name, port: 6800 }))
  const { nodes, problems } = await readDns({ ...A, record: 'SRV' }, resolver({ services }))
  expect(nodes).toEqual([{ url: 'http://scrapyd-0.svc:6800/', name: 'scrapyd-0' }])
  expect(problems).toHaveLength(4)
  expect(problems.join()).not.toContain('evil')
})
