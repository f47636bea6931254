import type { FastifyReply, FastifyRequest } from 'fastify'
import { isEncrypted } from '../connections.ts'
import { cookieName, type CookieUse, readCookies, setCookie } from './session-cookie.ts'
import type { ServerResponse } from 'node:http'
import type { Principal } from '../../engine/access/principal.ts'
import type { Caller } from './request-rule.ts'

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

export type Receiver = Pick<Caller, 'kind' | 'id' | 'principal'>

interface Receiving extends Omit<Receiver, 'id'> {
  responses: Set<ServerResponse>
}

/** Responses that sessions, users and tokens are receiving: one that ends takes its streams and downloads with it. */
export class SessionResponses {
  readonly #byReceiver = new Map<string, Receiving>()

  add({ id, kind, principal }: Receiver, response: ServerResponse): void {
    const responses = this.#byReceiver.get(id)?.responses ?? new Set()
    this.#byReceiver.set(id, { kind, principal, responses: responses.add(response) })
    response.once('close', () => {
      responses.delete(response)
      if (responses.size === 0 && this.#byReceiver.get(id)?.responses === responses) this.#byReceiver.delete(id)
    })
  }

  get hasTokens(): boolean {
    return [...this.#byReceiver.values()].some(({ principal }) => principal?.tokenId != null)
  }

  /** The sessions that are receiving something. */
  sessions(): string[] {
    return [...this.#byReceiver].filter(([, { kind }]) => kind === 'session').map(([id]) => id)
  }

  /** Responses that have not begun are left alone: one of them answers the request that ended the session. */
  cut(id: string): void {
    for (const response of this.#byReceiver.get(id)?.responses ?? []) if (response.headersSent) response.destroy()
  }

  /** Cuts off those who may not receive any more. */
  cutUnless(isCurrent: (receiver: Receiver, principal: Principal) => boolean): void {
    for (const [id, { principal, kind }] of this.#byReceiver) {
      if (principal !== null && !isCurrent({ id, kind, principal }, principal)) this.cut(id)
    }
  }
}
