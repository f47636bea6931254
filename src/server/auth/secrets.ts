import { hash, randomBytes, timingSafeEqual } from 'node:crypto'

/** 256 bits that fit in a URL and in a cookie. */
export function createToken(): string {
  return randomBytes(32).toString('base64url')
}

export function hashToken(token: string): string {
  return hash('sha256', token)
}

/**
 * Tells whether a text is the secret. Takes the same time wherever two texts differ, and whatever their lengths: their
 * hashes are compared. The secret's own is made once, for every request asks.
 */
export function createSecretCheck(secret: string): (given: string) => boolean {
  const expected = hash('sha256', secret, 'buffer')
  return (given) => timingSafeEqual(hash('sha256', given, 'buffer'), expected)
}
