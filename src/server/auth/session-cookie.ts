import type { CookieSerializeOptions } from '@fastify/cookie'
import { SESSION_MS } from './sessions.ts'

/** Browsers send cookies to all ports of a host: the port in the name keeps the logins of two Scrapdecks apart. */
export function cookieName(host: string): string {
  const port = /:(\d+)$/.exec(host)?.[1]
  return port === undefined ? 'scrapdeck_session' : `scrapdeck_session_${port}`
}

/**
 * All tokens under our name. A page on another port can add one (for a deeper path it even comes first), so reading
 * only one, as @fastify/cookie does, would let that page lock users out.
 */
export function readSessionCookies(host: string, cookieHeader = ''): string[] {
  const prefix = `${cookieName(host)}=`
  const parts = cookieHeader.split(';').map((part) => part.trim())
  return parts.filter((part) => part.startsWith(prefix)).map((part) => part.slice(prefix.length))
}

/**
 * `lax`: who follows a link from another site is still logged in. It protects as much as `strict` here, because
 * request-rule.ts refuses everything else from other sites, even from other ports of localhost, where both are sent.
 */
export const SESSION_COOKIE: CookieSerializeOptions = {
  path: '/',
  maxAge: SESSION_MS / 1000,
  httpOnly: true,
  sameSite: 'lax'
}
