import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyRequest } from 'fastify'
import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/server.ts'
import type { Principal } from '../../engine/access/principal.ts'

export interface Caller {
  /** `password` is sent with each request. `node` is a pulling node. `anonymous` is for public routes. */
  kind: 'session' | 'password' | 'node' | 'anonymous'
  /** Identifies the session, token, user or node. Cannot be used to log in. Empty for anonymous callers. */
  id: string
  /** The session's cookie, which may need to be renewed. */
  cookie?: string
  /** null for a node or an anonymous caller. */
  principal: Principal | null
}

export const ANONYMOUS: Caller = { kind: 'anonymous', id: '', principal: null }

/**
 * Rejects requests that a browser sent for a page of another origin, even with valid credentials: a foreign Host
 * (rebinding), a foreign Origin, or a fetch marked as cross-site. Accepts a followed link if `changesNothing` is true,
 * because the other page cannot see the response. Throws FORBIDDEN_ORIGIN.
 */
export function checkRequestOrigin(
  { method, headers, raw }: { method: string; headers: IncomingHttpHeaders; raw: { rawHeaders?: readonly string[] } },
  rule: { isOurHost: (host: string | undefined) => boolean; changesNothing: boolean }
): void {
  requireOurHost(headers.host, raw, rule.isOurHost)
  if (headers.origin !== undefined && !isSameOrigin(headers.origin, headers.host as string)) {
    throw new ScrapdeckError('FORBIDDEN_ORIGIN', sentence('server.origin_refused', { origin: headers.origin }))
  }
  const site = headers['sec-fetch-site']
  // `same-site` is not accepted, because it includes other ports on localhost.
  if (site === undefined || site === 'same-origin' || site === 'none') return
  const isFollowedLink = isNavigation(headers) && (method === 'GET' || method === 'HEAD')
  if (isFollowedLink && rule.changesNothing) return
  throw new ScrapdeckError('FORBIDDEN_ORIGIN', sentence('server.other_page_refused'), { data: { isFollowedLink } })
}

/**
 * Throws FORBIDDEN_ORIGIN for a foreign host name that resolves to this service (DNS rebinding). Throws BAD_INPUT if
 * the request names a second host, because a proxy may have checked only the second.
 */
export function requireOurHost(
  host: string | undefined,
  { rawHeaders }: { rawHeaders?: readonly string[] },
  isOurHost: (host: string | undefined) => boolean
): void {
  if (hasSeveralHosts(rawHeaders)) throw new ScrapdeckError('BAD_INPUT', sentence('server.several_hosts'))
  if (isOurHost(host)) return
  throw new ScrapdeckError('FORBIDDEN_ORIGIN', sentence('server.host_refused', { host }), {
    data: { isUnknownHost: true }
  })
}

/**
 * Whether the request has several hosts. Node.js ignores all but the first Host header. Over HTTP/2, a Host header
 * that is identical to the authority is allowed.
 */
export function hasSeveralHosts(rawHeaders: readonly string[] = []): boolean {
  const valuesOf = (wanted: string) =>
    rawHeaders.flatMap((name, at) => (at % 2 === 0 && name.toLowerCase() === wanted ? [rawHeaders[at + 1]] : []))
  const hosts = valuesOf('host')
  return hosts.length > 1 || new Set([...hosts, ...valuesOf(':authority')]).size > 1
}

/** Whether the request opens a page in a browser window, so that a person reads its response. */
export function isNavigation(headers: IncomingHttpHeaders): boolean {
  return headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document'
}

/** Paths that a link on another page can open: pages, and the Scrapyd queries that ScrapydWeb links to. Not the API. */
const OPEN_TO_LINKS =
  /^\/(?:|jobs|api|(?:logs|items|docs|ui)(?:\/.*)?|(?:daemonstatus|listprojects|listversions|listspiders|listjobs|status)\.json)$/

/** Whether a GET of this route only shows something. A login link changes something, because it works only once. */
export function changesNothing({ routeOptions, query }: FastifyRequest): boolean {
  const { url } = routeOptions
  if (url === undefined || !OPEN_TO_LINKS.test(url)) return false
  return url !== '/ui/login' || !Object.hasOwn(query as object, 'token')
}

/**
 * Whether the origin has our host. Ignores the scheme, because behind a proxy, the page uses https although we see
 * http.
 */
function isSameOrigin(origin: string, host: string): boolean {
  if (!URL.canParse(origin)) return false
  const page = new URL(origin)
  if (page.protocol !== 'http:' && page.protocol !== 'https:') return false
  const ours = `${page.protocol}//${host}`
  return URL.canParse(ours) && new URL(ours).host === page.host
}
