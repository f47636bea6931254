import { generateKeyPair, SignJWT } from 'jose'
import { PERMISSIONS } from '../shared/permissions.ts'
import { builtInRights } from '../engine/testing/built-in-rights.ts'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { systemClock } from '../engine/runtime/clock.ts'
import type { GroupRights, OidcOptions } from './auth/sign-in-options.ts'
import { NO_SIGN_IN } from './auth/sign-in-options.ts'
import { openTestService } from './testing/test-app.ts'
import { Browser, CLIENT_ID, CLIENT_SECRET, openIdentityProvider } from './testing/identity-provider.ts'
import { freePort } from '../engine/testing/server-process.ts'

const ANNA = { sub: 'anna-7', name: 'anna', groups: ['crawlers', 'everybody'] }
const BEN = { sub: 'ben-8', name: 'ben', groups: ['everybody'] }

const JSON_TYPE = { 'content-type': 'application/json' }

async function openWithProvider(changes: Partial<OidcOptions> = {}) {
  const port = await freePort()
  const deck = `http://127.0.0.1:${port}`
  const provider = await openIdentityProvider({
    people: [{ ...ANNA }, { ...BEN }],
    redirectUris: [`${deck}/ui/login/oidc/callback`]
  })
  onTestFinished(provider.stop)
  const oidc: OidcOptions = {
    issuer: provider.issuer,
    clientId: CLIENT_ID,
    clientSecret: CLIENT_SECRET,
    label: 'Example ID',
    scopes: 'openid profile groups',
    nameClaim: 'preferred_username',
    groupsClaim: 'groups',
    roles: new Map<string, GroupRights>([
      ['crawlers', { role: 'operator', projects: {}, nodeGroups: {} }],
      ['shop team', { role: null, projects: { shop: 'deployer' } as never, nodeGroups: {} }],
      ['eu ops', { role: null, projects: {}, nodeGroups: { eu: 'admin' } }],
      ['admins', { role: 'owner', projects: {}, nodeGroups: {} }]
    ]),
    sessionMs: 12 * 3_600_000,
    ...changes
  }
  const { engine, service } = await openTestService({ port, clock: systemClock, signIn: { ...NO_SIGN_IN, oidc } })
  const browser = new Browser()
  const begin = async (by = browser, page = '') => (await by.go(`${deck}/ui/login/oidc${page}`)).location
  const signIn = async (person: string, by = browser, page = '') => {
    const back = await by.signInAt(await begin(by, page), person, provider.issuer)
    return { back, answer: await by.go(back) }
  }
  const me = async (by = browser) => {
    const { status, body } = await by.go(`${deck}/api/v1/users/me`)
    return status === 200 ? (JSON.parse(body) as { name: string; role: string; userId: string }) : status
  }
  return { deck, provider, engine, service, browser, begin, signIn, me }
}

describe('sign-in with OIDC', () => {
  it('leads from the login page through the provider to the requested page, with the role of the group', async () => {
    const { deck, browser, signIn, me, engine } = await openWithProvider()
    const page = await browser.go(`${deck}/ui/login`)
    expect(page.body).toContain('<a class="button" href="/ui/login/oidc">Log in with Example ID</a>')
    const { answer } = await signIn('anna-7', browser, `?page=${encodeURIComponent('#/jobs?state=failed')}`)
    expect([answer.status, answer.location]).toEqual([303, `${deck}/ui/#/jobs?state=failed`])
    expect(await me()).toMatchObject({ name: 'anna', role: 'operator' })
    expect(engine.access.listUsers()).toMatchObject([{ name: 'anna', origin: 'oidc', hasPassword: false }])
  })

  it('finds the user again by the subject id, and gives the role of the current groups', async () => {
    const { provider, engine, signIn, me } = await openWithProvider()
    await signIn('anna-7')
    const first = await me()
    provider.people.set('anna-7', { ...ANNA, name: 'anna.new', groups: ['admins', 'crawlers'] })
    const again = new Browser()
    await signIn('anna-7', again)
    expect(await me(again)).toEqual({
      ...(first as object),
      role: 'owner',
      everywhere: 'owner',
      permissions: { everywhere: PERMISSIONS, projects: {}, nodeGroups: {} }
    })
    expect(engine.access.listUsers()).toHaveLength(1)
  })

  it('gives the roles of groups in single projects, and removes them with the group', async () => {
    const { provider, signIn, me } = await openWithProvider()
    provider.people.set('anna-7', { ...ANNA, groups: ['shop team'] })
    await signIn('anna-7')
    expect(await me()).toMatchObject({ role: 'deployer', everywhere: null, projects: { shop: 'deployer' } })
    provider.people.set('anna-7', { ...ANNA, groups: ['crawlers', 'shop team'] })
    await signIn('anna-7')
    expect(await me()).toMatchObject({ everywhere: 'operator', projects: { shop: 'deployer' } })
    provider.people.set('anna-7', { ...ANNA, groups: ['crawlers'] })
    await signIn('anna-7')
    expect(await me()).toMatchObject({ everywhere: 'operator', projects: {} })
  })

  it('gives the roles of groups in node groups, shows them in the list of users, and removes them with the group', async () => {
    const { provider, engine, signIn, me } = await openWithProvider()
    const nodeGroups = async () =>
      [await me(), engine.access.listUsers()[0]].map((one) => (one as { nodeGroups: unknown }).nodeGroups)
    provider.people.set('anna-7', { ...ANNA, groups: ['eu ops'] })
    await signIn('anna-7')
    expect(await me()).toMatchObject({ role: 'admin of nodes', everywhere: null, projects: {} })
    expect(await nodeGroups()).toEqual([{ eu: 'admin' }, { eu: 'admin' }])
    provider.people.set('anna-7', { ...ANNA, groups: ['crawlers', 'eu ops'] })
    await signIn('anna-7')
    expect(await me()).toMatchObject({ everywhere: 'operator', nodeGroups: { eu: 'admin' } })
    provider.people.set('anna-7', { ...ANNA, groups: ['crawlers'] })
    await signIn('anna-7')
    expect(await nodeGroups()).toEqual([{}, {}])
  })

  it('refuses a user without a group that has a role, with the reason, and ends their other sessions', async () => {
    const { provider, engine, signIn, me, browser } = await openWithProvider()
    await signIn('anna-7')
    const { userId } = (await me()) as { userId: string }
    const { secret } = await engine.access.createToken(
      {
        userId: userId as never,
        name: 'anna',
        role: 'operator',
        rights: builtInRights('operator'),
        tokenId: null,
        sinceMs: 0
      },
      { name: 'laptop', expiresInDays: null }
    )
    expect(engine.access.findByToken(secret)).toMatchObject({ name: 'anna' })
    provider.people.set('anna-7', { ...ANNA, groups: ['everybody'] })
    const { answer } = await signIn('anna-7', new Browser())
    expect([answer.status, answer.body]).toEqual([
      403,
      expect.stringContaining('None of the groups of anna has a role')
    ])
    expect([await me(browser), engine.access.findByToken(secret)]).toEqual([401, null])
    const stranger = new Browser()
    expect((await signIn('ben-8', stranger)).answer.status).toBe(403)
    expect([await me(stranger), engine.access.listUsers().length]).toEqual([401, 1])
    expect(engine.audited.map(({ operation, code }) => [operation, code])).toEqual([
      ...[
        ['users.signIn', null],
        ['login', null],
        ['users.signIn', null]
      ],
      ['login', 'ROLE_REQUIRED']
    ])
    expect(JSON.parse(engine.audited[2]!.input)).toMatchObject({ name: 'anna', isVouchedFor: false })
  })

  it('never gives a user the account of another of the same name', async () => {
    const { deck, provider, engine, signIn, me } = await openWithProvider()
    const password = 'kestrel amber drawbridge'
    await engine.access.createUser({ name: 'anna', kind: 'person', role: 'owner', password })
    provider.people.set('eve-9', { sub: 'eve-9', name: 'scrapdeck', groups: ['crawlers'] })
    await signIn('anna-7')
    expect(await me()).toMatchObject({ name: 'anna-2', role: 'operator' })
    const eve = new Browser()
    await signIn('eve-9', eve)
    expect(await me(eve)).toMatchObject({ name: 'scrapdeck-2', role: 'operator' })
    const form = new URLSearchParams({ username: 'anna', password })
    const local = new Browser()
    await local.go(`${deck}/ui/login`, { method: 'POST', body: form, headers: { origin: deck } })
    expect(await me(local)).toMatchObject({ name: 'anna', role: 'owner' })
  })

  it('does not admit a user whom an owner has disabled; password and role cannot be set here', async () => {
    const { engine, signIn, me } = await openWithProvider()
    await signIn('anna-7')
    const { id } = engine.access.listUsers()[0]!
    await expect(engine.access.updateUser(id, { password: 'kestrel amber drawbridge' })).rejects.toThrow('logs in')
    await expect(engine.access.updateUser(id, { role: 'owner' })).rejects.toThrow('come from groups')
    await engine.access.updateUser(id, { enabled: false })
    const { answer } = await signIn('anna-7', new Browser())
    expect([await me(), answer.status, answer.body]).toEqual([401, 401, expect.stringContaining('is disabled')])
  })

  it('ends the session after the configured hours, however much it is used', async () => {
    const { browser, signIn, deck } = await openWithProvider({ sessionMs: 7_200_000 })
    await signIn('anna-7', browser)
    const { body } = await browser.go(`${deck}/api/v1/sessions`)
    const [session] = (JSON.parse(body) as { sessions: [{ endsAtMs: number }] }).sessions
    expect(session).toMatchObject({ userName: 'anna', signedInWith: 'oidc', isCurrent: true })
    expect(session.endsAtMs - Date.now()).toBeLessThanOrEqual(7_200_000)
    expect(session.endsAtMs - Date.now()).toBeGreaterThan(7_100_000)
  })
})

describe('the response that a browser brings back', () => {
  it('counts once, in the browser that started the sign-in', async () => {
    const { provider, browser, begin, signIn, me } = await openWithProvider()
    const { back } = await signIn('anna-7')
    const replayed = await browser.go(back)
    expect([replayed.status, replayed.body]).toEqual([403, expect.stringContaining('was already used')])
    expect(await me()).toMatchObject({ name: 'anna' })
    // Open eve's callback URL in the victim's browser, before and after the victim starts a login.
    const eve = new Browser()
    const ofEve = await eve.signInAt(await begin(eve), 'anna-7', provider.issuer)
    const victim = new Browser()
    expect((await victim.go(ofEve)).status).toBe(403)
    await begin(victim)
    expect((await victim.go(ofEve)).status).toBe(403)
    expect(await me(victim)).toBe(401)
  })

  it.each([
    ['another state', (url: URL) => url.searchParams.set('state', 'x')],
    ['no state', (url: URL) => url.searchParams.delete('state')],
    ['two states', (url: URL) => url.searchParams.append('state', 'x')],
    ['another code', (url: URL) => url.searchParams.set('code', 'x')],
    ['no code', (url: URL) => url.searchParams.delete('code')],
    ['another issuer', (url: URL) => url.searchParams.set('iss', 'http://127.0.0.1:1')],
    ['an error', (url: URL) => (url.searchParams.delete('code'), url.searchParams.set('error', '<b>access_denied'))]
  ])('is refused with %s, without repeating it', async (_what, change) => {
    const { provider, browser, begin, me } = await openWithProvider()
    const back = new URL(await browser.signInAt(await begin(), 'anna-7', provider.issuer))
    change(back)
    const { status, body } = await browser.go(back.href)
    expect([status, await me()]).toEqual([403, 401])
    expect(body).not.toMatch(/<b>|stack|OAUTH/)
    expect(body).toContain('action="/ui/login"')
  })

  it('leads to a page of ours and nowhere else', async () => {
    const { deck, browser, signIn } = await openWithProvider()
    for (const page of [
      'https://evil.example',
      '//evil.example',
      '#//evil',
      '#/a b',
      '/jobs',
      `#/${'x'.repeat(3_000)}`
    ]) {
      const { answer } = await signIn('anna-7', browser, `?page=${encodeURIComponent(page)}`)
      expect(answer.location.startsWith(`${deck}/ui/`)).toBe(true)
      expect(new URL(answer.location).host).toBe(new URL(deck).host)
    }
  })

  it('starts another session than the browser had', async () => {
    const { deck, browser, signIn, me } = await openWithProvider()
    await signIn('anna-7')
    const before = [...browser.cookiesOf(deck).values()][0]!
    await signIn('anna-7')
    const after = [...browser.cookiesOf(deck).values()][0]!
    expect(after).not.toBe(before)
    const old = await fetch(`${deck}/api/v1/users/me`, {
      headers: { cookie: `${[...browser.cookiesOf(deck).keys()][0]}=${before}` }
    })
    expect([old.status, await me()]).toEqual([401, expect.objectContaining({ name: 'anna' })])
  })
})

describe('the token of the provider', () => {
  /** Signs in with the provider's token replaced by a forged one. */
  async function signInWithForged(
    forge: (
      claims: Record<string, unknown>,
      provider: Awaited<ReturnType<typeof openIdentityProvider>>
    ) => Promise<string>
  ) {
    const opened = await openWithProvider()
    const { provider, browser, begin, me } = opened
    const url = new URL(await begin())
    const back = await browser.signInAt(url.href, 'anna-7', provider.issuer)
    const nowSeconds = Math.floor(Date.now() / 1_000)
    const claims = {
      iss: provider.issuer,
      sub: 'anna-7',
      aud: CLIENT_ID,
      iat: nowSeconds,
      exp: nowSeconds + 600,
      nonce: url.searchParams.get('nonce'),
      preferred_username: 'anna',
      groups: ['admins']
    }
    const idToken = await forge(claims, provider)
    provider.intercept((request, response) => {
      if (request.url !== '/token') return false
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ access_token: 'x', token_type: 'Bearer', id_token: idToken }))
      return true
    })
    const { status } = await browser.go(back)
    return [status, await me()]
  }
  const LET_IN = [303, expect.objectContaining({ name: 'anna', role: 'owner' })]
  const REFUSED = [403, 401]
  const part = (content: object) => Buffer.from(JSON.stringify(content)).toString('base64url')

  it('is accepted unchanged', async () => {
    expect(await signInWithForged((claims, provider) => provider.sign(claims))).toEqual(LET_IN)
  })

  it.each<[string, Record<string, unknown>]>([
    ['of another nonce', { nonce: 'another' }],
    ['for another client', { aud: 'another' }],
    ['of another issuer', { iss: 'http://127.0.0.1:1' }],
    ['that has expired', { exp: 1_000_000_000 }],
    ['without a subject', { sub: undefined }]
  ])('is refused: %s', async (_what, changes) => {
    expect(await signInWithForged((claims, provider) => provider.sign({ ...claims, ...changes }))).toEqual(REFUSED)
  })

  it('is refused without a signature, with one by a public key, and with one of another issuer', async () => {
    expect(await signInWithForged(async (claims) => `${part({ alg: 'none' })}.${part(claims)}.`)).toEqual(REFUSED)
    const byPublicKey = signInWithForged(async (claims, provider) => {
      const { n, kid } = provider.publicKey()
      const key = new TextEncoder().encode(n)
      return new SignJWT(claims).setProtectedHeader({ alg: 'HS256', kid }).sign(key)
    })
    expect(await byPublicKey).toEqual(REFUSED)
    const byStranger = signInWithForged(async (claims, provider) => {
      const { privateKey } = await generateKeyPair('RS256')
      return new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: provider.publicKey().kid }).sign(privateKey)
    })
    expect(await byStranger).toEqual(REFUSED)
    const bySecret = signInWithForged((claims) =>
      new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(new TextEncoder().encode(CLIENT_SECRET.repeat(2)))
    )
    expect(await bySecret).toEqual(REFUSED)
  })
})

describe('a provider', () => {
  it('that changes its keys is trusted a minute after they were last fetched', async () => {
    const { provider, signIn, me } = await openWithProvider()
    await signIn('anna-7')
    await provider.rotateKeys('second')
    const soon = new Browser()
    expect((await signIn('anna-7', soon)).answer.status).toBe(403)
    const later = vi.spyOn(Date, 'now').mockImplementation(() => performance.timeOrigin + performance.now() + 61_000)
    onTestFinished(() => later.mockRestore())
    const afterwards = new Browser()
    await signIn('anna-7', afterwards)
    expect(await me(afterwards)).toMatchObject({ name: 'anna' })
  })

  it('that is down is reported as down, and passwords still work', async () => {
    const { deck, provider, browser, me } = await openWithProvider()
    await provider.stop()
    const refused = await browser.go(`${deck}/ui/login/oidc`)
    expect([refused.status, refused.body]).toEqual([503, expect.stringContaining('Example ID does not respond')])
    const form = new URLSearchParams({ username: 'scrapdeck', password: 'correct horse: battery' })
    const login = await browser.go(`${deck}/ui/login`, { method: 'POST', body: form, headers: { origin: deck } })
    expect([login.status, await me()]).toEqual([303, expect.objectContaining({ role: 'owner' })])
  })

  it.each<[string, (deck: string) => Response]>([
    ['too much', () => new Response('x'.repeat(2_000_000), { headers: JSON_TYPE })],
    ['a page', () => new Response('<html>', { headers: { 'content-type': 'text/html' } })],
    [
      'for another issuer',
      () => new Response(JSON.stringify({ issuer: 'http://127.0.0.1:1' }), { headers: JSON_TYPE })
    ],
    ['with a redirect', (deck) => new Response(null, { status: 302, headers: { location: `${deck}/health` } })],
    ['that it is broken', () => new Response('{}', { status: 500, headers: JSON_TYPE })]
  ])('that responds %s is not trusted', async (_what, make) => {
    const { deck, provider, browser } = await openWithProvider()
    let asked = 0
    provider.intercept((_request, response) => {
      asked += 1
      const answer = make(deck)
      response.writeHead(answer.status, Object.fromEntries(answer.headers))
      void answer.text().then((body) => response.end(body))
      return true
    })
    const refused = await browser.go(`${deck}/ui/login/oidc`)
    expect([refused.location, refused.body, asked]).toEqual(['', expect.stringContaining('role="alert"'), 1])
  })

  it('also ends its own session on logout, if the sign-in used it', async () => {
    const { deck, provider, browser, signIn, me } = await openWithProvider()
    await signIn('anna-7')
    const { status, body } = await browser.go(`${deck}/ui/logout`, { method: 'POST', headers: { origin: deck } })
    const { continueAt } = JSON.parse(body) as { continueAt: string }
    expect([status, continueAt, await me()]).toEqual([
      200,
      expect.stringContaining(`${provider.issuer}/session/end?`),
      401
    ])
    const { searchParams } = new URL(continueAt)
    expect(searchParams.get('post_logout_redirect_uri')).toBe(`${deck}/ui/login`)
    expect(searchParams.get('id_token_hint')).toMatch(/^ey/)
    const asked = await browser.go(continueAt)
    expect([asked.status, asked.body]).toEqual([200, expect.stringContaining('action="')])
  })

  it('that ends its session ends the session here, and no other session of the user', async () => {
    const { deck, provider, browser, begin, me } = await openWithProvider()
    const laptop = new Browser()
    for (const one of [browser, laptop]) await one.go(await one.signInAt(await begin(one), 'anna-7', provider.issuer))
    expect([await me(browser), await me(laptop)]).toMatchObject([{ name: 'anna' }, { name: 'anna' }])
    const page = await browser.go(`${provider.issuer}/session/end`)
    const [, action, secret] = /action="([^"]+)"[^]*name="xsrf" value="([^"]+)"/.exec(page.body)!
    await browser.go(action!, { method: 'POST', body: new URLSearchParams({ xsrf: secret!, logout: 'yes' }) })
    await expect.poll(() => me(browser)).toBe(401)
    expect([await me(laptop), deck]).toMatchObject([{ name: 'anna' }, deck])
  })

  it.each<[string, Record<string, unknown>, number]>([
    ['for the user, of which this engine knows no session there', {}, 200],
    ['for another client', { aud: 'another' }, 400],
    ['of another issuer', { iss: 'http://127.0.0.1:1' }, 400],
    ['that has expired', { exp: 1_000_000_000 }, 400],
    ['that says something else', { events: { 'http://example.org/event': {} } }, 400],
    ['that is one of a login', { nonce: 'x' }, 400]
  ])('ends all sessions of a user with a token %s: %j %i', async (_what, changes, status) => {
    const { deck, provider, signIn, me } = await openWithProvider()
    await signIn('anna-7')
    const events = { 'http://schemas.openid.net/event/backchannel-logout': {} }
    const token = await provider.sign({ aud: CLIENT_ID, sub: 'anna-7', jti: 'once', events, ...changes })
    const send = (logout_token: string) =>
      fetch(`${deck}/ui/login/oidc/logout`, { method: 'POST', body: new URLSearchParams({ logout_token }) })
    expect((await send(token)).status).toBe(status)
    expect((await send('nothing')).status).toBe(400)
    expect(await me()).toEqual(status === 200 ? 401 : expect.objectContaining({ name: 'anna' }))
  })

  it('cannot be flooded by one client, whose own oldest logins are discarded, not those of others', async () => {
    const { deck, provider, begin, me } = await openWithProvider()
    const patient = new Browser()
    const page = await begin(patient)
    for (let time = 0; time < 19; time++) await begin(new Browser())
    expect((await patient.go(await patient.signInAt(page, 'anna-7', provider.issuer))).location).toBe(`${deck}/ui/`)
    expect(await me(patient)).toMatchObject({ name: 'anna' })
    const impatient = new Browser()
    const forgotten = await begin(impatient)
    for (let time = 0; time < 20; time++) await begin(new Browser())
    expect((await impatient.go(await impatient.signInAt(forgotten, 'anna-7', provider.issuer))).status).toBe(403)
  })
})
