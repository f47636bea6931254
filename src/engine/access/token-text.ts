import { hash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { TOKEN_PREFIX } from '../../shared/secret-values.ts'

const SECRET_BYTES = 32
const FORM = /^sdk_([\w-]{43})([0-9a-f]{8})$/

/** A new token: 256 random bits, and a checksum that distinguishes a mistyped one from a revoked one. */
export function makeTokenText(): string {
  const secret = randomBytes(SECRET_BYTES).toString('base64url')
  return `${TOKEN_PREFIX}${secret}${checksum(secret)}`
}

/** No password begins like this. */
export const looksLikeToken = (text: string): boolean => text.startsWith(TOKEN_PREFIX)

/** Whether a text can be one of our tokens. */
export function isTokenText(text: string): boolean {
  const match = FORM.exec(text)
  return match !== null && checksum(match[1]!) === match[2]
}

/** What is stored: with that many random bits, a fast hash is as good as a slow one. */
export const hashTokenText = (text: string): string => hash('sha256', text)

/** The ending by which users recognize it. */
export const endingOf = (text: string): string => text.slice(-8)

const checksum = (secret: string): string => crc32(secret).toString(16).padStart(8, '0')
