import { Secret, TOTP } from 'otpauth'
import { expect, it } from 'vitest'
import { MemoryCache } from '../engine/cluster/cache/testing/memory-cache.ts'
import { createFakeClock } from '../engine/testing/fake-clock.ts'
import { createFakeEngine } from './testing/fake-engine.ts'
import { cookieOf, openTestApp, RIGHT } from './testing/test-app.ts'

const PASSWORD = 'kestrel amber drawbridge'
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

/** Two engines on one database, each with its own session file. With `shares`, they also share a cache. */
async function openTwo({ shares = false } = {}) {
  const engine = createFakeEngine()
  if (shares) Object.assign(engine, { cache: new MemoryCache(createFakeClock()) })
  const { access, accessClock } = engine
  const anna = await access.createUser({ name: 'anna', kind: 'person', role: 'viewer', password: PASSWORD })
  const [one, other] = [openTestApp({ engine }), openTestApp({ engine })]
  type App = typeof one
  const logIn = async (app: App) => {
    const payload = new URLSearchParams({ username: 'anna', password: PASSWORD }).toString()
    return cookieOf(await app.askAnonymously({ method: 'POST', url: '/ui/login', headers: FORM, payload }))
  }
  const asOwner = async (app: App) => cookieOf(await app.askAnonymously({ url: app.createLoginPath() }))
  const me = async (app: App, headers: Record<string, string>) => {
    const answer = await app.askAnonymously({ url: '/api/v1/users/me', headers })
    return answer.statusCode === 200 ? answer.json<{ name: string }>().name : answer.statusCode
  }
  const turnOnApp = async (app: App, cookie: string) => {
    const post = (path: string, payload: object) =>
      app.askAnonymously({ method: 'POST', url: `/api/v1/users/me/${path}`, headers: { cookie }, payload })
    const { secret } = (await post('authenticator', { current: PASSWORD })).json<{ secret: string }>()
    const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: accessClock.nowMs() })
    expect((await post('authenticator/confirm', { code })).statusCode).toBe(200)
  }
  return { engine, access, accessClock, anna, one, other, logIn, asOwner, me, turnOnApp }
}

it('a session of another engine is not valid here without a shared cache', async () => {
  const { one, other, logIn, me } = await openTwo()
  const cookie = await logIn(one)
  expect([await me(one, { cookie }), await me(other, { cookie })]).toEqual(['anna', 401])
})

it.each([{ shares: false }, { shares: true }])(
  'ending the other sessions of a user also ends those on another engine, and keeps the current one: %o',
  async ({ shares }) => {
    const { one, other, logIn, me, turnOnApp, asOwner, engine } = await openTwo({ shares })
    const [there, here, owner] = [await logIn(one), await logIn(other), await asOwner(one)]
    await turnOnApp(other, here)
    expect([await me(one, { cookie: there }), await me(other, { cookie: here })]).toEqual([401, 'anna'])
    expect(await me(one, { cookie: owner })).toBe('scrapdeck')
    if (shares) expect(await me(other, { cookie: there })).toBe(401)
    await other.fastify.close()
    const after = openTestApp({ engine, dataDirectory: other.dataDirectory })
    expect(await me(after, { cookie: here })).toBe('anna')
    const list = (await after.askAnonymously({ url: '/api/v1/sessions', headers: { cookie: here } })).json()
    expect(list).toMatchObject({ sessions: [{ userName: 'anna', isCurrent: true }] })
    await after.fastify.close()
  }
)

it('a new password, and disabling, end the sessions on every engine', async () => {
  const { one, other, logIn, me, access, anna } = await openTwo()
  const [there, here] = [await logIn(one), await logIn(other)]
  await access.updateUser(anna.id, { enabled: false })
  await access.updateUser(anna.id, { enabled: true })
  expect([await me(one, { cookie: there }), await me(other, { cookie: here })]).toEqual([401, 401])
  const again = await logIn(one)
  expect(await me(one, { cookie: again })).toBe('anna')
  await access.updateUser(anna.id, { password: 'lantern osprey cobblestone' })
  expect(await me(one, { cookie: again })).toBe(401)
})

it('"Log out everywhere" ends the sessions on every engine, the owner’s too, and locks no one out', async () => {
  const { one, other, logIn, me, asOwner } = await openTwo()
  const [anna, owner] = [await logIn(one), await asOwner(one)]
  await other.logOutEverywhere()
  expect([await me(one, { cookie: anna }), await me(one, { cookie: owner })]).toEqual([401, 401])
  expect(await me(one, { authorization: RIGHT })).toBe('scrapdeck')
  expect(await me(one, { cookie: await asOwner(one) })).toBe('scrapdeck')
  expect(await me(other, { cookie: await logIn(other) })).toBe('anna')
})
