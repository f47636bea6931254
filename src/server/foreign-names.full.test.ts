import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { inspect, isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import type { InjectOptions } from 'fastify'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { isLong, pickLength } from '../../scripts/test-length.mjs'
import { silentLogger } from '../engine/runtime/logger.ts'
import { contract, listOperations } from '../shared/contract/index.ts'
import type { Role } from '../shared/roles.ts'
import { createApp } from './app.ts'
import { NO_SIGN_IN } from './auth/sign-in-options.ts'
import { describeApi } from './openapi/describe.ts'
import type { Known } from './testing/arbitrary-of-schema.ts'
import { TRANSPORTS, scrapydRequests, through } from './testing/generated-transports.ts'
import { createRequestGenerator } from './testing/generated-requests.ts'
import { type Answer, type Ask, askInProcess, askOverSocket, readAnswer } from './testing/read-answer.ts'
import { fillTwoProjects, OTHER, SEALED, SECRET, stateOfOther } from './testing/two-projects.ts'

/**
 * Sends requests generated from our OpenAPI document over every transport and as every kind of caller. One of two
 * projects is hidden from the caller, and everything in it has a recognizable name. `SCRAPDECK_WALK_RUNS=50
 * SCRAPDECK_WALK_SEED=7 npx vitest run src/server/foreign-names.full.test.ts` sends more or other requests.
 */
const RUNS = Number(process.env['SCRAPDECK_WALK_RUNS'] || pickLength(2, 25))
const SEED = Number(process.env['SCRAPDECK_WALK_SEED'] || 1)
const LIMIT_MS = 30_000 + RUNS * 20_000
/** A placeholder in generated requests for the id of the other project's error group. */
const ERROR_GROUP = 777_000_777
const ABSENT_ERROR_GROUP = 999_999

type World = Awaited<ReturnType<typeof openWorld>>

interface Caller {
  name: string
  /** The projects whose content this caller may see. With `nothing`, even the caller's own project is secret. */
  sees: 'shop' | 'everything' | 'nothing'
  signIn(world: World): Promise<Record<string, string>>
}

const withRoles = (role: Role | null, projects: Record<string, string>) => async (world: World) => {
  const name = `caller-${world.names.next().value}`
  const { user } = await world.client.users.create({ name, kind: 'service', role, projects })
  return withToken(world, { name, userId: user.id })
}

async function withToken({ client }: World, settings: object): Promise<Record<string, string>> {
  const { secret } = await client.tokens.create({ expiresInDays: null, ...settings } as never)
  return { authorization: `Bearer ${secret}` }
}

/** All callers who cannot see, or cannot change, the other project. Those with the fewest rights come first. */
const CALLERS: Caller[] = [
  { name: 'somebody without credentials', sees: 'nothing', signIn: async () => ({}) },
  { name: 'a viewer of one project', sees: 'shop', signIn: withRoles(null, { shop: 'viewer' }) },
  { name: 'a viewer of everything', sees: 'everything', signIn: withRoles('viewer', {}) },
  { name: 'an operator of one project', sees: 'shop', signIn: withRoles(null, { shop: 'operator' }) },
  {
    name: 'somebody from a proxy who deploys one project',
    sees: 'shop',
    signIn: async () => ({ 'x-user': 'ann', 'x-groups': 'shop' })
  },
  {
    name: 'somebody from a proxy who administers some nodes',
    sees: 'nothing',
    signIn: async () => ({ 'x-user': 'nia', 'x-groups': 'nodes' })
  },
  {
    name: 'a token of an admin for one project',
    sees: 'shop',
    async signIn(world) {
      const { user } = await world.client.users.create({ name: 'ben', kind: 'service', role: 'admin' })
      return withToken(world, { name: 'narrow', userId: user.id, projects: ['shop'] })
    }
  },
  { name: 'a deployer of one project', sees: 'shop', signIn: withRoles(null, { shop: 'deployer' }) },
  {
    name: 'a viewer of everything who deploys one project',
    sees: 'everything',
    signIn: withRoles('viewer', { shop: 'deployer' })
  },
  {
    name: 'somebody with a custom role in one project',
    sees: 'shop',
    async signIn(world) {
      const role = `keeper-${world.names.next().value}`
      await world.client.roles.create({ name: role, permissions: ['read', 'jobs.run', 'queue.order', 'eggs.deploy'] })
      return withRoles(null, { shop: role })(world)
    }
  },
  {
    name: 'a member of a group that operates one project',
    sees: 'shop',
    async signIn(world) {
      const name = `team-${world.names.next().value}`
      const { group } = await world.client.groups.create({ name, role: null, projects: { shop: 'operator' } } as never)
      const { user } = await world.client.users.create({ name: `${name}-ann`, role: null, groups: [group.id] } as never)
      return withToken(world, { name, userId: user.id })
    }
  },
  {
    name: 'an admin of some nodes',
    sees: 'nothing',
    async signIn(world) {
      const name = `keeper-${world.names.next().value}`
      const given = { name, kind: 'service', role: null, nodeGroups: { [name]: 'admin' } }
      const { user } = await world.client.users.create(given as never)
      return withToken(world, { name, userId: user.id })
    }
  }
]

const document = await describeApi()
const known: Known = { ids: [], names: [], cursors: {}, parts: {} }
const { operations, requestsFor } = createRequestGenerator(document, { known, headers: {}, isRight: true })
const metas = new Map([...listOperations(contract)].map(([name, { '~orpc': of }]) => [name, of.meta]))
const isWrite = (name: string) => metas.get(name)?.writes ?? /^(schedule|cancel|add\w+|del\w+)\.json$/.test(name)
/** Operations that run last, because all others need what they remove. */
const REMOVES = /\.(remove|delete\w+|cancel|revoke)$|^(del\w+|cancel)\.json$/
const orderOf = (name: string) => (REMOVES.test(name) ? 2 : isWrite(name) ? 1 : 0)

let world: World
beforeAll(async () => void (world = await openWorld()), 60_000)
afterAll(() => world.remove())

async function openWorld() {
  const opened = await fillTwoProjects()
  const { client, own, other, engine, clock, directory } = opened
  const node = (await client.nodes.list()).nodes[0]!
  await client.nodes.update({ id: node.id, username: 'deck', password: `${SEALED}-password` } as never)
  const { user } = await client.users.create({ name: `${SEALED}-kim`, kind: 'service', role: 'owner' })
  const { token } = await client.tokens.create({ name: `${SEALED}-token`, userId: user.id, expiresInDays: null })
  const { webhook } = await client.webhooks.create({
    name: `${SEALED}-hook`,
    url: `https://${SEALED}.example/`,
    events: ['job.ended']
  } as never)
  // Pause all schedules, so that nothing changes on its own.
  const ids = [own.schedule, own.order, other.schedule, other.order] as never
  await client.schedules.setPaused({ ids, paused: true, note: null })
  const app = createApp({
    engine,
    clock,
    logger: silentLogger,
    bindAddress: '127.0.0.1',
    port: () => 6800,
    allowedHosts: [],
    dataDirectory: directory,
    uiDirectory: directory,
    docsDirectory: directory,
    rateLimits: { api: null, endpoints: null, open: null },
    signIn: {
      ...NO_SIGN_IN,
      proxy: {
        userHeader: 'x-user',
        groupsHeader: 'x-groups',
        groupsSeparator: ',',
        from: ['127.0.0.1'],
        roles: new Map([
          ['shop', { role: null, projects: { shop: 'deployer' }, nodeGroups: {} }],
          ['nodes', { role: null, projects: {}, nodeGroups: { keepers: 'admin' } }]
        ]) as never
      }
    }
  })
  const jobsOf = async (project: string) => (await client.jobs.list({ project } as never)).jobs.map(({ id }) => id)
  const [ownJobs, otherJobs] = [await jobsOf('shop'), await jobsOf(OTHER)]
  const { errorGroup: _own, ...ownIds } = own
  const { errorGroup, ...otherIds } = other
  const hidden = [...new Set([...otherJobs, ...Object.values(otherIds)])]
  const sealed = [user.id, token.id, webhook.id] as string[]
  const taken = new Set([...ownJobs, ...Object.values(ownIds), ...hidden, ...sealed])
  fillKnown()
  return {
    ...opened,
    client,
    app,
    hidden,
    sealed,
    taken,
    errorGroup,
    names: countUp(),
    ownIds: [...ownJobs, ...Object.values(ownIds)] as string[],
    /** Names that our own requests have stored where the caller can see them. */
    stored: new Set<string>(),
    /** Things that only an owner can change. */
    stateOfOthers: async () => ({
      ...(await stateOfOther(client)),
      users: (await client.users.list()).users.find(({ id }) => id === user.id),
      tokens: (await client.tokens.list({})).tokens.filter(({ id }) => id === token.id),
      webhooks: (await client.webhooks.list()).webhooks.map(({ id, url, enabled }) => ({ id, url, enabled })),
      limits: (await client.queue.limits()).limits.map(({ live: _live, ...rule }) => rule),
      policy: await client.storage.policy()
    }),
    async remove() {
      await app.fastify.close()
      await opened.remove()
    }
  }

  function fillKnown(): void {
    const both = <Value>(...[ofOther, ofShop]: [Value, Value]) => [ofOther, ofOther, ofShop]
    const lists = both([other.job, other.queued], [own.job, other.job, own.queued])
    const texts = ['went wrong', `${SECRET}-spider`]
    known.ids.push(...hidden, ...hidden, ...ownJobs, ...Object.values(ownIds), ...sealed)
    known.names.push(OTHER, OTHER, 'shop', `${SECRET}-spider`, 'own-spider', SECRET, 'UTC', 'went wrong')
    Object.assign(known.parts, {
      project: both(OTHER, 'shop'),
      projects: both([OTHER], ['shop', OTHER]),
      jobId: both(other.job, own.job),
      spider: both(`${SECRET}-spider`, 'own-spider'),
      spiders: both([`${SECRET}-spider`], ['own-spider']),
      version: [...both(`${SECRET}-1`, '1'), null],
      userId: both(SECRET, 'own'),
      user_id: both(SECRET, 'own'),
      jobIds: lists,
      jobid: both(other.queued, own.queued),
      scheduleId: both(other.schedule, own.schedule),
      key: both(`${SECRET}-key`, 'own-key'),
      name: both(`${SECRET}-schedule`, 'own-schedule'),
      text: texts,
      attemptNumber: [1],
      waitSeconds: [0],
      nodeId: [node.id],
      zone: ['UTC'],
      expression: ['0 7 1 1 *'],
      secretNames: [['token']],
      to: [{ before: other.queued }, { before: own.queued }, 'front'],
      before: both(other.queued, own.queued),
      'jobs.id': both(other.job, own.job),
      'schedules.id': both(other.schedule, own.schedule),
      'chains.id': both(other.chain, own.chain),
      'crawlOrders.id': both(other.order, own.order),
      'errors.id': [ERROR_GROUP, ERROR_GROUP, Number(own.errorGroup)],
      'nodes.id': [node.id],
      'users.id': [user.id],
      'tokens.id': [token.id],
      'webhooks.id': [webhook.id],
      'environments.id': ['main', OTHER]
    })
    const ids = {
      jobs: lists,
      schedules: both([other.schedule], [own.schedule, other.schedule]),
      errors: [[ERROR_GROUP], [ERROR_GROUP, Number(own.errorGroup)]]
    }
    for (const [noun, some] of Object.entries(ids)) known.parts[`${noun}.ids`] = some
  }
}

function* countUp(): Generator<number, number> {
  for (let next = 1; ; next += 1) yield next
}

const tokensIn = (text: string, ids: ReadonlySet<string>): string[] =>
  [...text.matchAll(/[\w-]*zz(?:quiet|sealed)[\w-]*|[0-9a-f]{32}(?:-\d+)?/g)]
    .map(([token]) => token)
    .filter((token) => token.includes('zz') || ids.has(token.slice(0, 32)))

function toAbsent(text: string): string {
  let absent = text
    .replaceAll(SECRET, 'zzqueit')
    .replaceAll(SEALED, 'zzsaeled')
    .replaceAll(String(ERROR_GROUP), String(ABSENT_ERROR_GROUP))
  for (const id of [...world.hidden, ...world.sealed]) absent = absent.replaceAll(id, absentId(id))
  return absent
}

function absentId(id: string): string {
  for (let digit = 0; ; digit += 1) {
    const other = `${id.slice(0, -1)}${digit.toString(16)}`
    if (!world.taken.has(other)) return other
  }
}

const toOther = (text: string): string => text.replaceAll(String(ERROR_GROUP), world.errorGroup)

function withText(options: InjectOptions, change: (text: string) => string): InjectOptions {
  return {
    ...options,
    url: change(String(options.url)),
    ...(typeof options.payload === 'string' && { payload: change(options.payload) })
  }
}

const textOf = ({ url, payload }: InjectOptions): string =>
  decodeURIComponent(String(url).replaceAll('+', ' ')) + (typeof payload === 'string' ? ` ${payload}` : '')

/** Whether the request created something. If so, the second response has another id. */
const hasNewId = ({ text }: Answer): boolean =>
  [...text.matchAll(/\b[0-9a-f]{32}\b/g)].some(([id]) => !world.taken.has(id))
const NAMES_SHOP = /\bshop\b|\bown\b/

/**
 * Changes writes so that they do not store the secret names that would count as a leak later, and so that removals
 * affect only the other project.
 */
function withoutHarm(name: string, options: InjectOptions): InjectOptions {
  if (!isWrite(name)) return options
  return withText(options, (text) => {
    const renamed = text.replaceAll(new RegExp(`${SECRET}(?!-project|-key)`, 'g'), 'mine')
    if (!REMOVES.test(name)) return renamed
    const { own, other } = world
    return Object.keys(own).reduce(
      (left, key) => left.replaceAll(own[key as keyof typeof own], other[key as keyof typeof other]),
      renamed.replaceAll(/\bshop\b/g, OTHER)
    )
  })
}
const isFailure = ({ status, text }: Answer): boolean => status >= 400 || /^\[?\{"jsonrpc":"2.0","error"/.test(text)

interface Asking {
  caller: Caller
  headers: Record<string, string>
  ask: Ask
}

const send = ({ ask, headers }: Asking, options: InjectOptions): Promise<Answer> =>
  readAnswer(ask, world.clock, {
    ...options,
    headers: { ...options.headers, host: '127.0.0.1:6800', ...headers }
  })

function leaksIn(answer: Answer, request: InjectOptions, { sees }: Caller): string[] {
  const ids = new Set(sees === 'everything' ? world.sealed : [...world.hidden, ...world.sealed])
  const sent = new Set([...tokensIn(textOf(request), ids), ...world.stored])
  const isHidden = (token: string) => sees !== 'everything' || token.includes(SEALED) || ids.has(token)
  const leaks = tokensIn(`${answer.head}\n${answer.text}`, ids).filter((token) => isHidden(token) && !sent.has(token))
  return [...new Set(leaks)]
}

/**
 * The maximum number of comparisons. Some responses contain a time or similar values, so responses that differ are
 * requested again.
 */
const TRIES = 3

async function compareWithAbsent(asking: Asking, options: InjectOptions, first: Answer): Promise<string[]> {
  let was = ''
  for (let tries = 0; tries < TRIES; tries += 1) {
    const answer = tries === 0 ? first : await send(asking, withText(options, toOther))
    const absent = await send(asking, withText(options, toAbsent))
    was = `${absent.status} ${absent.conclusion.replaceAll(String(ABSENT_ERROR_GROUP), world.errorGroup)}`
    if (absent.isCut || answer.isCut || `${answer.status} ${toAbsent(answer.conclusion)}` === was) return []
  }
  return [`differs from\n   ${was.slice(0, 600)}\n  `]
}

async function judge(asking: Asking, name: string, options: InjectOptions): Promise<string[]> {
  const request = withText(options, toOther)
  const answer = await send(asking, request)
  const wrong: string[] = []
  const leaks = leaksIn(answer, request, asking.caller)
  if (leaks.length > 0) wrong.push(`tells ${leaks.join()}`)
  if ([500, 503].includes(answer.status) || /-32603|"INTERNAL"/.test(answer.text)) wrong.push('fails')
  if (isWrite(name) && textOf(request).includes(`${SECRET}-key`)) world.stored.add(`${SECRET}-key`)
  if (asking.caller.sees === 'shop' && tokensIn(textOf(request), new Set(world.hidden)).length > 0) {
    const namesShop = NAMES_SHOP.test(textOf(request)) || world.ownIds.some((id) => textOf(request).includes(id))
    const changesShop = isWrite(name) && !isFailure(answer) && namesShop
    const isRepeatable = !changesShop && !hasNewId(answer)
    if (isRepeatable && !answer.isCut) wrong.push(...(await compareWithAbsent(asking, options, answer)))
  }
  const told = `${request.method} ${textOf(request).slice(0, 600)}\n   ${answer.status} ${answer.text.slice(0, 600)}`
  return wrong.map((what) => `${name} ${what}: ${told}`)
}

type Generated = readonly [name: string, options: InjectOptions]
const generated = new Map<number, readonly Generated[]>()

/** Generates requests for each operation, over one transport or all of them. All callers send the same requests. */
function requestsOf(run: number): readonly Generated[] {
  const made = generated.get(run) ?? [...generate(run)]
  generated.set(run, made)
  return made
}

function* generate(run: number): Generator<Generated> {
  const seed = SEED * 1_000 + run
  const sample = <Value>(arbitrary: fc.Arbitrary<Value>) => fc.sample(arbitrary, { numRuns: 1, seed })[0]!
  const names = {
    projects: [OTHER, OTHER, 'shop'],
    spiders: [`${SECRET}-spider`, 'own-spider'],
    versions: [`${SECRET}-1`, '1'],
    jobs: [world.other.job, world.other.queued, world.own.job]
  }
  const scrapyd = [...scrapydRequests(names)].map(([name, of]) => [name, () => [sample(of)]] as const)
  const api = operations.map((operation, index) => {
    const { operationId: name } = operation
    const make = () => {
      known.parts['ids'] = known.parts[`${name.split('.')[0]}.ids`] ?? []
      const request = sample(requestsFor(operation, run % 2 === 0 ? { only: [] } : {}))
      const isStream = [...operation.answers.values()].some(({ type }) => type.includes('event-stream'))
      const transports = metas.has(name) ? TRANSPORTS.slice(0, isStream ? 2 : undefined) : TRANSPORTS.slice(0, 1)
      const some = isLong ? transports : [transports[(index + run) % transports.length]!]
      return some.map((transport) => through(transport, request))
    }
    return [name, make] as const
  })
  const feed = [
    'events.subscribe',
    (): InjectOptions[] => [{ method: 'GET', url: '/api/v1/events?after=0.aaaaaa.0' }]
  ] as const
  const all = [feed, ...scrapyd, ...api].sort(([one], [other]) => orderOf(one) - orderOf(other))
  for (const [name, make] of all) for (const options of make()) yield [name, withoutHarm(name, options)]
}

async function walk(caller: Caller, ask: Ask, runs = RUNS): Promise<string[]> {
  const asking = { caller, ask, headers: await caller.signIn(world) }
  const wrong: string[] = []
  let before = await world.stateOfOthers()
  for (let run = 0; run < runs; run += 1) {
    for (const [name, options] of requestsOf(run)) {
      wrong.push(...(await judge(asking, name, options)))
      if (!isLong || !isWrite(name)) continue
      const after = await world.stateOfOthers()
      if (!isDeepStrictEqual(after, before)) {
        wrong.push(`${name} changes what is hidden: ${textOf(options)}\n${inspect([before, after], { depth: 9 })}`)
      }
      before = after
    }
  }
  // Compare the whole state, so that the test shows what changed.
  expect(await world.stateOfOthers()).toEqual(before)
  return wrong.slice(0, 30)
}

describe(`requests generated with the seed ${SEED}`, () => {
  it(
    'name existing things: many operations tell an owner about the other project, over every kind of transport',
    async () => {
      const owner: Caller = { name: 'owner', sees: 'shop', signIn: (all) => withToken(all, { name: 'own' }) }
      const asking = { caller: owner, ask: askInProcess(world.app.fastify), headers: await owner.signIn(world) }
      const telling = new Set<string>()
      const reads = requestsOf(0).filter(([name]) => !isWrite(name))
      for (const [name, options] of reads) {
        const request = withText(options, toOther)
        if (leaksIn(await send(asking, request), request, owner).length > 0) telling.add(name)
      }
      const expected =
        'jobs.list projects.list schedules.list chains.list webhooks.list users.list nodes.list events.subscribe'
      expect([...telling]).toEqual(expect.arrayContaining([...expected.split(' '), 'listprojects.json']))
      expect(telling.size).toBeGreaterThan(20)
    },
    LIMIT_MS
  )

  it.each(CALLERS.map((caller) => [caller.name, caller] as const))(
    'tell %s nothing about hidden things, and change nothing there',
    async (_name, caller) => {
      expect(await walk(caller, askInProcess(world.app.fastify))).toEqual([])
    },
    LIMIT_MS
  )

  it(
    'tell an operator nothing over real connections either',
    async () => {
      const server = createServer((request, response) => world.app.handle(request, response)).listen(0, '127.0.0.1')
      onTestFinished(() => void server.close())
      await once(server, 'listening')
      const operator = CALLERS.find(({ name }) => name === 'an operator of one project')!
      expect(await walk(operator, askOverSocket((server.address() as AddressInfo).port), isLong ? RUNS : 1)).toEqual([])
    },
    LIMIT_MS
  )
})
