import { describe, expect, it } from 'vitest'
import { aProjectName, aVersionName } from '../shared/testing/ids.ts'
import { OWNER } from '../engine/access/principal.ts'
import { basic, cookieOf, openTestApp } from './testing/test-app.ts'

const PASSWORD = 'kestrel amber drawbridge'
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

async function open(options: Parameters<typeof openTestApp>[0] = {}) {
  const app = openTestApp(options)
  const { access, audited, accessClock } = app.engine
  const anna = await access.createUser({ name: 'anna', kind: 'person', role: 'operator', password: PASSWORD })
  const { token, secret } = await access.createToken(OWNER, { name: 'laptop', userId: anna.id, expiresInDays: null })
  const logIn = (password: string, name = 'anna') =>
    app.askAnonymously({
      method: 'POST',
      url: '/ui/login',
      headers: FORM,
      payload: new URLSearchParams({ username: name, password }).toString()
    })
  return { ...app, anna, token, bearer: `Bearer ${secret}`, logIn, audited, clock: accessClock }
}

describe('the audit log of the server', () => {
  it('has a login and a logout with their session, and the endpoint of each request', async () => {
    const { logIn, askAnonymously, audited, anna } = await open()
    const cookie = cookieOf(await logIn(PASSWORD))
    const headers = { cookie, host: '127.0.0.1:6800', origin: 'http://127.0.0.1:6800' }
    await askAnonymously({ method: 'POST', url: '/api/rpc/nodes/remove', headers, payload: { json: { id: 'a' } } })
    await askAnonymously({ method: 'POST', url: '/ui/logout', headers })
    expect(audited).toMatchObject([
      {
        operation: 'login',
        result: 'done',
        door: 'login',
        address: '127.0.0.1',
        who: { userId: anna.id, name: 'anna' }
      },
      { operation: 'nodes.remove', result: 'refused', code: 'ROLE_REQUIRED', door: 'ui' },
      { operation: 'logout', result: 'done' }
    ])
    const [, refused, logout] = audited
    expect(refused!.who.session).toMatch(/^[0-9a-f]{12}$/)
    expect(logout!.who.session).toBe(refused!.who.session)
    expect(JSON.stringify(audited)).not.toContain(cookie.split('=')[1]!.slice(0, 20))
  })

  it('counts wrong passwords by address, whatever names they are sent with', async () => {
    const { logIn, audited, clock } = await open()
    for (let tries = 0; tries < 8; tries += 1) await logIn('a wrong password', `guess ${tries}`)
    expect(audited).toMatchObject([
      {
        operation: 'login',
        result: 'refused',
        code: 'UNAUTHORIZED',
        count: 1,
        address: '127.0.0.1',
        who: { userId: null, name: 'guess 0', role: null }
      }
    ])
    await clock.advanceBy(60_000)
    expect(audited.slice(1)).toMatchObject([{ operation: 'login', count: 7, who: { name: 'guess 7' } }])
    expect(JSON.stringify(audited)).not.toContain('a wrong password')
  })

  it('has wrong passwords and revoked tokens of programs, but not requests without credentials', async () => {
    const { askAnonymously, audited, engine, token, bearer } = await open()
    await askAnonymously({ url: '/api/v1/jobs' })
    await askAnonymously({ url: '/api/v1/jobs', headers: { authorization: basic('anna', 'wrong') } })
    await engine.access.revokeToken(OWNER, token.id)
    await askAnonymously({ method: 'POST', url: '/schedule.json', headers: { authorization: bearer } })
    expect(audited).toMatchObject([
      { operation: 'GET /api/v1/…', code: 'UNAUTHORIZED', who: { name: 'anna', userId: null }, door: 'api' },
      { operation: 'POST /schedule.json', code: 'UNAUTHORIZED', who: { name: 'unknown' }, door: 'scrapyd' }
    ])
    expect(JSON.stringify(audited)).not.toContain(bearer.slice(7))
  })

  it('never contains a token that is sent as a name or typed into the wrong field', async () => {
    const { askAnonymously, audited, engine, token, bearer, logIn, logged } = await open()
    const secret = bearer.slice(7)
    const headers = { authorization: basic(secret, 'x'), 'x-request-id': secret }
    const answer = await askAnonymously({ url: '/api/v1/jobs', headers })
    await logIn('a wrong password', secret)
    await logIn('a wrong password', `my token: ${secret}`)
    await askAnonymously({ method: 'DELETE', url: `/api/v1/users/${secret}`, headers: { authorization: bearer } })
    await engine.access.revokeToken(OWNER, token.id)
    await askAnonymously({ url: `/api/v1/nodes/${secret}`, headers: { authorization: bearer } })
    await engine.audit.stop()
    expect(answer.headers['x-request-id']).not.toBe(secret)
    expect(audited.map(({ who }) => who.name)).toEqual(['••••••', '••••••', 'anna', 'unknown', 'my token: ••••••'])
    expect(JSON.stringify([audited, logged])).not.toContain(secret.slice(4, 20))
  })

  it('names the operation that needs a higher role, at each endpoint, once', async () => {
    const { askAnonymously, audited, bearer, anna, token } = await open()
    const headers = { authorization: bearer }
    await askAnonymously({ method: 'DELETE', url: '/api/v1/nodes/eu-1', headers })
    await askAnonymously({
      method: 'POST',
      url: '/api/v1/jsonrpc',
      headers,
      payload: { jsonrpc: '2.0', id: 1, method: 'webhooks.remove', params: { id: 'a'.repeat(32) } }
    })
    await askAnonymously({
      method: 'POST',
      url: '/delproject.json',
      headers: { ...headers, ...FORM },
      payload: 'project=shop'
    })
    const who = { userId: anna.id, name: 'anna', role: 'operator', tokenId: token.id }
    expect(audited).toMatchObject([
      { operation: 'nodes.remove', code: 'ROLE_REQUIRED', door: 'api', who },
      { operation: 'webhooks.remove', code: 'ROLE_REQUIRED', door: 'jsonrpc', who },
      { operation: 'POST /delproject.json', code: 'ROLE_REQUIRED', door: 'scrapyd', who }
    ])
    expect(audited).toHaveLength(3)
  })

  it('has the actions of Scrapyd clients, with secret settings masked, under the request id of the response', async () => {
    const { askAnonymously, audited, bearer, engine } = await open()
    await engine.scrapyd.addVersion(aProjectName('shop'), aVersionName('1'), Buffer.from('PK'))
    const payload = 'project=shop&spider=quotes&setting=AWS_SECRET_ACCESS_KEY=hunter2&setting=LOG_LEVEL=INFO&page=2'
    const headers = { authorization: bearer, ...FORM }
    const answer = await askAnonymously({ method: 'POST', url: '/schedule.json', headers, payload })
    const [entry] = audited
    expect(entry).toMatchObject({ operation: 'schedule.json', door: 'scrapyd', project: 'shop', result: 'done' })
    expect(JSON.parse(entry!.input)).toEqual({
      project: 'shop',
      spider: 'quotes',
      page: '2',
      settings: { AWS_SECRET_ACCESS_KEY: '••••••', LOG_LEVEL: 'INFO' }
    })
    expect(answer.headers['x-request-id']).toBe(entry!.requestId)
  })

  it("has the client's own request id if it is a plain one, and its address behind a trusted proxy", async () => {
    const { ask, audited } = await open({ trustedProxies: ['127.0.0.1'] })
    const remove = (id: string) =>
      ask({
        method: 'DELETE',
        url: '/api/v1/nodes/eu-1',
        headers: { 'x-request-id': id, 'x-forwarded-for': '203.0.113.9' }
      })
    expect((await remove('deploy-42')).headers['x-request-id']).toBe('deploy-42')
    const forged = (await remove('a"b{evil}')).headers['x-request-id']
    expect(forged).toMatch(/^[0-9a-f]{16}$/)
    expect(audited.map(({ requestId, address }) => [requestId, address])).toEqual([
      ['deploy-42', '203.0.113.9'],
      [forged, '203.0.113.9']
    ])
  })
})
