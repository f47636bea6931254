import { hash, randomBytes, timingSafeEqual } from 'node:crypto'

/** 256 bits, safe in URLs and cookies. */
export function createToken(): string {
  return randomBytes(32).toString('base64url')
}

export function hashToken(token: string): string {
  return hash('sha256', token)
}

/**
 * Returns a check for a secret. It compares hashes, so its time reveals neither the length nor the first difference.
 * The hash of the secret is computed once because every request needs it.
 */
export function createSecretCheck(secret: string): (given: string) => boolean {
  const expected = hash('sha256', secret, 'buffer')
  return (given) => timingSafeEqual(hash('sha256', given, 'buffer'), expected)
}
