import type { ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { closeAfter } from './http2-requests.ts'

/**
 * Makes a close quick without cutting off responses. Event streams never end by themselves, so they are cut; clients
 * resume by cursor. Open requests are completed, then their connections closed: keep-alive would delay the close.
 */
export function closeInOrder(fastify: FastifyInstance): void {
  const streams = new Set<ServerResponse>()
  let isClosing = false
  fastify.addHook('onSend', (request, reply, _payload, done) => {
    if (isClosing) closeAfter(request, reply)
    if (String(reply.getHeader('content-type')).startsWith('text/event-stream')) {
      reply.header('x-accel-buffering', 'no').header('cache-control', 'no-store')
      streams.add(reply.raw)
      reply.raw.once('close', () => streams.delete(reply.raw))
    }
    done()
  })
  fastify.addHook('preClose', async () => {
    isClosing = true
    for (const stream of streams) stream.destroy()
  })
}
