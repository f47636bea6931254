import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'

/** 256 bits that fit in a URL and in a cookie. */
export function createToken(): string {
  return randomBytes(32).toString('base64url')
}

export function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}

/** Takes the same time wherever two texts differ, and whatever their lengths: their hashes are compared. */
export function isSameSecret(given: string, expected: string): boolean {
  const hash = (text: string) => createHash('sha256').update(text, 'utf8').digest()
  return timingSafeEqual(hash(given), hash(expected))
}
