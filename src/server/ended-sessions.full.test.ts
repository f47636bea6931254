import { describe, expect, it } from 'vitest'
import { cookieOf, openTestApp, RIGHT } from './testing/test-app.ts'

const OLD = 'kestrel amber drawbridge'
const NEW = 'lantern osprey cobblestone'
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const TOKEN = { name: 'x', role: 'viewer', expiresInDays: null }

/** Opens an app with the viewer anna and a thief who has her password and session. */
async function openWithThief() {
  const app = openTestApp()
  const { access, secondFactors } = app.engine
  const anna = await access.createUser({ name: 'anna', kind: 'person', role: 'viewer', password: OLD })
  const logIn = async (password: string) => {
    const payload = new URLSearchParams({ username: 'anna', password }).toString()
    return app.askAnonymously({ method: 'POST', url: '/ui/login', headers: FORM, payload })
  }
  const thief = cookieOf(await logIn(OLD))
  const post = (path: string, payload: object, cookie = thief) =>
    app.askAnonymously({ method: 'POST', url: `/api/v1/${path}`, headers: { cookie }, payload })
  const me = async (cookie = thief) =>
    (await app.askAnonymously({ url: '/api/v1/users/me', headers: { cookie } })).statusCode
  const ends: Record<string, () => Promise<unknown>> = {
    'a new password': () => access.updateUser(anna.id, { password: NEW }),
    'disabling the user': async () => {
      await access.updateUser(anna.id, { enabled: false })
      await access.updateUser(anna.id, { enabled: true })
    },
    'the end of all sessions': () => access.endSessionsOf(anna.id),
    '"Log out everywhere"': () => app.logOutEverywhere(),
    'its end in the list': async () => {
      const headers = { authorization: RIGHT }
      const { sessions } = (await app.ask({ url: '/api/v1/sessions', headers })).json<{ sessions: { id: string }[] }>()
      for (const { id } of sessions) await app.ask({ method: 'DELETE', url: `/api/v1/sessions/${id}`, headers })
    }
  }
  return { ...app, access, secondFactors, anna, logIn, thief, post, me, ends }
}

const ENDS = ['a new password', 'disabling the user', 'the end of all sessions', '"Log out everywhere"']

describe('a session', () => {
  it.each([...ENDS, 'its end in the list'])('does not survive %s by ending all others', async (what) => {
    const { secondFactors, post, me, ends } = await openWithThief()
    // The session ends while the request removes the authenticator app.
    secondFactors.removeAuthenticator = async () => {
      await ends[what]!()
      return true
    }
    const answer = await post('users/me/authenticator/remove', { current: OLD })
    expect([answer.statusCode, answer.json()]).toMatchObject([401, { code: 'UNAUTHORIZED' }])
    expect(await me()).toBe(401)
  })

  it.each([...ENDS, 'its end in the list'])(
    'creates no token after %s, even if the request was earlier',
    async (what) => {
      const { access, post, ends } = await openWithThief()
      const { createToken } = access
      access.createToken = async (...given) => {
        await ends[what]!()
        return createToken(...given)
      }
      const answer = await post('tokens', TOKEN)
      expect([answer.statusCode, answer.json()]).toMatchObject([401, { code: 'UNAUTHORIZED' }])
    }
  )

  it('that ends all others stays valid itself at the moment they end', async () => {
    const { access, secondFactors, logIn, post, me } = await openWithThief()
    const own = cookieOf(await logIn(OLD))
    secondFactors.removeAuthenticator = async () => true
    const asked: Promise<number[]>[] = []
    access.events.on('changed', () => asked.push(Promise.all([me(own), me()])))
    expect((await post('users/me/authenticator/remove', { current: OLD }, own)).json()).toEqual({ removed: true })
    expect(await Promise.all(asked)).toEqual([[200, 401]])
  })

  it('ends no others if its request changed nothing', async () => {
    const { logIn, post, me } = await openWithThief()
    const other = cookieOf(await logIn(OLD))
    expect((await post('users/me/authenticator/remove', { current: OLD }, other)).json()).toEqual({ removed: false })
    expect([await me(), await me(other)]).toEqual([200, 200])
  })
})

it('requests that wait while a new password is stored keep no session, set no password and create no token', async () => {
  const { access, anna, logIn, post, me } = await openWithThief()
  const stored = access.updateUser(anna.id, { password: NEW })
  const requests = [1, 2, 3].flatMap(() => [
    post('users/me/authenticator/remove', { current: OLD }),
    post('users/me/password', { current: OLD, password: `${OLD} too` }),
    post('tokens', TOKEN)
  ])
  const answers = await Promise.all(requests)
  await stored
  expect(answers.filter(({ statusCode }) => statusCode < 400)).toEqual([])
  expect(await me()).toBe(401)
  expect([(await logIn(NEW)).statusCode, (await logIn(`${OLD} too`)).statusCode]).toEqual([303, 401])
})
