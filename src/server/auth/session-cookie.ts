import type { CookieSerializeOptions } from '@fastify/cookie'
import { SESSION_MS } from './sessions.ts'

/** Browsers send cookies to all ports of a host: with the port in it, two Scrapdecks do not log each other out. */
export function cookieName(host: string): string {
  const port = /:(\d+)$/.exec(host)?.[1]
  return port === undefined ? 'scrapdeck_session' : `scrapdeck_session_${port}`
}

/**
 * The tokens under our name. Any page of another port may add one of its own (for a deeper path it even comes first),
 * so that taking one alone, as @fastify/cookie does, would let that page keep a user out.
 */
export function readSessionCookies(host: string, cookieHeader = ''): string[] {
  const prefix = `${cookieName(host)}=`
  const parts = cookieHeader.split(';').map((part) => part.trim())
  return parts.filter((part) => part.startsWith(prefix)).map((part) => part.slice(prefix.length))
}

export const SESSION_COOKIE: CookieSerializeOptions = {
  path: '/',
  maxAge: SESSION_MS / 1000,
  httpOnly: true,
  sameSite: 'strict'
}
