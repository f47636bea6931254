import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { UserId } from '../../../shared/contract/index.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { CodeGuesses, createRecoveryCodes, hashRecoveryCode, readRecoveryCode, stepOf } from './codes.ts'

const ANNA = 'a'.repeat(32) as UserId

// From RFC 6238, appendix B, which lists eight digits. Our codes are the last six of them.
it.each([
  [59, '287082'],
  [1_111_111_109, '081804'],
  [20_000_000_000, '353130']
])('the code of second %i is the one in the standard', async (seconds, code) => {
  const secret = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ'
  expect(await stepOf(code, secret, seconds * 1_000)).toBe(Math.floor(seconds / 30))
  expect(await stepOf(`${code.slice(0, 3)} ${code.slice(3)}`, secret, seconds * 1_000)).not.toBeNull()
  for (const other of ['', code.slice(1), `${code}0`, `x${code.slice(1)}`]) {
    expect(await stepOf(other, secret, seconds * 1_000)).toBeNull()
  }
})

it('a recovery code is accepted in any notation, and six digits are never mistaken for one', () => {
  fc.assert(
    fc.property(fc.constantFrom(...createRecoveryCodes()), fc.constantFrom(' ', '-', ''), (code, between) => {
      const typed = code.replaceAll('-', between).toUpperCase().replaceAll('0', 'O').replaceAll('1', 'I')
      expect(hashRecoveryCode(ANNA, typed)).toBe(hashRecoveryCode(ANNA, code))
    })
  )
  fc.assert(
    fc.property(fc.stringMatching(/^\d{0,15}$/), (digits) => {
      expect(readRecoveryCode(digits)).toBeNull()
    })
  )
  expect(hashRecoveryCode(ANNA, '4f7q-9k2m-x0ab-c3de')).not.toBe(
    hashRecoveryCode('b'.repeat(32) as UserId, '4f7q-9k2m-x0ab-c3de')
  )
})

it('an attacker who guesses continuously gets only a hundred tries a day after the first ones', async () => {
  const clock = createFakeClock()
  const guesses = new CodeGuesses(clock)
  let tries = 0
  for (let second = 0; second < 86_400; second += 5) {
    try {
      guesses.begin('anna', null)
      tries += 1
    } catch (error) {
      expect(error).toMatchObject({ code: 'TOO_MANY_REQUESTS' })
    }
    await clock.advanceBy(5_000)
  }
  expect(tries).toBeGreaterThan(90)
  expect(tries).toBeLessThan(115)
  guesses.begin('anna', '10.0.0.7')
  guesses.begin('ben', null)
})
