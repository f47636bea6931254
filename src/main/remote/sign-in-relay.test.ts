import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { request } from 'undici'
import { expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../engine/runtime/clock.ts'
import { type OidcOptions, NO_SIGN_IN } from '../../server/auth/sign-in-options.ts'
import { Browser, CLIENT_ID, CLIENT_SECRET, openIdentityProvider } from '../../server/testing/identity-provider.ts'
import { openTestService, RIGHT } from '../../server/testing/test-app.ts'
import { connectRemote } from './connection.ts'
import { openSignInRelay } from './sign-in-relay.ts'
import { CREDENTIALS } from './testing/open-desktop.ts'

const PAGE = '/ui/#/authorize?client=desktop'
const LOGIN = new URLSearchParams({ username: CREDENTIALS.username, password: CREDENTIALS.password })

async function openRelay(url: string) {
  const tunnels = { use: () => expect.fail('without SSH') }
  const address = { name: 'EU', url, credentials: null, certificate: null }
  const connection = connectRemote(address, { tunnels, clock: systemClock })
  onTestFinished(() => connection.close())
  const relay = await openSignInRelay({ name: 'EU', inner: new URL(url), connection })
  onTestFinished(() => relay[Symbol.asyncDispose]())
  const entrance = relay.entranceTo(`${url}${PAGE}`)
  const { origin, host } = new URL(entrance)
  return { relay, entrance, origin, host }
}

/** Serves possible responses of a foreign engine. Returns the address. */
async function serve(answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const statusOf = async (url: string, headers: Record<string, string> = {}) => {
  const { statusCode, body } = await request(url, { headers })
  await body.dump()
  return statusCode
}

it('sends the browser that opened it to the login, under the address of the engine', async () => {
  const { service } = await openTestService()
  const { entrance, origin } = await openRelay(service.address)
  const browser = new Browser()
  expect(await browser.go(entrance)).toMatchObject({ status: 303, location: `${origin}${PAGE}` })
  const login = await browser.go(`${origin}/ui/login`)
  expect(login).toMatchObject({ status: 200, body: expect.stringContaining('Log in to Scrapdeck') })
  const headers = { origin }
  const loggedIn = await browser.go(`${origin}/ui/login`, { method: 'POST', body: LOGIN, headers })
  expect(loggedIn).toMatchObject({ status: 303, location: `${origin}/ui/` })
  const me = await browser.go(`${origin}/api/v1/users/me`, { headers })
  expect(JSON.parse(me.body)).toMatchObject({ name: 'scrapdeck', role: 'owner' })
  expect([...browser.cookiesOf(origin).keys()]).toEqual([`scrapdeck_relay_${new URL(origin).port}`])
})

it('accepts nothing else: no second browser, no other name, no page of another origin', async () => {
  const { service } = await openTestService()
  const { entrance, origin } = await openRelay(service.address)
  expect(await statusOf(`${origin}/ui/login`)).toBe(404)
  expect(await statusOf(`${origin}/wrong`)).toBe(404)
  expect(await statusOf(entrance, { host: 'evil.example' })).toBe(404)
  const browser = new Browser()
  await browser.go(entrance)
  expect((await browser.go(entrance)).status).toBe(303)
  const [[name, pass]] = [...browser.cookiesOf(origin)] as [[string, string]]
  const cookie = `${name}=${pass}`
  expect(await statusOf(`${origin}/ui/login`, { cookie })).toBe(200)
  expect(await statusOf(`${origin}/ui/login`, { cookie: `${name}=x` })).toBe(404)
  expect(await statusOf(`${origin}/ui/login`, { cookie, host: 'evil.example' })).toBe(404)
  // The engine would treat this origin as its own.
  expect(await statusOf(`${origin}/ui/login`, { cookie, origin: service.address })).toBe(403)
  expect(await statusOf(`${origin}/ui/login`, { cookie, origin: 'null' })).toBe(403)
  expect(await statusOf(`${origin}/ui/login`, { cookie, 'service-worker': 'script' })).toBe(403)
  // Requests from a page on another port of this address have the pass and can lack an origin.
  expect(await statusOf(`${origin}/ui/login`, { cookie, 'sec-fetch-site': 'same-site' })).toBe(403)
  expect(await statusOf(`${origin}/ui/login`, { cookie, 'sec-fetch-site': 'same-origin' })).toBe(200)
  const body = 'x'.repeat(200_000)
  expect((await browser.go(`${origin}/ui/login`, { method: 'POST', body, headers: { origin } })).status).toBe(413)
})

// Only root can start a program as another user.
const isLinuxRoot = process.platform === 'linux' && process.getuid!() === 0
it('does not respond to programs of other users, whatever they know', { skip: !isLinuxRoot }, async () => {
  const { service } = await openTestService()
  const { entrance, host } = await openRelay(service.address)
  const { hostname, port, pathname } = new URL(entrance)
  const asked = `GET ${pathname} HTTP/1.1\\r\\nHost: ${host}\\r\\n\\r\\n`
  const script = `exec 3<>/dev/tcp/${hostname}/${port}; printf '${asked}' >&3; cat <&3`
  const askAs = async (uid: number) => {
    const program = spawn('/bin/bash', ['-c', script], { uid, gid: uid, cwd: '/', stdio: ['ignore', 'pipe', 'ignore'] })
    onTestFinished(() => void program.kill())
    const [answer] = (await Promise.race([once(program.stdout, 'data'), once(program, 'close')])) as [unknown]
    return Buffer.isBuffer(answer) ? answer.toString() : null
  }
  expect(await askAs(65_534)).toBeNull()
  // The rejected program did not use up the entrance.
  expect(await askAs(0)).toContain('303 See Other')
})

it('sends the engine no cookies or credentials of other programs on this computer', async () => {
  const seen: unknown[] = []
  const address = await serve(({ headers: { cookie, authorization, host, origin } }, response) => {
    seen.push({ cookie, authorization, host, origin })
    response.writeHead(200, { 'set-cookie': ['a=1; Path=/', '__Host-b=2; Secure; Path=/'] }).end()
  })
  const { entrance, origin } = await openRelay(address)
  const browser = new Browser()
  await browser.go(entrance)
  const [[name, pass]] = [...browser.cookiesOf(origin)] as [[string, string]]
  const headers = { origin, cookie: `jupyter=secret; ${name}=${pass}`, authorization: RIGHT }
  await browser.go(`${origin}/ui/`, { headers })
  await browser.go(`${origin}/ui/`, { headers })
  const { host } = new URL(address)
  const common = { authorization: undefined, host, origin: address }
  expect(seen).toEqual([
    { ...common, cookie: undefined },
    { ...common, cookie: 'a=1; __Host-b=2' }
  ])
})

it('lets the browser store nothing of a hostile engine, whose pages can reach nothing else', async () => {
  const page = 'text/html; charset=utf-8'
  const address = await serve(({ url, headers: { host } }, response) => {
    if (url === '/leads') return void response.writeHead(302, { location: `http://${host}//evil.example/x#y` }).end()
    const cleared = { 'clear-site-data': '"*"', refresh: '0; url=http://evil.example', 'service-worker-allowed': '/' }
    const reports = { nel: '{}', 'report-to': '{}', 'reporting-endpoints': 'a="http://evil.example"' }
    const opened = { 'access-control-allow-origin': '*', 'www-authenticate': 'Basic', 'set-cookie': 'a=1' }
    const kept = { 'content-type': page, 'cache-control': 'max-age=1000' }
    response.setHeader('content-security-policy', ["script-src 'none'", "img-src 'none'"])
    response.writeHead(200, { ...kept, ...cleared, ...reports, ...opened, 'referrer-policy': 'same-origin' }).end('x')
  })
  const { entrance, origin } = await openRelay(address)
  const browser = new Browser()
  await browser.go(entrance)
  const cookie = [...browser.cookiesOf(origin)].map((pair) => pair.join('=')).join()
  const { headers, body } = await request(`${origin}/`, { headers: { cookie } })
  await body.dump()
  const { date: _, connection: __, 'keep-alive': ___, 'transfer-encoding': ____, ...rest } = headers
  expect(rest).toEqual({
    'content-type': page,
    'content-security-policy': ["script-src 'none'", "img-src 'none'", expect.stringContaining("connect-src 'self'")],
    'cache-control': 'no-store',
    'referrer-policy': 'same-origin'
  })
  const led = await request(`${origin}/leads`, { headers: { cookie } })
  await led.body.dump()
  expect(led.headers['location']).toBe(`${origin}//evil.example/x#y`)
  expect(await statusOf(`${origin}//evil.example/x`, { cookie })).toBe(200)
})

it('ends if its address is opened twice, because the first request may have come from another program', async () => {
  const { service } = await openTestService()
  const { relay, entrance, origin } = await openRelay(service.address)
  const first = new Browser()
  await first.go(entrance)
  expect((await first.go(`${origin}/ui/login`)).status).toBe(200)
  expect(await new Browser().go(entrance)).toMatchObject({
    status: 403,
    body: expect.stringContaining('Log in again')
  })
  expect(relay.signal.reason).toMatchObject({
    code: 'SIGN_IN_FAILED',
    message: expect.stringContaining('Another program or browser on this computer')
  })
  expect((await first.go(`${origin}/ui/login`)).status).toBe(404)
})

it('says what to do if an identity provider would send the browser past it', async () => {
  const deck = 'https://deck.example.org'
  const provider = await openIdentityProvider({ people: [], redirectUris: [`${deck}/ui/login/oidc/callback`] })
  onTestFinished(provider.stop)
  const oidc: OidcOptions = {
    issuer: provider.issuer,
    clientId: CLIENT_ID,
    clientSecret: CLIENT_SECRET,
    label: 'Example ID',
    scopes: 'openid',
    nameClaim: 'preferred_username',
    groupsClaim: 'groups',
    roles: new Map(),
    sessionMs: 3_600_000
  }
  const signIn = { ...NO_SIGN_IN, oidc }
  const { service } = await openTestService({ clock: systemClock, signIn })
  const { entrance, origin } = await openRelay(service.address)
  const browser = new Browser()
  await browser.go(entrance)
  const page = await browser.go(`${origin}/ui/login/oidc`)
  expect(page).toMatchObject({ status: 403, location: '' })
  const { host } = new URL(provider.issuer)
  expect(page.body).toContain(`EU sends you to ${host}`)
  expect(page.body).toContain('choose the sign-in with a code')
  expect(page.body).toContain(`href="${origin}${PAGE}"`)
})

it('keeps few connections, replaces idle ones by new ones, and ends with its session', async () => {
  const { service } = await openTestService()
  const { relay, entrance, origin } = await openRelay(service.address)
  const { hostname, port } = new URL(origin)
  const idle = Array.from({ length: 40 }, () => connect(Number(port), hostname).on('error', () => {}))
  onTestFinished(() => idle.forEach((socket) => socket.destroy()))
  await Promise.all(idle.map((socket) => once(socket, 'connect')))
  await expect.poll(() => idle.filter(({ closed }) => closed).length).toBe(8)
  const browser = new Browser()
  expect(await browser.go(entrance)).toMatchObject({ status: 303 })
  await browser.go(`${origin}/ui/login`, { method: 'POST', body: LOGIN, headers: { origin } })
  const sessions = async () => {
    const answer = await fetch(`${service.address}/api/v1/sessions`, { headers: { authorization: RIGHT } })
    return ((await answer.json()) as { sessions: unknown[] }).sessions.length
  }
  expect(await sessions()).toBe(1)
  await relay[Symbol.asyncDispose]()
  expect(await sessions()).toBe(0)
  await expect(fetch(`${origin}/ui/login`)).rejects.toThrow('fetch failed')
})

it('says in the browser that the engine no longer responds', async () => {
  const { service } = await openTestService()
  const { entrance, origin } = await openRelay(service.address)
  const browser = new Browser()
  await browser.go(entrance)
  await service.stop()
  const page = await browser.go(`${origin}/ui/login`)
  expect(page).toMatchObject({ status: 502, body: expect.stringContaining('does not respond') })
})
