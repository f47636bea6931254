import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { InjectOptions } from 'fastify'
import { describe, expect, it } from 'vitest'
import { createFakeEngine, someFigures } from './testing/fake-engine.ts'
import { cookieOf, makeTestDirectory, openTestApp, openTestService, RIGHT } from './testing/test-app.ts'

async function openLoggedIn(options: Parameters<typeof openTestApp>[0] = {}) {
  const app = openTestApp(options)
  const logIn = async () => cookieOf(await app.askAnonymously({ url: app.createLoginPath() }))
  const cookie = await logIn()
  const askAs = (session: string, request: InjectOptions) =>
    app.askAnonymously({ ...request, headers: { cookie: session, ...request.headers } })
  const isValid = async (session: string) => (await askAs(session, { url: '/ui/' })).statusCode === 200
  return { ...app, logIn, cookie, isValid, askAs, askInBrowser: askAs.bind(null, cookie) }
}

function engineWith(credentials: { username?: string; password?: string }) {
  const engine = createFakeEngine()
  Object.assign(engine.credentials, credentials)
  return engine
}

describe('a session', () => {
  it.each([
    ['another password', { password: 'new' }],
    ['another user name', { username: 'somebody' }]
  ])('ends for good when the service starts with %s', async (_what, changed) => {
    const dataDirectory = makeTestDirectory()
    const before = await openLoggedIn({ dataDirectory })
    expect(await before.isValid(before.cookie)).toBe(true)
    await before.fastify.close()

    const after = await openLoggedIn({ dataDirectory, engine: engineWith(changed) })
    expect(await after.isValid(before.cookie)).toBe(false)
    expect(await after.isValid(after.cookie)).toBe(true)
    await after.fastify.close()

    // Returning to the old credentials does not restore it, even if the service was not used in between.
    const again = await openLoggedIn({ dataDirectory })
    expect(await again.isValid(before.cookie)).toBe(false)
    expect(await again.isValid(after.cookie)).toBe(false)
  })

  it('knows its credential without storing the password', async () => {
    const { dataDirectory, engine } = await openLoggedIn()
    const text = readFileSync(join(dataDirectory, 'sessions.json'), 'utf8')
    expect(text).not.toContain(engine.credentials.password)
    expect(text).not.toContain(engine.credentials.username)
  })

  it('cannot create a login link', async () => {
    const { askInBrowser, ask } = await openLoggedIn()
    const refused = await askInBrowser({ method: 'POST', url: '/ui/link' })
    expect([refused.statusCode, refused.body]).toEqual([403, expect.stringContaining('npm run scrapdeck -- link')])
    const remembered = { 'sec-fetch-site': 'same-origin' }
    expect((await ask({ method: 'POST', url: '/ui/link', headers: remembered })).statusCode).toBe(403)
    expect((await ask({ method: 'POST', url: '/ui/link' })).statusCode).toBe(200)
  })
})

describe('logging out everywhere', () => {
  it.each([
    ['a browser', true],
    ['a program', false]
  ])('from %s ends all sessions and unused links', async (_who, isBrowser) => {
    const { askInBrowser, ask, logIn, cookie, isValid, createLoginPath, askAnonymously } = await openLoggedIn()
    const other = await logIn()
    const link = createLoginPath()
    const answer = await (isBrowser ? askInBrowser : ask)({ method: 'POST', url: '/api/v1/system/logout' })
    expect([answer.statusCode, answer.json()]).toEqual([200, { ended: 2 }])
    expect([await isValid(cookie), await isValid(other)]).toEqual([false, false])
    expect((await askAnonymously({ url: link })).statusCode).toBe(403)
    expect(await isValid(await logIn())).toBe(true)
  })
})

describe('streams of a session', () => {
  async function openStream(address: string, path: string, headers: Record<string, string>) {
    const response = await fetch(`${address}${path}`, {
      headers: { ...headers, 'content-type': 'application/json' },
      ...(path.startsWith('/api/rpc') && { method: 'POST', body: '{"json":{"after":"0"}}' })
    })
    const reader = (response.body as ReadableStream<Uint8Array>).getReader()
    await reader.read()
    return {
      /** Resolves when the stream breaks or ends. It never ends on its own. */
      ended: (async () => {
        try {
          while (!(await reader.read()).done);
        } catch {
          // The server cut off the stream.
        }
        return true
      })()
    }
  }

  async function openWithStreams() {
    const { service, engine } = await openTestService()
    engine.addBatch(someFigures(1))
    const logIn = async () => {
      const response = await fetch(service.createLoginLink(), { redirect: 'manual' })
      return { cookie: String(response.headers.get('set-cookie')).split(';', 1)[0]! }
    }
    const [mine, theirs] = [await logIn(), await logIn()]
    const streamsOf = (headers: Record<string, string>) =>
      Promise.all(
        ['/api/v1/events?after=0', '/api/rpc/events/subscribe'].map((path) =>
          openStream(service.address, path, headers)
        )
      )
    const post = (path: string, headers: Record<string, string>) =>
      fetch(`${service.address}${path}`, { method: 'POST', headers, redirect: 'manual' })
    return { engine, post, mine, theirs, streamsOf, address: service.address }
  }

  it('end with its logout; those of others continue', async () => {
    const { engine, post, mine, theirs, streamsOf } = await openWithStreams()
    const own = await streamsOf(mine)
    await streamsOf(theirs)
    await streamsOf({ authorization: RIGHT })
    expect(engine.openStreams.count).toBe(6)
    expect((await post('/ui/logout', mine)).status).toBe(303)
    expect(await Promise.all(own.map(({ ended }) => ended))).toEqual([true, true])
    await expect.poll(() => engine.openStreams.count).toBe(4)
  })

  it('end when an owner revokes it; those of others continue', async () => {
    const { engine, post, mine, theirs, streamsOf, address } = await openWithStreams()
    const own = await streamsOf(mine)
    await streamsOf(theirs)
    const ask = (path: string, headers: Record<string, string>, method = 'GET') =>
      fetch(`${address}/api/v1${path}`, { method, headers })
    const { sessions } = (await (await ask('/sessions', mine)).json()) as {
      sessions: { id: string; isCurrent: boolean }[]
    }
    const { id } = sessions.find(({ isCurrent }) => isCurrent)!
    expect((await ask(`/sessions/${id}`, theirs, 'DELETE')).status).toBe(200)
    expect(await Promise.all(own.map(({ ended }) => ended))).toEqual([true, true])
    await expect.poll(() => engine.openStreams.count).toBe(2)
    expect((await post('/ui/logout', theirs)).status).toBe(303)
  })

  it('end when all users are logged out; those of programs continue', async () => {
    const { engine, post, mine, theirs, streamsOf } = await openWithStreams()
    const browsers = [...(await streamsOf(mine)), ...(await streamsOf(theirs))]
    await streamsOf({ authorization: RIGHT })
    const answer = await post('/api/v1/system/logout', mine)
    expect([answer.status, await answer.json()]).toEqual([200, { ended: 2 }])
    expect(await Promise.all(browsers.map(({ ended }) => ended))).toEqual([true, true, true, true])
    await expect.poll(() => engine.openStreams.count).toBe(2)
  })
})
