import { sentence } from '../../../shared/texts/errors/server.ts'
import { Secret, TOTP } from 'otpauth'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { UserId } from '../../../shared/contract/index.ts'
import { silentLogger } from '../../runtime/logger.ts'
import { systemRandom } from '../../runtime/random.ts'
import { asSealedText } from '../../runtime/secret-box.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { createSoftAuthenticator } from '../../testing/soft-authenticator.ts'
import { openTemporaryStore } from '../../testing/temporary-store.ts'
import { Access } from '../access.ts'
import { OWNER, type Principal } from '../principal.ts'
import { builtInRights } from '../../testing/built-in-rights.ts'
import { SecondFactors } from './second-factors.ts'

const PASSWORD = 'kestrel amber drawbridge'
const SITE = { origin: 'https://deck.example.org', host: 'deck.example.org' }
const STEP_MS = 30_000
const BAD_INPUT = { code: 'BAD_INPUT' }

const codeAt = (secret: string, atMs: number) =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: atMs })
const principalOf = ({ id, name }: { id: UserId; name: string }, over: Partial<Principal> = {}): Principal => ({
  userId: id,
  name,
  role: 'viewer',
  rights: builtInRights('viewer'),
  tokenId: null,
  sinceMs: 0,
  ...over
})

async function openFactors() {
  const temporary = await openTemporaryStore()
  onTestFinished(() => temporary.remove())
  const { store } = temporary
  const clock = createFakeClock()
  const common = { store, clock, random: systemRandom, logger: silentLogger }
  const access = await Access.open({ ...common, ownerName: 'scrapdeck', isGuessable: async () => false })
  const turned = (text: string) => text.split('').toReversed().join('')
  const secretBox = {
    seal: async (text: string) => asSealedText(turned(text)),
    open: async (text: string) => turned(text)
  }
  const open = () => SecondFactors.open({ ...common, access, secretBox })
  const factors = await open()
  const anna = await access.createUser({ name: 'anna', role: 'viewer', kind: 'person', password: PASSWORD })
  const by = principalOf(anna)
  const codeNow = (secret: string) => codeAt(secret, clock.nowMs())
  const turnOn = async () => {
    const { secret } = await factors.beginAuthenticator(by, PASSWORD, SITE.host)
    const recoveryCodes = await factors.confirmAuthenticator(by, codeNow(secret))
    return { secret, recoveryCodes }
  }
  const addPasskey = async (signCount = 0) => {
    const authenticator = createSoftAuthenticator(SITE)
    const { challenge } = (await factors.beginPasskey(by, PASSWORD, SITE)) as { challenge: string }
    const passkey = await factors.addPasskey(by, 'laptop', authenticator.register({ challenge, signCount }))
    return { authenticator, passkey }
  }
  return { access, store, clock, secretBox, factors, open, anna, by, codeNow, turnOn, addPasskey }
}

describe('an authenticator app', () => {
  it('is on only after the user entered one of its codes within ten minutes', async () => {
    const { factors, by, anna, clock, codeNow, store } = await openFactors()
    const { secret, uri, qrCode } = await factors.beginAuthenticator(by, PASSWORD, SITE.host)
    expect(uri).toMatch(/^otpauth:\/\/totp\/Scrapdeck:anna%20\(deck\.example\.org\)\?.*secret=/)
    expect(qrCode).toMatch(/^<svg /)
    await expect(factors.confirmAuthenticator(by, '000000')).rejects.toMatchObject(BAD_INPUT)
    expect(factors.stepAfterPassword(anna.id, { isRequired: false })).toBeNull()
    await clock.advanceBy(10 * 60_000)
    await expect(factors.confirmAuthenticator(by, codeNow(secret))).rejects.toThrow(/took more than ten minutes/)
    const again = await factors.beginAuthenticator(by, PASSWORD, SITE.host)
    expect(await factors.confirmAuthenticator(by, codeNow(again.secret))).toHaveLength(10)
    expect(factors.stepAfterPassword(anna.id, { isRequired: false })).toBe('code')
    expect(JSON.stringify(await store.listAuthenticators())).not.toContain(again.secret)
    await expect(factors.beginAuthenticator(by, PASSWORD, null)).rejects.toThrow(/already/)
  })

  it('is turned on once, with one set of recovery codes, by two simultaneous confirmations', async () => {
    const { factors, by, anna, codeNow, open } = await openFactors()
    const { secret } = await factors.beginAuthenticator(by, PASSWORD, SITE.host)
    const first = factors.confirmAuthenticator(by, codeNow(secret))
    // A login that sets up an app gets a new secret. The first confirmation does not match it.
    const other = await factors.beginSetUp(anna.id, SITE.host)
    const results = await Promise.allSettled([
      first,
      factors.confirmAuthenticator(by, codeNow(secret)),
      factors.confirmSetUp(anna.id, codeNow(other.secret)),
      factors.confirmSetUp(anna.id, codeNow(other.secret))
    ])
    const codes = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
    expect(codes).toHaveLength(1)
    expect(results.find(({ status }) => status === 'rejected')).toMatchObject({ reason: BAD_INPUT })
    const again = await open()
    expect(await again.useCode(anna.id, codes[0]![0]!, null)).toBe('recoveryCode')
  })

  it('accepts the codes of the previous and the next step, and of no others', async () => {
    const { factors, anna, clock, turnOn } = await openFactors()
    const { secret } = await turnOn()
    await clock.advanceBy(10 * STEP_MS)
    const at = (steps: number) => codeAt(secret, clock.nowMs() + steps * STEP_MS)
    for (const steps of [-2, 2]) expect(await factors.useCode(anna.id, at(steps), null)).toBeNull()
    for (const steps of [-1, 0, 1]) expect(await factors.useCode(anna.id, at(steps), null)).toBe('authenticator')
  })

  it('accepts each code once, even on another engine and after a restart, and no older one', async () => {
    const { factors, anna, clock, turnOn, open, codeNow } = await openFactors()
    const { secret } = await turnOn()
    expect(await factors.useCode(anna.id, codeNow(secret), null)).toBeNull()
    const other = await open()
    await clock.advanceBy(2 * STEP_MS)
    const before = codeAt(secret, clock.nowMs() - STEP_MS)
    const code = codeNow(secret)
    const results = await Promise.all([factors, other, factors].map((one) => one.useCode(anna.id, code, null)))
    expect(results.filter((result) => result !== null)).toEqual(['authenticator'])
    for (const one of [other, await open()]) {
      expect(await one.useCode(anna.id, code, null)).toBeNull()
      expect(await one.useCode(anna.id, before, null)).toBeNull()
    }
  })

  it('has ten recovery codes, each good for one login, until there are new ones', async () => {
    const { factors, anna, by, turnOn, open } = await openFactors()
    const { recoveryCodes } = await turnOn()
    expect(new Set(recoveryCodes).size).toBe(10)
    const [first = '', second = ''] = recoveryCodes
    expect(await factors.useCode(anna.id, ` ${first.toUpperCase().replaceAll('-', ' ')}`, null)).toBe('recoveryCode')
    expect(await factors.useCode(anna.id, first, null)).toBeNull()
    expect(factors.describe(by, SITE).authenticator).toMatchObject({ recoveryCodesLeft: 9 })
    expect(await (await open()).useCode(anna.id, first, null)).toBeNull()
    const [renewed = ''] = await factors.renewRecoveryCodes(by, PASSWORD)
    expect(await factors.useCode(anna.id, second, null)).toBeNull()
    expect(await factors.useCode(anna.id, renewed, null)).toBe('recoveryCode')
  })

  it('whose secret can no longer be decrypted leaves the recovery codes usable', async () => {
    const { factors, anna, turnOn, codeNow, secretBox } = await openFactors()
    const { secret, recoveryCodes } = await turnOn()
    secretBox.open = async () => {
      throw new Error('Encrypted with /data/secret.key')
    }
    await expect(factors.useCode(anna.id, codeNow(secret), null)).rejects.toThrow(
      /^Codes from this app can no longer be/
    )
    expect(await factors.useCode(anna.id, recoveryCodes[0]!, null)).toBe('recoveryCode')
  })

  it('limits guesses, but blocks neither its owner elsewhere nor recovery codes', async () => {
    const { factors, anna, clock, turnOn, codeNow } = await openFactors()
    const { secret, recoveryCodes } = await turnOn()
    for (let tries = 0; tries < 5; tries += 1) expect(await factors.useCode(anna.id, '000000', null)).toBeNull()
    await clock.advanceBy(STEP_MS)
    expect(await factors.useCode(anna.id, '000000', null)).toBeNull()
    const refused = { code: 'TOO_MANY_REQUESTS', data: { retryAfterSeconds: 4 } }
    await expect(factors.useCode(anna.id, codeNow(secret), null)).rejects.toMatchObject(refused)
    expect(await factors.useCode(anna.id, recoveryCodes[0]!, null)).toBe('recoveryCode')
    expect(await factors.useCode(anna.id, codeNow(secret), '10.0.0.7')).toBe('authenticator')
    await clock.advanceBy(STEP_MS)
    expect(await factors.useCode(anna.id, codeNow(secret), null)).toBe('authenticator')
  })

  it('can be turned on and off only by its owner with the password, and by no token', async () => {
    const { factors, access, by, anna, turnOn } = await openFactors()
    const ben = await access.createUser({ name: 'ben', role: 'viewer', kind: 'person', password: `${PASSWORD} too` })
    const token = principalOf(anna, { tokenId: 'f'.repeat(32) as Principal['tokenId'] })
    await turnOn()
    const changes = (one: Principal, current: string) => [
      () => factors.beginAuthenticator(one, current, null),
      () => factors.removeAuthenticator(one, current),
      () => factors.renewRecoveryCodes(one, current),
      () => factors.beginPasskey(one, current, SITE)
    ]
    for (const change of changes(by, 'wrong')) {
      await expect(change()).rejects.toMatchObject({ code: 'BAD_INPUT', data: { field: 'current' } })
    }
    for (const change of changes(token, PASSWORD)) {
      await expect(change()).rejects.toMatchObject({ code: 'PASSWORD_REQUIRED' })
    }
    for (const change of changes(OWNER, PASSWORD)) await expect(change()).rejects.toMatchObject(BAD_INPUT)
    await expect(factors.confirmAuthenticator(token, '000000')).rejects.toMatchObject({ code: 'PASSWORD_REQUIRED' })
    expect(await factors.removeAuthenticator(principalOf(ben), `${PASSWORD} too`)).toBe(false)
    expect(factors.hasAuthenticator(anna.id)).toBe(true)
    expect(await factors.removeAuthenticator(by, PASSWORD)).toBe(true)
    expect(factors.stepAfterPassword(anna.id, { isRequired: true })).toBe('setUp')
  })

  it('is required of users with a password if everyone must have one', async () => {
    const { factors, access, anna } = await openFactors()
    const isRequired = { isRequired: true }
    const proxied = await access.signIn({
      subject: 'proxy ben',
      name: 'ben',
      role: 'viewer',
      projects: {},
      nodeGroups: {}
    })
    expect([anna.id, proxied.userId, null].map((id) => factors.stepAfterPassword(id, isRequired))).toEqual([
      ...['setUp', null, null]
    ])
  })
})

describe('a passkey', () => {
  it('logs its user in, but not with a response to another challenge, for another host, or without verification', async () => {
    const { factors, anna, addPasskey } = await openFactors()
    const { authenticator, passkey } = await addPasskey()
    expect(passkey).toMatchObject({ name: 'laptop', host: SITE.host, lastUsedAtMs: null })
    const { challenge } = await factors.beginLogin(SITE)
    const asked = { site: SITE, challenge }
    const right = { challenge, userId: anna.id }
    for (const wrong of [
      { ...right, challenge: (await factors.beginLogin(SITE)).challenge },
      { ...right, origin: 'https://evil.example.org' },
      { ...right, isVerified: false },
      { ...right, userId: 'b'.repeat(32) }
    ]) {
      await expect(factors.finishLogin(authenticator.logIn(wrong), asked)).rejects.toMatchObject({
        code: 'UNAUTHORIZED'
      })
    }
    const forged = createSoftAuthenticator(SITE).logIn(right)
    for (const id of [authenticator.id, forged.id]) {
      await expect(factors.finishLogin({ ...forged, id, rawId: id }, asked)).rejects.toMatchObject({
        code: 'UNAUTHORIZED'
      })
    }
    const elsewhere = { site: { origin: 'https://other.example.org', host: 'other.example.org' }, challenge }
    await expect(factors.finishLogin(authenticator.logIn(right), elsewhere)).rejects.toMatchObject({
      code: 'UNAUTHORIZED'
    })
    expect(await factors.finishLogin(authenticator.logIn(right), asked)).toMatchObject({ name: 'anna', tokenId: null })
  })

  it('that counts its signatures is refused if the count goes back, because it has been cloned', async () => {
    const { factors, anna, addPasskey, open } = await openFactors()
    const { authenticator } = await addPasskey(3)
    const logIn = async (signCount: number, at = factors) => {
      const { challenge } = await at.beginLogin(SITE)
      const answer = authenticator.logIn({ challenge, userId: anna.id, signCount })
      return at.finishLogin(answer, { site: SITE, challenge }).then(
        () => 'in',
        (error: { code: string }) => error.code
      )
    }
    const other = await open()
    expect([await logIn(3), await logIn(4), await logIn(4), await logIn(5)]).toEqual([
      ...['UNAUTHORIZED', 'in', 'UNAUTHORIZED', 'in']
    ])
    // Another engine does not know the last codes, but the store does.
    expect(await logIn(5, other)).toBe('UNAUTHORIZED')
  })

  it('is added with the password, in response to the last challenge, once', async () => {
    const { factors, by, clock, addPasskey } = await openFactors()
    const { authenticator } = await addPasskey()
    const begin = async () => ((await factors.beginPasskey(by, PASSWORD, SITE)) as { challenge: string }).challenge
    const add = (challenge: string, one = createSoftAuthenticator(SITE), over = {}) =>
      factors.addPasskey(by, 'phone', one.register({ challenge, ...over }))
    const [first, second] = [await begin(), await begin()]
    await expect(add(first)).rejects.toMatchObject(BAD_INPUT)
    await expect(add(second)).rejects.toThrow(/Start again/)
    await expect(add(await begin(), undefined, { isVerified: false })).rejects.toMatchObject(BAD_INPUT)
    await expect(add(await begin(), undefined, { origin: 'http://deck.example.org' })).rejects.toMatchObject(BAD_INPUT)
    await expect(add(await begin(), authenticator)).rejects.toMatchObject(BAD_INPUT)
    const late = await begin()
    await clock.advanceBy(10 * 60_000)
    await expect(add(late)).rejects.toThrow(/more than ten minutes/)
    expect(await add(await begin())).toMatchObject({ name: 'phone' })
    expect(factors.describe(by, SITE).passkeys.map(({ name }) => name)).toEqual(['laptop', 'phone'])
  })

  it('cannot be added where browsers do not support passkeys, and the error says why', async () => {
    const { factors, by } = await openFactors()
    const nowhere = { problem: sentence('server.passkeys_need_https', { origin: 'http://a' }) }
    await expect(factors.beginPasskey(by, PASSWORD, nowhere)).rejects.toThrow(nowhere.problem.text)
    expect(factors.describe(by, nowhere)).toMatchObject({ passkeyProblem: nowhere.problem.text })
  })

  it('can be removed by its owner only, and does not log in a disabled or removed user', async () => {
    const { factors, access, by, anna, addPasskey, open } = await openFactors()
    const { authenticator, passkey } = await addPasskey()
    const ben = await access.createUser({ name: 'ben', role: 'viewer', kind: 'person', password: `${PASSWORD} too` })
    expect(await factors.removePasskey(principalOf(ben), passkey.id, `${PASSWORD} too`)).toBe(false)
    const { challenge } = await factors.beginLogin(SITE)
    const logIn = () =>
      factors.finishLogin(authenticator.logIn({ challenge, userId: anna.id }), { site: SITE, challenge })
    await access.updateUser(anna.id, { enabled: false })
    await expect(logIn()).rejects.toThrow(/is disabled/)
    await access.updateUser(anna.id, { enabled: true })
    expect(await factors.removePasskey(by, passkey.id, PASSWORD)).toBe(true)
    await expect(logIn()).rejects.toThrow(/not accepted/)
    await addPasskey()
    await access.removeUser(anna.id)
    expect([factors.havePasskeys, (await open()).havePasskeys]).toEqual([false, false])
  })
})

it('an owner resets the second factors of a user: all are gone, and the sessions end', async () => {
  const { factors, access, anna, turnOn, addPasskey, open, clock } = await openFactors()
  await turnOn()
  await addPasskey()
  const sinceMs = access.sessionStart(anna.id)
  await clock.advanceBy(1)
  const user = factors.describeUser(await factors.reset(anna.id))
  expect(user).toMatchObject({ name: 'anna', hasAuthenticator: false, passkeyCount: 0, hasPassword: true })
  expect(access.findBySession(anna.id, sinceMs)).toBeNull()
  expect((await open()).describe(principalOf(anna), SITE)).toMatchObject({ authenticator: null, passkeys: [] })
  await expect(factors.reset('e'.repeat(32) as UserId)).rejects.toMatchObject({ code: 'USER_NOT_FOUND' })
})
