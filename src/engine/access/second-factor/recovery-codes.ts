import { hash, randomBytes } from 'node:crypto'
import type { UserId } from '../../../shared/contract/index.ts'

const COUNT = 10
/** 80 bits: too many to guess, so a fast hash is enough. */
const BYTES = 10
/** Crockford's: without letters that are taken for digits. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'
const FORM = /^[0-9a-hjkmnp-tv-z]{16}$/

/** Ten, such as `4f7q-9k2m-x0ab-c3de`. */
export const createRecoveryCodes = (): string[] => Array.from({ length: COUNT }, createCode)

function createCode(): string {
  let bits = BigInt(`0x${randomBytes(BYTES).toString('hex')}`)
  let text = ''
  for (let at = 0; at < 16; at += 1, bits >>= 5n) text += ALPHABET[Number(bits & 31n)]
  return text.replaceAll(/(.{4})(?=.)/g, '$1-')
}

/** Normalizes what a user typed; null: it cannot be a recovery code. */
export function readRecoveryCode(text: string): string | null {
  const plain = text.toLowerCase().replaceAll(/[\s-]/g, '').replaceAll('o', '0').replaceAll(/[il]/g, '1')
  return FORM.test(plain) ? plain : null
}

/** What is stored. With the user, so that equal codes of two have different hashes. */
export const hashRecoveryCode = (user: UserId, code: string): string =>
  hash('sha256', `${user} ${readRecoveryCode(code) ?? code}`)
