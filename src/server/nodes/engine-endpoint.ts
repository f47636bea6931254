import type { IncomingMessage, RequestListener } from 'node:http'
import type { Readable } from 'node:stream'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { z } from 'zod'
import type { HostedNode } from '../../engine/index.ts'
import type { Logger } from '../../engine/runtime/logger.ts'
import { NODE_HEADER } from '../../engine/runtime/peer-header.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { parseJsonBody } from '../api/json-body.ts'
import { isOfPeerItself, recognizePeer } from '../auth/peer-requests.ts'
import { createErrorAnswer } from '../error-answer.ts'
import { MAX_TEXT_BYTES, MAX_UPLOAD_BYTES } from '../limits.ts'

/**
 * The local node of this engine, for the engine that leads (nodes/engines/engine-node.ts): requests that carry the
 * secret of the engines.
 */
export interface EngineEndpoint {
  /** Whether the request is for the local node, from an engine. */
  isFor(request: IncomingMessage): boolean
  handle: RequestListener
  stop(): Promise<void>
}

export async function openEngineEndpoint(options: {
  node: HostedNode
  /** The name of this engine. */
  name: string
  secret: string
  logger: Logger
}): Promise<EngineEndpoint> {
  const { node, name: engine, secret, logger } = options
  const messages = await node.messages()
  const fastify = Fastify({ bodyLimit: MAX_UPLOAD_BYTES, exposeHeadRoutes: false })
  const stopping = new AbortController()
  parseMessages(fastify)
  fastify.setErrorHandler((error, request, reply) => {
    const failure = messages.failureOf(error)
    return failure === null ? answerError(error as Error, request, reply) : reply.code(422).send({ failure })
  })
  const answerError = createErrorAnswer({ logger })

  // Another engine may have this address by now: its node would seem to have lost all its runs.
  fastify.addHook('onRequest', async (request, reply) => {
    if (request.headers[NODE_HEADER] !== encodeURIComponent(engine)) await reply.code(421).send({ engine })
  })
  for (const name of messages.OPERATION_NAMES) {
    const { input } = messages.HOSTED_OPERATIONS[name]
    fastify.post(`${messages.HOSTED_PATH}/${name}`, (request, reply) =>
      node[name](parse<never>(input as never, request.body), endOf(request, reply, stopping.signal))
    )
  }
  fastify.post(`${messages.HOSTED_PATH}/egg`, (request) => {
    if (!isStream(request.body)) throw new ScrapdeckError('BAD_INPUT', 'Send the bytes of the egg.')
    return node.addVersion(parse(messages.EggUpload, request.query), request.body)
  })
  fastify.post(`${messages.HOSTED_PATH}/file`, async (request, reply) => {
    const range = await node.readFile(parse(messages.RunFile, request.body))
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
      // An engine that follows forwards what anybody sends, and shows that it is an engine.
      return isOfPeerItself(request)
    },
    handle: (request, response) => fastify.routing(request, response),
    async stop() {
      stopping.abort()
      await fastify.close()
    }
  }
}

/** Aborted once no client waits for the response. */
function endOf(request: FastifyRequest, reply: FastifyReply, stopping: AbortSignal): AbortSignal {
  const ended = new AbortController()
  reply.raw.once('close', () => ended.abort())
  if (request.raw.destroyed) ended.abort()
  return AbortSignal.any([ended.signal, stopping])
}

function parse<T>(schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const { path, message } = result.error.issues[0]!
  throw new ScrapdeckError('BAD_INPUT', `The message is not valid: ${path.join('.')}: ${message}`)
}

const isStream = (body: unknown): body is Readable => typeof (body as Readable | null)?.pipe === 'function'

function parseMessages(fastify: FastifyInstance): void {
  fastify.removeAllContentTypeParsers()
  fastify.addContentTypeParser(
    'application/json',
    { parseAs: 'string', bodyLimit: MAX_TEXT_BYTES },
    (_request: FastifyRequest, body: string) => parseJsonBody(body)
  )
  // An egg is never in memory as a whole.
  fastify.addContentTypeParser('application/octet-stream', (_request, body, done) => done(null, body))
}
