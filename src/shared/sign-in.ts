/**
 * How a program on a user's computer gets its own token through the browser in which the user is logged in: the
 * authorization code flow for native apps (RFC 8252, with PKCE, RFC 7636), or a code that the user types (RFC 8628).
 */

/** What each of these programs is called, to people. */
export const SIGN_IN_CLIENTS = { cli: 'Command line', desktop: 'Desktop app' } as const
export type SignInClient = keyof typeof SIGN_IN_CLIENTS

/** Below the service's address: where a program begins a sign-in with a typed code, and where it gets its token. */
export const DEVICE_PATH = '/ui/login/device'
export const TOKEN_PATH = '/ui/login/token'
/** How often a program asks whether its code was typed. */
export const POLL_SECONDS = 3
/** The page on which a person allows it, behind `#`, so that it survives any kind of login. */
export const CONSENT_PAGE = '#/authorize'

/** The only places a code is sent to: a program on the computer on which the browser runs (RFC 8252, 7.3). */
export const LOOPBACK_REDIRECT = /^http:\/\/(127\.0\.0\.1|\[::1\]):([1-9]\d{0,4})\/callback$/

/** S256 of a verifier, in base64url. */
export const CHALLENGE = /^[\w-]{43}$/
/** As in RFC 7636, 4.1. */
export const VERIFIER = /^[\w.~-]{43,128}$/

/** Consonants only, so that no words are made, and none that are mistaken for digits. */
export const USER_CODE_LETTERS = 'BCDFGHJKLMNPQRSTVWXZ'
const USER_CODE = new RegExp(`^[${USER_CODE_LETTERS}]{8}$`)

/** The code in what a user typed, without spaces and the like; null: it cannot be a code. */
export function readUserCode(typed: string): string | null {
  const letters = typed.toUpperCase().replaceAll(/[\s-]/g, '')
  return USER_CODE.test(letters) ? letters : null
}

/** `WDJB-MJHT` */
export const showUserCode = (code: string): string => `${code.slice(0, 4)}-${code.slice(4)}`

const NAME_MAX = 100
/** For the list of tokens: what it is, where, and whose account there. */
export function nameOfSignIn({ client, host, user }: { client: SignInClient; host: string; user: string }): string {
  return `${SIGN_IN_CLIENTS[client]} on ${host}${user === '' ? '' : ` (${user})`}`.slice(0, NAME_MAX)
}
