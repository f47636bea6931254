/**
 * How a program on a user's computer gets its own token through a browser: the authorization code flow for native
 * apps (RFC 8252, with PKCE, RFC 7636), or a code that the user types (RFC 8628).
 */

export const SIGN_IN_CLIENTS = { cli: 'Command line', desktop: 'Desktop app' } as const
export type SignInClient = keyof typeof SIGN_IN_CLIENTS

/** Paths below the service's address: where a sign-in with a code starts, and where a program gets its token. */
export const DEVICE_PATH = '/ui/login/device'
export const TOKEN_PATH = '/ui/login/token'
export const POLL_SECONDS = 3
/** The page on which a user approves. It is a fragment, which is preserved by every kind of login. */
export const CONSENT_PAGE = '#/authorize'

/** Only a program on the browser's own computer can receive a code (RFC 8252, 7.3). */
export const LOOPBACK_REDIRECT = /^http:\/\/(127\.0\.0\.1|\[::1\]):([1-9]\d{0,4})\/callback$/

export const CHALLENGE = /^[\w-]{43}$/
/** As in RFC 7636, 4.1. */
export const VERIFIER = /^[\w.~-]{43,128}$/

/** Consonants only, so that codes do not form words. Excludes letters that look like digits. */
export const USER_CODE_LETTERS = 'BCDFGHJKLMNPQRSTVWXZ'
const USER_CODE = new RegExp(`^[${USER_CODE_LETTERS}]{8}$`)

export function readUserCode(typed: string): string | null {
  const letters = typed.toUpperCase().replaceAll(/[\s-]/g, '')
  return USER_CODE.test(letters) ? letters : null
}

/** `WDJB-MJHT` */
export const showUserCode = (code: string): string => `${code.slice(0, 4)}-${code.slice(4)}`

const NAME_MAX = 100
export function nameOfSignIn({ client, host, user }: { client: SignInClient; host: string; user: string }): string {
  return `${SIGN_IN_CLIENTS[client]} on ${host}${user === '' ? '' : ` (${user})`}`.slice(0, NAME_MAX)
}
