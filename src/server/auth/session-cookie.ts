import { SESSION_MS } from './sessions.ts'

/**
 * Browsers send a host's cookies to all of its ports: with the port in the name, two Scrapdecks on one machine do not log
 * each other out.
 */
function cookieName(host: string): string {
  const port = /:(\d+)$/.exec(host)?.[1]
  return port === undefined ? 'scrapdeck_session' : `scrapdeck_session_${port}`
}

export function readSessionCookie(host: string, cookieHeader: string | undefined): string | null {
  const prefix = `${cookieName(host)}=`
  const cookie = (cookieHeader ?? '').split(';').find((part) => part.trim().startsWith(prefix))
  return cookie === undefined ? null : cookie.trim().slice(prefix.length)
}

/** No `Secure`: the default door is plain HTTP on the loopback interface. */
export function writeSessionCookie(host: string, token: string): string {
  return `${cookieName(host)}=${token}; Path=/; Max-Age=${SESSION_MS / 1000}; HttpOnly; SameSite=Strict`
}

export function clearSessionCookie(host: string): string {
  return `${cookieName(host)}=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict`
}
