import fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type Role, ROLES } from '../../shared/roles.ts'
import { silentLogger } from '../runtime/logger.ts'
import { systemRandom } from '../runtime/random.ts'
import { createFakeClock } from '../testing/fake-clock.ts'
import { openTemporaryStore } from '../testing/temporary-store.ts'
import { Access } from './access.ts'
import { isGuessable, type JudgedPassword } from './password-strength/judge-password.ts'
import { Passwords } from './passwords.ts'
import { OWNER, type Principal } from './principal.ts'
import { builtInRights } from '../testing/built-in-rights.ts'
import { isTokenText, makeTokenText } from './token-commands.ts'

const judge = async (password: JudgedPassword) => isGuessable(password)
const PASSWORD = 'kestrel amber drawbridge'

async function openAccess() {
  const temporary = await openTemporaryStore()
  onTestFinished(() => temporary.remove())
  const { store } = temporary
  const clock = createFakeClock()
  const parts = { store, clock, random: systemRandom, logger: silentLogger, ownerName: 'scrapdeck', isGuessable: judge }
  return { access: await Access.open(parts), clock, reopen: () => Access.open(parts) }
}

const aPerson = (name: string, role: Role = 'operator') => ({ name, kind: 'person', role, password: PASSWORD }) as const
const principalOf = (user: { id: Principal['userId']; name: string; role: string | null }): Principal => ({
  userId: user.id,
  name: user.name,
  role: user.role!,
  rights: builtInRights(user.role as Role),
  tokenId: null,
  sinceMs: Number.MAX_SAFE_INTEGER
})

describe('users and tokens', () => {
  it('are the same after a restart, including when they were last seen', async () => {
    const { access, clock, reopen } = await openAccess()
    const anna = await access.createUser(aPerson('anna'))
    const { secret } = await access.createToken(OWNER, { name: 'a', userId: anna.id, expiresInDays: 1 })
    expect(access.findByToken(secret)).toMatchObject({ name: 'anna' })
    await clock.advanceBy(60_000)
    await access.stop()
    const again = await reopen()
    expect(again.listUsers()).toEqual([{ ...anna, lastSeenAtMs: clock.nowMs() }])
    expect(again.listTokens(OWNER)).toMatchObject([{ name: 'a', lastUsedAtMs: clock.nowMs() }])
    expect(await again.findByPassword('anna', PASSWORD)).toMatchObject({ name: 'anna', role: 'operator' })
    expect(again.findByToken(secret)).toMatchObject({ name: 'anna' })
  })

  it('of a removed user are gone, and a new user of the same name gets none of them', async () => {
    const { access, reopen } = await openAccess()
    const anna = await access.createUser(aPerson('anna'))
    const { secret } = await access.createToken(OWNER, { name: 'a', userId: anna.id, expiresInDays: null })
    await access.removeUser(anna.id)
    await access.createUser(aPerson('anna'))
    for (const one of [access, await reopen()]) {
      expect(one.findByToken(secret)).toBeNull()
      expect(one.listTokens(OWNER)).toEqual([])
      expect(one.findBySession(anna.id, Number.MAX_SAFE_INTEGER)).toBeNull()
    }
  })

  it('keep their ended sessions ended after a restart, even if the clock was set back', async () => {
    const { access, clock, reopen } = await openAccess()
    const anna = await access.createUser(aPerson('anna'))
    const ends = [
      () => access.endSessionsOf(anna.id),
      () => access.endAllSessions(),
      () => access.updateUser(anna.id, { password: `${PASSWORD} too` }),
      () => access.endAllSessions(),
      () => access.endSessionsOf(anna.id)
    ]
    for (const end of ends) {
      const beganAtMs = access.sessionStart(anna.id)
      const ownersBeganAtMs = access.sessionStart(null)
      expect(access.findBySession(anna.id, beganAtMs)).not.toBeNull()
      clock.jumpWallBy(-5_000)
      await end()
      for (const one of [access, await reopen()]) {
        expect(one.findBySession(anna.id, beganAtMs)).toBeNull()
        expect(one.findBySession(anna.id, one.sessionStart(anna.id))).not.toBeNull()
        const isOfAll = end === ends[1] || end === ends[3]
        expect(one.findBySession(null, ownersBeganAtMs) === null).toBe(isOfAll)
      }
    }
  })

  it('that two people create at the same time under one name become one user', async () => {
    const { access } = await openAccess()
    const made = await Promise.allSettled(['anna', 'Anna', 'ANNA'].map((name) => access.createUser(aPerson(name))))
    expect(made.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected'])
  })

  it('of others are visible to owners only, and only owners can revoke them; to everyone else they do not exist', async () => {
    const { access } = await openAccess()
    const anna = await access.createUser(aPerson('anna', 'admin'))
    const ben = await access.createUser(aPerson('ben', 'admin'))
    const { token } = await access.createToken(OWNER, { name: 'a', userId: anna.id, expiresInDays: null })
    expect(access.listTokens(principalOf(ben))).toEqual([])
    await expect(access.revokeToken(principalOf(ben), token.id)).rejects.toMatchObject({ code: 'TOKEN_NOT_FOUND' })
    expect(await access.revokeToken(principalOf(anna), token.id)).toBe(true)
  })
})

describe('a user who creates a token', () => {
  it('never gets more than their own role, whatever they request', async () => {
    const { access } = await openAccess()
    const users = await Promise.all(ROLES.map((role) => access.createUser({ name: role, kind: 'service', role })))
    await fc.assert(
      fc.asyncProperty(
        fc.nat({ max: 4 }),
        fc.nat({ max: 4 }),
        fc.constantFrom(undefined, ...ROLES),
        async (by, of, role) => {
          const [creator, owner] = [users[by]!, users[of]!]
          const wanted = { name: 't', userId: owner.id, ...(role !== undefined && { role }), expiresInDays: null }
          const made = await access.createToken(principalOf(creator), wanted).catch(() => null)
          const may =
            (creator.id === owner.id || creator.role === 'owner') &&
            (role === undefined || ROLES.indexOf(role) <= ROLES.indexOf(owner.role as Role))
          expect(made !== null).toBe(may)
          if (made === null) return
          const principal = access.findByToken(made.secret)!
          expect([principal.userId, principal.role]).toEqual([owner.id, role ?? owner.role])
          await access.revokeToken(OWNER, made.token.id)
        }
      ),
      { numRuns: 60 }
    )
  })

  it('cannot be a token itself, which would outlive its own revocation', async () => {
    const { access } = await openAccess()
    const { token } = await access.createToken(OWNER, { name: 'a', expiresInDays: null })
    const asToken = { ...OWNER, tokenId: token.id }
    await expect(access.createToken(asToken, { name: 'b', expiresInDays: null })).rejects.toMatchObject({
      code: 'PASSWORD_REQUIRED'
    })
  })
})

describe('a password', () => {
  it.each(['scrapdeckscrapdeck', 'annaannaannaanna', 'aaaaaaaaaaaaaaaa', 'password-password', 'abcabcabcabcabcabc'])(
    '%s is refused as easily guessed',
    async (password) => {
      const { access } = await openAccess()
      await expect(access.createUser({ ...aPerson('anna'), password })).rejects.toMatchObject({ code: 'BAD_INPUT' })
      expect(access.listUsers()).toEqual([])
    }
  )

  it('is kept as a salted hash that names its algorithm and matches only that password', async () => {
    const passwords = new Passwords()
    const [one, other] = await Promise.all([passwords.hash(PASSWORD), passwords.hash(PASSWORD)])
    expect(one).toMatch(/^argon2id 19456,2,1 [\w-]{22} [\w-]{43}$/)
    expect(one).not.toBe(other)
    expect([await passwords.isRight(PASSWORD, one), await passwords.isRight(`${PASSWORD} `, one)]).toEqual([
      true,
      false
    ])
    expect(await passwords.isRight(PASSWORD, null)).toBe(false)
    const scrypt = 'scrypt 16,8,1 AAAAAAAAAAAAAAAAAAAAAA 7ZlHJWQoKvTfWvbbdyMFGGEKzDbgxZQFAX2F7XYQkZE'
    expect(await passwords.isRight(PASSWORD, scrypt)).toBe(false)
  })
})

it('the text of a token differs from any other text, even by one wrong character', () => {
  fc.assert(
    fc.property(fc.nat({ max: 54 }), fc.constantFrom(...'a b X Y 0 9 _ -'.split(' ')), (at, character) => {
      const text = makeTokenText()
      expect(isTokenText(text)).toBe(true)
      const changed = text.slice(0, at) + character + text.slice(at + 1)
      expect(isTokenText(changed)).toBe(changed === text)
    })
  )
  expect(isTokenText(`${makeTokenText()} `)).toBe(false)
})
