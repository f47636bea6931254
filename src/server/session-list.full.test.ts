import { describe, expect, it } from 'vitest'
import { OWNER } from '../engine/access/principal.ts'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { basic, cookieOf, openTestApp, RIGHT } from './testing/test-app.ts'

const PASSWORD = 'kestrel amber drawbridge'
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

async function openWithUsers() {
  const app = openTestApp()
  const { access } = app.engine
  for (const name of ['anna', 'ben'])
    await access.createUser({ name, kind: 'person', role: 'operator', password: PASSWORD })
  const logIn = async (name: string, headers: Record<string, string> = {}, remoteAddress = '192.0.2.7') => {
    const payload = new URLSearchParams({ username: name, password: PASSWORD }).toString()
    const request = {
      method: 'POST',
      url: '/ui/login',
      headers: { ...FORM, ...headers },
      payload,
      remoteAddress
    } as const
    return cookieOf(await app.askAnonymously(request))
  }
  const ask = (cookie: string, url: string, method: 'GET' | 'DELETE' = 'GET', headers: Record<string, string> = {}) =>
    app.askAnonymously({ method, url, headers: { cookie, ...headers } })
  const nameWith = async (headers: Record<string, string>) => {
    const answer = await app.askAnonymously({ url: '/api/v1/users/me', headers })
    return answer.statusCode === 200 ? (answer.json() as { name: string }).name : answer.statusCode
  }
  const list = async (cookie: string) =>
    (await ask(cookie, '/api/v1/sessions')).json<{ sessions: { id: string; userName: string }[] }>().sessions
  const asOwner = async () => cookieOf(await app.askAnonymously({ url: app.createLoginPath() }))
  return { ...app, access, logIn, ask, nameWith, list, asOwner }
}

describe('the list of sessions', () => {
  it("has the user's own sessions with their origin, and all of them for an owner", async () => {
    const { logIn, list, asOwner, clock } = await openWithUsers()
    const anna = await logIn('anna', { 'user-agent': 'Firefox\u202e 140' })
    await logIn('ben')
    await clock.advanceBy(60_000)
    expect(await list(anna)).toEqual([
      {
        id: expect.stringMatching(/^[0-9a-f]{64}$/),
        userId: expect.any(String),
        userName: 'anna',
        signedInWith: 'password',
        address: '127.0.0.1',
        userAgent: 'lightMyRequest',
        isCurrent: true,
        createdAtMs: expect.any(Number),
        lastSeenAtMs: clock.nowMs(),
        endsAtMs: clock.nowMs() - 60_000 + 30 * DAY_MS
      }
    ])
    const owner = await asOwner()
    expect((await list(owner)).map(({ userName }) => userName)).toEqual(['scrapdeck', 'ben', 'anna'])
  })

  it('shows a browser’s name as harmless text of limited length', async () => {
    const { logIn, asOwner, list } = await openWithUsers()
    await logIn('anna', { 'user-agent': `a\u202eb${'x'.repeat(5_000)}` })
    const [, shown] = (await list(await asOwner())) as unknown as [unknown, { userAgent: string }]
    expect(shown.userAgent).toMatch(/^a\?bx+$/)
    expect(shown.userAgent).toHaveLength(200)
  })

  it('contains no token, and neither does the file', async () => {
    const { logIn, ask, dataDirectory } = await openWithUsers()
    const anna = await logIn('anna')
    const parts = anna.split('=')[1]!.split('.')
    const shown =
      (await ask(anna, '/api/v1/sessions')).body + readFileSync(join(dataDirectory, 'sessions.json'), 'utf8')
    for (const secret of [parts[0]!, parts.at(-1)!]) expect(shown).not.toContain(secret)
  })

  it("can end the user's own sessions, not those of others; an owner can end any", async () => {
    const { logIn, ask, list, asOwner, nameWith } = await openWithUsers()
    const [anna, laptop, ben] = [await logIn('anna'), await logIn('anna'), await logIn('ben')]
    const [newer] = await list(anna)
    const [ofBen] = await list(ben)
    const refused = await ask(anna, `/api/v1/sessions/${ofBen!.id}`, 'DELETE')
    expect([refused.statusCode, refused.json()]).toEqual([404, expect.objectContaining({ code: 'SESSION_NOT_FOUND' })])
    expect((await ask(anna, `/api/v1/sessions/${newer!.id}`, 'DELETE')).json()).toEqual({ revoked: true })
    expect([await nameWith({ cookie: anna }), await nameWith({ cookie: laptop })]).toEqual(['anna', 401])
    await ask(await asOwner(), `/api/v1/sessions/${ofBen!.id}`, 'DELETE')
    expect(await nameWith({ cookie: ben })).toBe(401)
  })

  it('has none for a token, and none of a disabled user', async () => {
    const { logIn, access, list, asOwner, askAnonymously } = await openWithUsers()
    await logIn('anna')
    const [anna] = access.listUsers()
    const { secret } = await access.createToken(OWNER, { name: 'x', userId: anna!.id, expiresInDays: null })
    const headers = { authorization: `Bearer ${secret}` }
    expect((await askAnonymously({ url: '/api/v1/sessions', headers })).json()).toEqual({ sessions: [] })
    await access.updateUser(anna!.id, { enabled: false })
    expect((await list(await asOwner())).map(({ userName }) => userName)).toEqual(['scrapdeck'])
  })
})

describe('a session', () => {
  it('ends after seven days without a request, but not if it was used', async () => {
    const { logIn, nameWith, clock } = await openWithUsers()
    const [idle, used] = [await logIn('anna'), await logIn('ben')]
    await clock.advanceBy(7 * DAY_MS - 60_000)
    expect(await nameWith({ cookie: used })).toBe('ben')
    await clock.advanceBy(60_000)
    expect([await nameWith({ cookie: idle }), await nameWith({ cookie: used })]).toEqual([401, 'ben'])
  })

  it('gets a new cookie every hour; the old one is valid until a minute after its browser has used the new one', async () => {
    const { logIn, ask, nameWith, clock } = await openWithUsers()
    const first = await logIn('anna')
    expect((await ask(first, '/ui/')).headers['set-cookie']).toBeUndefined()
    await clock.advanceBy(HOUR_MS)
    // A proxy can cache this file with its headers.
    const { headers } = await ask(first, '/ui/assets/index-a1b2c3.js')
    expect([headers['cache-control'], headers['set-cookie']]).toEqual([expect.stringContaining('public'), undefined])
    await clock.advanceBy(10_000)
    const together = await Promise.all(['/ui/', '/api/v1/users/me'].map((url) => ask(first, url)))
    await clock.advanceBy(10_000)
    const given = [...together, await ask(first, '/api/v1/jobs')].flatMap((answer) =>
      answer.headers['set-cookie'] === undefined ? [] : [cookieOf(answer)]
    )
    expect([given.length >= 2, new Set(given).size]).toEqual([true, 1])
    const [second] = given as [string]
    expect(second).not.toBe(first)
    // If the response is lost, the browser continues with the old cookie.
    await clock.advanceBy(2 * HOUR_MS)
    expect(cookieOf(await ask(first, '/ui/'))).toBe(second)
    expect([await nameWith({ cookie: second }), await nameWith({ cookie: first })]).toEqual(['anna', 'anna'])
    await clock.advanceBy(60_001)
    expect([await nameWith({ cookie: second }), await nameWith({ cookie: first })]).toEqual(['anna', 401])
  })

  it('keeps its end and its place in the list, whatever cookies it gets', async () => {
    const { logIn, ask, nameWith, clock, list } = await openWithUsers()
    let cookie = await logIn('anna')
    const [before] = await list(cookie)
    for (let day = 0; day < 29; day++) {
      await clock.advanceBy(DAY_MS)
      cookie = cookieOf(await ask(cookie, '/ui/'))
      expect(await nameWith({ cookie })).toBe('anna')
    }
    expect((await list(cookie)).map(({ id }) => id)).toEqual([before!.id])
    await clock.advanceBy(DAY_MS)
    expect(await nameWith({ cookie })).toBe(401)
  })

  it('survives a restart with the cookie that its browser has just received', async () => {
    const { logIn, ask, clock, dataDirectory, engine, fastify } = await openWithUsers()
    const first = await logIn('anna')
    await clock.advanceBy(HOUR_MS)
    const second = cookieOf(await ask(first, '/ui/'))
    await fastify.close()
    const after = openTestApp({ dataDirectory, engine })
    await after.clock.advanceBy(HOUR_MS)
    const answer = await after.askAnonymously({ url: '/api/v1/users/me', headers: { cookie: second } })
    expect(answer.statusCode).toBe(200)
  })
})

describe('a cookie set by a page on another port', () => {
  it('does not turn a request with a password or a token into one of its user', async () => {
    const { logIn, nameWith, access } = await openWithUsers()
    const planted = await logIn('ben')
    const [anna] = access.listUsers()
    const { secret } = await access.createToken(OWNER, { name: 'x', userId: anna!.id, expiresInDays: null })
    expect(await nameWith({ cookie: planted, authorization: basic('anna', PASSWORD) })).toBe('anna')
    expect(await nameWith({ cookie: planted, authorization: RIGHT })).toBe('scrapdeck')
    expect(await nameWith({ cookie: planted, authorization: `Bearer ${secret}` })).toBe('anna')
    expect(await nameWith({ cookie: planted, authorization: basic('x', secret) })).toBe('anna')
    expect(await nameWith({ cookie: planted, authorization: 'Bearer sdk_wrong' })).toBe(401)
  })

  it('does not replace the user’s own: two users at once are refused, in either order', async () => {
    const { logIn, nameWith } = await openWithUsers()
    const [own, second, planted] = [await logIn('anna'), await logIn('anna'), await logIn('ben')]
    expect(await nameWith({ cookie: `${planted}; ${own}` })).toBe(401)
    expect(await nameWith({ cookie: `${own}; ${planted}` })).toBe(401)
    expect(await nameWith({ cookie: `${own}; ${second}` })).toBe('anna')
    expect(await nameWith({ cookie: `${planted.split('=')[0]}=x; ${own}` })).toBe('anna')
  })

  it('is used if the password belongs to a proxy in front, which is not checked with each request', async () => {
    const { logIn, nameWith, logged, clock } = await openWithUsers()
    const cookie = await logIn('anna')
    for (let time = 0; time < 400; time++) {
      expect(await nameWith({ cookie, authorization: basic('nginx', 'its own password') })).toBe('anna')
    }
    expect(logged.filter((line) => line.includes('Login failed'))).toHaveLength(1)
    await clock.advanceBy(60_001)
    expect(await nameWith({ cookie, authorization: basic('nginx', 'its own password') })).toBe('anna')
  })
})
