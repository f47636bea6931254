import type { FastifyReply, FastifyRequest } from 'fastify'
import { isEncrypted } from '../connections.ts'
import { cookieName, type CookieUse, readCookies, setCookie } from './session-cookie.ts'
import type { ServerResponse } from 'node:http'
import type { Principal } from '../../engine/access/principal.ts'
import type { Caller } from './request-rule.ts'

export function setSessionCookie(
  request: FastifyRequest,
  reply: FastifyReply,
  { token, maxAgeSeconds }: { token: string; maxAgeSeconds: number }
): void {
  sendCookie('session', { request, reply }, { value: token, maxAgeSeconds })
}

export function sendCookie(
  use: CookieUse,
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
  { value, maxAgeSeconds }: { value: string; maxAgeSeconds: number }
): void {
  const isSecure = usesSecureCookie(use, request)
  const name = cookieName(use, request.headers.host ?? '', isSecure)
  reply.header('set-cookie', setCookie(name, value, { maxAgeSeconds, isSecure }))
}

/** All values of the cookie in the request. Behind TLS, other hosts cannot add any. */
export function cookiesOf(use: CookieUse, request: FastifyRequest): string[] {
  const { host = '', cookie } = request.headers
  // Most requests come from programs, which send no cookies.
  if (cookie === undefined) return []
  return readCookies(cookieName(use, host, usesSecureCookie(use, request)), cookie)
}

/**
 * Also returns true if the request has a cookie that was set behind TLS, because a proxy might not announce TLS in
 * every request.
 */
function usesSecureCookie(use: CookieUse, request: FastifyRequest): boolean {
  const { host = '', cookie } = request.headers
  return isBehindTls(request) || readCookies(cookieName(use, host, true), cookie).length > 0
}

/**
 * Whether the browser uses TLS, so that cookies can be `Secure`. A client that forges these headers can only lose its
 * own cookie.
 */
export function isBehindTls({ raw, headers }: FastifyRequest): boolean {
  const { origin = '' } = headers
  return isEncrypted(raw) || origin.startsWith('https:') || headers['x-forwarded-proto'] === 'https'
}

/** The address that the browser opened, such as `https://deck.example.org`. The gate has already checked the host. */
export const addressInBrowser = (request: FastifyRequest): string =>
  `${isBehindTls(request) ? 'https' : 'http'}://${request.headers.host}`

export type Receiver = Pick<Caller, 'kind' | 'id' | 'principal'>

interface Receiving extends Omit<Receiver, 'id'> {
  responses: Set<ServerResponse>
}

/**
 * Open responses, by the session, user or token that receives them. When one of these ends, its streams and downloads
 * are cut off.
 */
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

  sessions(): string[] {
    return [...this.#byReceiver].filter(([, { kind }]) => kind === 'session').map(([id]) => id)
  }

  /** Skips responses that have not started, such as the response to the request that ended the session. */
  cut(id: string): void {
    for (const response of this.#byReceiver.get(id)?.responses ?? []) if (response.headersSent) response.destroy()
  }

  cutUnless(isCurrent: (receiver: Receiver, principal: Principal) => boolean): void {
    for (const [id, { principal, kind }] of this.#byReceiver) {
      if (principal !== null && !isCurrent({ id, kind, principal }, principal)) this.cut(id)
    }
  }
}
