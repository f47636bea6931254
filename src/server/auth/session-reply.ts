import type { FastifyReply, FastifyRequest } from 'fastify'
import { isEncrypted } from '../connections.ts'
import { cookieName, setCookie } from './session-cookie.ts'

/** Gives the browser this token; empty: deletes the one that it has. */
export function setSessionCookie(
  request: FastifyRequest,
  reply: FastifyReply,
  { token, maxAgeSeconds }: { token: string; maxAgeSeconds: number }
): void {
  const options = { path: '/', maxAgeSeconds, isSecure: isBehindTls(request) }
  reply.header('set-cookie', setCookie(cookieName(request.headers.host ?? ''), token, options))
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
