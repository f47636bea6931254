import type { OpenAPI } from '@orpc/contract'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Engine } from '../engine/index.ts'
import { answerToUnusableBody, costOfCalls } from './api/json-rpc-answer.ts'
import { ScrapdeckError } from '../shared/errors.ts'
import { sentence } from '../shared/texts/errors/server.ts'
import { acceptOnlyJson } from './api/json-body.ts'
import type { RequestedOperation } from './api/requested-operations.ts'
import { crawlEndpoints } from './api/crawl-endpoints.ts'
import { requirePermission } from '../engine/access/principal.ts'
import { principalOf } from './auth/authenticator.ts'
import { BY_OPERATION } from './auth/route-permissions.ts'
import type { EndpointLimits } from './auth/endpoint-limits.ts'
import type { HandlerOf, ContractHandlers } from './contract-handlers.ts'
import { parseContractForms } from './forms/receive-form.ts'
import { MAX_TEXT_BYTES } from './limits.ts'
import { apiPageEndpoint } from './openapi/page.ts'

declare module 'fastify' {
  interface FastifyRequest {
    operation: RequestedOperation | undefined
  }
}

interface ContractEndpointsOptions {
  incoming: Engine['incoming']
  limits: EndpointLimits
  /** Requests that arrive before the handlers are loaded wait for them. */
  handlers: () => Promise<ContractHandlers>
}

/** The path of JSON-RPC. Each call of a batch counts as a request, so the batch is charged after its body is read. */
const JSON_RPC = '/api/v1/jsonrpc'
const isJsonRpc = ({ routeOptions }: FastifyRequest): boolean => routeOptions.url === JSON_RPC

/**
 * Serves the contract over HTTP: `/api/rpc` for our own clients, REST at `/api/v1` with additional features (fields,
 * idempotency keys, logs as lines), and JSON-RPC. Parses request bodies. Loads contract-handlers.ts later.
 */
export async function contractEndpoints(app: FastifyInstance, options: ContractEndpointsOptions): Promise<void> {
  const { incoming, limits, handlers } = options
  parseOnlyJsonAndForms(app, incoming)
  app.decorateRequest('operation')
  // Check the request before its body is read, because parsing or storing a rejected body wastes work.
  app.addHook('onRequest', async (request, reply) => {
    // URL parsing resolves `/projects/shop/versions/..` to the project, which a DELETE would then remove.
    if (/^[^?]*\/(?:\.|%2e){1,2}(?:[/?]|$)/i.test(request.raw.url!)) {
      throw new ScrapdeckError('BAD_INPUT', sentence('server.path_with_dots'))
    }
    if (isJsonRpc(request)) return
    await limits.chargeApi(request, reply, 1)
    request.operation = await (await handlers()).findOperation(request)
    if (request.operation === undefined) return
    requirePermission(
      principalOf(request),
      request.operation.needs,
      `${request.method} ${request.url.split('?', 1)[0]}`
    )
  })
  app.addHook('preHandler', async (request, reply) => {
    if (isJsonRpc(request)) await limits.chargeApi(request, reply, costOfCalls(request.body))
  })
  const handlerOf: HandlerOf = (name) => async (request, reply) => (await handlers())[name](request, reply)
  app.all('/api/rpc/*', BY_OPERATION, handlerOf('serveRpc'))
  app.post(JSON_RPC, {
    ...BY_OPERATION,
    handler: handlerOf('serveJsonRpc'),
    errorHandler(error, request, reply) {
      const answer = answerToUnusableBody(error)
      if (answer === null) throw error
      const send = () => void reply.header('cache-control', 'no-store').send(answer)
      const charging = limits.chargeApi(request, reply, 1)
      if (charging === undefined) send()
      else charging.then(send, (refused: unknown) => void reply.send(refused))
    }
  })
  app.get('/api/v1/jobs/:id/logs', BY_OPERATION, handlerOf('serveLogOfJob'))
  app.post('/api/v1/logs/zip', BY_OPERATION, handlerOf('serveLogZip'))
  app.get('/api/v1/jobs/:id/items/export', BY_OPERATION, handlerOf('serveItemsExport'))
  app.get('/api/v1/schedules/:id/logs', BY_OPERATION, handlerOf('serveLogOfSchedule'))
  crawlEndpoints(app, handlerOf)
  app.all('/api/v1/*', BY_OPERATION, handlerOf('serveRest'))
  let description: Promise<OpenAPI.Document> | null = null
  await apiPageEndpoint(app, { describe: () => (description ??= describe()) })
}

async function describe(): Promise<OpenAPI.Document> {
  const { describeApi } = await import('./openapi/describe.ts')
  return describeApi()
}

/** Rejects body types that any web page can send without a preflight (`text/plain`, urlencoded). */
function parseOnlyJsonAndForms(app: FastifyInstance, incoming: ContractEndpointsOptions['incoming']): void {
  acceptOnlyJson(app, MAX_TEXT_BYTES)
  parseContractForms(app, incoming)
}
