import { describe, expect, test } from 'vitest'
import type { PasskeyId, UserId } from '../../../shared/contract/index.ts'
import { branded } from '../../../shared/testing/ids.ts'
import { asSealedText } from '../../runtime/secret-box.ts'
import type { StoredAuthenticator, StoredPasskey } from '../../model/records.ts'
import type { Story } from './story.ts'

const [ANNA, BEN] = ['a'.repeat(32), 'b'.repeat(32)] as [UserId, UserId]

const anAuthenticator = (userId: UserId, over: Partial<StoredAuthenticator> = {}): StoredAuthenticator => ({
  userId,
  sealedSecret: asSealedText('v1.x'),
  createdAtMs: 1,
  usedStep: 5,
  recoveryHashes: ['h1', 'h2'],
  ...over
})
const aPasskey = (id: string, userId: UserId, over: Partial<StoredPasskey> = {}): StoredPasskey => ({
  id: branded<PasskeyId>(id.repeat(32)),
  userId,
  credentialId: `c${id}`,
  name: 'laptop',
  host: 'deck',
  publicKey: 'k',
  signCount: 0,
  createdAtMs: Number(id),
  lastUsedAtMs: null,
  ...over
})

export function describeSecondFactors(story: Story): void {
  describe('second factors', () => {
    test('are kept, and each user has an own authenticator with own recovery codes', async () => {
      const { store } = story
      const [ofAnna, ofBen] = [anAuthenticator(ANNA), anAuthenticator(BEN, { recoveryHashes: [] })]
      for (const one of [ofBen, anAuthenticator(ANNA, { usedStep: 9, recoveryHashes: ['h3'] }), ofAnna]) {
        await store.putAuthenticator(one)
      }
      await store.putRecoveryCodes(BEN, ['h1'])
      await story.reopen()
      expect(await story.store.listAuthenticators()).toEqual([ofAnna, { ...ofBen, recoveryHashes: ['h1'] }])
    })

    test('a time step counts once, and none before it', async () => {
      const { store } = story
      await store.putAuthenticator(anAuthenticator(ANNA))
      const results = await Promise.all([5, 7, 7, 6, 8].map((step) => store.useAuthenticatorStep(ANNA, step)))
      expect(results).toEqual([false, true, false, false, true])
      expect(await store.useAuthenticatorStep(BEN, 9)).toBe(false)
      expect(await store.listAuthenticators()).toMatchObject([{ usedStep: 8 }])
    })

    test('a recovery code counts once, for its user', async () => {
      const { store } = story
      await store.putAuthenticator(anAuthenticator(ANNA))
      expect(await store.useRecoveryCode(BEN, 'h1')).toBe(false)
      expect(await Promise.all(['h1', 'h1'].map((hash) => store.useRecoveryCode(ANNA, hash)))).toEqual([true, false])
      expect(await store.listAuthenticators()).toMatchObject([{ recoveryHashes: ['h2'] }])
    })

    test('a passkey that counts its signatures never goes back; one that does not is used as it is', async () => {
      const { store } = story
      const [counting, other] = [aPasskey('1', ANNA, { signCount: 3 }), aPasskey('2', ANNA)]
      for (const one of [counting, other]) await store.addPasskey(one)
      expect(await Promise.all([3, 4, 4, 0].map((count) => store.usePasskey(counting.id, count, 7)))).toEqual([
        ...[false, true, false, false]
      ])
      expect(await Promise.all([0, 0].map((count) => store.usePasskey(other.id, count, 8)))).toEqual([true, true])
      await expect(store.addPasskey(aPasskey('3', BEN, { credentialId: 'c1' }))).rejects.toThrow()
      await story.reopen()
      expect(await story.store.listPasskeys()).toEqual([
        { ...counting, signCount: 4, lastUsedAtMs: 7 },
        { ...other, lastUsedAtMs: 8 }
      ])
    })

    test('only those of the user are deleted, with the user at the latest', async () => {
      const { store } = story
      const [own, ofBen] = [aPasskey('1', ANNA), aPasskey('2', BEN)]
      for (const user of [ANNA, BEN]) await store.putAuthenticator(anAuthenticator(user))
      for (const one of [own, ofBen]) await store.addPasskey(one)
      expect([await store.deletePasskey(ANNA, ofBen.id), await store.deletePasskey(ANNA, own.id)]).toEqual([
        false,
        true
      ])
      expect([await store.deleteAuthenticator(ANNA), await store.deleteAuthenticator(ANNA)]).toEqual([true, false])
      expect(await store.listAuthenticators()).toEqual([anAuthenticator(BEN)])
      await store.deleteUser(BEN)
      expect([await store.listAuthenticators(), await store.listPasskeys()]).toEqual([[], []])
      await store.putAuthenticator(anAuthenticator(ANNA))
      expect([await store.deleteSecondFactors(ANNA), await store.deleteSecondFactors(ANNA)]).toEqual([true, false])
      await store.putAuthenticator(anAuthenticator(ANNA, { recoveryHashes: [] }))
      expect(await store.listAuthenticators()).toMatchObject([{ recoveryHashes: [] }])
    })
  })
}
