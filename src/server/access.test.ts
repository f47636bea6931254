import { TIME_LIMITS } from './connections.ts'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { NO_SUCH_PAGE } from './scrapyd/twisted-pages.ts'
import { basic, cookieOf, makeTestDirectory, openTestApp, RIGHT } from './testing/test-app.ts'

const PROTECTED = [
  ['GET', '/daemonstatus.json'],
  ['OPTIONS', '/daemonstatus.json'],
  ['POST', '/schedule.json'],
  ['GET', '/logs/'],
  ['GET', '/'],
  ['GET', '/no-such-path'],
  ['POST', '/api/rpc/jobs/list'],
  ['GET', '/api/v1/nodes'],
  ['GET', '/api/openapi.json'],
  ['GET', '/api'],
  ['GET', '/ui/'],
  ['GET', '/ui/assets/index-a1b2c3.js'],
  ['GET', '//ui//login/../'],
  ['POST', '/ui/link'],
  ['POST', '/ui/logout']
] as const

describe('authentication', () => {
  it.each(PROTECTED)('%s %s is rejected without credentials', async (method, url) => {
    const { askAnonymously } = openTestApp()
    expect((await askAnonymously({ method, url })).statusCode).toBe(401)
  })

  it('every operation of the API is rejected without credentials, and exists for clients that have them', async () => {
    const { ask, askAnonymously } = openTestApp()
    const { paths } = (await ask({ url: '/api/openapi.json' })).json() as {
      paths: Record<string, Record<string, { operationId: string; servers?: { url: string }[] }>>
    }
    const operations = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([method, { operationId, servers = [{ url: '/api/v1' }] }]) =>
        servers.map(({ url }) => ({ path: `${url.replace(/\/$/, '')}${path}`, method, operationId }))
      )
    )
    expect(operations.length).toBeGreaterThan(50)
    for (const { path, method, operationId } of operations) {
      const request = {
        method: method.toUpperCase() as 'GET',
        url: `${path.replaceAll(/\{\w+\}/g, 'x-1')}`
      }
      expect([operationId, (await askAnonymously(request)).statusCode]).toEqual([operationId, 401])
      const rpc = { method: 'POST', url: `/api/rpc/${operationId.replace('.', '/')}` } as const
      expect([operationId, (await askAnonymously(rpc)).statusCode]).toEqual([operationId, 401])
      // This stream never ends, so its response would never arrive.
      if (operationId === 'events.subscribe') continue
      const known = await ask({ ...request, headers: { 'content-type': 'application/json' }, payload: '{}' })
      expect([operationId, known.body]).not.toEqual([operationId, expect.stringContaining('The API has no')])
    }
  })

  it.each([
    ['a wrong password', basic('scrapdeck', 'wrong')],
    ['a wrong user name', basic('admin', 'correct horse: battery')],
    ['another scheme', 'Bearer correct'],
    ['no colon', `Basic ${Buffer.from('scrapdeck').toString('base64')}`],
    ['no base64', 'Basic %%%'],
    ['Latin-1 instead of UTF-8', `Basic ${Buffer.from('scrapdeck:é', 'latin1').toString('base64')}`]
  ])('%s is rejected as in Scrapyd', async (_name, authorization) => {
    const { askAnonymously } = openTestApp()
    const response = await askAnonymously({ url: '/daemonstatus.json', headers: { authorization } })
    expect(response.statusCode).toBe(401)
    expect(response.headers['www-authenticate']).toBe('basic realm="Scrapyd"')
    expect(response.headers['content-type']).toBe('text/html')
    expect(response.body).toBe('Unauthorized')
  })

  it('the Basic scheme is case-insensitive', async () => {
    const { askAnonymously } = openTestApp()
    const headers = { authorization: RIGHT.replace('Basic', 'bAsIc') }
    expect((await askAnonymously({ url: '/daemonstatus.json', headers })).statusCode).toBe(200)
  })

  it('the API answers 401 with an error code, without a browser login dialog for the UI', async () => {
    const { askAnonymously } = openTestApp()
    const rest = await askAnonymously({ url: '/api/v1/nodes' })
    expect(rest.json()).toMatchObject({ code: 'UNAUTHORIZED', status: 401 })
    const rpc = await askAnonymously({ method: 'POST', url: '/api/rpc/nodes/list' })
    expect(rpc.json()).toMatchObject({ json: { code: 'UNAUTHORIZED', status: 401 } })
    expect(rpc.headers['www-authenticate']).toBeUndefined()
  })

  it('the API distinguishes missing credentials from wrong ones, but not which part was wrong', async () => {
    const { askAnonymously } = openTestApp()
    const said = async (headers: Record<string, string>) => {
      const { statusCode, json } = await askAnonymously({ url: '/api/v1/nodes', headers })
      return [statusCode, json().data.credentials, json().message]
    }
    const missing = [401, 'missing', expect.stringContaining('No user name and password were sent')]
    const wrong = [401, 'wrong', expect.stringContaining('The user name or the password is wrong')]
    expect(await said({})).toEqual(missing)
    expect(await said({ cookie: 'scrapdeck_session_6800=ended' })).toEqual(missing)
    for (const [username, password] of [['scrapdeck', 'x'] as const, ['x', 'correct horse: battery'] as const])
      expect(await said({ authorization: basic(username, password) })).toEqual(wrong)
  })

  it('health needs no credentials and reveals nothing else; metrics need them', async () => {
    const { askAnonymously, engine } = openTestApp()
    const healthy = await askAnonymously({ url: '/health' })
    const well = { status: 'ok', live: true, ready: true, reasons: [] }
    expect([healthy.statusCode, healthy.json()]).toEqual([200, well])
    const reasons = ['Scrapdeck is stopping']
    Object.assign(engine.healthNow, { ready: false, reasons })
    const ask = async (url: string) => {
      const { statusCode, json } = await askAnonymously({ url })
      return [statusCode, json().status, json().reasons]
    }
    expect(await ask('/health')).toEqual([503, 'unavailable', reasons])
    expect(await ask('/health/ready')).toEqual([503, 'unavailable', reasons])
    // A supervisor must not restart a service that is stopping.
    expect(await ask('/health/live')).toEqual([200, 'ok', reasons])
    expect((await askAnonymously({ url: '/metrics' })).statusCode).toBe(401)
  })
})

describe('logins of browsers', () => {
  it('a one-time link creates one session', async () => {
    const { askAnonymously, createLoginPath } = openTestApp()
    const url = createLoginPath()
    const first = await askAnonymously({ url })
    expect([first.statusCode, first.headers.location]).toEqual([303, '/ui/'])
    expect(first.headers['set-cookie']).toMatch(
      /^scrapdeck_session_6800=[\w.-]{80,120}; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Lax$/
    )
    const cookie = cookieOf(first)
    expect((await askAnonymously({ url: '/ui/', headers: { cookie } })).statusCode).toBe(200)
    expect((await askAnonymously({ url: '/api/v1/nodes', headers: { cookie } })).statusCode).toBe(200)
    expect((await askAnonymously({ url })).statusCode).toBe(403)
  })

  it('a HEAD request does not use up the link', async () => {
    const { askAnonymously, createLoginPath } = openTestApp()
    const url = createLoginPath()
    await askAnonymously({ method: 'HEAD', url })
    expect((await askAnonymously({ url })).statusCode).toBe(303)
  })

  it('a one-time link expires after ten minutes', async () => {
    const { askAnonymously, createLoginPath, clock } = openTestApp()
    const url = createLoginPath()
    await clock.advanceBy(600_001)
    const late = await askAnonymously({ url })
    expect(late.statusCode).toBe(403)
    expect(late.headers['set-cookie']).toBeUndefined()
  })

  it('a client with the password can create a new link', async () => {
    const { ask, askAnonymously } = openTestApp()
    const { body } = await ask({ method: 'POST', url: '/ui/link' })
    expect((await askAnonymously({ url: body })).statusCode).toBe(303)
  })

  it('a page without a session redirects to the login form, and a login redirects back', async () => {
    const { askAnonymously } = openTestApp()
    const page = await askAnonymously({ url: '/ui/jobs', headers: { accept: 'text/html' } })
    expect([page.statusCode, page.headers.location]).toEqual([303, '/ui/login'])
    expect((await askAnonymously({ url: '/ui/login' })).body).toContain('<form method="post">')
    const headers = { 'content-type': 'application/x-www-form-urlencoded', origin: 'http://127.0.0.1:6800' }
    const wrong = await askAnonymously({
      method: 'POST',
      url: '/ui/login',
      headers,
      payload: 'username=scrapdeck&password=x'
    })
    expect([wrong.statusCode, wrong.headers['set-cookie']]).toEqual([401, undefined])
    const payload = 'username=scrapdeck&password=correct+horse%3A+battery'
    const right = await askAnonymously({ method: 'POST', url: '/ui/login', headers, payload })
    expect([right.statusCode, right.headers.location]).toEqual([303, '/ui/'])
  })

  it('a session survives a restart; its file contains no token and only its owner can read it', async () => {
    const dataDirectory = makeTestDirectory()
    const before = openTestApp({ dataDirectory })
    const cookie = cookieOf(await before.askAnonymously({ url: before.createLoginPath() }))
    await before.fastify.close()
    const file = join(dataDirectory, 'sessions.json')
    expect(readFileSync(file, 'utf8')).not.toContain(cookie.split('=')[1])
    expect(statSync(file).mode & 0o777).toBe(0o600)

    const after = openTestApp({ dataDirectory })
    expect((await after.askAnonymously({ url: '/ui/', headers: { cookie } })).statusCode).toBe(200)
    await after.clock.advanceBy(31 * 24 * 3_600_000)
    expect((await after.askAnonymously({ url: '/ui/', headers: { cookie } })).statusCode).toBe(401)
  })

  it('a cookie set by another port locks nobody out and logs nobody in', async () => {
    const { askAnonymously, createLoginPath } = openTestApp()
    const ours = cookieOf(await askAnonymously({ url: createLoginPath() }))
    const theirs = `${ours.split('=')[0]}=AAAA`
    const statusWith = async (cookie: string) => (await askAnonymously({ url: '/ui/', headers: { cookie } })).statusCode
    expect(await statusWith(`${theirs}; ${ours}`)).toBe(200)
    expect(await statusWith(theirs)).toBe(401)
  })

  it.each([
    ['the proxy says so', { 'x-forwarded-proto': 'https' }, true],
    ['the page says so', { origin: 'https://127.0.0.1:6800' }, true],
    ['nobody says so', {}, false]
  ])('behind TLS the session cookie is sent only over TLS: %s', async (_name, headers, isSecure) => {
    const { askAnonymously, createLoginPath } = openTestApp()
    const response = await askAnonymously({ url: createLoginPath(), headers })
    expect(String(response.headers['set-cookie']).includes('; Secure')).toBe(isSecure)
  })

  it('behind TLS, a cookie that another host of the domain could have set is ignored', async () => {
    const { askAnonymously, createLoginPath } = openTestApp()
    const overTls = { 'x-forwarded-proto': 'https' }
    const [planted, ours] = [
      cookieOf(await askAnonymously({ url: createLoginPath() })),
      cookieOf(await askAnonymously({ url: createLoginPath(), headers: overTls }))
    ]
    const statusWith = async (cookie: string, headers = {}) =>
      (await askAnonymously({ url: '/ui/', headers: { cookie, ...headers } })).statusCode
    expect([planted.split('=')[0], ours.split('=')[0]]).toEqual([
      'scrapdeck_session_6800',
      '__Host-scrapdeck_session_6800'
    ])
    expect(await statusWith(planted, overTls)).toBe(401)
    expect(await statusWith(`${planted}; ${ours}`, overTls)).toBe(200)
    // The proxy states no user in this request.
    expect(await statusWith(ours)).toBe(200)
    await askAnonymously({ method: 'POST', url: '/ui/logout', headers: { cookie: `${planted}; ${ours}` } })
    expect(await statusWith(ours)).toBe(401)
    expect(await statusWith(planted)).toBe(200)
  })

  it('logging out ends the session', async () => {
    const { askAnonymously, createLoginPath } = openTestApp()
    const cookie = cookieOf(await askAnonymously({ url: createLoginPath() }))
    await askAnonymously({ method: 'POST', url: '/ui/logout', headers: { cookie } })
    expect((await askAnonymously({ url: '/ui/', headers: { cookie } })).statusCode).toBe(401)
  })

  it('the home page is the UI with a session, the login page without one, and the Scrapyd page for programs', async () => {
    const { ask, askAnonymously, createLoginPath } = openTestApp()
    const cookie = cookieOf(await askAnonymously({ url: createLoginPath() }))
    const accept = 'text/html,*/*'
    expect((await askAnonymously({ url: '/', headers: { accept, cookie } })).headers.location).toBe('/ui/')
    const stranger = await askAnonymously({ url: '/', headers: { accept, 'sec-fetch-mode': 'navigate' } })
    expect(stranger.headers.location).toBe('/ui/login')
    expect((await ask({ url: '/' })).body).toContain('No Scrapy projects yet.')
  })
})

describe('web pages of other origins', () => {
  const FOREIGN: [string, Record<string, string>][] = [
    ['a name that was pointed at this machine', { host: 'evil.example:6800' }],
    ['our address with another port', { host: '127.0.0.1:6801' }],
    ['our address without its port', { host: '127.0.0.1' }],
    ['a host that only starts like ours', { host: 'localhost.evil.example:6800' }],
    ['another address of the machine', { host: '10.0.0.7:6800' }],
    ['a page elsewhere', { origin: 'https://evil.example' }],
    ['a page on another port of this machine', { origin: 'http://127.0.0.1:3000' }],
    ['a page under our other name', { origin: 'http://localhost:6800' }],
    ['a sandboxed page', { origin: 'null' }],
    ['an extension', { origin: 'chrome-extension://abc' }],
    ['a fetch the browser calls cross-site', { 'sec-fetch-site': 'cross-site' }],
    ['a fetch the browser calls same-site', { 'sec-fetch-site': 'same-site' }]
  ]
  const PATHS = [
    '/daemonstatus.json',
    '/api/rpc/nodes/list',
    '/api/v1/nodes',
    '/ui/',
    '/ui/login',
    '/health',
    '/nothing'
  ]

  it.each(FOREIGN)(
    '%s is rejected on every path, even with the right password and a session',
    async (_name, headers) => {
      const { ask, askAnonymously, createLoginPath } = openTestApp()
      const cookie = cookieOf(await askAnonymously({ url: createLoginPath() }))
      for (const url of PATHS) {
        const response = await ask({ url, headers: { cookie, ...headers } })
        expect([url, response.statusCode]).toEqual([url, 403])
        expect(response.headers['access-control-allow-origin']).toBeUndefined()
      }
    }
  )

  it('a preflight request gets no permission', async () => {
    const { ask } = openTestApp()
    const response = await ask({
      method: 'OPTIONS',
      url: '/schedule.json',
      headers: { origin: 'https://evil.example', 'access-control-request-method': 'POST' }
    })
    expect(response.statusCode).toBe(403)
    expect(Object.keys(response.headers).filter((name) => name.startsWith('access-control'))).toEqual([])
  })

  it.each([
    { host: '127.0.0.1:6800' },
    { host: 'localhost:6800' },
    { host: 'LOCALHOST:6800' },
    { host: '[::1]:6800' },
    { host: '127.0.0.1:6800', origin: 'http://127.0.0.1:6800', 'sec-fetch-site': 'same-origin' },
    { host: 'localhost:6800', origin: 'http://localhost:6800' },
    { host: 'localhost:6800', 'sec-fetch-site': 'none' }
  ])('our own pages and programs are accepted: %o', async (headers) => {
    const { ask } = openTestApp()
    expect((await ask({ url: '/daemonstatus.json', headers })).statusCode).toBe(200)
  })

  it('allowed host names are accepted, with the configured port or with any, and behind a TLS proxy', async () => {
    const { ask } = openTestApp({ allowedHosts: ['deck.example', 'other.example:8443'] })
    const status = async (headers: Record<string, string>) =>
      (await ask({ url: '/daemonstatus.json', headers })).statusCode
    expect(await status({ host: 'deck.example', origin: 'https://deck.example' })).toBe(200)
    expect(await status({ host: 'Deck.example:9000' })).toBe(200)
    expect(await status({ host: 'other.example:8443', origin: 'https://other.example:8443' })).toBe(200)
    expect(await status({ host: 'other.example' })).toBe(403)
    expect(await status({ host: 'deck.example', origin: 'https://deck.example:444' })).toBe(403)
  })

  it('when bound to all interfaces, any IP address is accepted, but no foreign name', async () => {
    const { ask } = openTestApp({ bindAddress: '0.0.0.0' })
    const status = async (host: string) => (await ask({ url: '/daemonstatus.json', headers: { host } })).statusCode
    expect([await status('10.0.0.7:6800'), await status('[fe80::1]:6800'), await status('evil.example:6800')]).toEqual([
      200, 200, 403
    ])
  })

  it('a form on another page cannot write to the API: only JSON and multipart bodies are accepted', async () => {
    const { ask } = openTestApp()
    for (const type of ['text/plain', 'application/x-www-form-urlencoded']) {
      const response = await ask({
        method: 'POST',
        url: '/api/v1/system/paused',
        headers: { 'content-type': type },
        payload: '{"paused":true}'
      })
      expect([type, response.statusCode, response.json().code]).toEqual([type, 400, 'BAD_INPUT'])
      expect(response.json().message).toContain('Content-Type: application/json')
    }
  })
})

describe('responses', () => {
  it.each(['/daemonstatus.json', '/api/v1/nodes', '/ui/', '/ui/login', '/health', '/nothing', '/%zz'])(
    '%s has strict security headers',
    async (url) => {
      const { headers } = await openTestApp().ask({ url })
      expect(headers['x-content-type-options']).toBe('nosniff')
      expect(headers['referrer-policy']).toMatch(/^(no-referrer|same-origin)$/)
      expect(headers['content-security-policy']).toContain("default-src 'none'")
      expect(headers['content-security-policy']).toContain("frame-ancestors 'none'")
    }
  )

  it.each(['/%zz', '/ui/%ff'])('%s cannot be parsed and is not repeated in the response', async (url) => {
    const response = await openTestApp().askAnonymously({ url })
    expect([response.statusCode, response.body]).toEqual([404, NO_SUCH_PAGE])
  })

  it('a request that never ends is cut off, but not before the longest upload would finish', () => {
    const { requestTimeout, headersTimeout } = TIME_LIMITS
    expect(requestTimeout).toBe(900_000)
    expect(headersTimeout).toBeLessThanOrEqual(10_000)
    expect(headersTimeout).toBeGreaterThan(0)
  })
})
