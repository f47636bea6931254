import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { FleetAsScrapyd } from '../../engine/commands/fleet-as-scrapyd.ts'
import type { Logger } from '../../engine/runtime/logger.ts'
import { MAX_UPLOAD_BYTES } from '../limits.ts'
import { readArguments } from './arguments.ts'
import { ENDPOINTS, type Endpoint } from './endpoints.ts'
import { readAsked, wordFailure } from './failures.ts'
import type { FormValues } from './form-values.ts'
import { homePage } from './home-page.ts'
import { answerLogs } from './logs.ts'
import { MalformedMultipartError } from './multipart.ts'
import { type PythonJsonValue, toPythonJson } from './python-json.ts'
import type { ScrapydDoorSettings } from './settings.ts'

export interface ScrapydDoorOptions {
  fleet: FleetAsScrapyd
  /** What differs from the defaults. */
  settings?: Partial<ScrapydDoorSettings> | undefined
  logger: Logger
  hasSession(request: FastifyRequest): boolean
}

/**
 * The fleet as one Scrapyd 1.6 (scrapyd-protocol.md, 1 to 3 and 7). Where we differ on purpose: no CORS headers, because a web
 * page has no business here (docs/http.md), and doubled slashes are collapsed, because scrapyd-client sends them.
 */
export async function scrapydDoor(app: FastifyInstance, options: ScrapydDoorOptions): Promise<void> {
  const { fleet, logger } = options
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: MAX_UPLOAD_BYTES }, (_request, body, done) =>
    done(null, body)
  )
  for (const [name, endpoint] of Object.entries(ENDPOINTS)) {
    app.all(`/${name}`, (request, reply) => answerEndpoint(endpoint, fleet, logger, request, reply))
  }
  app.get('/', async (request, reply) => {
    const isBrowser = request.headers.accept?.includes('text/html') ?? false
    if (isBrowser && options.hasSession(request)) return reply.redirect('/ui/', 303)
    return reply.type('text/html; charset=utf-8').send(homePage(await fleet.listProjects()))
  })
  app.get('/logs', (_request, reply) => reply.redirect('/logs/'))
  // HEAD by name: the one that Fastify adds to GET would replace the length with that of the empty body.
  app.route({ method: ['GET', 'HEAD'], url: '/logs/*', handler: (request, reply) => answerLogs(fleet, request, reply) })
}

async function answerEndpoint(
  endpoint: Endpoint,
  fleet: FleetAsScrapyd,
  logger: Logger,
  request: FastifyRequest,
  reply: FastifyReply
): Promise<FastifyReply> {
  const methods = ['OPTIONS', 'HEAD', endpoint.method]
  if (request.method === 'OPTIONS') return reply.code(204).header('allow', methods.join(', ')).send()
  const served = request.method === endpoint.method || (request.method === 'HEAD' && endpoint.method === 'GET')
  if (!served) {
    const expected = `Expected one of [b'HEAD', b'OPTIONS', b'${endpoint.method}']`
    return sendJson(request, reply, failure(fleet, `UnsupportedMethod: ${expected}`))
  }
  let args: FormValues
  try {
    args = readArguments({
      method: request.method,
      query: request.raw.url?.split('?').slice(1).join('?') ?? '',
      contentType: request.headers['content-type'] ?? '',
      body: (request.body as Buffer | undefined) ?? null
    })
  } catch (error) {
    if (error instanceof MalformedMultipartError) return reply.code(400).header('connection', 'close').send()
    throw error
  }
  const asked = readAsked(args)
  try {
    const fields = await endpoint.answer(fleet, args)
    return sendJson(request, reply, { ...fields, status: 'ok', node_name: fleet.nodeName })
  } catch (error) {
    const message = wordFailure(error, asked)
    if (message === null)
      logger.error({ err: error, path: request.url.split('?', 1)[0] }, 'A request of the Scrapyd door failed')
    return sendJson(
      request,
      reply,
      failure(fleet, message ?? 'InternalError: Scrapdeck made a mistake. Its own log has the details.')
    )
  }
}

function failure(fleet: FleetAsScrapyd, message: string): Record<string, PythonJsonValue> {
  return { status: 'error', message, node_name: fleet.nodeName }
}

/** A Buffer, not a string: Fastify would add a charset to the type. HEAD gets the length that GET would have. */
function sendJson(request: FastifyRequest, reply: FastifyReply, answer: Record<string, PythonJsonValue>): FastifyReply {
  const body = Buffer.from(`${toPythonJson(answer)}\n`, 'ascii')
  reply.code(200).header('content-type', 'application/json').header('content-length', body.length)
  return request.method === 'HEAD' ? reply.send() : reply.send(body)
}
