import type { LightMyRequestResponse } from 'fastify'
import { Secret, TOTP } from 'otpauth'
import { describe, expect, it } from 'vitest'
import { OWNER } from '../engine/access/principal.ts'
import { createSoftAuthenticator } from '../engine/testing/soft-authenticator.ts'
import { NO_SIGN_IN } from './auth/sign-in-options.ts'
import { basic, openTestApp } from './testing/test-app.ts'

const PASSWORD = 'kestrel amber drawbridge'
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const SITE = { origin: 'http://localhost:6800', host: 'localhost' }
const STEP_MS = 30_000
const MINUTE_MS = 60_000

class Jar {
  readonly #cookies = new Map<string, string>()

  keep({ headers }: LightMyRequestResponse): void {
    for (const line of [headers['set-cookie'] ?? []].flat()) {
      const [name = '', value = ''] = (line.split(';', 1)[0] ?? '').split('=')
      if (value === '') this.#cookies.delete(name)
      else this.#cookies.set(name, value)
    }
  }

  get header(): string {
    return [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  }
}

async function openWithAnna(options: { requiresSecondFactor?: boolean } = {}) {
  const { requiresSecondFactor = false } = options
  const app = openTestApp({ signIn: { ...NO_SIGN_IN, requiresSecondFactor } })
  const { access, secondFactors, accessClock, audited } = app.engine
  const anna = await access.createUser({ name: 'anna', kind: 'person', role: 'viewer', password: PASSWORD })
  const advance = async (ms: number) => {
    await app.clock.advanceBy(ms)
    await accessClock.advanceBy(ms)
  }
  const browser = (remoteAddress = '192.0.2.7') => {
    const jar = new Jar()
    const ask = async (method: 'GET' | 'POST', url: string, payload?: object | string) => {
      const type =
        typeof payload === 'string' ? FORM : payload === undefined ? {} : { 'content-type': 'application/json' }
      const headers = { host: 'localhost:6800', cookie: jar.header, ...type }
      const answer = await app.fastify.inject({ method, url, headers, remoteAddress, ...(payload && { payload }) })
      jar.keep(answer)
      return answer
    }
    const post = (fields: Record<string, string>) => ask('POST', '/ui/login', new URLSearchParams(fields).toString())
    const api = (path: string, body: object = {}) => ask('POST', `/api/v1/users/me/${path}`, body)
    return {
      jar,
      ask,
      post,
      api,
      password: (password = PASSWORD) => post({ username: 'anna', password }),
      code: (page: LightMyRequestResponse, code: string) => post({ step: stepIn(page), code }),
      me: async () => {
        const answer = await ask('GET', '/api/v1/users/me')
        return answer.statusCode === 200 ? answer.json<{ name: string }>().name : answer.statusCode
      }
    }
  }
  const codeNow = (secret: string) =>
    new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: accessClock.nowMs() })
  /** Turns on anna's app and advances the clock, so that its last code is a minute old. */
  const turnOn = async () => {
    const page = browser()
    await page.password()
    const { secret } = (await page.api('authenticator', { current: PASSWORD })).json<{ secret: string }>()
    const answer = await page.api('authenticator/confirm', { code: codeNow(secret) })
    await advance(2 * STEP_MS)
    return { secret, recoveryCodes: answer.json<{ recoveryCodes: string[] }>().recoveryCodes, page }
  }
  const addPasskey = async () => {
    const page = browser()
    await page.password()
    const authenticator = createSoftAuthenticator(SITE)
    const { options: made } = (await page.api('passkeys/begin', { current: PASSWORD })).json<{
      options: { challenge: string }
    }>()
    const credential = authenticator.register({ challenge: made.challenge })
    expect((await page.api('passkeys', { name: 'laptop', credential })).statusCode).toBe(200)
    return { authenticator, page }
  }
  const lastAudited = () => audited.at(-1)!
  return { ...app, access, secondFactors, anna, browser, codeNow, turnOn, addPasskey, advance, audited, lastAudited }
}

const stepIn = ({ body }: LightMyRequestResponse): string => /name="step" value="([0-9a-f]+)"/.exec(body)?.[1] ?? ''

describe('a login with an authenticator app', () => {
  it('asks for the code after the password, and gives no access before it', async () => {
    const { browser, turnOn, codeNow, lastAudited } = await openWithAnna()
    const { secret } = await turnOn()
    const page = browser()
    const asked = await page.password()
    expect([asked.statusCode, asked.body]).toEqual([200, expect.stringContaining('Enter the code')])
    expect(asked.headers['content-security-policy']).not.toContain('script-src')
    expect(await page.me()).toBe(401)
    const wrong = await page.code(asked, '000000')
    expect([wrong.statusCode, wrong.body]).toEqual([401, expect.stringContaining('This code is wrong')])
    expect(lastAudited()).toMatchObject({ operation: 'login', result: 'refused' })
    const right = await page.code(wrong, codeNow(secret))
    expect([right.statusCode, right.headers.location]).toEqual([303, '/ui/'])
    expect(await page.me()).toBe('anna')
    expect(lastAudited()).toMatchObject({ operation: 'login', result: 'done' })
    expect(JSON.stringify(lastAudited())).toContain('authenticator')
  })

  it('responds to a wrong password as for an unknown user', async () => {
    const { browser, turnOn } = await openWithAnna()
    await turnOn()
    const [wrong, unknown] = [await browser().password('x'), await browser().post({ username: 'ben', password: 'x' })]
    expect([wrong.statusCode, wrong.body]).toEqual([unknown.statusCode, unknown.body])
  })

  it('accepts no code twice, and a recovery code once', async () => {
    const { browser, turnOn, codeNow } = await openWithAnna()
    const { secret, recoveryCodes } = await turnOn()
    const logIn = async (code: string) => {
      const page = browser()
      return (await page.code(await page.password(), code)).statusCode
    }
    const code = codeNow(secret)
    expect([await logIn(code), await logIn(code)]).toEqual([303, 401])
    expect([await logIn(recoveryCodes[0]!), await logIn(recoveryCodes[0]!)]).toEqual([303, 401])
  })

  it('lets in only one of several browsers that send the same code, or the same recovery code, at once', async () => {
    const { browser, turnOn, codeNow } = await openWithAnna()
    const { secret, recoveryCodes } = await turnOn()
    for (const code of [codeNow(secret), recoveryCodes[0]!]) {
      const pages = await Promise.all(
        Array.from({ length: 4 }, async (_, at) => {
          const page = browser(`192.0.2.${at}`)
          return { page, asked: await page.password() }
        })
      )
      const answers = await Promise.all(pages.map(({ page, asked }) => page.code(asked, code)))
      expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([303, 401, 401, 401])
      expect((await Promise.all(pages.map(({ page }) => page.me()))).filter((name) => name === 'anna')).toHaveLength(1)
    }
    // Two concurrent requests from one page of one browser start only one session.
    const page = browser()
    const asked = await page.password()
    const twice = await Promise.all([page.code(asked, recoveryCodes[1]!), page.code(asked, recoveryCodes[2]!)])
    expect(twice.map(({ statusCode }) => statusCode).filter((status) => status === 303)).toHaveLength(1)
  })

  it('is valid for one browser, one page and ten minutes, and for the password at that time', async () => {
    const { browser, turnOn, codeNow, advance, access, anna } = await openWithAnna()
    const { secret } = await turnOn()
    const [page, thief] = [browser(), browser()]
    const asked = await page.password()
    const own = await thief.password()
    const startAgain = (answer: LightMyRequestResponse) =>
      expect([answer.statusCode, answer.body]).toEqual([403, expect.stringContaining('Start again')])
    startAgain(await browser().code(asked, codeNow(secret)))
    // A cookie that another page has added does not match the page where the code was entered.
    expect(stepIn(own)).not.toBe(stepIn(asked))
    startAgain(await thief.code(asked, codeNow(secret)))
    await advance(10 * MINUTE_MS)
    startAgain(await page.code(asked, codeNow(secret)))
    const later = await page.password()
    await access.updateUser(anna.id, { password: 'lantern osprey cobblestone' })
    startAgain(await page.code(later, codeNow(secret)))
  })

  it('ends after five wrong codes, and then the account is delayed for unknown clients', async () => {
    const { browser, turnOn, codeNow, advance } = await openWithAnna()
    const { secret, recoveryCodes } = await turnOn()
    const page = browser('198.51.100.9')
    let answer = await page.password()
    for (let tries = 0; tries < 4; tries += 1) answer = await page.code(answer, '000000')
    expect((await page.code(answer, '000000')).body).toContain('Start again')
    expect((await page.code(answer, codeNow(secret))).statusCode).toBe(403)
    await advance(5_000)
    const again = browser('198.51.100.9')
    await again.code(await again.password(), '000000')
    const slow = await again.code(await again.password(), codeNow(secret))
    expect([slow.statusCode, slow.body]).toEqual([429, expect.stringContaining('use a recovery code')])
    expect((await again.code(slow, recoveryCodes[3]!)).statusCode).toBe(303)
    const own = browser()
    expect((await own.code(await own.password(), codeNow(secret))).statusCode).toBe(303)
  })

  it('does not make an address known with the password alone', async () => {
    const { browser, turnOn } = await openWithAnna()
    await turnOn()
    const thief = browser('198.51.100.9')
    await thief.password()
    for (let tries = 0; tries < 10; tries += 1) await thief.password('wrong')
    expect((await thief.password()).statusCode).toBe(429)
  })
})

describe('a program of a user with a second factor', () => {
  it('has to use a token instead of the password, which works as before', async () => {
    const { access, anna, turnOn, askAnonymously, lastAudited } = await openWithAnna()
    const me = (authorization: string) => askAnonymously({ url: '/api/v1/users/me', headers: { authorization } })
    const { secret: token } = await access.createToken(OWNER, { name: 'ci', userId: anna.id, expiresInDays: null })
    expect((await me(basic('anna', PASSWORD))).statusCode).toBe(200)
    await turnOn()
    const refused = await me(basic('anna', PASSWORD))
    expect([refused.statusCode, refused.json()]).toMatchObject([
      ...[403, { code: 'SECOND_FACTOR_REQUIRED', message: expect.stringContaining('Send a token') }]
    ])
    expect(lastAudited()).toMatchObject({ result: 'refused', code: 'SECOND_FACTOR_REQUIRED' })
    expect((await me(basic('anna', 'wrong, and long enough'))).statusCode).toBe(401)
    expect((await me(basic('anna', token))).statusCode).toBe(200)
    expect((await me(`Bearer ${token}`)).statusCode).toBe(200)
    // The service's own password needs no second factor.
    expect((await me(basic('scrapdeck', 'correct horse: battery'))).statusCode).toBe(200)
  })

  it('with a token cannot set up or remove a second factor', async () => {
    const { access, anna, askAnonymously, turnOn } = await openWithAnna()
    await turnOn()
    const { secret } = await access.createToken(OWNER, { name: 'ci', userId: anna.id, expiresInDays: null })
    const headers = { authorization: `Bearer ${secret}` }
    const post = async (path: string, payload: object) =>
      (await askAnonymously({ method: 'POST', url: `/api/v1/users/me/${path}`, headers, payload })).json()
    for (const path of ['authenticator', 'authenticator/remove', 'recovery-codes', 'passkeys/begin']) {
      expect(await post(path, { current: PASSWORD })).toMatchObject({ code: 'PASSWORD_REQUIRED' })
    }
  })
})

describe('a change of second factors', () => {
  it('ends the other sessions of the user, and keeps the current one', async () => {
    const { browser, turnOn, access } = await openWithAnna()
    await access.createUser({ name: 'boss', kind: 'person', role: 'owner', password: PASSWORD })
    const [other, boss] = [browser(), browser()]
    await other.password()
    await boss.post({ username: 'boss', password: PASSWORD })
    const { page } = await turnOn()
    expect([await other.me(), await page.me(), await boss.me()]).toEqual([401, 'anna', 'boss'])
  })

  it('is in the audit log without anything that an attacker could use', async () => {
    const { turnOn, audited } = await openWithAnna()
    const { secret, recoveryCodes } = await turnOn()
    const log = JSON.stringify(audited)
    expect(log).toContain('secondFactors.confirmAuthenticator')
    for (const hidden of [PASSWORD, secret, ...recoveryCodes]) expect(log).not.toContain(hidden)
  })

  it('is never stored for a repeated request', async () => {
    const { ask } = openTestApp()
    const request = {
      method: 'POST' as const,
      url: '/api/v1/users/me/recovery-codes',
      headers: { 'idempotency-key': 'k1' },
      payload: { current: PASSWORD }
    }
    for (const _ of [1, 2]) expect((await ask(request)).headers['idempotency-replayed']).toBeUndefined()
  })
})

describe('if every user needs a second factor', () => {
  it('the app is set up at the next login, which shows the recovery codes once', async () => {
    const { browser, codeNow, lastAudited, askAnonymously, audited } = await openWithAnna({
      requiresSecondFactor: true
    })
    const headers = { authorization: basic('anna', PASSWORD) }
    expect((await askAnonymously({ url: '/api/v1/users/me', headers })).statusCode).toBe(403)
    const page = browser()
    const asked = await page.password()
    expect(asked.body).toContain('Set up an authenticator app')
    const secret = /<code>([A-Z2-7]+)<\/code>/.exec(asked.body)![1]!
    expect(await page.me()).toBe(401)
    const wrong = await page.code(asked, '000000')
    expect([wrong.statusCode, wrong.body]).toEqual([400, expect.stringContaining(secret)])
    const done = await page.code(wrong, codeNow(secret))
    expect(done.body.match(/\w{4}-\w{4}-\w{4}-\w{4}/g)).toHaveLength(10)
    // A form without an action keeps the fragment, which names the requested page. A link would lose it.
    expect(done.body).toMatch(/<form method="post">\n<input type="hidden" name="saved" value="yes">/)
    expect(done.body).not.toContain('href="/ui/"')
    const goneOn = await page.post({ saved: 'yes' })
    expect([goneOn.statusCode, goneOn.headers.location]).toEqual([303, '/ui/'])
    expect(await page.me()).toBe('anna')
    expect(lastAudited()).toMatchObject({ operation: 'login' })
    expect(audited.map(({ operation }) => operation)).toContain('secondFactors.confirmAuthenticator')
    expect((await browser().password()).body).toContain('Enter the code')
  })

  it('a login sets up no app after a new password, which would lock out the user who has set it', async () => {
    const { browser, codeNow, access, anna, secondFactors } = await openWithAnna({ requiresSecondFactor: true })
    const page = browser()
    const asked = await page.password()
    const secret = /<code>([A-Z2-7]+)<\/code>/.exec(asked.body)![1]!
    const { confirmSetUp } = secondFactors
    secondFactors.confirmSetUp = async (...given) => {
      await access.updateUser(anna.id, { password: 'lantern osprey cobblestone' })
      return confirmSetUp.apply(secondFactors, given)
    }
    const late = await page.code(asked, codeNow(secret))
    expect([late.statusCode, late.body]).toEqual([400, expect.stringContaining('was changed in the meantime')])
    expect(secondFactors.hasAuthenticator(anna.id)).toBe(false)
    expect(await page.me()).toBe(401)
  })

  it('a user who only has a passkey logs in with that: a stolen password creates no second factor', async () => {
    const { browser, anna, engine } = await openWithAnna({ requiresSecondFactor: true })
    const { access, secondFactors } = engine
    const by = access.findBySession(anna.id, access.sessionStart(anna.id))!
    const { challenge } = (await secondFactors.beginPasskey(by, PASSWORD, SITE)) as { challenge: string }
    await secondFactors.addPasskey(by, 'laptop', createSoftAuthenticator(SITE).register({ challenge }))
    const page = browser()
    const refused = await page.password()
    expect([refused.statusCode, refused.body]).toEqual([403, expect.stringContaining('log in with your passkey')])
    expect(await page.me()).toBe(401)
  })
})

describe('a login with a passkey', () => {
  const begin = async (page: { ask: (method: 'POST', url: string) => Promise<LightMyRequestResponse> }) =>
    (await page.ask('POST', '/ui/login/passkey')).json<{ challenge: string }>().challenge

  it('needs neither password nor code, and the session shows that', async () => {
    const { browser, addPasskey, anna, lastAudited, turnOn } = await openWithAnna()
    const { authenticator } = await addPasskey()
    await turnOn()
    const page = browser()
    expect((await page.ask('GET', '/ui/login')).headers['content-security-policy']).toMatch(
      /script-src 'sha256-[^']+'; connect-src 'self'$/
    )
    const answer = authenticator.logIn({ challenge: await begin(page), userId: anna.id })
    expect((await page.post({ passkey: JSON.stringify(answer) })).statusCode).toBe(303)
    expect(await page.me()).toBe('anna')
    const { sessions } = (await page.ask('GET', '/api/v1/sessions')).json<{ sessions: object[] }>()
    expect(sessions).toContainEqual(expect.objectContaining({ signedInWith: 'passkey', isCurrent: true }))
    expect(JSON.stringify(lastAudited())).toContain('passkey')
  })

  it('accepts each challenge once, from the browser that requested it, within ten minutes', async () => {
    const { browser, addPasskey, anna, advance } = await openWithAnna()
    const { authenticator } = await addPasskey()
    const refused = async (page: ReturnType<typeof browser>, challenge: string) => {
      const answer = authenticator.logIn({ challenge, userId: anna.id })
      expect((await page.post({ passkey: JSON.stringify(answer) })).statusCode).toBe(401)
    }
    const page = browser()
    await refused(browser(), await begin(page))
    const challenge = await begin(page)
    const answer = authenticator.logIn({ challenge, userId: anna.id })
    const stolen = page.jar.header
    expect((await page.post({ passkey: JSON.stringify(answer) })).statusCode).toBe(303)
    const again = browser()
    again.jar.keep({ headers: { 'set-cookie': stolen } } as unknown as LightMyRequestResponse)
    await refused(again, challenge)
    const late = await begin(page)
    await advance(10 * MINUTE_MS)
    await refused(page, late)
    for (const junk of ['x', '{}', '[]', JSON.stringify({ ...answer, response: {} })]) {
      await begin(page)
      expect((await page.post({ passkey: junk })).statusCode).toBe(401)
    }
  })

  it('is not offered before there is a passkey, and the page says why if it cannot work', async () => {
    const { browser, addPasskey, askAnonymously } = await openWithAnna()
    expect((await browser().ask('GET', '/ui/login')).body).not.toContain('passkey')
    await addPasskey()
    const page = await askAnonymously({ url: '/ui/login' })
    expect(page.body).toContain('open http://localhost:6800/ui/')
    expect(page.headers['content-security-policy']).not.toContain('script-src')
    const options = await askAnonymously({ method: 'POST', url: '/ui/login/passkey' })
    expect([options.statusCode, options.body]).toEqual([400, expect.stringContaining('open http://localhost:6800/ui/')])
  })
})
