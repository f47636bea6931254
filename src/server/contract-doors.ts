import { OpenAPIGenerator } from '@orpc/openapi'
import { OpenAPIHandler } from '@orpc/openapi/fastify'
import { SmartCoercionPlugin } from '@orpc/json-schema'
import { onError, ORPCError, type Router } from '@orpc/server'
import { RPCHandler, type RPCHandlerOptions } from '@orpc/server/fastify'
import { ZodToJsonSchemaConverter } from '@orpc/zod/zod4'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { RouterContext } from '../engine/router/router.ts'
import type { Logger } from '../engine/runtime/logger.ts'
import { contract } from '../shared/contract/index.ts'
import { ScrapdeckError } from '../shared/errors.ts'
import { createWireErrorInterceptor } from '../shared/wire-errors.ts'
import { escapeHtml } from './html.ts'
import { MAX_JSON_BYTES, MAX_UPLOAD_BYTES } from './limits.ts'

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- oRPC itself says "a router of whatever contract" so.
type AnyRouter = Router<any, RouterContext>

/** A comment this often keeps proxies from closing a quiet stream. */
const KEEP_ALIVE_MS = 15_000

/** The contract over HTTP: `/api/rpc` for our own clients, `/api/v1` as REST for everybody else's, and its description. */
export async function contractDoors(
  app: FastifyInstance,
  options: { router: AnyRouter; logger: Logger }
): Promise<void> {
  const { router, logger } = options
  // A function: the handlers' plugins put interceptors of their own into the arrays they are given.
  const common = (): RPCHandlerOptions<RouterContext> => ({
    clientInterceptors: [
      createWireErrorInterceptor((error) => logger.error({ err: error }, 'A call of the contract failed'))
    ],
    interceptors: [onError((error) => reportOutside(error, logger))],
    eventIteratorKeepAliveEnabled: true,
    eventIteratorKeepAliveInterval: KEEP_ALIVE_MS
  })
  const rpc = new RPCHandler(router, common())
  const schemaConverters = [new ZodToJsonSchemaConverter()]
  const rest = new OpenAPIHandler(router, {
    ...common(),
    plugins: [new SmartCoercionPlugin({ schemaConverters })]
  })
  const describe = once(() =>
    new OpenAPIGenerator({ schemaConverters }).generate(contract, {
      info: { title: 'Scrapdeck', version: '1' },
      servers: [{ url: '/api/v1' }]
    })
  )

  parseOnlyJsonAndForms(app)
  app.all('/api/rpc/*', (request, reply) => serve(rpc, '/api/rpc', 'ui', request, reply))
  app.all('/api/v1/*', (request, reply) => serve(rest, '/api/v1', 'api', request, reply))
  app.get('/api/openapi.json', async () => describe())
  app.get('/api', async (_request, reply) =>
    reply.type('text/html; charset=utf-8').send(operationsPage(await describe()))
  )
}

/**
 * Bodies that a form of any web page can send without asking first (`text/plain`, urlencoded) are not taken. Bodies are read
 * here, under Fastify's limits; oRPC takes what it finds in `request.body`.
 */
function parseOnlyJsonAndForms(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'string', bodyLimit: MAX_JSON_BYTES },
    (_request, body, done) => {
      try {
        done(null, body === '' ? undefined : JSON.parse(body as string))
      } catch (error) {
        done(new ScrapdeckError('BAD_INPUT', 'The body of the request is not JSON.', { cause: error }))
      }
    }
  )
  app.addContentTypeParser(
    'multipart/form-data',
    { parseAs: 'buffer', bodyLimit: MAX_UPLOAD_BYTES },
    async (request: FastifyRequest, body: Buffer) => {
      const headers = { 'content-type': request.headers['content-type'] as string }
      return new Response(body as Buffer<ArrayBuffer>, { headers }).formData().catch((error: unknown) => {
        throw new ScrapdeckError('BAD_INPUT', 'The body of the request is not a form.', { cause: error })
      })
    }
  )
}

/** What fails before or after the call itself: a request that cannot be read, an answer that cannot be written. */
function reportOutside(error: unknown, logger: Logger): void {
  if (!(error instanceof ORPCError)) logger.error({ err: error }, 'A request or an answer of the contract is malformed')
}

type Handler = Pick<RPCHandler<RouterContext>, 'handle'>

async function serve(
  handler: Handler,
  prefix: `/${string}`,
  source: 'ui' | 'api',
  request: FastifyRequest,
  reply: FastifyReply
): Promise<FastifyReply> {
  reply.header('cache-control', 'no-store')
  const { matched } = await handler.handle(request, reply, { prefix, context: { source } })
  if (!matched)
    throw new ScrapdeckError('NOT_FOUND', `The API has no ${request.method} ${request.url.split('?', 1)[0]}.`)
  return reply
}

/** A plain list of the operations: what the OpenAPI document says, for people. */
function operationsPage(document: Awaited<ReturnType<OpenAPIGenerator['generate']>>): string {
  const rows = Object.entries(document.paths ?? {}).flatMap(([path, operations]) =>
    Object.entries(operations ?? {}).map(([method, operation]) => {
      const { operationId = '' } = operation as { operationId?: string }
      return `<tr><td>${method.toUpperCase()}</td><td>/api/v1${escapeHtml(path)}</td><td>${escapeHtml(operationId)}</td></tr>`
    })
  )
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Scrapdeck API</title></head>
<body>
<h1>Scrapdeck API</h1>
<p>Use Basic authentication. The full description: <a href="/api/openapi.json">/api/openapi.json</a> (OpenAPI 3.1).</p>
<table>
${rows.join('\n')}
</table>
</body>
</html>
`
}

function once<Value>(make: () => Value): () => Value {
  let made: { value: Value } | null = null
  return () => {
    made ??= { value: make() }
    return made.value
  }
}
