import { sentence } from '../../shared/texts/errors/access.ts'
import { TOTP, Secret } from 'otpauth'
import { describe, expect, it, onTestFinished } from 'vitest'
import { silentLogger } from '../runtime/logger.ts'
import { systemRandom } from '../runtime/random.ts'
import { asSealedText } from '../runtime/secret-box.ts'
import { createFakeClock } from '../testing/fake-clock.ts'
import { createSoftAuthenticator } from '../testing/soft-authenticator.ts'
import { openTemporaryStore } from '../testing/temporary-store.ts'
import { Access } from './access.ts'
import { actAs } from './acting.ts'
import { OWNER } from './principal.ts'
import { SecondFactors } from './second-factor/second-factors.ts'

const OLD = 'kestrel amber drawbridge'
const NEW = 'lantern osprey cobblestone'
const THEIRS = 'gravel mandolin eclipse'
const SITE = { origin: 'https://deck.example.org', host: 'deck.example.org' }
const ROLE = { name: 'keeper', description: '', permissions: ['jobs.run' as const] }

async function openWithAnna() {
  const temporary = await openTemporaryStore()
  onTestFinished(() => temporary.remove())
  const clock = createFakeClock()
  let judged: Promise<boolean> = Promise.resolve(false)
  const common = { store: temporary.store, clock, random: systemRandom, logger: silentLogger }
  const access = await Access.open({ ...common, ownerName: 'scrapdeck', isGuessable: () => judged })
  const secretBox = {
    seal: async (text: string) => asSealedText(text),
    open: async (text: string) => text
  }
  const factors = await SecondFactors.open({ ...common, access, secretBox })
  const anna = await access.createUser({ name: 'anna', kind: 'person', role: 'owner', password: OLD })
  const ben = await access.createUser({ name: 'ben', kind: 'person', role: 'viewer', password: OLD })
  const session = access.findBySession(anna.id, access.sessionStart(anna.id))!
  const beginNewPassword = () => {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    judged = promise
    const stored = access.updateUser(anna.id, { password: NEW })
    return {
      finish: async () => {
        resolve(false)
        await stored
      }
    }
  }
  const confirm = (current: string) =>
    access.confirmPassword(session, current, {
      what: 'do this',
      ofService: sentence('access.service_password_elsewhere')
    })
  return { access, clock, factors, anna, ben, session, beginNewPassword, confirm }
}

describe('a user logged out by a new password while one of their requests waits', () => {
  it('can no longer change users, groups, roles or tokens', async () => {
    const { access, anna, ben, session, beginNewPassword } = await openWithAnna()
    const { groups, roles } = access
    const group = await groups.create({ name: 'team' })
    await roles.create(ROLE)
    const { token } = await access.createToken(OWNER, { name: 'old', userId: anna.id, expiresInDays: null })
    const state = () => [access.listUsers(), groups.list(), roles.list(), access.listTokens(OWNER)]
    const { finish } = beginNewPassword()
    const late = actAs(session, () => [
      access.createToken(session, { name: 'new', expiresInDays: null }),
      access.revokeToken(session, token.id),
      access.createUser({ name: 'backdoor', kind: 'service', role: 'owner' }),
      access.updateUser(ben.id, { role: 'owner' }),
      access.removeUser(ben.id),
      access.endSessionsOf(ben.id),
      groups.create({ name: 'other' }),
      groups.update(group.id, { role: 'owner', members: [ben.id] }),
      groups.remove(group.id),
      roles.create({ ...ROLE, name: 'other' }),
      roles.update({ ...ROLE, permissions: ['jobs.run', 'jobs.cancel'] }),
      roles.remove(ROLE.name)
    ])
    const before = JSON.stringify(state())
    const results = Promise.allSettled(late)
    await finish()
    for (const result of await results) expect(result).toMatchObject({ reason: { code: 'UNAUTHORIZED' } })
    expect(JSON.stringify(state())).toBe(before)
  })

  it('can no longer change second factors, even if the request had the right old password', async () => {
    const { clock, factors, ben, session, beginNewPassword, confirm } = await openWithAnna()
    const challengeOf = async () =>
      ((await factors.beginPasskey(session, OLD, SITE)) as { challenge: string }).challenge
    const register = (challenge: string) => createSoftAuthenticator(SITE).register({ challenge })
    const kept = await factors.addPasskey(session, 'laptop', register(await challengeOf()))
    const { secret } = await factors.beginAuthenticator(session, OLD, null)
    const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: clock.nowMs() })
    const challenge = await challengeOf()
    const { finish } = beginNewPassword()
    const late = actAs(session, () => [
      factors.confirmAuthenticator(session, code),
      factors.addPasskey(session, 'phone', register(challenge)),
      factors.removePasskey(session, kept.id, OLD),
      factors.removeAuthenticator(session, OLD),
      factors.renewRecoveryCodes(session, OLD),
      factors.reset(ben.id)
    ])
    const results = Promise.allSettled(late)
    // These passwords are compared after those of the late changes, so all late changes are now waiting. Two
    // comparisons run in parallel, so one call would not be enough.
    for (let count = 0; count < 8; count += 1) await confirm(OLD)
    await finish()
    for (const result of await results) expect(result).toMatchObject({ reason: { code: 'UNAUTHORIZED' } })
    expect(factors.describe(session, SITE)).toMatchObject({ authenticator: null, passkeys: [kept] })
  })

  it('cannot keep its own session alive', async () => {
    const { access, anna, session, beginNewPassword } = await openWithAnna()
    const { finish } = beginNewPassword()
    const kept: number[] = []
    const keep = (sinceMs: number) => void kept.push(sinceMs)
    const ended = Promise.allSettled([access.endOtherSessions(anna.id, () => session.sinceMs, keep)])
    await finish()
    expect(await ended).toMatchObject([{ reason: { code: 'UNAUTHORIZED' } }])
    const sinceMs = access.sessionStart(anna.id)
    expect(kept).toEqual([])
    await access.endOtherSessions(anna.id, () => sinceMs, keep)
    expect(access.findBySession(anna.id, sinceMs)).toBeNull()
    expect(access.findBySession(anna.id, kept[0]!)).not.toBeNull()
    await expect(access.endOtherSessions(anna.id, () => null, keep)).rejects.toMatchObject({ code: 'UNAUTHORIZED' })
  })
})

describe('a password that is changed while another change is being confirmed', () => {
  it.each(['after', 'before'])('stays, even if the old one was verified %s that', async (order) => {
    const { access, session, beginNewPassword, confirm } = await openWithAnna()
    const { finish } = beginNewPassword()
    const theft = Promise.allSettled([access.changeOwnPassword(session, OLD, THEIRS)])
    if (order === 'before') for (const _ of [1, 2]) await confirm(OLD)
    await finish()
    const reason = { code: 'BAD_INPUT', message: expect.stringContaining('was changed in the meantime') }
    expect(await theft).toMatchObject([{ reason }])
    expect(await access.findByPassword('anna', THEIRS)).toBeNull()
    expect(await access.findByPassword('anna', NEW)).not.toBeNull()
  })

  it('does not let the old one confirm anything, and earlier guesses still count', async () => {
    const { access, anna, confirm } = await openWithAnna()
    for (let guesses = 0; guesses < 9; guesses += 1) await confirm('wrong').catch(() => {})
    const stored = access.updateUser(anna.id, { password: NEW })
    // Two passwords are hashed in parallel. The new one was queued before the four below, so it is hashed before they
    // are compared.
    await new Promise((resolve) => setImmediate(resolve))
    const others = [1, 2, 3, 4].map(() => access.findByPassword('ben', OLD))
    await expect(confirm(OLD)).rejects.toThrow(/was changed in the meantime/)
    await Promise.all([stored, ...others])
    await expect(confirm(NEW)).rejects.toMatchObject({ code: 'TOO_MANY_REQUESTS' })
  })

  it('cannot be replaced by itself, which would end no stolen session', async () => {
    const { access, session } = await openWithAnna()
    await expect(access.changeOwnPassword(session, OLD, OLD)).rejects.toMatchObject({
      code: 'BAD_INPUT',
      message: expect.stringContaining('same as the current one'),
      data: { field: 'password' }
    })
    expect(access.isCurrent(session)).toBe(true)
  })
})

it('"Log out everywhere" ends waiting requests, except those of the service’s own account', async () => {
  const { access, session } = await openWithAnna()
  const ended = access.endAllSessions()
  const make = (name: string) => access.createUser({ name, kind: 'service', role: 'viewer' })
  const [late, own] = [actAs(session, () => make('late')), actAs(OWNER, () => make('own'))]
  await expect(late).rejects.toMatchObject({ code: 'UNAUTHORIZED' })
  expect(await own).toMatchObject({ name: 'own' })
  await ended
})
