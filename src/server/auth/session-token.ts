import { randomBytes } from 'node:crypto'
import type { UserId } from '../../shared/contract/index.ts'
import { createToken, hashToken } from './secrets.ts'

const LETTERS = { password: 'p', link: 'l', oidc: 'o', passkey: 'k' } as const
export type SignedInWith = keyof typeof LETTERS

/**
 * The parts of a token: 256 random bits, the user's id, start and end (in base 36), the kind of login, and 128 random
 * bits that are renewed.
 */
const FORM = /^([\w-]{43}\.([0-9a-f]{32}|owner)\.([0-9a-z]{1,12})\.([0-9a-z]{1,12})\.([plok]))\.([\w-]{22})$/

export interface SessionToken {
  /** Cannot be used to log in. Stays the same when the cookie is renewed. */
  id: string
  /** null for the owner. */
  userId: UserId | null
  beganAtMs: number
  /** Using the session does not postpone its end. */
  endsAtMs: number
  signedInWith: SignedInWith
  /** The hash of the part that is renewed. */
  renewal: string
}

/** A client cannot change any part but the last, because a session is looked up by the hash of the others. */
export function createSessionToken({
  userId,
  beganAtMs,
  endsAtMs,
  signedInWith
}: Pick<SessionToken, 'userId' | 'beganAtMs' | 'endsAtMs' | 'signedInWith'>): string {
  const times = [beganAtMs, endsAtMs].map((time) => Math.round(time).toString(36))
  return [createToken(), userId ?? 'owner', ...times, LETTERS[signedInWith], createRenewal()].join('.')
}

export function renewSessionToken(token: string): { token: string; renewal: string } {
  const renewal = createRenewal()
  return { token: `${token.slice(0, token.lastIndexOf('.'))}.${renewal}`, renewal: hashToken(renewal) }
}

/** Returns null if the string does not have the format of our tokens. */
export function readSessionToken(token: string): SessionToken | null {
  const match = FORM.exec(token)
  if (match === null) return null
  const [, root, user, began, ends, letter, renewal] = match as unknown as string[]
  return {
    id: hashToken(root!),
    userId: user === 'owner' ? null : (user as UserId),
    beganAtMs: Number.parseInt(began!, 36),
    endsAtMs: Number.parseInt(ends!, 36),
    signedInWith: Object.entries(LETTERS).find(([, one]) => one === letter)![0] as SignedInWith,
    renewal: hashToken(renewal!)
  }
}

const createRenewal = (): string => randomBytes(16).toString('base64url')
