import { SESSION_MS } from './sessions.ts'

/**
 * Browsers send a host's cookies to all of its ports: with the port in the name, two Scrapdecks on one machine do not log
 * each other out.
 */
function cookieName(host: string): string {
  const port = /:(\d+)$/.exec(host)?.[1]
  return port === undefined ? 'scrapdeck_session' : `scrapdeck_session_${port}`
}

/**
 * The tokens under our name. Any page of another port may add one of its own (for a deeper path it even comes first), so
 * that taking one alone would let that page keep a user out.
 */
export function readSessionCookies(host: string, cookieHeader: string | undefined): string[] {
  if (cookieHeader === undefined) return []
  const prefix = `${cookieName(host)}=`
  return cookieHeader
    .split(';')
    .map((part) => part.trim())
    .filter((part) => part.startsWith(prefix))
    .map((part) => part.slice(prefix.length))
}

/** `Secure` only behind TLS: the default door is plain HTTP on the loopback interface. */
export function writeSessionCookie(host: string, token: string, isBehindTls: boolean): string {
  const cookie = `${cookieName(host)}=${token}; Path=/; Max-Age=${SESSION_MS / 1000}; HttpOnly; SameSite=Strict`
  return isBehindTls ? `${cookie}; Secure` : cookie
}

export function clearSessionCookie(host: string): string {
  return `${cookieName(host)}=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict`
}
