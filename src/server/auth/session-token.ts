import type { UserId } from '../../shared/contract/index.ts'
import { createToken } from './secrets.ts'

/** 256 random bits; of all but the owner, then the user's id and the time in milliseconds, to the base 36. */
const FORM = /^[\w-]{43}(?:\.([0-9a-f]{32})\.([0-9a-z]{1,12}))?$/

/**
 * The token of a session says whose it is and when it began. Nobody can change that: sessions are found by the hash of
 * the whole token.
 */
export function createSessionToken(userId: UserId | null, nowMs: number): string {
  return userId === null ? createToken() : `${createToken()}.${userId}.${nowMs.toString(36)}`
}

/** null: it cannot be one of ours. */
export function readSessionToken(token: string): { userId: UserId | null; beganAtMs: number } | null {
  const match = FORM.exec(token)
  if (match === null) return null
  const [, userId, began] = match
  if (userId === undefined) return { userId: null, beganAtMs: 0 }
  return { userId: userId as UserId, beganAtMs: Number.parseInt(began!, 36) }
}
