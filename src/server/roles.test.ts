import type { IncomingHttpHeaders } from 'node:http'
import { request } from 'node:https'
import { getEventIteratorSchemaDetails } from '@orpc/contract'
import { createRouterClient } from '@orpc/server'
import type { InjectOptions } from 'fastify'
import { describe, expect, it, onTestFinished } from 'vitest'
import { contract, listOperations, type Operation } from '../shared/contract/index.ts'
import { includes, namesOf, type Permission, permissionsOf } from '../shared/permissions.ts'
import { leastRoleWith, permissionsOfRole, type Role, ROLES } from '../shared/roles.ts'
import { OWNER } from '../engine/access/principal.ts'
import { rightsOf } from '../engine/access/rights.ts'
import { NO_SIGN_IN } from './auth/sign-in-options.ts'
import { exampleOf } from '../shared/examples/operations.ts'
import { silentLogger } from '../engine/runtime/logger.ts'
import { createFakeClock } from '../engine/testing/fake-clock.ts'
import { CertificateFiles } from './certificate-files.ts'
import { makeCertificate } from '../engine/testing/make-certificate.ts'
import { openTestApp, openTestService, RIGHT } from './testing/test-app.ts'

/** The least role for each operation. The first test fails if an operation is missing or has another role. */
const OPERATIONS: Record<Role, string> = {
  viewer: `
    crawlOrders.list crawlOrders.get jobs.list jobs.facets jobs.get jobs.status jobs.running jobs.usage jobs.figures
    jobs.count queue.limits queue.lanes nodes.list nodes.get discovery.list projects.list projects.get schedules.list
    schedules.get schedules.preview schedules.calendar schedules.load schedules.firings schedules.planBackfill chains.list
    engines.list storage.usage storage.policy storage.preview environments.list environments.log logs.read logs.tail
    logs.locate logs.search logs.searchAll logs.zip items.describe items.page items.read items.fieldStatistics items.diff
    items.export items.readExport errors.list errors.get errors.ofJob findings.list findings.ofJob events.subscribe
    users.me users.changePassword roles.list tokens.list tokens.create tokens.revoke secondFactors.get secondFactors.beginAuthenticator
    secondFactors.confirmAuthenticator secondFactors.removeAuthenticator secondFactors.renewRecoveryCodes secondFactors.beginPasskey secondFactors.addPasskey
    secondFactors.removePasskey
    sessions.list sessions.revoke signIns.get signIns.approve signIns.deny system.status system.history
    alerts.list alerts.evidence alerts.notices alerts.report alertRules.list alertSilences.list`,
  operator: `
    crawl crawlOrders.update crawlOrders.cancel jobs.run jobs.runMany jobs.setPriority jobs.reorder jobs.place
    jobs.runElsewhere jobs.cancel jobs.restore jobs.keep jobs.retry nodes.cancelExternal nodes.adoptExternal
    projects.setPaused schedules.create schedules.update schedules.remove schedules.setPaused schedules.runNow
    schedules.backfill schedules.cancelBackfill chains.create chains.update chains.remove errors.setState findings.dismiss
    system.setPaused alerts.acknowledge alerts.unacknowledge alertSilences.create alertSilences.remove alertChannels.names alertRules.create
    alertRules.preview alertRules.update alertRules.remove alertRules.removeMany alertSilences.removeMany`,
  deployer: `
    projects.upload projects.deploy projects.configure projects.changeSettings projects.pinVersion projects.deleteVersion
    projects.deleteProject environments.rebuild environments.remove system.runDemo system.createEnvironment`,
  admin: `
    queue.setLimits nodes.probe nodes.add nodes.addPulling nodes.renewToken nodes.revokeToken nodes.update nodes.setMode
    nodes.remove discovery.put discovery.remove discovery.refresh webhooks.list webhooks.create webhooks.update
    webhooks.remove webhooks.rotate webhooks.test webhooks.deliveries webhooks.replay fleetFile.export fleetFile.plan
    alertChannels.list alertChannels.create alertChannels.update
    alertChannels.remove alertChannels.test
    fleetFile.apply audit.list audit.export audit.verify engines.handOver engines.drain storage.setPolicy storage.run storage.compact`,
  owner: `
    users.list users.create users.update users.remove groups.list groups.create groups.update groups.remove
    roles.create roles.update roles.remove secondFactors.reset system.logOutEverywhere`
}

/** The permission of each operation, except for reading. */
const PERMISSION_OF: Record<Exclude<Permission, 'read' | 'code.choose'>, string> = {
  'jobs.run': `
    crawl jobs.run jobs.runMany jobs.retry jobs.runElsewhere nodes.adoptExternal schedules.runNow schedules.backfill
    system.runDemo`,
  'jobs.cancel': 'crawlOrders.cancel jobs.cancel jobs.restore nodes.cancelExternal schedules.cancelBackfill',
  'queue.order': 'jobs.setPriority jobs.reorder jobs.place',
  'queue.pause': 'projects.setPaused system.setPaused',
  'schedules.change': `
    crawlOrders.update schedules.create schedules.update schedules.remove schedules.setPaused chains.create
    chains.update chains.remove`,
  'alerts.answer':
    'alerts.acknowledge alerts.unacknowledge alertSilences.create alertSilences.remove alertSilences.removeMany',
  'alerts.change': `alertChannels.names alertRules.create alertRules.preview
    alertRules.update alertRules.remove alertRules.removeMany`,
  'results.review': 'jobs.keep errors.setState findings.dismiss',
  'eggs.deploy': 'projects.upload projects.deploy projects.pinVersion system.runDemo',
  'projects.change': 'projects.configure projects.changeSettings',
  'projects.delete': 'projects.deleteVersion projects.deleteProject',
  'environments.change': 'environments.rebuild environments.remove system.createEnvironment',
  'nodes.operate': 'nodes.setMode',
  'nodes.change': `
    nodes.probe nodes.add nodes.addPulling nodes.renewToken nodes.revokeToken nodes.update nodes.remove discovery.put
    discovery.remove discovery.refresh`,
  'limits.change': 'queue.setLimits',
  'storage.change': 'storage.setPolicy storage.run storage.compact',
  'webhooks.change': `
    webhooks.list webhooks.create webhooks.update webhooks.remove webhooks.rotate webhooks.test webhooks.deliveries
    webhooks.replay alertChannels.list alertChannels.create alertChannels.update
    alertChannels.remove alertChannels.test`,
  'engines.operate': 'engines.handOver engines.drain',
  'fleet.apply': 'fleetFile.export fleetFile.plan fleetFile.apply',
  'audit.read': 'audit.list audit.export audit.verify',
  'users.change': OPERATIONS.owner
}

/**
 * What each operation is about (OperationMeta), which limits who can call it. Operations that are not listed here name
 * something.
 */
const ABOUT = {
  caller: `users.me users.changePassword roles.list tokens.list tokens.create tokens.revoke sessions.list sessions.revoke
    schedules.preview items.readExport secondFactors.get secondFactors.beginAuthenticator secondFactors.confirmAuthenticator
    secondFactors.removeAuthenticator secondFactors.renewRecoveryCodes secondFactors.beginPasskey secondFactors.addPasskey secondFactors.removePasskey
    signIns.get signIns.approve signIns.deny`,
  seen: `crawlOrders.list jobs.list jobs.facets jobs.running queue.limits queue.lanes nodes.list projects.list discovery.list
    engines.list
    schedules.list schedules.calendar schedules.load schedules.firings chains.list storage.usage storage.policy
    storage.preview environments.list logs.searchAll errors.list findings.list events.subscribe system.status
    system.history alerts.list alerts.notices alerts.report alertRules.list alertSilences.list alertChannels.names`,
  service: `queue.setLimits discovery.put discovery.remove discovery.refresh webhooks.list webhooks.create
    webhooks.update webhooks.remove webhooks.rotate webhooks.test webhooks.deliveries webhooks.replay fleetFile.export
    alertChannels.list alertChannels.create alertChannels.update
    alertChannels.remove alertChannels.test
    fleetFile.plan fleetFile.apply engines.handOver engines.drain storage.setPolicy storage.run storage.compact
    audit.list audit.export audit.verify users.list users.create users.update users.remove groups.list groups.create
    groups.update groups.remove roles.create roles.update roles.remove secondFactors.reset system.logOutEverywhere system.setPaused
    system.runDemo system.createEnvironment`
}

/** The permissions of all other routes. `null` is for public routes. */
const ROUTES: [method: string, path: string, permission: Permission | null][] = [
  ['GET', '/daemonstatus.json', 'read'],
  ['GET', '/status.json?job=1', 'read'],
  ['GET', '/listprojects.json', 'read'],
  ['GET', '/listversions.json?project=shop', 'read'],
  ['GET', '/listspiders.json?project=shop', 'read'],
  ['GET', '/listjobs.json', 'read'],
  ['POST', '/schedule.json', 'jobs.run'],
  ['POST', '/cancel.json', 'jobs.cancel'],
  ['POST', '/addversion.json', 'eggs.deploy'],
  ['POST', '/delversion.json', 'projects.delete'],
  ['POST', '/delproject.json', 'projects.delete'],
  ['HEAD', '/delproject.json', 'projects.delete'],
  ['DELETE', '/schedule.json', 'users.change'],
  ['GET', '/', 'read'],
  ['GET', '/jobs', 'read'],
  ['GET', '/logs', 'read'],
  ['GET', '/logs/', 'read'],
  ['GET', '/items', 'read'],
  ['GET', '/items/', 'read'],
  ['GET', '/metrics', 'read'],
  ['GET', '/docs', 'read'],
  ['GET', '/docs/access', 'read'],
  ['GET', '/docs/style.css', 'read'],
  ['GET', '/docs/images/jobs.png', 'read'],
  ['GET', '/api', 'read'],
  ['GET', '/api/openapi.json', 'read'],
  ['GET', '/api/files/start.js', 'read'],
  ['GET', '/api/files/style.css', 'read'],
  ['GET', '/ui', 'read'],
  ['GET', '/ui/', 'read'],
  ['POST', '/ui/link', 'users.change'],
  ['POST', '/ui/logout', 'read'],
  ['GET', '/health', null],
  ['GET', '/health/live', null],
  ['GET', '/health/ready', null],
  ['GET', '/ui/login', null],
  ['POST', '/ui/login/passkey', null],
  ['POST', '/ui/login/device', null],
  ['POST', '/ui/login/token', null],
  ['GET', '/ui/login/oidc', null],
  ['GET', '/ui/login/oidc/callback', null],
  ['POST', '/ui/login/oidc/logout', null]
]

const FOUND = listOperations(contract)
/** Operations that do not end, or that take a file instead of JSON. Only their rejections are tested. */
const NOT_AWAITED = new Set(['events.subscribe', 'projects.upload', 'logs.tail', 'logs.zip', 'projects.deploy'])
const isStream = ({ '~orpc': { outputSchema } }: Operation) => getEventIteratorSchemaDetails(outputSchema) !== undefined

const SIGN_IN = {
  ...NO_SIGN_IN,
  oidc: {
    issuer: 'http://127.0.0.1:1',
    clientId: 'scrapdeck',
    clientSecret: null,
    scopes: 'openid',
    label: 'Nobody',
    nameClaim: 'name',
    groupsClaim: 'groups',
    roles: new Map(),
    sessionMs: 1
  }
}

const CUSTOM: Record<string, Permission[]> = {
  'shop keeper': ['read', 'jobs.run', 'jobs.cancel', 'eggs.deploy'],
  'night watch': ['read', 'schedules.change', 'nodes.operate', 'audit.read', 'fleet.apply'],
  reader: ['read']
}
const ALL_ROLES = [...ROLES, ...Object.keys(CUSTOM)]
const setOf = (role: string) => (role in CUSTOM ? permissionsOf(CUSTOM[role]!) : permissionsOfRole(role))

async function openWithRoles() {
  const app = openTestApp({ signIn: SIGN_IN, rateLimits: { apiPerSecond: 10_000, doorPerSecond: 10_000 } as never })
  const { access } = app.engine
  for (const [name, permissions] of Object.entries(CUSTOM)) {
    await access.roles.create({ name, description: '', permissions })
  }
  const authorization: Record<string, string> = {}
  for (const role of ALL_ROLES) {
    const { id } = await access.createUser({ name: role.replace(' ', '-'), kind: 'service', role })
    const { secret } = await access.createToken({ ...OWNER }, { name: role, userId: id, expiresInDays: null })
    authorization[role] = `Bearer ${secret}`
  }
  const askAs = (role: string, request: InjectOptions) =>
    app.askAnonymously({ ...request, headers: { ...request.headers, authorization: authorization[role]! } })
  return { ...app, askAs }
}

/** Parses the tree that Fastify prints: one segment per line, four columns per level. */
function pathsIn(tree: string): string[] {
  const above: string[] = []
  return tree.split('\n').flatMap((line) => {
    const match = /^([│ ]*)[├└]── (\S+)( \(.*\))?$/.exec(line)
    if (match === null) return []
    const depth = match[1]!.length / 4
    above.splice(depth, above.length, match[2]!)
    const path = above.join('')
    return match[3] === undefined ? [] : [path.startsWith('/') ? path : `/${path}`]
  })
}

const refusalIn = (body: string): string | null => /ROLE_REQUIRED/.exec(body)?.[0] ?? null

describe('the role of an operation', () => {
  it('matches the table, for every operation', () => {
    const table = ROLES.flatMap((role) =>
      OPERATIONS[role]
        .trim()
        .split(/\s+/)
        .map((name) => [name, role])
    )
    const inContract = [...FOUND].map(([name, { '~orpc': of }]) => [name, leastRoleWith(of.meta.needs)])
    expect(Object.fromEntries(inContract)).toEqual(Object.fromEntries(table))
  })

  it('comes with the permission in the other table, for every operation that does more than read', () => {
    const wordsOf = (text: string) => text.trim().split(/\s+/)
    const needed = (name: string) =>
      Object.entries(PERMISSION_OF).flatMap(([permission, names]) =>
        wordsOf(names).includes(name) ? [permission] : []
      )
    for (const [name, { '~orpc': of }] of FOUND) {
      const expected = needed(name)
      expect(namesOf(of.meta.needs), name).toEqual(namesOf(permissionsOf(expected.length === 0 ? ['read'] : expected)))
    }
  })

  it('is enforced as the table says, for every operation', () => {
    for (const [about, names] of Object.entries(ABOUT)) {
      const found = [...FOUND].filter(([, { '~orpc': of }]) => of.meta.about === about).map(([name]) => name)
      expect(found.sort(), about).toEqual(names.trim().split(/\s+/).sort())
    }
    const named = [...FOUND].filter(([, { '~orpc': of }]) => typeof of.meta.about === 'object')
    expect(named.length).toBeGreaterThan(60)
  })

  it.each(ALL_ROLES)(
    'lets the role %s do what the table says, and nothing else: REST, RPC, JSON-RPC, in the process',
    async (role) => {
      const { askAs, engine } = await openWithRoles()
      const router = await engine.router()
      const client = createRouterClient(router, {
        context: { principal: { ...OWNER, role, rights: rightsOf(setOf(role)) }, source: 'api' }
      }) as unknown as Record<string, Record<string, (input: unknown) => Promise<unknown>>>
      const wrong: string[] = []
      for (const [name, operation] of FOUND) {
        const { meta, route } = operation['~orpc']
        const may = includes(setOf(role), meta.needs)
        if (may && NOT_AWAITED.has(name)) continue
        const { input = {} } = exampleOf(name)!
        const fields = { ...(input as Record<string, unknown>) }
        const path = route.path!.replaceAll(/\{(\w+)\}/g, (_all, field: string) =>
          encodeURIComponent(String(fields[field]))
        )
        for (const [, field] of route.path!.matchAll(/\{(\w+)\}/g)) delete fields[field!]
        const prefix = name === 'crawl' || name.startsWith('crawlOrders') ? '' : '/api/v1'
        const rest = await askAs(role, {
          method: route.method as 'GET',
          url: `${prefix}${path}`,
          ...(route.method === 'GET' || route.method === 'DELETE' ? {} : { payload: fields })
        })
        const rpc = await askAs(role, {
          method: 'POST',
          url: `/api/rpc/${name.replace('.', '/')}`,
          payload: { json: input }
        })
        const jsonRpc = await askAs(role, {
          method: 'POST',
          url: '/api/v1/jsonrpc',
          payload: { jsonrpc: '2.0', id: 1, method: name, params: input }
        })
        const [noun, verb] = name.split('.') as [string, string | undefined]
        const call = (verb === undefined ? client[noun] : client[noun]![verb]) as unknown as (input: unknown) => unknown
        const inProcess = await Promise.resolve()
          .then(() => call(input))
          .then(
            () => null,
            (error: { code?: string }) => error.code ?? null
          )
        // JSON-RPC has no streams and rejects them for all roles.
        const answers = { rest, rpc, ...(isStream(operation) ? {} : { jsonRpc }), inProcess: { body: inProcess ?? '' } }
        for (const [door, { body }] of Object.entries(answers)) {
          if ((refusalIn(body) === null) !== may) wrong.push(`${door} ${name}: ${body.slice(0, 200)}`)
        }
      }
      expect(wrong).toEqual([])
    }
  )
})

describe('the role of every other route', () => {
  it.each(ALL_ROLES)('lets the role %s use what the table says, and nothing else', async (role) => {
    const { askAs } = await openWithRoles()
    const wrong: string[] = []
    for (const [method, url, needed] of ROUTES) {
      const response = await askAs(role, { method: method as 'GET', url })
      const may = needed === null || includes(setOf(role), permissionsOf([needed]))
      const isRefused = response.statusCode === 403 && (method === 'HEAD' || /needs the permission/.test(response.body))
      if (isRefused === may) {
        wrong.push(`${method} ${url}: ${response.statusCode} ${response.body.slice(0, 200)}`)
      }
    }
    expect(wrong).toEqual([])
  })

  it('is in the table, for every existing route', async () => {
    const { fastify } = openTestApp({ signIn: SIGN_IN })
    await fastify.ready()
    const others = /^\/(api\/(rpc|v1|node)\/|crawl|kubernetes\/|jobs\/:id\/)/
    const paths = pathsIn(fastify.printRoutes({ commonPrefix: false })).filter((path) => !others.test(path))
    const known = ROUTES.map(([, url]) => url.replace(/\?.*/, ''))
    const isKnown = (path: string) =>
      known.some((url) => new RegExp(`^${path.replaceAll(/:\w+|\*/g, '.*')}$`).test(url))
    expect(paths.length).toBeGreaterThan(25)
    expect(paths.filter((path) => !isKnown(path))).toEqual([])
  })

  it('is an owner for unknown routes: the response is the same for all others', async () => {
    const { askAs } = await openWithRoles()
    for (const url of ['/no-such-path', '/api/none', '/ui/none.js']) {
      const answers = await Promise.all(ALL_ROLES.map((role) => askAs(role, { url })))
      expect(new Set(answers.map(({ statusCode, body }) => `${statusCode} ${body}`)).size).toBe(1)
    }
  })
})

describe('the response to a user', () => {
  it('depends on the permissions alone, not on the role that contains them', async () => {
    const { askAs } = await openWithRoles()
    for (const [name, { '~orpc': of }] of FOUND) {
      if (NOT_AWAITED.has(name) || of.meta.writes || of.meta.about === 'caller') continue
      const { input = {} } = exampleOf(name)!
      const ask = (role: string) =>
        askAs(role, { method: 'POST', url: `/api/rpc/${name.replace('.', '/')}`, payload: { json: input } })
      const [one, other] = await Promise.all([ask('viewer'), ask('reader')])
      const seenBy = ({ statusCode, body }: typeof one) => [
        statusCode,
        body.replaceAll(/\d{13}/g, 'now').replaceAll('token of reader', 'token of viewer')
      ]
      expect(seenBy(other), name).toEqual(seenBy(one))
    }
  })
})

describe('every response', () => {
  const PAGES = [...ROUTES.map(([method, url]) => ({ method, url })), ...listGets()]

  it('has the security headers for browsers, for every client, with and without TLS', async () => {
    const files = makeCertificate('deck.example.org')
    const certificate = await CertificateFiles.open(files, { clock: createFakeClock(), logger: silentLogger })
    onTestFinished(() => certificate.stop())
    const options = { certificate, allowedHosts: ['deck.example.org'] }
    const { port } = await openTestService({ ...options, rateLimits: { open: null, endpoints: null, api: null } })
    const ask = (method: string, path: string, headers: Record<string, string>) =>
      new Promise<IncomingHttpHeaders>((resolve, reject) => {
        const where = { host: '127.0.0.1', port, method, path, ca: files.pem, servername: 'deck.example.org' }
        const sent = request({ ...where, agent: false, headers: { host: 'deck.example.org', ...headers } })
        sent.on('response', (response) => {
          resolve(response.headers)
          response.destroy()
        })
        sent.on('error', reject).end()
      })
    const wrong: string[] = []
    for (const { method, url } of PAGES) {
      for (const headers of [{ authorization: RIGHT }, {}, { authorization: RIGHT, origin: 'https://evil.example' }]) {
        const given = await ask(method, url, headers as Record<string, string>)
        const policy = String(given['content-security-policy'])
        const lacks = Object.entries({
          'a policy': /default-src 'none'|default-src 'self'/.test(policy),
          'frame-ancestors': policy.includes("frame-ancestors 'none'") && given['x-frame-options'] === 'DENY',
          'base-uri': /base-uri '(none|self)'/.test(policy),
          'no unsafe scripts': !/(script|default)-src[^;]*'unsafe-(inline|eval)'/.test(policy),
          nosniff: given['x-content-type-options'] === 'nosniff',
          'referrer-policy': /^(no-referrer|same-origin)$/.test(String(given['referrer-policy'])),
          'cache-control': given['cache-control'] !== undefined,
          'opener policy': given['cross-origin-opener-policy'] === 'same-origin',
          hsts: /^max-age=\d{8}/.test(String(given['strict-transport-security'])),
          'no cors': given['access-control-allow-origin'] === undefined,
          'no name of the server': given['x-powered-by'] === undefined && given.server === undefined
        }).filter(([, isThere]) => !isThere)
        if (lacks.length > 0) wrong.push(`${method} ${url}: ${lacks.map(([what]) => what).join(', ')}`)
      }
    }
    expect([...new Set(wrong)]).toEqual([])
  })
})

/** Queries of the API, and paths without a route. */
function listGets(): { method: string; url: string }[] {
  const others = [
    '/no-such-path',
    '/ui/none.js',
    '/docs/none',
    '/logs/%zz',
    '/%',
    '/api/none',
    '/ui/jobs',
    '/favicon.ico'
  ]
  const queries = ['/api/v1/status', '/api/v1/nodes', '/api/v1/none', '/api/rpc/system/status', '/crawl']
  return [...others, ...queries].map((url) => ({ method: 'GET', url }))
}
