import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from '../engine/runtime/logger.ts'
import { ERROR_CODES, type ErrorCode, ScrapdeckError } from '../shared/errors.ts'
import { sentence } from '../shared/texts/errors/server.ts'
import { toWireError, type WireError } from '../shared/wire-errors.ts'
import { isCrawlRoute } from './api/crawl-endpoints.ts'
import { isNavigation } from './auth/request-rule.ts'
import { isNodeRoute } from './nodes/node-endpoints.ts'
import { sendNotice } from './small-page.ts'
import { toPythonJson } from './scrapyd/python-text.ts'

/** Formats errors outside a route's own code (authentication, body too large, bugs) as clients of that route expect. */
export function createErrorHandler(options: { logger: Logger }) {
  return function handleError(error: FastifyError | Error, request: FastifyRequest, reply: FastifyReply): FastifyReply {
    // Do not log the query, because it can contain a login token or spider arguments.
    const path = request.url.split('?', 1)[0] ?? ''
    const isJson = /^application\/json/.test(request.headers['content-type'] ?? '')
    const wire = toWireError(fromFastify(error, path === '/addversion.json' || (path.startsWith('/api') && !isJson)))
    if (wire.code === 'INTERNAL') options.logger.error({ err: error, path }, 'A request failed')
    reply.code(wire.status)
    if (wire.code === 'TOO_MANY_REQUESTS') reply.header('retry-after', String(wire.data['retryAfterSeconds']))
    if (isNavigation(request.headers) && wire.code !== 'UNAUTHORIZED') return sendAsPage(wire, request, reply)
    if (path.startsWith('/api/rpc')) return reply.send({ json: wire.toJSON(), meta: [] })
    if (path.startsWith('/api') || isCrawlRoute(request.routeOptions.url)) {
      if (wire.code === 'UNAUTHORIZED' && path === '/api' && isPerson(request)) return reply.redirect('/ui/login', 303)
      if (wire.code === 'UNAUTHORIZED') {
        const scheme = isNodeRoute(request) ? 'bearer' : 'basic'
        reply.header('www-authenticate', `${scheme} realm="Scrapdeck"`)
      }
      return reply.send(wire.toJSON())
    }
    if (wire.code === 'UNAUTHORIZED') return askForLogin(path, request, reply)
    if (path.startsWith('/ui') || path.startsWith('/docs'))
      return reply.type('text/plain; charset=utf-8').send(`${wire.message}\n`)
    return sendAsScrapyd(wire, reply)
  }
}

function sendAsPage(wire: WireError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { title } = ERROR_CODES[wire.code as ErrorCode] ?? { title: 'Not possible' }
  if (wire.data['isUnknownHost'] === true) {
    return sendNotice(reply, { title: 'Unknown host name', text: wire.message })
  }
  if (wire.data['isFollowedLink'] !== true) return sendNotice(reply, { title, text: wire.message })
  return sendNotice(reply, {
    title: 'Opened from another web page',
    text: 'A link on another web page leads here, and opening it may change something. If you trust that page, continue.',
    // Keep only one slash. With two slashes, or with a backslash, the link would lead to another host.
    link: { href: request.url.replace(/^[/\\]+/, '/'), label: 'Continue' }
  })
}

/** Redirects browsers to the login page. Programs get Scrapyd's response (scrapyd-protocol.md, 7.2). */
function askForLogin(path: string, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const isForPeople = path.startsWith('/ui') || path.startsWith('/docs')
  if (isPerson(request) && (isForPeople || (path === '/' && request.headers['sec-fetch-mode'] === 'navigate')))
    return reply.redirect('/ui/login', 303)
  // On pages of the UI, this header would open the browser's own login dialog on top of the page.
  if (!path.startsWith('/ui')) reply.header('www-authenticate', 'basic realm="Scrapyd"')
  if (isNavigation(request.headers)) {
    // Shown when the user closes the browser's own login dialog.
    const text = 'This page requires a login.'
    return sendNotice(reply, { title: 'Not logged in', text, link: { href: '/ui/login', label: 'Log in' } })
  }
  if (request.routeOptions.url === '/metrics') return reply.type('text/plain; charset=utf-8').send(FOR_SCRAPERS)
  return reply.header('content-type', 'text/html').send(Buffer.from('Unauthorized'))
}

const FOR_SCRAPERS =
  'Unauthorized. Send the API credentials (basic_auth), or add the address of the scraper to metrics_from in [scrapdeck] (variable SCRAPDECK_METRICS_FROM): it then needs none.\n'

function isPerson(request: FastifyRequest): boolean {
  return request.headers.accept?.includes('text/html') ?? false
}

function sendAsScrapyd(wire: WireError, reply: FastifyReply): FastifyReply {
  const body = toPythonJson({ status: 'error', message: wire.message })
  return reply.header('content-type', 'application/json').send(Buffer.from(`${body}\n`))
}

function fromFastify(error: FastifyError | Error, isFile: boolean): Error {
  if (!('code' in error) || !('statusCode' in error) || error instanceof ScrapdeckError) return error
  if (error.code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    const [code, text] = isFile
      ? (['EGG_TOO_LARGE', sentence('server.upload_too_large')] as const)
      : (['REQUEST_TOO_LARGE', sentence('server.body_too_large')] as const)
    return new ScrapdeckError(code, text, { cause: error })
  }
  if (error.code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') {
    const words = sentence('server.content_type_unknown')
    return new ScrapdeckError('BAD_INPUT', words, { cause: error })
  }
  return (error.statusCode ?? 500) < 500 ? new ScrapdeckError('BAD_INPUT', error.message, { cause: error }) : error
}
