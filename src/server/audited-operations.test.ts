import { call, createRouterClient } from '@orpc/server'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type AuditEntry, contract, listOperations } from '../shared/contract/index.ts'
import type { Role } from '../shared/roles.ts'
import { readLongLists } from './api/long-lists.ts'
import { exampleOf } from '../shared/examples/operations.ts'
import { OWNER } from '../engine/access/principal.ts'
import { builtInRights } from '../engine/testing/built-in-rights.ts'
import { type EngineWithFakeNode, openEngineWithFakeNode } from '../engine/testing/engine-with-fake-node.ts'

const SHOP = { project: 'shop', spiders: ['prices'] }
/**
 * Operations that add two entries, because they write a record or upload the demo before they find that there is no
 * other engine or no Python.
 */
const IN_TWO = new Set(['engines.handOver', 'engines.drain', 'system.runDemo'])
const SECRET = 'hunter2-planted-secret'

async function open() {
  const opened = await openEngineWithFakeNode()
  onTestFinished(() => opened.remove())
  await opened.prepare()
  const router = await opened.engine.router()
  const clientOf = (role: Role, origin?: object) =>
    createRouterClient(router, {
      context: {
        principal:
          role === 'owner'
            ? OWNER
            : { ...OWNER, userId: 'a'.repeat(32) as never, name: role, role, rights: builtInRights(role) },
        source: 'api',
        ...(origin && { origin: origin as never })
      }
    })
  return { ...opened, client: opened.client, engine: opened.engine, clientOf, entriesOf: () => entriesOf(opened) }
}

/** Returns the oldest entry first. */
async function entriesOf({ client }: Pick<EngineWithFakeNode, 'client'>): Promise<AuditEntry[]> {
  const all: AuditEntry[] = []
  for (let before: number | null | undefined; before !== null; ) {
    const page: Awaited<ReturnType<typeof client.audit.list>> = await client.audit.list({
      limit: 500,
      ...(before !== undefined && { before })
    })
    all.push(...page.entries)
    before = page.nextBefore
  }
  return all.toReversed()
}

describe('the audit log', () => {
  it('says who did what, from where, and the values before', async () => {
    const { clientOf, client, entriesOf } = await open()
    const [{ id } = { id: '' }] = (await client.nodes.list()).nodes
    const origin = { door: 'ui', address: '10.0.0.7', requestId: 'r-1', session: '0a1b2c' }
    await clientOf('admin', origin).nodes.update({ id, slots: 7, password: SECRET, username: 'me' })
    expect((await entriesOf()).at(-1)).toMatchObject({
      who: { userId: 'a'.repeat(32), name: 'admin', role: 'admin', tokenId: null, session: '0a1b2c' },
      address: '10.0.0.7',
      door: 'ui',
      requestId: 'r-1',
      operation: 'nodes.update',
      result: 'done',
      code: null,
      targets: [{ noun: 'node', name: id }],
      input: JSON.stringify({ id, slots: 7, password: '••••••', username: 'me' }),
      changes: [
        {
          noun: 'node',
          name: 'berlin',
          fields: [
            { field: 'username', before: null, after: '"me"' },
            { field: 'sealedPassword', before: null, after: '"••••••"' },
            { field: 'slots', before: '2', after: '7' }
          ]
        }
      ]
    })
  })

  it('has operations that were forbidden, invalid or failed, but no reads', async () => {
    const { clientOf, entriesOf } = await open()
    const before = (await entriesOf()).length
    const viewer = clientOf('viewer')
    await expect(viewer.jobs.run(SHOP)).rejects.toMatchObject({ code: 'ROLE_REQUIRED' })
    await expect(viewer.users.list()).rejects.toMatchObject({ code: 'ROLE_REQUIRED' })
    await viewer.jobs.list({})
    const admin = clientOf('admin')
    await expect(admin.nodes.remove({ id: 'nowhere' })).rejects.toMatchObject({ code: 'NODE_NOT_FOUND' })
    await expect(admin.nodes.update({ id: 5 as never })).rejects.toThrow()
    expect((await entriesOf()).slice(before)).toMatchObject([
      { operation: 'jobs.run', result: 'refused', code: 'ROLE_REQUIRED', who: { name: 'viewer' }, project: 'shop' },
      { operation: 'users.list', result: 'refused', code: 'ROLE_REQUIRED' },
      {
        operation: 'nodes.remove',
        result: 'failed',
        code: 'NODE_NOT_FOUND',
        targets: [{ noun: 'node', name: 'nowhere' }]
      },
      { operation: 'nodes.update', result: 'failed', code: 'BAD_INPUT' }
    ])
  })

  it('counts the repetitions of one sender in a minute so that they do not fill the disk', async () => {
    const { clientOf, entriesOf, clock } = await open()
    const before = (await entriesOf()).length
    const viewer = clientOf('viewer')
    for (let tries = 0; tries < 50; tries += 1) await viewer.jobs.run(SHOP).catch(() => null)
    expect((await entriesOf()).slice(before)).toMatchObject([{ operation: 'jobs.run', count: 1 }])
    await clock.advanceBy(60_000)
    expect((await entriesOf()).slice(before)).toMatchObject([{ count: 1 }, { operation: 'jobs.run', count: 49 }])
  })

  it('counts operations that change nothing, and keeps each entry of one that changes something', async () => {
    const { client, entriesOf, clock } = await open()
    const { jobs } = await client.jobs.run({ ...SHOP, notBeforeMs: clock.nowMs() + 90_000_000 })
    const ids = jobs.map(({ id }) => id)
    const before = (await entriesOf()).length
    for (let times = 0; times < 20; times += 1) await client.jobs.keep({ ids: ['f'.repeat(32)] as never, keep: true })
    for (const keep of [true, false, true, false]) await client.jobs.keep({ ids, keep })
    await clock.advanceBy(60_000)
    const made = (await entriesOf()).slice(before)
    expect(made.map(({ operation, result, count }) => `${operation} ${result} ${count}`)).toEqual([
      ...Array<string>(5).fill('jobs.keep done 1'),
      'jobs.keep done 19'
    ])
  })

  it('names the ids of a bulk request as they were sent, including those hidden from the sender', async () => {
    const { engine, client, entriesOf } = await open()
    const { keep } = (await engine.router()).jobs as unknown as { keep: unknown }
    const ids = Array.from({ length: 60 }, (_, at) => at.toString(16).padStart(32, 'f'))
    const { procedure, input } = await readLongLists({
      procedure: keep as never,
      input: { ids, keep: true }
    })
    const principal = {
      ...OWNER,
      userId: 'a'.repeat(32),
      name: 'anna',
      role: 'operator',
      rights: builtInRights(null, { shop: 'operator' })
    }
    await call(
      procedure as never,
      input as never,
      { context: { principal, source: 'api' }, path: ['jobs', 'keep'] } as never
    )
    await client.jobs.list({})
    expect((await entriesOf()).at(-1)).toMatchObject({
      operation: 'jobs.keep',
      input: expect.stringContaining(ids[0]!),
      moreTargets: 40,
      targets: ids.slice(0, 20).map((name) => ({ noun: 'job', name }))
    })
  })

  it('has exactly one entry for each operation that changes something, whether it succeeds or fails', async () => {
    const { client, entriesOf } = await open()
    const wrong: string[] = []
    for (const [name, { '~orpc': of }] of listOperations(contract)) {
      if (!of.meta.writes) continue
      const before = (await entriesOf()).length
      const [noun, verb] = name.split('.') as [string, string | undefined]
      const calls = client as unknown as Record<string, Record<string, (input: unknown) => Promise<unknown>>>
      const call = verb === undefined ? calls[noun]! : calls[noun]![verb]!
      const { input } = exampleOf(name)!
      await (call as (input: unknown) => Promise<unknown>)(input).catch(() => null)
      const made = (await entriesOf()).slice(before)
      const [first, ...others] = made
      // One entry is for what the operation wrote before it failed, the other for the failure.
      const isInTwo = IN_TWO.has(name) && others.length === 1 && others[0]!.requestId === first?.requestId
      if (first?.operation !== name || (others.length > 0 && !isInTwo)) {
        wrong.push(`${name}: ${made.map(({ operation, result }) => `${operation} ${result}`).join(', ')}`)
      }
    }
    expect(wrong).toEqual([])
    expect(await client.audit.verify({})).toMatchObject({ broken: null })
  })

  it('never contains a secret, in whatever form it was sent', async () => {
    const { client, clientOf, entriesOf } = await open()
    const secrets = { args: { code: SECRET, API_TOKEN: SECRET }, env: { X: SECRET }, secretNames: ['code'] }
    const settings = { AWS_SECRET_ACCESS_KEY: SECRET, FEED_URI: `ftp://me:${SECRET}@ftp.example/x` }
    const run = { ...SHOP, ...secrets, settings }
    const [{ id } = { id: '' }] = (await client.nodes.list()).nodes
    const rules = [{ kind: 'interval' as const, everySeconds: 3_600, anchorMs: 0 }]
    const password = `${SECRET} amber drawbridge`
    await client.nodes.update({ id, username: 'me', password: SECRET, headers: { 'X-Key': SECRET } } as never)
    await client.nodes.add({ url: `http://10.1.2.3:6800/`, username: 'me', password: SECRET }).catch(() => null)
    await client.jobs.run(run)
    await client.jobs.runMany({ jobs: [{ project: 'shop', spider: 'prices', ...secrets, settings }] as never })
    await client.schedules.create({ name: 'night', zone: 'UTC', rules, jobs: [run] })
    await client.chains.create({ name: 'after', project: 'shop', spider: 'prices', on: 'ended', run })
    await client.projects.changeSettings({ project: 'shop', settings: { defaults: { ...secrets, settings } } } as never)
    await client.users.create({ name: 'anna', role: 'viewer', password })
    await client.users.changePassword({ current: SECRET, password }).catch(() => null)
    const { webhook, secret } = await client.webhooks.create({
      name: 'slack',
      url: `https://hooks.slack.com/services/T0/${SECRET}`,
      events: ['job.ended']
    })
    const rotated = await client.webhooks.rotate({ id: webhook.id })
    const token = await client.tokens.create({ name: 'ci', expiresInDays: null })
    await client.fleetFile.apply({ yaml: `nodes:\n- url: http://a:${SECRET}@b/\n`, prune: false }).catch(() => null)
    await clientOf('viewer')
      .users.create({ name: 'ben', role: 'owner', password })
      .catch(() => null)
    const entries = await entriesOf()
    const operations = entries.map(({ operation }) => operation)
    for (const wanted of [
      'jobs.run',
      'jobs.runMany',
      'schedules.create',
      'chains.create',
      'webhooks.rotate',
      'tokens.create'
    ]) {
      expect(operations).toContain(wanted)
    }
    const text = JSON.stringify(entries)
    for (const hidden of [SECRET, secret, rotated.secret, token.secret]) expect(text).not.toContain(hidden)
    expect(text).toContain('https://hooks.slack.com/services/T0/…')
  })
})
