import { connect } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createFakeClock } from '../engine/testing/fake-clock.ts'
import { OWNER } from '../engine/access/principal.ts'
import { basic, cookieOf, openTestApp, openTestService } from './testing/test-app.ts'
import { createFakeEngine } from './testing/fake-engine.ts'

const PASSWORD = 'kestrel amber drawbridge'
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const ME = { url: '/api/v1/users/me' } as const

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
  it('logs in with name and password, and as no other user', async () => {
    const { logIn, meWith } = await openWithAnna()
    const cookie = cookieOf(await logIn())
    expect(await meWith({ cookie })).toMatchObject({ name: 'anna', role: 'operator', tokenId: null })
    expect((await logIn('kestrel amber drawbridges')).statusCode).toBe(401)
    expect((await logIn(PASSWORD, 'ben')).statusCode).toBe(401)
  })

  it('can send the password with each request, as Scrapyd clients do, with the name in any letter case', async () => {
    const { meWith } = await openWithAnna()
    expect(await meWith({ authorization: basic('Anna', PASSWORD) })).toMatchObject({ name: 'anna', role: 'operator' })
    expect(await meWith({ authorization: basic('anna', 'wrong password, long') })).toBe(401)
  })

  it('cannot turn its own session into one of another user', async () => {
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

  it('loses sessions, requests and tokens at once when disabled, and gets only the tokens back when enabled', async () => {
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

  it('is logged out everywhere when the password changes', async () => {
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

  it('gets no session from a login during which the password changes', async () => {
    const { logIn, engine, access, anna } = await openWithAnna()
    const record = engine.audit.record.bind(engine.audit)
    engine.audit.record = async (...entry) => {
      await access.updateUser(anna.id, { password: 'another long secret of hers' })
      return record(...entry)
    }
    const answer = await logIn()
    expect([answer.statusCode, answer.headers['set-cookie']]).toEqual([401, undefined])
  })

  it('has the rights of a new role from the next request on', async () => {
    const { meWith, access, anna } = await openWithAnna()
    const authorization = basic('anna', PASSWORD)
    await meWith({ authorization })
    await access.updateUser(anna.id, { role: 'viewer' })
    expect(await meWith({ authorization })).toMatchObject({ role: 'viewer' })
  })

  it('never gets a link for the service’s own account, even as an owner', async () => {
    const { access, anna, askAnonymously } = await openWithAnna()
    await access.updateUser(anna.id, { role: 'owner' })
    const headers = { authorization: basic('anna', PASSWORD) }
    const link = await askAnonymously({ method: 'POST', url: '/ui/link', headers })
    expect([link.statusCode, link.body]).toEqual([403, expect.not.stringContaining('token=')])
  })

  it('with the name of the service itself cannot be created', async () => {
    const { access } = await openWithAnna()
    const make = (name: string) => access.createUser({ name, kind: 'person', role: 'viewer' })
    await expect(make('ScrapDeck')).rejects.toMatchObject({ code: 'USER_NAME_TAKEN' })
    await expect(make('ANNA')).rejects.toMatchObject({ code: 'USER_NAME_TAKEN' })
  })

  it('has to wait after ten wrong passwords', async () => {
    const { logIn } = await openWithAnna()
    for (let guess = 0; guess < 10; guess += 1) await logIn(`guess number ${guess}, long enough`, 'ben')
    const { statusCode, headers } = await logIn('guess number 11, long enough', 'ben')
    expect([statusCode, Number(headers['retry-after']) > 0]).toEqual([429, true])
  })
})

describe('a token', () => {
  it('is a Bearer token, or the password of a Scrapyd client, and has the rights of its user and its own role at most', async () => {
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

  it('cannot open a session, which would have all rights of its user', async () => {
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

  it('that is refused needs no password hash', async () => {
    const { tokenOf, access, meWith } = await openWithAnna()
    const secret = await tokenOf()
    await access.revokeToken(OWNER, access.listTokens(OWNER)[0]!.id)
    let checked = 0
    const { findByPassword } = access
    access.findByPassword = (...given) => {
      checked += 1
      return findByPassword.apply(access, given)
    }
    for (const authorization of [`Bearer ${secret}`, basic('anna', secret), 'Bearer sdk_x']) {
      expect(await meWith({ authorization })).toBe(401)
    }
    expect(checked).toBe(0)
    expect(await meWith({ authorization: basic('anna', PASSWORD) })).toMatchObject({ name: 'anna' })
    expect(checked).toBe(1)
  })

  it('stops all running responses when it is revoked', async () => {
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

describe('a user whose access changes during a session', () => {
  const ANNAS = basic('anna', PASSWORD)

  async function beginRequest(port: number, authorization: string, path: string, body: string) {
    const socket = connect(port, '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    let answer = ''
    socket.on('data', (piece: Buffer) => (answer += piece.toString()))
    socket.on('error', () => {})
    const head = [`POST ${path} HTTP/1.1`, `Host: 127.0.0.1:${port}`, `Authorization: ${authorization}`]
    const more = ['Content-Type: application/json', `Content-Length: ${body.length}`, 'Connection: close']
    socket.write(`${[...head, ...more].join('\r\n')}\r\n\r\n${body.slice(0, 5)}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
    return async () => {
      socket.write(body.slice(5))
      await new Promise((resolve) => socket.once('close', resolve))
      return answer
    }
  }

  it.each(['/api/v1/users', '/api/rpc/users/create'])('cannot do anything after the removal: %s', async (path) => {
    const engine = createFakeEngine()
    const { port } = await openTestService({}, engine)
    const mallory = await engine.access.createUser({ name: 'mallory', kind: 'service', role: 'owner' })
    const { secret } = await engine.access.createToken(OWNER, { name: 't', userId: mallory.id, expiresInDays: null })
    const body = { name: 'backdoor', kind: 'service', role: 'owner' }
    const text = JSON.stringify(path.includes('rpc') ? { json: body } : body)
    const finish = await beginRequest(port, `Bearer ${secret}`, path, text)
    await engine.access.removeUser(mallory.id)
    expect(await finish()).toMatch(/^HTTP\/1\.1 401 /)
    expect(engine.access.listUsers()).toEqual([])
  })

  it('loses the streams when the password changes, or a token expires', async () => {
    const engine = createFakeEngine()
    const clock = createFakeClock()
    const { port } = await openTestService({ clock }, engine)
    const anna = await engine.access.createUser({ name: 'anna', kind: 'person', role: 'viewer', password: PASSWORD })
    const { secret } = await engine.access.createToken(OWNER, { name: 't', role: 'viewer', expiresInDays: 1 })
    const watch = async (authorization: string) => {
      const response = await fetch(`http://127.0.0.1:${port}/api/v1/events`, { headers: { authorization } })
      expect(response.status).toBe(200)
      const reading = response.text().then(
        () => 'ended',
        () => 'cut off'
      )
      return { reading }
    }
    const [byPassword, byToken] = [await watch(ANNAS), await watch(`Bearer ${secret}`)]
    await engine.access.updateUser(anna.id, { password: 'lantern osprey cobblestone' })
    expect(await byPassword.reading).toBe('cut off')
    await engine.accessClock.advanceBy(86_400_000)
    await clock.advanceBy(30_000)
    expect(await byToken.reading).toBe('cut off')
  })

  it('does not get the response to an earlier request again after the role was lowered', async () => {
    const { access, anna, askAnonymously } = await openWithAnna()
    await access.updateUser(anna.id, { role: 'admin' })
    const payload = { name: 'ours', url: 'https://example.org/', events: ['job.ended'] }
    const change = (method: 'POST' | 'PUT', path: string, key: string) =>
      askAnonymously({
        method,
        url: `/api/v1/webhooks${path}`,
        payload,
        headers: { authorization: ANNAS, 'content-type': 'application/json', 'idempotency-key': key }
      })
    const { id } = (await change('POST', '', 'first')).json<{ webhook: { id: string } }>().webhook
    const update = () => change('PUT', `/${id}`, 'k')
    expect((await update()).body).toContain('"webhook"')
    expect((await update()).headers['idempotency-replayed']).toBe('true')
    await access.updateUser(anna.id, { role: 'viewer' })
    const again = await update()
    expect([again.statusCode, again.body]).toEqual([403, expect.not.stringContaining('"webhook"')])
  })

  it('sees the secret of a webhook once: it is not stored for a repeated request', async () => {
    const { access, anna, askAnonymously, engine } = await openWithAnna()
    await access.updateUser(anna.id, { role: 'admin' })
    const kept: string[] = []
    const { once } = engine.answers
    engine.answers.once = (request, perform) =>
      once(request, async () => {
        const answer = await perform()
        kept.push(answer.text)
        return answer
      })
    const post = (path: string, payload: object) =>
      askAnonymously({
        method: 'POST',
        url: `/api/v1/webhooks${path}`,
        payload,
        headers: { authorization: ANNAS, 'content-type': 'application/json', 'idempotency-key': `k${path}` }
      })
    const created = await post('', { name: 'ours', url: 'https://example.org/', events: ['job.ended'] })
    const { id } = created.json<{ webhook: { id: string } }>().webhook
    expect([created.body, (await post(`/${id}/rotate`, {})).body]).toEqual(
      Array.from({ length: 2 }, () => expect.stringContaining('whsec_'))
    )
    const again = [
      await post('', { name: 'ours', url: 'https://example.org/', events: ['job.ended'] }),
      await post(`/${id}/rotate`, {})
    ]
    for (const answer of again) expect(answer.json()).toMatchObject({ code: 'IDEMPOTENCY_SECRET_NOT_KEPT' })
    expect(kept.join('')).not.toContain('whsec_')
  })
})

describe('a token that is created with an Idempotency-Key', () => {
  const create = (app: Awaited<ReturnType<typeof openWithAnna>>, payload: object = { name: 'ci', expiresInDays: 1 }) =>
    app.askAnonymously({
      method: 'POST',
      url: '/api/v1/tokens',
      payload,
      headers: { authorization: basic('anna', PASSWORD), 'content-type': 'application/json', 'idempotency-key': 'k' }
    })

  it('is created once and shown once: a repeated request says what to do, and the secret is not stored', async () => {
    const app = await openWithAnna()
    const kept: string[] = []
    const { once } = app.engine.answers
    app.engine.answers.once = (request, perform) =>
      once(request, async () => {
        const answer = await perform()
        kept.push(answer.text)
        return answer
      })
    const first = await create(app)
    const { secret } = first.json<{ secret: string }>()
    const again = await create(app)
    expect([again.statusCode, again.json()]).toEqual([
      ...[409, expect.objectContaining({ code: 'IDEMPOTENCY_SECRET_NOT_KEPT' })]
    ])
    expect(again.body).not.toContain(secret)
    expect(app.access.listTokens(OWNER).map(({ name }) => name)).toEqual(['ci'])
    expect(kept.join('')).not.toContain(secret)
    expect((await create(app, { name: 'other', expiresInDays: 1 })).json()).toMatchObject({
      code: 'IDEMPOTENCY_KEY_REUSED'
    })
  })

  it('leaves the key free if it was refused', async () => {
    const app = await openWithAnna()
    const wrong = { name: 'ci', role: 'owner', expiresInDays: 1 }
    for (const _ of [1, 2]) expect((await create(app, wrong)).json()).toMatchObject({ code: 'ROLE_REQUIRED' })
  })
})

describe('a client that guesses passwords', () => {
  it('has no advantage at an address of a known user, except for that user name', async () => {
    const { logIn, access, tokenOf, meWith } = await openWithAnna()
    await access.createUser({ name: 'boss', kind: 'person', role: 'owner', password: `${PASSWORD} too` })
    expect(await meWith({ authorization: `Bearer ${await tokenOf('viewer')}` })).toMatchObject({ name: 'anna' })
    expect((await logIn()).statusCode).toBe(303)
    for (let guess = 0; guess < 10; guess += 1) await logIn(`guess number ${guess}, long enough`, 'boss')
    expect((await logIn(`${PASSWORD} too`, 'boss')).statusCode).toBe(429)
    expect((await logIn()).statusCode).toBe(303)
  })

  it('gets no more tries in parallel than one after another', async () => {
    const { logIn } = await openWithAnna()
    const tries = Array.from({ length: 40 }, (_, guess) =>
      logIn(guess === 30 ? PASSWORD : `guess number ${guess}, long`)
    )
    const codes = (await Promise.all(tries)).map(({ statusCode }) => statusCode)
    expect(codes.filter((code) => code === 401).length).toBeLessThanOrEqual(10)
    expect(codes[30]).toBe(429)
  })

  it('and has a token cannot try the password of its user', async () => {
    const { tokenOf, askAnonymously } = await openWithAnna()
    const authorization = `Bearer ${await tokenOf()}`
    const payload = { current: PASSWORD, password: 'lantern osprey cobblestone' }
    const change = await askAnonymously({
      method: 'POST',
      url: '/api/v1/users/me/password',
      headers: { authorization },
      payload
    })
    expect([change.statusCode, change.json()]).toMatchObject([403, { code: 'PASSWORD_REQUIRED' }])
  })

  it('and is logged in is blocked after ten wrong current passwords', async () => {
    const { logIn, askAnonymously } = await openWithAnna()
    const headers = { cookie: cookieOf(await logIn()) }
    const change = (current: string) =>
      askAnonymously({
        method: 'POST',
        url: '/api/v1/users/me/password',
        headers,
        payload: { current, password: 'lantern osprey cobblestone' }
      })
    for (let guess = 0; guess < 10; guess += 1) expect((await change(`guess ${guess}`)).statusCode).toBe(400)
    expect((await change(PASSWORD)).statusCode).toBe(429)
  })

  it('does not block programs that send the right password many times at once', async () => {
    const { meWith } = await openWithAnna()
    const answers = await Promise.all(
      Array.from({ length: 80 }, () => meWith({ authorization: basic('anna', PASSWORD) }))
    )
    expect(answers.every((answer) => typeof answer === 'object' || answer === 429)).toBe(true)
    expect(await meWith({ authorization: basic('anna', PASSWORD) })).toMatchObject({ name: 'anna' })
  })
})

it('a user who logs in again and again ends only their own sessions', async () => {
  const { logIn, meWith, askAnonymously, createLoginPath, clock } = await openWithAnna()
  const owner = cookieOf(await askAnonymously({ url: createLoginPath() }))
  const first = cookieOf(await logIn())
  for (let count = 0; count < 50; count += 1) {
    await clock.advanceBy(1_000)
    expect((await logIn()).statusCode).toBe(303)
  }
  expect([await meWith({ cookie: owner }), await meWith({ cookie: first })]).toMatchObject([{ role: 'owner' }, 401])
})
