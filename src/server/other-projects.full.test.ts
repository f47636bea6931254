import { call, createRouterClient } from '@orpc/server'
import type { InjectOptions } from 'fastify'
import { expect, it } from 'vitest'
import { type Rights, rightsOf } from '../engine/access/rights.ts'
import { builtInRights } from '../engine/testing/built-in-rights.ts'
import { OWNER, type Principal } from '../engine/access/principal.ts'
import type { EngineWithFakeNode } from '../engine/testing/engine-with-fake-node.ts'
import { contract, listOperations, type Operation } from '../shared/contract/index.ts'
import { includes, type Permission, type Permissions, permissionsOf, READ } from '../shared/permissions.ts'
import { permissionsOfRole, PROJECT_ROLES } from '../shared/roles.ts'
import { branded } from '../shared/testing/ids.ts'
import type { FakeEngine } from './testing/fake-engine.ts'
import { readLongLists } from './api/long-lists.ts'
import { exampleOf } from '../shared/examples/operations.ts'
import { inputWith, NOTHING } from './testing/inputs.ts'
import { outcome } from './testing/outcome.ts'
import { openTestApp } from './testing/test-app.ts'
import { type Ids, OTHER, openTwoProjects, SECRET, stateOfOther } from './testing/two-projects.ts'

/** An unusual set of permissions in a role that an owner created. */
const SHOP_KEEPER = permissionsOf(['read', 'jobs.run', 'queue.order', 'eggs.deploy'] satisfies Permission[])
const ROLES_THERE = [...PROJECT_ROLES, 'shop keeper'] as const
const setThere = (role: string) => (role === 'shop keeper' ? SHOP_KEEPER : permissionsOfRole(role))
const rightsThere = (everywhere: Permissions | null, role: string) =>
  rightsOf(everywhere, [[branded('shop'), setThere(role)]])
const FOUND = listOperations(contract)
type Client = EngineWithFakeNode['client']
const principalWith = (rights: Rights, role: Principal['role']): Principal => ({
  ...OWNER,
  userId: branded('a'.repeat(32)),
  name: 'anna',
  role,
  rights
})

const isAbout = ({ '~orpc': { meta } }: Operation, what: string) => meta.about === what
/** Operations whose input names something in a project. node-groups.test.ts covers those that name nodes. */
const named = [...FOUND].filter(([, { '~orpc': of }]) => {
  const { about } = of.meta
  return typeof about === 'object' && !Object.values(about).some((noun) => noun === 'node' || noun === 'newNode')
})

it.each(ROLES_THERE)('a %s of one project gets no data of another, whatever it requests', async (role) => {
  const { engine, client, own, other } = await openTwoProjects()
  const rights = rightsThere(null, role)
  const context = { principal: principalWith(rights, role), source: 'api' as const }
  const limited = createRouterClient(await engine.router(), { context })
  const otherIds = new Set(Object.values(other).filter((id) => id.length === 32))
  const leaksIn = (text: string) => [SECRET, ...otherIds].filter((word) => text.includes(word))
  const before = await stateOfOther(client)
  const wrong: string[] = []

  for (const [name, operation] of FOUND) {
    const { meta } = operation['~orpc']
    if (isAbout(operation, 'caller')) continue
    if (typeof meta.about !== 'string') {
      const words = [
        ['project', OTHER, `${SECRET}-absent`],
        ...Object.keys(other).map((key) => [key, other[key as keyof Ids], NOTHING[key as keyof Ids]])
      ] as [string, string, string][]
      const hidden = await outcome(limited, name, inputWith(name, OTHER, other))
      const absent = await outcome(limited, name, inputWith(name, `${SECRET}-absent`, NOTHING))
      const same = (text: string) =>
        words.reduce(
          (left, [key, one, another]) => left.replaceAll(one, `<${key}>`).replaceAll(another, `<${key}>`),
          text
        )
      if (same(hidden) !== same(absent)) wrong.push(`${name}: ${hidden} but ${absent}`)
      if (leaksIn(same(hidden)).length > 0) wrong.push(`${name}: ${hidden}`)
      if (!/_NOT_FOUND|ROLE_REQUIRED|NOT_FOUND|BAD_INPUT|\[\]|0}|"asked":|null/.test(hidden))
        wrong.push(`${name}: ${hidden}`)
      continue
    }
    const text = await outcome(limited, name, exampleOf(name)?.input ?? {})
    if (leaksIn(text).length > 0) wrong.push(`${name} has ${leaksIn(text).join()}: ${text.slice(0, 300)}`)
    const isRefused = text.includes('ROLE_REQUIRED')
    if (isRefused !== (meta.about === 'service' || !includes(setThere(role), meta.needs)))
      wrong.push(`${name}: ${text.slice(0, 200)}`)
  }
  expect(wrong).toEqual([])
  expect(await stateOfOther(client)).toEqual(before)
  expect(Object.keys(own)).toHaveLength(9)
})

it('an owner sees the data that the tests above hide', async () => {
  const { client, other } = await openTwoProjects()
  const lists = `jobs.list jobs.facets queue.lanes queue.limits projects.list schedules.list schedules.firings
    schedules.calendar chains.list errors.list crawlOrders.list alerts.list alertRules.list alertSilences.list`
  for (const name of lists.split(/\s+/)) {
    const now = { fromMs: Date.UTC(2030, 0, 1), untilMs: Date.UTC(2030, 0, 2) }
    const text = await outcome(client, name, name === 'schedules.calendar' ? now : {})
    expect(
      [SECRET, ...Object.values(other)].some((word) => text.includes(word)),
      `${name}: ${text}`
    ).toBe(true)
  }
  // The line is from the log of the other project's run, which only users of that project may read.
  const { log } = await client.alerts.evidence({ id: other.alert })
  expect(log?.lines).toContain(`ValueError: ${SECRET}`)
})

/** Operations to skip, because they remove the things that the other operations use, or need a file. */
const TAKES_AWAY = new Set([
  ...['projects.upload', 'projects.deleteProject', 'projects.deleteVersion', 'schedules.remove', 'chains.remove'],
  ...['crawlOrders.cancel', 'alertRules.remove', 'alertSilences.remove'],
  ...['alertRules.removeMany', 'alertSilences.removeMany']
])

/**
 * Inputs that take no slots from other projects, because a role in a single project does not allow that
 * (say-over-others.full.test.ts).
 */
const HARMLESS: Record<string, object> = {
  'jobs.setPriority': { priority: 0 },
  'projects.changeSettings': { settings: { noOverlap: true } }
}

it.each(ROLES_THERE)('a %s of one project may do there what the role allows, and can read the rest', async (role) => {
  const { engine, own } = await openTwoProjects()
  const ways: [string, Rights][] = [
    ['in shop alone', rightsThere(null, role)],
    ['viewer everywhere, more in shop', rightsThere(READ, role)]
  ]
  const wrong: string[] = []
  for (const [way, rights] of ways) {
    const context = { principal: principalWith(rights, role), source: 'api' as const }
    const limited = createRouterClient(await engine.router(), { context })
    for (const [name, { '~orpc': of }] of named) {
      if (TAKES_AWAY.has(name)) continue
      const input = { ...(inputWith(name, 'shop', own) as object), ...HARMLESS[name] }
      const text = await outcome(limited, name, input)
      const may = includes(setThere(role), of.meta.needs)
      if (text.includes('ROLE_REQUIRED') === may) wrong.push(`${way}, ${name}: ${text.slice(0, 200)}`)
      const isMissing = /"(PROJECT|JOB|SCHEDULE|CHAIN|ERROR_GROUP|ALERT_RULE|ALERT_SILENCE)_NOT_FOUND"/.test(text)
      if (may && isMissing) wrong.push(`${way}, ${name}: ${text.slice(0, 200)}`)
    }
  }
  expect(wrong).toEqual([])
})

it('a viewer of all projects who is a deployer of one changes nothing in another', async () => {
  const { engine, other } = await openTwoProjects()
  const context = {
    principal: principalWith(builtInRights('viewer', { shop: 'deployer' }), 'deployer'),
    source: 'api' as const
  }
  const limited = createRouterClient(await engine.router(), { context })
  const wrong: string[] = []
  for (const [name, { '~orpc': of }] of named) {
    const text = await outcome(limited, name, inputWith(name, OTHER, other))
    const isRefused = text.includes('"ROLE_REQUIRED"')
    if (isRefused !== (of.meta.needs !== READ) && name !== 'environments.rebuild' && name !== 'environments.remove') {
      wrong.push(`${name}: ${text.slice(0, 200)}`)
    }
    if (isRefused && !text.includes(`in the project ${OTHER}`)) wrong.push(`${name}: ${text.slice(0, 200)}`)
  }
  expect(wrong).toEqual([])
})

it('the change feed of one project says nothing of another', async () => {
  const { engine, client, clock, node, own, other } = await openTwoProjects()
  const context = {
    principal: principalWith(builtInRights(null, { shop: 'viewer' }), 'viewer'),
    source: 'api' as const
  }
  const limited = createRouterClient(await engine.router(), { context })
  const stopping = new AbortController()
  const seen: unknown[] = []
  const reading = (async () => {
    const start = `0.${'a'.repeat(6)}.0`
    for await (const batch of await limited.events.subscribe({ after: start }, { signal: stopping.signal })) {
      seen.push(...batch.changes)
    }
  })().catch(() => {})
  for (const [project, id] of [
    ['shop', own.queued],
    [OTHER, other.queued]
  ] as const) {
    await client.jobs.setPriority({ ids: [branded(id)], priority: 3 })
    await client.jobs.run({ project, spiders: ['a'] })
    await client.projects.setPaused({ project, paused: true })
    await client.projects.setPaused({ project, paused: false })
    await client.jobs.run({ project, spiders: [`${project}-b`] })
    await clock.advanceBy(3_000)
    node.endAll()
    await clock.advanceBy(3_000)
  }
  await client.schedules.setPaused({ ids: [branded(other.schedule)], paused: true, note: SECRET })
  for (let passes = 0; passes < 20; passes += 1) {
    await clock.advanceBy(300)
    await new Promise((resolve) => setImmediate(resolve))
  }
  stopping.abort()
  await reading
  const text = JSON.stringify(seen)
  expect(text).toContain('"project":"shop"')
  expect(text).toContain('"kind":"figures"')
  expect(text).not.toContain(SECRET)
  expect(text).not.toContain(other.queued)
})

async function openDoors(role: string) {
  const opened = await openTwoProjects()
  const app = openTestApp({ engine: opened.engine as unknown as FakeEngine })
  const { user } = await opened.client.users.create({
    name: 'anna',
    kind: 'service',
    role: null,
    projects: { shop: role }
  })
  const { secret } = await opened.client.tokens.create({ name: 'a', userId: user.id, expiresInDays: null })
  const ask = (request: InjectOptions) =>
    app.askAnonymously({ ...request, headers: { ...request.headers, authorization: `Bearer ${secret}` } })
  return { ...opened, ...app, ask }
}

it('the Scrapyd API, its pages and its files show one project, and act on no other', async () => {
  const { ask, own, other, client } = await openDoors('deployer')
  const text = async (url: string) => (await ask({ url })).body
  expect(JSON.parse(await text('/listprojects.json'))).toMatchObject({ status: 'ok', projects: ['shop'] })
  expect(JSON.parse(await text('/listversions.json?project=shop'))).toMatchObject({ versions: ['1'] })
  const absent = `${SECRET}-absent`
  const same = (body: string) => body.replaceAll(OTHER, '<p>').replaceAll(absent, '<p>')
  for (const url of [
    ...['/listversions.json?project=P', '/listspiders.json?project=P', '/listjobs.json?project=P'],
    ...[`/status.json?job=${other.job}&project=P`, '/logs/P/', '/items/P/', `/logs/P/${SECRET}-spider/${other.job}.log`]
  ]) {
    const [hidden, nothing] = await Promise.all([OTHER, absent].map((name) => ask({ url: url.replace('P', name) })))
    expect([hidden!.statusCode, same(hidden!.body)], url).toEqual([nothing!.statusCode, same(nothing!.body)])
  }
  for (const url of ['/', '/jobs', '/logs/', '/items/', '/listjobs.json', '/daemonstatus.json', '/listprojects.json']) {
    expect(await text(url), url).not.toContain(SECRET)
  }
  expect(await text('/jobs')).toContain('own-spider')
  expect(await text('/logs/')).toContain('shop')
  expect(await text(`/logs/shop/own-spider/${own.job}.log`)).toContain('own went wrong')
  expect(JSON.parse(await text(`/status.json?job=${other.job}`))).toMatchObject({ currstate: null })
  expect(JSON.parse(await text(`/status.json?job=${own.job}`))).toMatchObject({ currstate: 'finished' })

  const before = await client.jobs.list({ project: OTHER })
  const form = (url: string, fields: Record<string, string>) =>
    ask({
      method: 'POST',
      url,
      payload: new URLSearchParams(fields).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded' }
    })
  for (const [url, fields] of [
    ['/schedule.json', { project: OTHER, spider: 'x' }],
    ['/cancel.json', { project: OTHER, job: other.queued }],
    ['/delversion.json', { project: OTHER, version: `${SECRET}-1` }],
    ['/delproject.json', { project: OTHER }]
  ] as const) {
    expect(JSON.parse((await form(url, fields)).body), url).toMatchObject({ status: 'error' })
  }
  expect(await client.jobs.list({ project: OTHER })).toEqual(before)
  expect((await client.projects.get({ project: OTHER })).versions).toHaveLength(1)
  expect(JSON.parse((await form('/schedule.json', { project: 'shop', spider: 'x' })).body)).toMatchObject({
    status: 'ok'
  })
  expect((await ask({ url: '/metrics' })).statusCode).toBe(403)
})

it('a project token of an admin can do no more than a deployer, and nothing elsewhere', async () => {
  const { client, askAnonymously } = await openDoors('viewer')
  const { user } = await client.users.create({ name: 'ben', kind: 'service', role: 'admin' })
  const { secret } = await client.tokens.create({
    name: 'a',
    userId: user.id,
    projects: ['shop'],
    expiresInDays: null
  })
  const ask = (url: string) => askAnonymously({ method: 'GET', url, headers: { authorization: `Bearer ${secret}` } })
  expect((await ask('/api/v1/users/me')).json()).toMatchObject({
    name: 'ben',
    role: 'deployer',
    everywhere: null,
    projects: { shop: 'deployer' }
  })
  expect((await ask('/api/v1/webhooks')).statusCode).toBe(403)
  expect((await ask('/api/v1/projects')).json().projects).toMatchObject([{ name: 'shop' }])
  await client.users.update({ id: user.id, role: null, projects: { [OTHER]: 'viewer' } })
  expect((await ask('/api/v1/projects')).statusCode).toBe(401)
})

it('a search of all logs finds only those of one project', async () => {
  const { engine, client } = await openTwoProjects()
  const context = {
    principal: principalWith(builtInRights(null, { shop: 'viewer' }), 'viewer'),
    source: 'api' as const
  }
  const limited = createRouterClient(await engine.router(), { context })
  const hitsOf = async (of: Client) => {
    const projects = new Set<string>()
    for await (const { hits } of await of.logs.searchAll({ text: 'went wrong' })) {
      for (const { project } of hits) projects.add(project)
    }
    return [...projects].sort()
  }
  expect([await hitsOf(client), await hitsOf(limited)]).toEqual([['shop', OTHER], ['shop']])
})

it('the audit log has the ids that were sent, including those that were left out', async () => {
  const { engine, client, other } = await openTwoProjects()
  const context = {
    principal: principalWith(builtInRights(null, { shop: 'operator' }), 'operator'),
    source: 'api' as const
  }
  const { jobs } = await engine.router()
  // REST passes lists on like this after reading them in slices.
  const input = { ids: [other.job, ...Array.from({ length: 60 }, () => NOTHING.job)], keep: true }
  const { procedure } = await readLongLists({ procedure: (jobs as unknown as { keep: never }).keep, input })
  const path = ['jobs', 'keep']
  expect(await call(procedure as never, input as never, { context, path } as never)).toEqual({ changed: [] })
  const [entry] = (await client.audit.list({ limit: 1 })).entries
  expect(entry).toMatchObject({ operation: 'jobs.keep', input: expect.stringContaining(other.job) })
})

it('with all rights, no project is looked up', async () => {
  const { engine, client } = await openTwoProjects()
  const context = { principal: principalWith(builtInRights('viewer'), 'viewer'), source: 'api' as const }
  const limited = createRouterClient(await engine.router(), { context })
  expect(await limited.projects.list({})).toEqual(await client.projects.list({}))
})
