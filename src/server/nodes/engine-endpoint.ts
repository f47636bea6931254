import type { IncomingMessage, RequestListener } from 'node:http'
import type { Readable } from 'node:stream'
import Fastify, { type FastifyReply, type FastifyRequest } from 'fastify'
import type { HostedNode } from '../../engine/index.ts'
import type { Logger } from '../../engine/runtime/logger.ts'
import { NODE_HEADER } from '../../engine/runtime/peer-header.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/server.ts'
import { acceptOnlyJson } from '../api/json-body.ts'
import { isOfPeerItself, recognizePeer } from '../auth/peer-requests.ts'
import { createErrorHandler } from '../error-handler.ts'
import { parseMessage } from './node-endpoints.ts'
import { MAX_TEXT_BYTES, MAX_UPLOAD_BYTES } from '../limits.ts'

/** Serves this engine's local node to the leader (nodes/engines/engine-node.ts), which sends a shared secret. */
export interface EngineEndpoint {
  /** Whether another engine sent this request to the local node. */
  isFor(request: IncomingMessage): boolean
  handle: RequestListener
  stop(): Promise<void>
}

export async function openEngineEndpoint(options: {
  node: HostedNode
  name: string
  secret: string
  logger: Logger
}): Promise<EngineEndpoint> {
  const { node, name: engine, secret, logger } = options
  const messages = await node.messages()
  const fastify = Fastify({ bodyLimit: MAX_UPLOAD_BYTES, exposeHeadRoutes: false })
  const stopping = new AbortController()
  acceptOnlyJson(fastify, MAX_TEXT_BYTES)
  // Pass the body on as a stream, so that an egg is never in memory as a whole.
  fastify.addContentTypeParser('application/octet-stream', (_request, body, done) => done(null, body))
  fastify.setErrorHandler((error, request, reply) => {
    const failure = messages.failureOf(error)
    return failure === null ? handleError(error as Error, request, reply) : reply.code(422).send({ failure })
  })
  const handleError = createErrorHandler({ logger })

  // This engine may have taken over another engine's address. If this engine responded, the other engine's node would
  // seem to have lost all its runs.
  fastify.addHook('onRequest', async (request, reply) => {
    if (request.headers[NODE_HEADER] !== encodeURIComponent(engine)) await reply.code(421).send({ engine })
  })
  for (const name of messages.OPERATION_NAMES) {
    const { input } = messages.HOSTED_OPERATIONS[name]
    fastify.post(`${messages.HOSTED_PATH}/${name}`, (request, reply) =>
      node[name](parseMessage(input, request.body) as never, endOf(request, reply, stopping.signal))
    )
  }
  fastify.post(`${messages.HOSTED_PATH}/egg`, (request) => {
    if (!isStream(request.body)) throw new ScrapdeckError('BAD_INPUT', sentence('server.egg_missing'))
    return node.addVersion(parseMessage(messages.EggUpload, request.query), request.body)
  })
  fastify.post(`${messages.HOSTED_PATH}/file`, async (request, reply) => {
    const range = await node.readFile(parseMessage(messages.RunFile, request.body))
    if (range === null) return reply.code(messages.NO_FILE).send()
    const { offset, sizeBytes, fileId } = range
    reply.header(messages.FILE_RANGE_HEADER, JSON.stringify({ offset, sizeBytes, fileId: fileId ?? undefined }))
    return reply.type('application/octet-stream').send(Buffer.from(range.bytes))
  })
  await fastify.ready()

  return {
    isFor(request) {
      if (request.url?.startsWith(`${messages.HOSTED_PATH}/`) !== true) return false
      recognizePeer(request, secret)
      // A follower forwards requests from any client, but marks them as forwarded.
      return isOfPeerItself(request)
    },
    handle: (request, response) => fastify.routing(request, response),
    async stop() {
      stopping.abort()
      await fastify.close()
    }
  }
}

function endOf(request: FastifyRequest, reply: FastifyReply, stopping: AbortSignal): AbortSignal {
  const ended = new AbortController()
  reply.raw.once('close', () => ended.abort())
  if (request.raw.destroyed) ended.abort()
  return AbortSignal.any([ended.signal, stopping])
}

const isStream = (body: unknown): body is Readable => typeof (body as Readable | null)?.pipe === 'function'
