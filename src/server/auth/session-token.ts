import { randomBytes } from 'node:crypto'
import type { UserId } from '../../shared/contract/index.ts'
import { createToken, hashToken } from './secrets.ts'

/** The kinds of login, and their letters in the token. */
const LETTERS = { password: 'p', link: 'l', oidc: 'o', passkey: 'k' } as const
export type SignedInWith = keyof typeof LETTERS

/** 256 random bits, the user's id, when it began and ends (to the base 36), how; then 128 bits that are renewed. */
const FORM = /^([\w-]{43}\.([0-9a-f]{32}|owner)\.([0-9a-z]{1,12})\.([0-9a-z]{1,12})\.([plok]))\.([\w-]{22})$/

/** What the token of a session says. */
export interface SessionToken {
  /** Useless for logging in. The same whenever the cookie is renewed. */
  id: string
  /** null: the owner. */
  userId: UserId | null
  beganAtMs: number
  /** However much it is used. */
  endsAtMs: number
  signedInWith: SignedInWith
  /** Hash of the part that is renewed. */
  renewal: string
}

/**
 * The token of a session contains its user, the kind of login, and when it must end. This cannot be forged: sessions
 * are found by the hash of everything but the last part.
 */
export function createSessionToken({
  userId,
  beganAtMs,
  endsAtMs,
  signedInWith
}: Pick<SessionToken, 'userId' | 'beganAtMs' | 'endsAtMs' | 'signedInWith'>): string {
  const times = [beganAtMs, endsAtMs].map((time) => Math.round(time).toString(36))
  return [createToken(), userId ?? 'owner', ...times, LETTERS[signedInWith], createRenewal()].join('.')
}

/** The same session with another last part, and that part's hash. */
export function renewSessionToken(token: string): { token: string; renewal: string } {
  const renewal = createRenewal()
  return { token: `${token.slice(0, token.lastIndexOf('.'))}.${renewal}`, renewal: hashToken(renewal) }
}

/** null: it cannot be one of ours. */
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
