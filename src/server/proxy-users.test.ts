import { once } from 'node:events'
import { builtInRights } from '../engine/testing/built-in-rights.ts'
import http from 'node:http'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { PEER_HEADER } from '../engine/runtime/peer-header.ts'
import { type GroupRights, NO_SIGN_IN, type ProxyOptions } from './auth/sign-in-options.ts'
import { branded } from '../shared/testing/ids.ts'
import { basic, cookieOf, openTestApp, openTestService, RIGHT } from './testing/test-app.ts'

const PROXY = '192.0.2.1'
const ANNA = { 'x-user': 'anna', 'x-groups': 'everybody, crawlers' }

const proxyAt = (...from: string[]): ProxyOptions => ({
  userHeader: 'x-user',
  groupsHeader: 'x-groups',
  groupsSeparator: ',',
  from,
  roles: new Map<string, GroupRights>([
    ['crawlers', { role: 'operator', projects: {}, nodeGroups: {} }],
    ['eu ops', { role: null, projects: {}, nodeGroups: { eu: 'operator' } }],
    ['admins', { role: 'owner', projects: {}, nodeGroups: {} }]
  ])
})

async function openService() {
  const { port } = await openTestService({ peerSecret: 's', signIn: { ...NO_SIGN_IN, proxy: proxyAt('127.0.0.1') } })
  return async (headers: http.OutgoingHttpHeaders) => {
    const request = http.get({ host: '127.0.0.1', port, path: '/api/v1/users/me', headers })
    const [response] = (await once(request, 'response')) as [http.IncomingMessage]
    const body = await text(response)
    return response.statusCode === 200 ? (JSON.parse(body) as { name: string }) : response.statusCode
  }
}

function openBehindProxy(over: Partial<ProxyOptions> = {}) {
  const proxy = { ...proxyAt(PROXY), ...over }
  const app = openTestApp({ trustedProxies: ['10.0.0.0/8', PROXY], signIn: { ...NO_SIGN_IN, proxy } })
  const me = async (headers: Record<string, string>, from = PROXY) => {
    const answer = await app.askAnonymously({ url: '/api/v1/users/me', remoteAddress: from, headers })
    return answer.statusCode === 200 ? (answer.json() as { name: string; role: string }) : answer.statusCode
  }
  return { ...app, me }
}

describe('a user whom a proxy authenticates', () => {
  it('has the role of the groups that the proxy names in this request', async () => {
    const { me, engine } = openBehindProxy()
    expect(await me(ANNA)).toMatchObject({ name: 'anna', role: 'operator' })
    expect(await me({ ...ANNA, 'x-groups': 'admins' })).toMatchObject({ name: 'anna', role: 'owner' })
    expect(await me({ ...ANNA, 'x-groups': 'everybody' })).toBe(403)
    expect(engine.access.listUsers()).toMatchObject([{ name: 'anna', origin: 'proxy' }])
  })

  it('has roles in node groups as long as requests name their group', async () => {
    const { me, engine } = openBehindProxy()
    const listed = () => engine.access.listUsers().map(({ nodeGroups }) => nodeGroups)
    expect(await me({ ...ANNA, 'x-groups': 'eu ops' })).toMatchObject({
      everywhere: null,
      nodeGroups: { eu: 'operator' }
    })
    expect(listed()).toEqual([{ eu: 'operator' }])
    expect(await me({ ...ANNA, 'x-groups': 'crawlers,eu ops' })).toMatchObject({
      everywhere: 'operator',
      nodeGroups: { eu: 'operator' }
    })
    expect(await me(ANNA)).toMatchObject({ everywhere: 'operator', nodeGroups: {} })
    expect(listed()).toEqual([{}])
  })

  it.each([
    [',', 'crawlers,staff', 'book club; admins|admins admins'],
    [';', 'crawlers; staff', 'book club, admins|admins admins'],
    ['|', 'crawlers|staff', 'book club, admins; admins admins'],
    [' ', '  crawlers   staff ', 'book-club,admins;admins|admins']
  ] as const)(
    'is in no group whose name only contains another one: only "%s" separates groups',
    async (groupsSeparator, two, one) => {
      const { me } = openBehindProxy({ groupsSeparator })
      expect(await me({ ...ANNA, 'x-groups': two })).toMatchObject({ name: 'anna', role: 'operator' })
      expect(await me({ ...ANNA, 'x-groups': one })).toBe(403)
    }
  )

  it('can log in by a local group alone, once known, and keeps their own role besides', async () => {
    const { me, engine } = openBehindProxy()
    const { groups } = engine.access
    const { id } = await groups.create({ name: 'On call', role: null, projects: branded({ shop: 'deployer' }) })
    const stranger = { ...ANNA, 'x-groups': 'everybody' }
    expect(await me(stranger)).toBe(403)
    await me(ANNA)
    await groups.update(id, { addMembers: engine.access.listUsers().map((user) => user.id) })
    expect(await me(ANNA)).toMatchObject({ everywhere: 'operator', projects: { shop: 'deployer' } })
    expect(await me(stranger)).toMatchObject({ name: 'anna', everywhere: null, projects: { shop: 'deployer' } })
    await groups.remove(id)
    expect(await me(stranger)).toBe(403)
    expect(await me(ANNA)).toMatchObject({ everywhere: 'operator', projects: {} })
  })

  it('is ignored if the header comes from another client than the proxy, whatever that claims', async () => {
    const { me } = openBehindProxy()
    for (const from of ['192.0.2.2', '10.0.0.7', '127.0.0.1', '::1']) expect(await me(ANNA, from)).toBe(401)
    expect(await me({ ...ANNA, 'x-forwarded-for': PROXY }, '10.0.0.7')).toBe(401)
    expect(await me({ ...ANNA, [PEER_HEADER]: `wrong ${PROXY} proxy` }, '192.0.2.2')).toBe(401)
  })

  it('is accepted from another engine that got it from the proxy, but not from the clients of that engine', async () => {
    const meOver = await openService()
    expect(await meOver({ ...ANNA, [PEER_HEADER]: 's 203.0.113.9 proxy' })).toMatchObject({ name: 'anna' })
    // The forwarding engine can share the proxy's address, but it has already checked the client.
    expect(await meOver({ ...ANNA, [PEER_HEADER]: 's 203.0.113.9' })).toBe(401)
  })

  it('is refused if the proxy also passes on a header of the client', async () => {
    const meOver = await openService()
    expect(await meOver(ANNA)).toMatchObject({ name: 'anna' })
    expect(await meOver({ ...ANNA, 'x-user': ['boss', 'anna'] })).toBe(401)
    expect(await meOver({ ...ANNA, 'x-groups': ['admins', 'crawlers'] })).toBe(401)
    expect(await meOver({ ...ANNA, 'x-user': 'boss, anna' })).toBe(401)
    expect(await meOver({ ...ANNA, 'x-user': '' })).toBe(401)
  })

  it('takes precedence over a cookie and over credentials for the proxy, but not over a token', async () => {
    const { me, engine, askAnonymously, createLoginPath } = openBehindProxy()
    const cookie = cookieOf(await askAnonymously({ url: createLoginPath() }))
    expect(await me({ ...ANNA, cookie })).toMatchObject({ name: 'anna' })
    expect(await me({ ...ANNA, authorization: basic('nginx', 'its own') })).toMatchObject({ name: 'anna' })
    const ci = await engine.access.createUser({ name: 'ci', kind: 'service', role: 'viewer' })
    const { secret } = await engine.access.createToken(
      { userId: ci.id, name: 'ci', role: 'viewer', rights: builtInRights('viewer'), tokenId: null, sinceMs: 0 },
      { name: 'x', expiresInDays: null }
    )
    expect(await me({ ...ANNA, authorization: `Bearer ${secret}` })).toMatchObject({ name: 'ci' })
    expect(await me({ ...ANNA, authorization: 'Bearer sdk_wrong' })).toBe(401)
  })

  it('has an entry in the audit log when the proxy changes their rights, and when they are refused', async () => {
    const { me, engine } = openBehindProxy()
    for (let times = 0; times < 3; times += 1) await me(ANNA)
    await me({ ...ANNA, 'x-groups': 'admins' })
    for (let times = 0; times < 3; times += 1) await me({ ...ANNA, 'x-groups': 'everybody' })
    await me({ 'x-user': 'eve', 'x-groups': 'everybody' })
    const anna = { name: 'anna', subject: 'proxy anna' }
    expect(
      engine.audited.map(({ who, operation, input, code }) => [who.name, operation, JSON.parse(input), code])
    ).toEqual([
      ['anna', 'users.signIn', { ...anna, role: 'operator', projects: {}, nodeGroups: {} }, null],
      ['anna', 'users.signIn', { ...anna, role: 'owner', projects: {}, nodeGroups: {} }, null],
      ['anna', 'users.signIn', { ...anna, isVouchedFor: false }, null],
      ['anna', 'GET /api/v1/…', { path: '/api/v1/users/me' }, 'ROLE_REQUIRED'],
      ['eve', 'GET /api/v1/…', { path: '/api/v1/users/me' }, 'ROLE_REQUIRED']
    ])
  })

  it('stays out if an owner has disabled them, and the owner can log in past the proxy', async () => {
    const { me, engine } = openBehindProxy()
    await me(ANNA)
    await engine.access.updateUser(engine.access.listUsers()[0]!.id, { enabled: false })
    expect([await me(ANNA), await me({ authorization: RIGHT }, '192.0.2.9')]).toEqual([
      401,
      expect.objectContaining({ role: 'owner' })
    ])
  })
})
