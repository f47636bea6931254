import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import type { Engine } from '../../engine/index.ts'
import type { NodeId } from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/server.ts'
import { acceptOnlyJson } from '../api/json-body.ts'
import { NODE_DATA_BYTES, NODE_MESSAGE_BYTES } from '../limits.ts'

const BASE = '/api/node/v1'

/** Whether the request must authenticate with a node's token. Compares the route, like request-gate.ts. */
export function isNodeRoute({ routeOptions: { url } }: FastifyRequest): boolean {
  return url?.startsWith(`${BASE}/`) === true
}

/** Parses `Authorization: Bearer …`. Tokens can be as long as signed tokens of other issuers. null if missing. */
export function bearerToken(header: string | undefined): string | null {
  return /^bearer ([\x21-\x7e]{1,16384})$/i.exec(header ?? '')?.[1] ?? null
}

type PullingNode = NonNullable<ReturnType<Engine['pulling']['get']>>

/**
 * The endpoints for pulling nodes (docs/pulling-nodes.md), whose code is loaded when the first such node connects. The
 * request gate has checked the token, so `caller.id` is the id of the node.
 */
export async function nodeEndpoints(app: FastifyInstance, { pulling }: { pulling: Engine['pulling'] }): Promise<void> {
  const { messages } = pulling
  const held = new Set<AbortController>()
  // Web pages cannot send JSON or binary data without a preflight.
  acceptOnlyJson(app, NODE_MESSAGE_BYTES)
  app.addContentTypeParser(
    'application/octet-stream',
    { parseAs: 'buffer', bodyLimit: NODE_DATA_BYTES },
    async (_request: FastifyRequest, body: Buffer) => body
  )
  // Abort polls, so that stopping the service does not have to wait for them.
  app.addHook('preClose', async () => {
    for (const poll of held) poll.abort()
  })

  app.post(`${BASE}/open`, async (request) => {
    const node = nodeOf(request)
    const { epoch } = node.open(parseMessage((await messages()).OpenMessage, request.body))
    return { node: { id: request.caller.id, name: node.name }, epoch }
  })

  app.post(`${BASE}/poll`, async (request, reply) => {
    const message = parseMessage((await messages()).PollMessage, request.body)
    const poll = new AbortController()
    const onClose = () => poll.abort()
    held.add(poll)
    reply.raw.once('close', onClose)
    try {
      if (reply.raw.destroyed) poll.abort()
      return { commands: await nodeOf(request).poll(message, poll.signal) }
    } finally {
      held.delete(poll)
      reply.raw.off('close', onClose)
    }
  })

  app.post(`${BASE}/claim`, async (request) => ({
    verdicts: nodeOf(request).claim(parseMessage((await messages()).ClaimMessage, request.body))
  }))

  app.post(`${BASE}/refuse`, async (request) => {
    nodeOf(request).refuse(parseMessage((await messages()).RefuseMessage, request.body))
    return {}
  })

  app.post(`${BASE}/lists`, async (request) => {
    nodeOf(request).receiveLists(parseMessage((await messages()).ListsMessage, request.body))
    return {}
  })

  app.post(`${BASE}/answer`, async (request) => {
    nodeOf(request).receiveAnswer(parseMessage((await messages()).AnswerMessage, request.body))
    return {}
  })

  app.post(`${BASE}/data`, async (request) => {
    if (!Buffer.isBuffer(request.body)) throw new ScrapdeckError('BAD_INPUT', sentence('server.file_missing'))
    nodeOf(request).receiveData(parseMessage((await messages()).DataMessage, request.query), request.body)
    return {}
  })

  app.get<{ Params: { sha256: string } }>(`${BASE}/eggs/:sha256`, async (request, reply) => {
    const stamp = parseMessage((await messages()).Stamp, request.query)
    return sendEgg(nodeOf(request), stamp, request.params.sha256, reply)
  })

  function nodeOf({ caller }: FastifyRequest): PullingNode {
    const node = pulling.get(caller.id as NodeId)
    // A node's token is valid as soon as its row is stored, which can be before this engine knows the node.
    if (node === undefined) throw new ScrapdeckError('STOPPING', sentence('server.scrapdeck_starting_stopping'))
    return node
  }
}

async function sendEgg(
  node: PullingNode,
  stamp: { session: string; epoch: number },
  sha256: string,
  reply: FastifyReply
): Promise<FastifyReply> {
  const { stream, sizeBytes } = await node.openEgg(stamp, sha256)
  reply.raw.once('close', () => stream.destroy())
  return reply.type('application/octet-stream').header('content-length', sizeBytes).send(stream)
}

export function parseMessage<T extends z.ZodType>(schema: T, value: unknown): z.infer<T> {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const { path, message } = result.error.issues[0]!
  throw new ScrapdeckError('BAD_INPUT', sentence('server.message_invalid', { path: path.join('.'), message }))
}

export const EGG_ROUTE = '/kubernetes/eggs/:token'

/** Serves the eggs of runs on Kubernetes to their pods. The signed link is the only credential. */
export async function kubernetesEggEndpoint(app: FastifyInstance, options: { engine: Pick<Engine, 'openEgg'> }) {
  app.get<{ Params: { token: string } }>(EGG_ROUTE, async ({ params }, reply) => {
    const egg = await options.engine.openEgg(params.token)
    return reply
      .header('content-type', 'application/octet-stream')
      .header('content-length', egg.sizeBytes)
      .send(await egg.open())
  })
}
