import type { FastifyReply, FastifyRequest } from 'fastify'
import { isEncrypted } from '../connections.ts'
import { cookieName, type CookieUse, readCookies, setCookie } from './session-cookie.ts'

/** Gives the browser this token; empty: deletes the one that it has. */
export function setSessionCookie(
  request: FastifyRequest,
  reply: FastifyReply,
  { token, maxAgeSeconds }: { token: string; maxAgeSeconds: number }
): void {
  sendCookie('session', { request, reply }, { value: token, maxAgeSeconds })
}

/** The same of either use. */
export function sendCookie(
  use: CookieUse,
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
  { value, maxAgeSeconds }: { value: string; maxAgeSeconds: number }
): void {
  const isSecure = usesSecureCookie(use, request)
  const name = cookieName(use, request.headers.host ?? '', isSecure)
  reply.header('set-cookie', setCookie(name, value, { maxAgeSeconds, isSecure }))
}

/** All values of a cookie that count: behind TLS, none that could have been planted. */
export function cookiesOf(use: CookieUse, request: FastifyRequest): string[] {
  const { host = '', cookie } = request.headers
  // Programs send none, and most requests are from programs.
  if (cookie === undefined) return []
  return readCookies(cookieName(use, host, usesSecureCookie(use, request)), cookie)
}

/** A proxy that does not say so in each request is still known by the cookie that its browser got behind TLS. */
function usesSecureCookie(use: CookieUse, request: FastifyRequest): boolean {
  const { host = '', cookie } = request.headers
  return isBehindTls(request) || readCookies(cookieName(use, host, true), cookie).length > 0
}

/**
 * `Secure` only behind TLS: the default is plain HTTP on the loopback interface. A client that forges these only
 * withholds its own cookie from itself.
 */
export function isBehindTls({ raw, headers }: FastifyRequest): boolean {
  const { origin = '' } = headers
  return isEncrypted(raw) || origin.startsWith('https:') || headers['x-forwarded-proto'] === 'https'
}

/** `https://deck.example.org`, as the browser has opened it. The host has passed the gate. */
export const addressInBrowser = (request: FastifyRequest): string =>
  `${isBehindTls(request) ? 'https' : 'http'}://${request.headers.host}`
