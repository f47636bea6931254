import type { FastifyInstance } from 'fastify'
import type { ServerResponse } from 'node:http'

/**
 * Event streams never end by themselves: at close they are cut at once (clients resume by cursor), so that only requests
 * that do end are waited for.
 */
export function closeStreamsFirst(fastify: FastifyInstance): void {
  const streams = new Set<ServerResponse>()
  fastify.addHook('onSend', async (_request, reply) => {
    if (!String(reply.getHeader('content-type')).startsWith('text/event-stream')) return
    reply.header('x-accel-buffering', 'no').header('cache-control', 'no-store')
    streams.add(reply.raw)
    reply.raw.once('close', () => streams.delete(reply.raw))
  })
  fastify.addHook('preClose', async () => {
    for (const stream of streams) stream.destroy()
  })
}
