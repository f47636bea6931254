import { describe, expect, it } from 'vitest'
import { OWNER } from '../engine/access/principal.ts'
import { basic, cookieOf, openTestApp, openTestService } from './testing/test-app.ts'
import { createFakeEngine } from './testing/fake-engine.ts'

const PASSWORD = 'kestrel amber drawbridge'
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const ME = { url: '/api/v1/users/me' } as const

/** An app with the person anna, an operator. */
async function openWithAnna() {
  const app = openTestApp()
  const { access } = app.engine
  const anna = await access.createUser({ name: 'anna', kind: 'person', role: 'operator', password: PASSWORD })
  const tokenOf = async (role: 'viewer' | 'operator' = 'operator', expiresInDays: number | null = null) =>
    (await access.createToken(OWNER, { name: 'laptop', userId: anna.id, role, expiresInDays })).secret
  const logIn = (password = PASSWORD, name = 'anna') => {
    const payload = new URLSearchParams({ username: name, password }).toString()
    return app.askAnonymously({ method: 'POST', url: '/ui/login', headers: FORM, payload })
  }
  const meWith = async (headers: Record<string, string>) => {
    const answer = await app.askAnonymously({ ...ME, headers })
    return answer.statusCode === 200
      ? (answer.json() as { name: string; role: string; tokenId: string | null })
      : answer.statusCode
  }
  return { ...app, access, anna, tokenOf, logIn, meWith }
}

describe('a user', () => {
  it('logs in with name and password, and is nobody else', async () => {
    const { logIn, meWith } = await openWithAnna()
    const cookie = cookieOf(await logIn())
    expect(await meWith({ cookie })).toMatchObject({ name: 'anna', role: 'operator', tokenId: null })
    expect((await logIn('kestrel amber drawbridges')).statusCode).toBe(401)
    expect((await logIn(PASSWORD, 'ben')).statusCode).toBe(401)
  })

  it('sends the password with each request, as Scrapyd clients do, in any case of the name', async () => {
    const { meWith } = await openWithAnna()
    expect(await meWith({ authorization: basic('Anna', PASSWORD) })).toMatchObject({ name: 'anna', role: 'operator' })
    expect(await meWith({ authorization: basic('anna', 'wrong password, long') })).toBe(401)
  })

  it('cannot make a session of another user out of its own', async () => {
    const { logIn, meWith, access } = await openWithAnna()
    const boss = await access.createUser({ name: 'boss', kind: 'person', role: 'owner', password: `${PASSWORD} too` })
    const cookie = cookieOf(await logIn())
    const [name, token] = cookie.split('=') as [string, string]
    const [random, , began] = token.split('.') as [string, string, string]
    for (const forged of [random, `${random}.${boss.id}.${began}`, `${random}.${boss.id}`, `${token}0`, `x${token}`]) {
      expect(await meWith({ cookie: `${name}=${forged}` })).toBe(401)
    }
    expect(await meWith({ cookie })).toMatchObject({ name: 'anna' })
  })

  it('loses sessions, requests and tokens at once when disabled, and gets only the tokens back', async () => {
    const { logIn, meWith, access, anna, tokenOf } = await openWithAnna()
    const cookie = cookieOf(await logIn())
    const authorization = basic('anna', PASSWORD)
    const bearer = `Bearer ${await tokenOf()}`
    const all: Record<string, string>[] = [{ cookie }, { authorization }, { authorization: bearer }]
    for (const headers of all) expect(await meWith(headers)).toMatchObject({ name: 'anna' })
    await access.updateUser(anna.id, { enabled: false })
    expect([
      await meWith({ cookie }),
      await meWith({ authorization }),
      await meWith({ authorization: bearer })
    ]).toEqual([401, 401, 401])
    await access.updateUser(anna.id, { enabled: true })
    expect(await meWith({ cookie })).toBe(401)
    expect(await meWith({ authorization: bearer })).toMatchObject({ name: 'anna' })
  })

  it('is logged out everywhere by a new password', async () => {
    const { logIn, meWith, access, anna, askAnonymously } = await openWithAnna()
    const cookie = cookieOf(await logIn())
    const change = { current: PASSWORD, password: 'lantern osprey cobblestone' }
    const asAnna = { cookie, 'content-type': 'application/json' }
    const answer = await askAnonymously({
      method: 'POST',
      url: '/api/v1/users/me/password',
      headers: asAnna,
      payload: change
    })
    expect(answer.json()).toEqual({ changed: true })
    expect(await meWith({ cookie })).toBe(401)
    expect((await logIn()).statusCode).toBe(401)
    expect((await logIn(change.password)).statusCode).toBe(303)
    expect(access.listUsers()).toMatchObject([{ id: anna.id, hasPassword: true }])
  })

  it('has the rights of a new role from the next request on', async () => {
    const { meWith, access, anna } = await openWithAnna()
    const authorization = basic('anna', PASSWORD)
    await meWith({ authorization })
    await access.updateUser(anna.id, { role: 'viewer' })
    expect(await meWith({ authorization })).toMatchObject({ role: 'viewer' })
  })

  it('never gets the password of the service, nor a link for it, even as an owner', async () => {
    const { access, anna, askAnonymously, engine } = await openWithAnna()
    await access.updateUser(anna.id, { role: 'owner' })
    const headers = { authorization: basic('anna', PASSWORD) }
    const shown = await askAnonymously({ method: 'POST', url: '/api/rpc/system/credentials', headers, payload: {} })
    expect(shown.body).not.toContain(engine.credentials.password)
    const link = await askAnonymously({ method: 'POST', url: '/ui/link', headers })
    expect([link.statusCode, link.body]).toEqual([403, expect.not.stringContaining('token=')])
  })

  it('of the name of the service itself cannot be created', async () => {
    const { access } = await openWithAnna()
    const make = (name: string) => access.createUser({ name, kind: 'person', role: 'viewer' })
    await expect(make('ScrapDeck')).rejects.toMatchObject({ code: 'USER_NAME_TAKEN' })
    await expect(make('ANNA')).rejects.toMatchObject({ code: 'USER_NAME_TAKEN' })
  })

  it('who guesses passwords is held off, and nobody else', async () => {
    const { logIn } = await openWithAnna()
    for (let guess = 0; guess < 10; guess += 1) await logIn(`guess number ${guess}, long enough`, 'ben')
    const { statusCode, headers } = await logIn('guess number 11, long enough', 'ben')
    expect([statusCode, Number(headers['retry-after']) > 0]).toEqual([429, true])
  })
})

describe('a token', () => {
  it('is a Bearer, or the password of a Scrapyd client, and has the lesser of both roles', async () => {
    const { tokenOf, meWith, access, anna } = await openWithAnna()
    const secret = await tokenOf('viewer')
    for (const authorization of [`Bearer ${secret}`, basic('anna', secret), basic('anything', secret)]) {
      expect(await meWith({ authorization })).toMatchObject({
        name: 'anna',
        role: 'viewer',
        tokenId: expect.any(String)
      })
    }
    const full = `Bearer ${await tokenOf('operator')}`
    await access.updateUser(anna.id, { role: 'viewer' })
    expect(await meWith({ authorization: full })).toMatchObject({ role: 'viewer' })
  })

  it('does not open a session: that would have all rights of its user', async () => {
    const { tokenOf, logIn } = await openWithAnna()
    expect((await logIn(await tokenOf('viewer'))).statusCode).toBe(401)
  })

  it('is refused once revoked, expired or mistyped', async () => {
    const { tokenOf, meWith, access, engine } = await openWithAnna()
    const secret = await tokenOf()
    const authorization = `Bearer ${secret}`
    expect(await meWith({ authorization })).toMatchObject({ name: 'anna' })
    const mistyped = `${authorization.slice(0, 20)}${authorization[20] === 'a' ? 'b' : 'a'}${authorization.slice(21)}`
    expect(await meWith({ authorization: mistyped })).toBe(401)
    await access.revokeToken(OWNER, access.listTokens(OWNER)[0]!.id)
    expect(await meWith({ authorization })).toBe(401)
    const short = `Bearer ${await tokenOf('operator', 1)}`
    expect(await meWith({ authorization: short })).toMatchObject({ name: 'anna' })
    await engine.accessClock.advanceBy(86_400_000)
    expect(await meWith({ authorization: short })).toBe(401)
  })

  it('cuts off what it is receiving when it is revoked', async () => {
    const engine = createFakeEngine()
    const { service, port } = await openTestService({}, engine)
    const { secret, token } = await engine.access.createToken(OWNER, {
      name: 'watch',
      role: 'viewer',
      expiresInDays: null
    })
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/events`, {
      headers: { authorization: `Bearer ${secret}` }
    })
    expect(response.status).toBe(200)
    const reading = response.text().then(
      () => 'ended',
      () => 'cut off'
    )
    await engine.access.revokeToken(OWNER, token.id)
    expect(await reading).toBe('cut off')
    await service.stop()
  })
})
