import { createRouterClient } from '@orpc/server'
import type { InjectOptions } from 'fastify'
import { describe, expect, it, onTestFinished } from 'vitest'
import { OWNER, type Principal } from '../engine/access/principal.ts'
import { givenRights, type GivenRoles } from '../engine/access/given-roles.ts'
import { type EngineWithFakeNode, openEngineWithFakeNode } from '../engine/testing/engine-with-fake-node.ts'
import { contract, listOperations, type Node, type NodeId } from '../shared/contract/index.ts'
import { includes } from '../shared/permissions.ts'
import { NODE_GROUP_PERMISSIONS, NODE_GROUP_ROLES, type NodeGroupRole, permissionsOfRole } from '../shared/roles.ts'
import { branded } from '../shared/testing/ids.ts'
import { exampleOf } from '../shared/examples/operations.ts'
import type { FakeEngine } from './testing/fake-engine.ts'
import { outcome } from './testing/outcome.ts'
import { isCore } from '../../scripts/test-length.mjs'
import { openTestApp } from './testing/test-app.ts'

/** Matches the parameters of an error, which repeat names from the request. */
const ERROR_PARAMS = /"params":\{[^{}]*\}/g
/** Part of every name that must stay hidden: those of the other nodes, their tag, the spider and the source. */
const SECRET = 'zzfar'
const ABSENT = branded<NodeId>('n-000000000000')
const FOUND = listOperations(contract)

type Client = EngineWithFakeNode['client']

async function openTwoNodes() {
  const opened = await openEngineWithFakeNode()
  onTestFinished(() => opened.remove())
  const { client, node, clock } = opened
  node.spiders = null
  await opened.prepare(`${SECRET}-first`)
  const add = (name: string, port: number, tags: string[]) =>
    client.nodes.add({ url: `http://127.0.0.1:${port}/`, name, tags, slots: 2 })
  const own = await add('berlin', 11, ['eu'])
  const other = await add(`${SECRET}-node`, 12, [`${SECRET}-tag`])
  await client.jobs.run({ project: 'shop', spiders: [`${SECRET}-spider`], nodeId: own.id })
  await opened.until(async () => (await client.nodes.get({ id: own.id })).runs.length > 0)
  await client.queue.setLimits({
    limits: [{ id: '1', project: null, spider: null, tag: `${SECRET}-tag`, perNode: false, max: 9 }]
  })
  await client.discovery.put({ id: branded(SECRET), source: { kind: 'list', nodes: 'http://127.0.0.1:9/' } })
  await clock.advanceBy(3_000)
  const limitedTo = async (roles: GivenRoles): Promise<Client> => {
    const rights = givenRights(roles, permissionsOfRole)
    const principal: Principal = { ...OWNER, userId: branded('a'.repeat(32)), name: 'eva', role: 'test', rights }
    const context = { principal, source: 'api' as const }
    return createRouterClient(await opened.engine.router(), { context })
  }
  const inEu = (role: NodeGroupRole) => limitedTo({ role: null, projects: {}, nodeGroups: { eu: role } })
  return { ...opened, own, other, limitedTo, inEu }
}

const NODE_OPERATIONS = [...FOUND].filter(([name]) => name.startsWith('nodes.'))

function inputFor(name: string, id: NodeId, tags: string[]): Record<string, unknown> {
  const input = { ...(exampleOf(name)?.input as Record<string, unknown>) }
  if ('id' in input) input['id'] = id
  if (name === 'nodes.probe') return { url: 'http://127.0.0.1:9/', nodeId: id }
  if (name === 'nodes.update') return { id, slots: 3 }
  if (name === 'nodes.remove') return { id, force: true }
  if (name === 'nodes.add') return { url: 'http://127.0.0.1:77/', name: 'new', tags }
  if (name === 'nodes.addPulling') return { name: 'new pulling', tags }
  return input
}

const plain = (text: string, id: string) => text.replaceAll(id, '<id>')

const codeOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'done',
    (error: { code?: string }) => error.code ?? String(error)
  )

describe.each(NODE_GROUP_ROLES)('a %s of one node group', (role) => {
  it('may do on its nodes what the role allows; other nodes seem not to exist', async () => {
    const { client, own, other, inEu, engine } = await openTwoNodes()
    const app = openTestApp({
      engine: engine as unknown as FakeEngine,
      rateLimits: { apiPerSecond: 10_000, doorPerSecond: 10_000 } as never
    })
    const { user } = await client.users.create({
      name: 'eva',
      kind: 'service',
      role: null,
      nodeGroups: { eu: role }
    })
    const { secret } = await client.tokens.create({ name: 'a', userId: user.id, expiresInDays: null })
    const ask = async (request: InjectOptions) =>
      (await app.askAnonymously({ ...request, headers: { authorization: `Bearer ${secret}` } })).body
    const limited = await inEu(role)
    const doors = {
      process: (name: string, input: unknown) => outcome(limited, name, input),
      rest: (name: string, input: Record<string, unknown>) => {
        const { route } = FOUND.get(name)!['~orpc']
        const { id, ...fields } = input
        const hasBody = !['GET', 'DELETE'].includes(route.method!)
        return ask({
          method: route.method as 'GET',
          url: `/api/v1${route.path!.replace('{id}', String(id))}`,
          ...(hasBody && { payload: fields })
        })
      },
      rpc: (name: string, input: unknown) =>
        ask({ method: 'POST', url: `/api/rpc/${name.replace('.', '/')}`, payload: { json: input as object } }),
      jsonRpc: (name: string, input: unknown) =>
        ask({
          method: 'POST',
          url: '/api/v1/jsonrpc',
          payload: { jsonrpc: '2.0', id: 1, method: name, params: input as object }
        })
    }
    const before = await client.nodes.get({ id: other.id })
    const wrong: string[] = []
    // Operations that remove something run last.
    const operations = NODE_OPERATIONS.toSorted(
      ([one], [two]) => Number(/remove/.test(one)) - Number(/remove/.test(two))
    )
    for (const [name, { '~orpc': of }] of operations) {
      const may = includes(NODE_GROUP_PERMISSIONS[role], of.meta.needs)
      const isOfProject = /External/.test(name)
      for (const [door, call] of Object.entries(doors)) {
        const hidden = await call(name, inputFor(name, other.id, [`${SECRET}-tag`]))
        const absent = await call(name, inputFor(name, ABSENT, [`${SECRET}-tag`]))
        const isNew = /add/.test(name)
        if (!isNew && name !== 'nodes.list' && plain(hidden, other.id) !== plain(absent, ABSENT)) {
          wrong.push(`${door} ${name}: ${hidden} but ${absent}`)
        }
        const isThere = name !== 'nodes.list' && !/ROLE_REQUIRED|NODE_NOT_FOUND|PROJECT_NOT_FOUND/.test(hidden)
        if (isThere || plain(hidden, other.id).replaceAll(`${SECRET}-tag`, '').includes(SECRET)) {
          wrong.push(`${door} ${name}: ${hidden}`)
        }
        if (name === 'nodes.remove' && door !== 'jsonRpc') continue
        const answer = await call(name, inputFor(name, own.id, ['eu']))
        const isRefused = /ROLE_REQUIRED|NODE_NOT_FOUND|PROJECT_NOT_FOUND/.test(answer)
        if (isRefused === (may && !isOfProject)) wrong.push(`${door} ${name} of the own: ${answer.slice(0, 300)}`)
        if (answer.includes(SECRET)) wrong.push(`${door} ${name} says too much: ${answer}`)
        // Remove the added node, because the next endpoint adds it again.
        for (const { id } of (await client.nodes.list()).nodes.filter((one) => one.name.startsWith('new'))) {
          await client.nodes.remove({ id, force: true })
        }
      }
    }
    expect(wrong).toEqual([])
    const after = await client.nodes.get({ id: other.id })
    const settingsOf = ({ name, url, tags, mode, slots, group }: Node) => ({ name, url, tags, mode, slots, group })
    expect(settingsOf(after)).toEqual(settingsOf(before))
    const isLeft = (await client.nodes.list()).nodes.some(({ id }) => id === own.id)
    expect(isLeft).toBe(role !== 'admin')
  })

  it.skipIf(isCore && role !== NODE_GROUP_ROLES[0])(
    'gets no data of projects or of other nodes, whatever it requests',
    async () => {
      const { inEu, own, client, directory } = await openTwoNodes()
      const limited = await inEu(role)
      const wrong: string[] = []
      for (const [name, { '~orpc': of }] of FOUND) {
        if (name.startsWith('nodes.') || of.meta.about === 'caller') continue
        const input = exampleOf(name)?.input ?? {}
        const text = await outcome(limited, name, input)
        // The response must not reveal Scrapdeck's data directory either.
        if (
          text.includes(SECRET) ||
          text.includes(directory) ||
          /"shop"/.test(text.replaceAll(JSON.stringify(input), '').replaceAll(ERROR_PARAMS, ''))
        ) {
          wrong.push(`${name}: ${text.slice(0, 400)}`)
        }
        if (of.meta.about === 'seen') continue
        if (!/_NOT_FOUND|NOT_FOUND|ROLE_REQUIRED|BAD_INPUT|\[\]|"logs":0/.test(text))
          wrong.push(`${name}: ${text.slice(0, 400)}`)
      }
      expect(wrong).toEqual([])
      const { nodes } = await limited.nodes.list()
      expect(nodes.map(({ id, runs }) => [id, runs])).toEqual([[own.id, []]])
      const { figures, problems } = await limited.system.status()
      expect([figures.slotsTotal, figures.slotsUsed]).toEqual([2, 1])
      expect(problems.every(({ nodeId }) => nodeId === own.id)).toBe(true)
      expect((await client.nodes.list()).nodes).toHaveLength(3)
      expect((await client.system.status()).secrets.text).toContain(directory)
    }
  )
})

describe('no user can move a node into or out of another node group', () => {
  it('by changing tags, when a node is added or changed', async () => {
    const { client, own, other, inEu, limitedTo } = await openTwoNodes()
    await client.nodes.update({ id: own.id, tags: ['eu', 'gpu'] })
    const eva = await inEu('admin')
    const update = (tags: string[]) => codeOf(eva.nodes.update({ id: own.id, tags }))
    for (const tags of [[], ['eu'], ['gpu'], ['us', 'gpu'], ['eu', 'gpu', `${SECRET}-tag`]]) {
      expect(await update(tags), tags.join()).toBe('ROLE_REQUIRED')
    }
    expect(await update(['gpu', 'eu'])).toBe('done')
    expect(await codeOf(eva.nodes.update({ id: own.id, name: 'hamburg', slots: 1 }))).toBe('done')
    for (const tags of [undefined, [], ['us'], ['eu', 'us']]) {
      expect(await codeOf(eva.nodes.add({ url: 'http://127.0.0.1:99/', tags })), tags?.join()).toBe('ROLE_REQUIRED')
      expect(await codeOf(eva.nodes.addPulling({ name: 'new', tags })), tags?.join()).toBe('ROLE_REQUIRED')
    }
    expect((await client.nodes.list()).nodes).toHaveLength(3)
    const both = await limitedTo({ role: null, projects: {}, nodeGroups: { eu: 'admin', gpu: 'admin' } })
    expect(await codeOf(both.nodes.update({ id: own.id, tags: ['gpu'] }))).toBe('done')
    const half = await limitedTo({ role: 'operator', projects: {}, nodeGroups: { gpu: 'admin', eu: 'operator' } })
    expect(await codeOf(half.nodes.update({ id: own.id, tags: ['gpu', 'eu'] }))).toBe('ROLE_REQUIRED')
    expect(await codeOf(half.nodes.update({ id: other.id, slots: 9 }))).toBe('ROLE_REQUIRED')
    expect((await client.nodes.get({ id: own.id })).tags).toEqual(['gpu'])
  })

  it('by a change that another user made a moment before', async () => {
    const { client, own, inEu } = await openTwoNodes()
    const eva = await inEu('admin')
    const [, late] = await Promise.all([
      client.nodes.update({ id: own.id, tags: ['gpu'] }),
      codeOf(eva.nodes.update({ id: own.id, tags: ['eu'] }))
    ])
    expect([late, (await client.nodes.get({ id: own.id })).tags]).toEqual(['ROLE_REQUIRED', ['gpu']])
    expect(await codeOf(eva.nodes.remove({ id: own.id, force: true }))).toBe('NODE_NOT_FOUND')
  })

  it('by the fleet file, node sources or limits', async () => {
    const { client, inEu } = await openTwoNodes()
    const eva = await inEu('admin')
    const { yaml } = await client.fleetFile.export()
    expect(
      await Promise.all(
        [
          eva.fleetFile.export(),
          eva.fleetFile.plan({ yaml }),
          eva.fleetFile.apply({ yaml: yaml.replaceAll(`${SECRET}-tag`, 'eu') }),
          eva.discovery.put({ id: branded('mine'), source: { kind: 'list', nodes: 'http://127.0.0.1:98/ tags=eu' } }),
          eva.discovery.remove({ id: branded(SECRET) }),
          eva.queue.setLimits({ limits: [] })
        ].map(codeOf)
      )
    ).toEqual(Array.from({ length: 6 }, () => 'ROLE_REQUIRED'))
    expect((await client.queue.limits()).limits).toHaveLength(1)
  })

  it('or use the keys, files and accounts of the service, in a new address or a changed one', async () => {
    const { client, own, inEu } = await openTwoNodes()
    const eva = await inEu('admin')
    const tokenFile = { kubernetes: { tokenFile: '/var/lib/scrapdeck/credentials' } }
    const addresses = [
      { url: 'ssh://ops@bastion/http://10.0.0.5:6800' },
      { url: ' SSH://bastion/http://10.0.0.5:6800' },
      { url: 'in-cluster', kubernetes: {} },
      { url: 'https://evil.example.org/api/v1/namespaces/x', ...tokenFile },
      { url: 'kubeconfig', kubeconfig: 'apiVersion: v1', kubernetes: {} }
    ]
    for (const address of addresses) {
      expect(await codeOf(eva.nodes.add({ ...address, tags: ['eu'] })), address.url).toBe('ROLE_REQUIRED')
      expect(await codeOf(eva.nodes.probe(address)), address.url).toBe('ROLE_REQUIRED')
      expect(await codeOf(eva.nodes.probe({ ...address, nodeId: own.id })), address.url).toBe('ROLE_REQUIRED')
      expect(await codeOf(eva.nodes.update({ id: own.id, ...address })), address.url).toBe('ROLE_REQUIRED')
    }
    const cluster = await client.nodes.add({
      url: 'https://k8s.example.org/api/v1/namespaces/crawl',
      password: 'cluster token',
      tags: ['eu'],
      kubernetes: { projects: { shop: { image: 'shop:1' } } }
    })
    const moved = { url: 'https://evil.example.org/api/v1/namespaces/crawl' }
    for (const change of [moved, { proxyUrl: 'http://evil.example.org:3128' }, { kubernetes: { projects: {} } }]) {
      expect(await codeOf(eva.nodes.update({ id: cluster.id, ...change }))).toBe('ROLE_REQUIRED')
    }
    expect(await codeOf(eva.nodes.update({ id: cluster.id, slots: 4 }))).toBe('done')
    expect((await eva.nodes.get({ id: cluster.id })).kubernetes?.projects).toEqual({})
    expect((await client.nodes.get({ id: cluster.id })).kubernetes?.projects).toEqual({ shop: { image: 'shop:1' } })
  })

  it('or learn which node has an address', async () => {
    const { other, own, inEu } = await openTwoNodes()
    const eva = await inEu('admin')
    expect((await eva.nodes.probe({ url: other.url })).duplicateOf).toBeNull()
    expect((await eva.nodes.probe({ url: own.url })).duplicateOf).toBe(own.id)
    const answer = await outcome(eva as Client, 'nodes.add', { url: other.url, tags: ['eu'] })
    expect(answer).toContain('NODE_DUPLICATE')
    expect(answer).not.toMatch(new RegExp(`${SECRET}|${other.id}`))
  })
})

it('a node password is never sent to another address that an admin of its node group sets', async () => {
  const { client, own, inEu } = await openTwoNodes()
  await client.nodes.update({ id: own.id, username: 'u', password: 'not for others' })
  const eva = await inEu('admin')
  const moved = await eva.nodes.update({ id: own.id, url: 'http://evil.example.org:6800/' })
  expect(moved.hasPassword).toBe(false)
})

it('a user who also has a role in a project sees all nodes, and can change those of their own groups', async () => {
  const { limitedTo, own, other, client } = await openTwoNodes()
  const kim = await limitedTo({ role: null, projects: branded({ shop: 'viewer' }), nodeGroups: { eu: 'operator' } })
  expect((await kim.nodes.list()).nodes).toHaveLength(3)
  expect(await codeOf(kim.nodes.setMode({ id: own.id, mode: 'cordoned' }))).toBe('done')
  expect(await codeOf(kim.nodes.setMode({ id: other.id, mode: 'cordoned' }))).toBe('ROLE_REQUIRED')
  expect(await codeOf(kim.nodes.update({ id: own.id, slots: 1 }))).toBe('ROLE_REQUIRED')
  // An operator of the whole fleet still cannot do this.
  const ann = await limitedTo({ role: 'operator', projects: {} })
  expect(await codeOf(ann.nodes.setMode({ id: own.id, mode: 'active' }))).toBe('ROLE_REQUIRED')
  expect((await client.nodes.get({ id: other.id })).mode).toBe('active')
})

it('the change feed of a node group has its nodes, those that leave it, and no other', async () => {
  const { client, inEu, own, other, clock, node } = await openTwoNodes()
  const eva = await inEu('viewer')
  const stopping = new AbortController()
  const seen: { kind: string }[] = []
  const resets: boolean[] = []
  const reading = (async () => {
    const start = `0.${'a'.repeat(6)}.0`
    for await (const batch of await eva.events.subscribe({ after: start }, { signal: stopping.signal })) {
      seen.push(...batch.changes)
      resets.push(batch.reset)
    }
  })().catch(() => {})
  const pass = async () => {
    for (let passes = 0; passes < 20; passes += 1) {
      await clock.advanceBy(300)
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  await pass()
  await client.nodes.setMode({ id: other.id, mode: 'cordoned' })
  await client.nodes.update({ id: own.id, group: 'shown' })
  await client.jobs.run({ project: 'shop', spiders: ['a'] })
  node.endAll()
  await pass()
  await client.nodes.update({ id: own.id, tags: ['elsewhere'], group: `${SECRET}-hidden` })
  await pass()
  await client.nodes.update({ id: other.id, tags: ['eu'], name: 'joined' })
  await pass()
  stopping.abort()
  await reading
  const text = JSON.stringify(seen)
  expect(text).toContain('"group":"shown"')
  expect(seen).toContainEqual({ kind: 'node_removed', id: own.id })
  expect(text).toContain('"name":"joined"')
  expect(text.replaceAll(`"url":"${other.url}"`, '')).not.toContain(SECRET)
  expect(text).not.toContain('"shop"')
  // Only the first batch is a reset, because earlier nodes may have left the group in the meantime.
  expect(resets[0]).toBe(true)
  expect(resets.slice(1)).not.toContain(true)
})

it('the Scrapyd API, pages and files show no project to a node group', async () => {
  const { client, engine } = await openTwoNodes()
  const app = openTestApp({ engine: engine as unknown as FakeEngine })
  const { user } = await client.users.create({
    name: 'eva',
    kind: 'service',
    role: null,
    nodeGroups: { eu: 'admin' }
  })
  const { secret } = await client.tokens.create({ name: 'a', userId: user.id, expiresInDays: null })
  const ask = (request: InjectOptions) =>
    app.askAnonymously({ ...request, headers: { ...request.headers, authorization: `Bearer ${secret}` } })
  for (const url of ['/', '/jobs', '/logs/', '/items/', '/listjobs.json', '/daemonstatus.json', '/listprojects.json']) {
    const { statusCode, body } = await ask({ url })
    expect(statusCode, url).toBe(200)
    expect(body, url).not.toMatch(new RegExp(SECRET))
    expect(body, url).not.toMatch(/\bshop\b/)
  }
  expect((await ask({ url: '/metrics' })).statusCode).toBe(403)
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  for (const [url, payload] of [
    ['/schedule.json', 'project=shop&spider=a'],
    ['/cancel.json', 'project=shop&job=1'],
    ['/delproject.json', 'project=shop']
  ] as const) {
    expect((await ask({ method: 'POST', url, payload, headers: form })).body, url).toContain('needs the permission')
  }
})

it('a token for one node group of an admin does nothing else', async () => {
  const { client, engine, own, other } = await openTwoNodes()
  const app = openTestApp({ engine: engine as unknown as FakeEngine })
  const { user } = await client.users.create({ name: 'ben', kind: 'service', role: 'admin' })
  const { secret } = await client.tokens.create({
    name: 'a',
    userId: user.id,
    nodeGroups: ['eu'],
    expiresInDays: null
  })
  const ask = (request: InjectOptions) =>
    app.askAnonymously({ ...request, headers: { authorization: `Bearer ${secret}` } })
  const nodes = (await ask({ url: '/api/v1/nodes' })).json().nodes as Node[]
  expect(nodes.map(({ id }) => id)).toEqual([own.id])
  expect((await ask({ url: '/api/v1/projects' })).json()).toEqual({ projects: [] })
  const mode = (id: string) =>
    ask({ method: 'POST', url: `/api/v1/nodes/${id}/mode`, payload: { mode: 'cordoned' } }).then(
      (one) => one.statusCode
    )
  expect([await mode(own.id), await mode(other.id)]).toEqual([200, 404])
  expect((await ask({ url: '/api/v1/webhooks' })).statusCode).toBe(403)
})
