import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { GroupRights, JwtOptions } from './auth/sign-in-options.ts'
import { NO_SIGN_IN } from './auth/sign-in-options.ts'
import { createFakeEngine } from './testing/fake-engine.ts'
import { openIdentityProvider } from './testing/identity-provider.ts'
import { openTestApp } from './testing/test-app.ts'

const ROBOT = { sub: 'repo:shop:main', preferred_username: 'shop pipeline', groups: ['pipelines'] }

async function openWithIssuer(changes: Partial<JwtOptions> = {}) {
  const issuer = await openIdentityProvider({ people: [], redirectUris: ['http://127.0.0.1:1/ui/login/oidc/callback'] })
  onTestFinished(issuer.stop)
  let keyRequests = 0
  issuer.intercept((request) => {
    if (request.url === '/jwks') keyRequests += 1
    return false
  })
  const jwt: JwtOptions = {
    issuer: issuer.issuer,
    audience: 'scrapdeck-api',
    jwksUrl: null,
    nameClaim: 'preferred_username',
    groupsClaim: 'groups',
    roles: new Map([['pipelines', { role: 'deployer' as const, projects: {}, nodeGroups: {} }]]),
    ...changes
  }
  const engine = createFakeEngine()
  const app = openTestApp({ engine, signIn: { ...NO_SIGN_IN, jwt } })
  const nowSeconds = Math.floor(app.clock.nowMs() / 1_000)
  const sign = (claims: Record<string, unknown>, header = {}) =>
    issuer.sign({ iat: nowSeconds, exp: nowSeconds + 600, ...claims }, header)
  const meWith = async (token: string, headers: Record<string, string> = {}) => {
    const answer = await app.askAnonymously({
      url: '/api/v1/users/me',
      headers: { authorization: `Bearer ${token}`, ...headers }
    })
    const body = answer.json() as { name?: string; role?: string; code?: string; message?: string }
    return answer.statusCode === 200 ? body : `${answer.statusCode} ${body.code}: ${body.message}`
  }
  return { ...app, issuer, sign, nowSeconds, meWith, keyRequests: () => keyRequests }
}

describe('a signed token of another issuer', () => {
  it('gives the role of its groups, without a local user', async () => {
    const { sign, meWith, engine, askAnonymously } = await openWithIssuer()
    const token = await sign(ROBOT)
    expect(await meWith(token)).toMatchObject({ name: 'shop-pipeline', role: 'deployer' })
    const headers = { authorization: `Bearer ${token}` }
    expect((await askAnonymously({ url: '/daemonstatus.json', headers })).statusCode).toBe(200)
    expect((await askAnonymously({ url: '/api/v1/users', headers })).json()).toMatchObject({ code: 'ROLE_REQUIRED' })
    const another = { method: 'POST', url: '/api/v1/tokens', headers, payload: { name: 'x' } } as const
    expect((await askAnonymously(another)).json()).toMatchObject({ code: 'PASSWORD_REQUIRED' })
    expect(engine.access.listUsers()).toEqual([])
  })

  it('has the roles of its groups in node groups, alone and beside others', async () => {
    const { sign, meWith } = await openWithIssuer({
      roles: new Map<string, GroupRights>([
        ['pipelines', { role: null, projects: {}, nodeGroups: { eu: 'operator' } }],
        ['night shift', { role: 'viewer', projects: {}, nodeGroups: { eu: 'admin', us: 'viewer' } }]
      ])
    })
    expect(await meWith(await sign(ROBOT))).toMatchObject({
      role: 'operator of nodes',
      everywhere: null,
      projects: {},
      nodeGroups: { eu: 'operator' }
    })
    expect(await meWith(await sign({ ...ROBOT, groups: ['night shift', 'pipelines'] }))).toMatchObject({
      role: 'viewer',
      everywhere: 'viewer',
      nodeGroups: { eu: 'admin', us: 'viewer' }
    })
  })

  it('is verified once, and refused from the moment it expires', async () => {
    const { sign, meWith, clock, engine, keyRequests } = await openWithIssuer()
    const token = await sign(ROBOT)
    for (let time = 0; time < 5; time++) expect(await meWith(token)).toMatchObject({ role: 'deployer' })
    expect(keyRequests()).toBe(1)
    await engine.accessClock.advanceBy(611_000)
    await clock.advanceBy(611_000)
    expect(await meWith(token)).toMatch(/^401 UNAUTHORIZED: The token of .* is not accepted/)
  })

  it.each<[string, Record<string, unknown>]>([
    ['for somebody else', { aud: 'another' }],
    ['for nobody in particular', { aud: undefined }],
    ['of another issuer', { iss: 'https://id.example.org' }],
    ['that has expired', { exp: 1_000_000_000 }],
    ['that never expires', { exp: undefined }],
    ['that is not valid yet', { nbf: 99_999_999_999 }],
    ['without a subject', { sub: undefined }]
  ])('is refused: %s', async (_what, changes) => {
    const { sign, meWith } = await openWithIssuer()
    expect(await meWith(await sign({ ...ROBOT, ...changes }))).toMatch(/^401 UNAUTHORIZED/)
  })

  it('without a group that has a role is refused with an explanation', async () => {
    const { sign, meWith } = await openWithIssuer()
    for (const groups of [[], ['others'], 'pipelines,others', { pipelines: true }, undefined]) {
      expect(await meWith(await sign({ ...ROBOT, groups }))).toMatch(/^403 ROLE_REQUIRED: None of the groups of/)
    }
    expect(await meWith(await sign({ ...ROBOT, groups: 'pipelines' }))).toMatchObject({ role: 'deployer' })
  })

  it('is refused without a signature, and with one that uses a public key as its secret', async () => {
    const { issuer, sign, nowSeconds, meWith } = await openWithIssuer()
    const [, payload] = (await sign(ROBOT)).split('.')
    const header = (alg: string) => Buffer.from(JSON.stringify({ alg, kid: 'first' })).toString('base64url')
    expect(await meWith(`${header('none')}.${payload}.`)).toMatch(/^401/)
    expect(await meWith(`${header('none')}.${payload}.x`)).toMatch(/^401/)
    const { n, kid } = issuer.publicKey()
    const claims = { ...ROBOT, iss: issuer.issuer, aud: 'scrapdeck-api', exp: nowSeconds + 60 }
    const symmetric = new SignJWT(claims).setProtectedHeader({ alg: 'HS256', kid })
    expect(await meWith(await symmetric.sign(new TextEncoder().encode(n)))).toMatch(/^401/)
    const whole = await sign(ROBOT)
    expect(await meWith(`${whole.slice(0, -4)}AAAA`)).toMatch(/^401/)
  })

  it('is not verified with a key that it contains or points to', async () => {
    const { issuer, nowSeconds, meWith } = await openWithIssuer()
    const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true })
    const jwk = await exportJWK(publicKey)
    const claims = { ...ROBOT, iss: issuer.issuer, aud: 'scrapdeck-api', exp: nowSeconds + 60 }
    let asked = 0
    issuer.intercept((request, response) => {
      if (request.url !== '/stolen') return false
      asked += 1
      response.end(JSON.stringify({ keys: [jwk] }))
      return true
    })
    const stolen = `${issuer.issuer}/stolen`
    for (const header of [
      ...[{ jwk }, { jku: stolen }, { x5u: stolen }, { jwk, kid: issuer.publicKey().kid }, { kid: '../../stolen' }],
      ...[{ kid: stolen }, { kid: '' }, {}, { kid: issuer.publicKey().kid, jku: stolen }]
    ]) {
      const signed = new SignJWT(claims).setProtectedHeader({ alg: 'RS256', ...header })
      expect(await meWith(await signed.sign(privateKey)), JSON.stringify(header)).toMatch(/^401/)
    }
    expect(asked).toBe(0)
  })

  it('with an unknown key fetches the keys once a minute, however many such tokens arrive', async () => {
    const { sign, meWith, keyRequests } = await openWithIssuer()
    await meWith(await sign(ROBOT))
    const strange = await Promise.all(Array.from({ length: 20 }, (_, at) => sign(ROBOT, { kid: `no ${at}` })))
    for (const answer of await Promise.all(strange.map((token) => meWith(token)))) expect(answer).toMatch(/^401/)
    expect(keyRequests()).toBe(1)
    vi.spyOn(Date, 'now').mockImplementation(() => performance.timeOrigin + performance.now() + 61_000)
    onTestFinished(() => void vi.restoreAllMocks())
    await Promise.all(strange.map((token) => meWith(token)))
    expect(keyRequests()).toBe(2)
  })

  it('of an unreachable issuer is not reported as wrong, and an already verified one still counts', async () => {
    const { issuer, sign, meWith } = await openWithIssuer()
    const known = await sign(ROBOT)
    await meWith(known)
    const { issuer: down, sign: signDown, meWith: meDown } = await openWithIssuer()
    const unknown = await signDown(ROBOT)
    await down.stop()
    await issuer.stop()
    expect(await meWith(known)).toMatchObject({ role: 'deployer' })
    expect(await meDown(unknown)).toMatch(/^503 SIGN_IN_UNAVAILABLE: The keys of/)
  })
})
