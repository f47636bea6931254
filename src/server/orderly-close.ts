import type { ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'

/**
 * Makes a close short without cutting answers off. Event streams never end by themselves: they are cut at once, clients
 * resume by cursor. Answers under way are waited for and close their connection, which would hold up the close.
 */
export function closeInOrder(fastify: FastifyInstance): void {
  const streams = new Set<ServerResponse>()
  let isClosing = false
  fastify.addHook('onSend', async (_request, reply) => {
    if (isClosing) reply.header('connection', 'close')
    if (!String(reply.getHeader('content-type')).startsWith('text/event-stream')) return
    reply.header('x-accel-buffering', 'no').header('cache-control', 'no-store')
    streams.add(reply.raw)
    reply.raw.once('close', () => streams.delete(reply.raw))
  })
  fastify.addHook('preClose', async () => {
    isClosing = true
    for (const stream of streams) stream.destroy()
  })
}
