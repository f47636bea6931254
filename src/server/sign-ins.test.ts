import { createHash } from 'node:crypto'
import { expect, it } from 'vitest'
import { OWNER } from '../engine/access/principal.ts'
import { cookieOf, openTestApp, RIGHT } from './testing/test-app.ts'

const PASSWORD = 'kestrel amber drawbridge'
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const VERIFIER = 'v'.repeat(43)
const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url')
const REDIRECT = 'http://127.0.0.1:50123/callback'
const REQUESTER = { client: 'cli', host: 'laptop', user: 'ann' }
const TO = { kind: 'redirect', requester: REQUESTER, redirectUri: REDIRECT, challenge: CHALLENGE }

async function open() {
  const app = openTestApp()
  const { access } = app.engine
  const anna = await access.createUser({ name: 'anna', kind: 'person', role: 'operator', password: PASSWORD })
  const post = (url: string, form: Record<string, string>, headers: Record<string, string> = {}) =>
    app.askAnonymously({
      method: 'POST',
      url,
      headers: { ...FORM, ...headers },
      payload: new URLSearchParams(form).toString()
    })
  const cookie = cookieOf(await post('/ui/login', { username: 'anna', password: PASSWORD }))
  const call = (method: 'POST' | 'GET' | 'DELETE', path: string, body?: object, headers: object = { cookie }) =>
    app.askAnonymously({
      method,
      url: `/api/v1/sign-ins${path}`,
      headers: {
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(headers as { cookie: string })
      },
      ...(body !== undefined && { payload: JSON.stringify(body) })
    })
  const approve = async (to: object = TO, more: object = {}) =>
    (await call('POST', '', { to, ...more })).json<{ code: string }>().code
  const redeem = (form: Record<string, string>) => post('/ui/login/token', form)
  const meWith = async (token: string) =>
    (
      await app.askAnonymously({ url: '/api/v1/users/me', headers: { authorization: `Bearer ${token}` } })
    ).json<object>()
  const tokens = () =>
    access.listTokens({ ...app.engine.access.findBySession(anna.id, app.engine.accessClock.nowMs())! })
  return { ...app, access, anna, cookie, post, call, approve, redeem, meWith, tokens }
}

const right = (code: string) => ({ code, verifier: VERIFIER, redirectUri: REDIRECT })

it('a program with the verifier gets a token of the user who allowed it, with the allowed rights, named after its computer', async () => {
  const { approve, redeem, meWith, tokens, engine } = await open()
  const code = await approve(TO, { role: 'viewer', expiresInDays: 7 })
  const answer = await redeem(right(code))
  expect(answer.statusCode).toBe(200)
  const { token, ...rest } = answer.json<{ token: string }>()
  expect(rest).toMatchObject({ userName: 'anna', role: 'viewer' })
  expect(await meWith(token)).toMatchObject({ name: 'anna', role: 'viewer' })
  const [made] = tokens()
  expect(made).toMatchObject({ name: 'Command line on laptop (ann)', role: 'viewer' })
  expect(made!.expiresAtMs! - made!.createdAtMs).toBe(7 * 86_400_000)
  const entry = engine.audited.at(-1)!
  expect([entry.operation, entry.who.name, entry.result]).toEqual(['tokens.create', 'anna', 'done'])
  expect(JSON.stringify(engine.audited)).not.toContain(token)
})

it('a code is valid once, right or wrong, and for a minute', async () => {
  const { approve, redeem, engine, tokens } = await open()
  const used = await approve()
  expect((await redeem(right(used))).statusCode).toBe(200)
  expect((await redeem(right(used))).json()).toMatchObject({ code: 'SIGN_IN_FAILED' })
  // A thief of the code does not have the verifier, and the attempt ends the sign-in.
  const stolen = await approve()
  expect((await redeem({ ...right(stolen), verifier: 'w'.repeat(43) })).statusCode).toBe(403)
  expect((await redeem(right(stolen))).statusCode).toBe(403)
  const elsewhere = await approve()
  expect((await redeem({ ...right(elsewhere), redirectUri: 'http://127.0.0.1:1/callback' })).statusCode).toBe(403)
  const late = await approve()
  await engine.accessClock.advanceBy(60_000)
  expect((await redeem(right(late))).statusCode).toBe(403)
  expect((await redeem(right('made-up'))).statusCode).toBe(403)
  expect(tokens()).toHaveLength(1)
  const refused = engine.audited.filter(({ operation }) => operation === 'signIns.redeem')
  expect(refused.length).toBeGreaterThan(0)
})

it('only a page with a session can allow a sign-in: no password, no token, no other origin', async () => {
  const { call, access, anna, cookie, post } = await open()
  const body = { to: TO }
  expect((await call('POST', '', body, { authorization: RIGHT })).json()).toMatchObject({ code: 'BROWSER_REQUIRED' })
  const { secret } = await access.createToken(OWNER, { name: 'x', userId: anna.id, expiresInDays: 1 })
  const bearer = { authorization: `Bearer ${secret}` }
  expect((await call('POST', '', body, bearer)).json()).toMatchObject({ code: 'BROWSER_REQUIRED' })
  expect((await call('POST', '', body, { ...bearer, cookie })).json()).toMatchObject({ code: 'BROWSER_REQUIRED' })
  expect((await call('POST', '', body, {})).statusCode).toBe(401)
  for (const origin of ['https://evil.example', 'http://127.0.0.1:6801', 'null']) {
    expect((await call('POST', '', body, { cookie, origin })).json()).toMatchObject({ code: 'FORBIDDEN_ORIGIN' })
  }
  const sameSite = { cookie, 'sec-fetch-site': 'same-site' }
  expect((await call('POST', '', body, sameSite)).json()).toMatchObject({ code: 'FORBIDDEN_ORIGIN' })
  // A form of another page cannot send JSON, and our endpoint accepts nothing else.
  expect((await post('/api/v1/sign-ins', {}, { cookie })).statusCode).not.toBe(200)
})

it('sends a code to a program on the same computer, and nowhere else', async () => {
  const { call } = await open()
  for (const redirectUri of [
    'https://evil.example/callback',
    'http://127.0.0.1.evil.example:80/callback',
    'http://127.0.0.1:80@evil.example/callback',
    'http://localhost:50123/callback',
    'http://127.0.0.1:50123/callback?x=',
    'http://127.0.0.1:50123/other',
    'javascript:alert(1)//http://127.0.0.1:50123/callback'
  ]) {
    const answer = await call('POST', '', { to: { ...TO, redirectUri } })
    expect([redirectUri, answer.json<{ code: string }>().code]).toEqual([redirectUri, 'BAD_INPUT'])
  }
})

it('gives no more rights than the user who allows it has, and none once that user is disabled', async () => {
  const { call, approve, redeem, access, anna } = await open()
  expect((await call('POST', '', { to: TO, role: 'owner' })).json()).toMatchObject({ code: 'ROLE_REQUIRED' })
  expect((await call('POST', '', { to: TO, expiresInDays: null })).json()).toMatchObject({ code: 'BAD_INPUT' })
  const code = await approve()
  await access.updateUser(anna.id, { enabled: false })
  expect((await redeem(right(code))).json()).toMatchObject({ code: 'SIGN_IN_FAILED' })
})

it.each(['logs out', 'is logged out by another browser of anna', 'ends with a new password', 'ends with all others'])(
  'a code is invalid once the session that allowed it %s',
  async (end) => {
    const { call, approve, redeem, post, access, anna, askAnonymously, cookie, engine, tokens, logOutEverywhere } =
      await open()
    const other = cookieOf(await post('/ui/login', { username: 'anna', password: PASSWORD }))
    const code = await approve()
    const { deviceCode, userCode } = (await post('/ui/login/device', REQUESTER)).json<{
      deviceCode: string
      userCode: string
    }>()
    expect((await call('POST', '', { to: { kind: 'code', userCode } })).statusCode).toBe(200)
    if (end === 'logs out') await post('/ui/logout', {}, { cookie })
    if (end === 'ends with a new password') await access.updateUser(anna.id, { password: 'lantern osprey cobblestone' })
    if (end === 'ends with all others') await logOutEverywhere()
    if (end.includes('another browser')) {
      const { sessions } = (await askAnonymously({ url: '/api/v1/sessions', headers: { cookie: other } })).json<{
        sessions: { id: string; isCurrent: boolean }[]
      }>()
      const { id } = sessions.find(({ isCurrent }) => !isCurrent)!
      await askAnonymously({ method: 'DELETE', url: `/api/v1/sessions/${id}`, headers: { cookie: other } })
    }
    for (const form of [right(code), { deviceCode }]) {
      const answer = await redeem(form)
      expect([answer.statusCode, answer.json()]).toEqual([403, expect.objectContaining({ code: 'SIGN_IN_FAILED' })])
    }
    expect(tokens()).toEqual([])
    expect(engine.audited.filter(({ operation }) => operation === 'signIns.redeem').length).toBeGreaterThan(0)
  }
)

it('a code is invalid if its user is disabled just before the token is created', async () => {
  const { approve, redeem, access, anna, tokens, engine } = await open()
  const code = await approve()
  const { redeem: redeemCode } = engine.signIns
  let disabled: Promise<unknown> | null = null
  engine.signIns.redeem = (given) => {
    const grant = redeemCode.call(engine.signIns, given)
    disabled = access.updateUser(anna.id, { enabled: false })
    return grant
  }
  expect((await redeem(right(code))).json()).toMatchObject({ code: 'SIGN_IN_FAILED' })
  await disabled
  await access.updateUser(anna.id, { enabled: true })
  expect(tokens()).toEqual([])
})

it('no page can frame the approval pages', async () => {
  const { ask } = openTestApp()
  const { headers } = await ask({ url: '/ui/' })
  expect(headers['content-security-policy']).toContain("frame-ancestors 'none'")
  expect(headers['x-frame-options']).toBe('DENY')
})

it('a program without a browser shows a code, and gets its token when a user has typed it', async () => {
  const { post, redeem, call, meWith, engine } = await open()
  const begun = (await post('/ui/login/device', REQUESTER)).json<{ deviceCode: string; userCode: string }>()
  const { deviceCode, userCode } = begun
  expect(begun).toMatchObject({ userCode: expect.stringMatching(/^[A-Z]{4}-[A-Z]{4}$/), intervalSeconds: 3 })
  expect((await redeem({ deviceCode })).statusCode).toBe(202)
  // The client polls again too soon.
  expect((await redeem({ deviceCode })).statusCode).toBe(429)
  expect((await call('GET', `/${userCode.toLowerCase()}`)).json()).toMatchObject({ host: 'laptop', user: 'ann' })
  await call('POST', '', { to: { kind: 'code', userCode }, role: 'viewer' })
  await engine.accessClock.advanceBy(3_000)
  const { token } = (await redeem({ deviceCode })).json<{ token: string }>()
  expect(await meWith(token)).toMatchObject({ name: 'anna', role: 'viewer' })
  await engine.accessClock.advanceBy(3_000)
  expect((await redeem({ deviceCode })).json()).toMatchObject({ code: 'SIGN_IN_FAILED' })
  expect((await call('GET', `/${userCode}`)).json()).toMatchObject({ code: 'SIGN_IN_NOT_FOUND' })
})

it('a code that is denied or ten minutes old gives no token', async () => {
  const { post, redeem, call, engine } = await open()
  const begin = async () => (await post('/ui/login/device', REQUESTER)).json<{ deviceCode: string; userCode: string }>()
  const denied = await begin()
  expect((await call('DELETE', `/${denied.userCode}`)).json()).toEqual({ denied: true })
  expect((await redeem({ deviceCode: denied.deviceCode })).json()).toMatchObject({
    code: 'SIGN_IN_FAILED',
    message: expect.stringContaining('denied')
  })
  const old = await begin()
  await engine.accessClock.advanceBy(600_000)
  expect((await call('POST', '', { to: { kind: 'code', userCode: old.userCode } })).statusCode).toBe(404)
  expect((await redeem({ deviceCode: old.deviceCode })).statusCode).toBe(403)
})

it('codes cannot be guessed: ten tries a minute, and requests of one address do not displace those of others', async () => {
  const { post, call, redeem } = await open()
  const { deviceCode } = (await post('/ui/login/device', REQUESTER)).json<{ deviceCode: string }>()
  const answers = []
  for (let tries = 0; tries < 12; tries += 1) answers.push((await call('GET', '/BBBB-BBBB')).statusCode)
  expect(answers).toEqual([...Array<number>(10).fill(404), 429, 429])
  for (let more = 0; more < 10; more += 1) await post('/ui/login/device', REQUESTER)
  // A newer sign-in from the same address replaced the oldest one.
  expect((await redeem({ deviceCode })).statusCode).toBe(403)
})

it('refuses requests that do not come from a program', async () => {
  const { post, redeem } = await open()
  expect((await redeem({})).json()).toMatchObject({ code: 'BAD_INPUT' })
  for (const bad of [
    { ...REQUESTER, client: 'other' },
    { ...REQUESTER, host: '' },
    { ...REQUESTER, host: 'x'.repeat(65) }
  ]) {
    expect((await post('/ui/login/device', bad)).json()).toMatchObject({ code: 'BAD_INPUT' })
  }
  const fromPage = await post('/ui/login/token', {}, { origin: 'https://evil.example' })
  expect(fromPage.statusCode).toBe(403)
})
