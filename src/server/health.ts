import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Engine } from '../engine/index.ts'

/**
 * For load balancers, containers and start scripts, without credentials or secrets. Not live: it must be restarted.
 * Live but not ready: it stops, or its disk takes nothing, and should get no requests meanwhile.
 */
export async function healthDoor(app: FastifyInstance, options: { engine: Pick<Engine, 'health'> }): Promise<void> {
  const { health } = options.engine
  app.get('/health', async (_request, reply) => sendReady(reply))
  app.get('/health/ready', async (_request, reply) => sendReady(reply))
  // Whoever asks this kills what does not answer in time: it waits for no disk.
  app.get('/health/live', (_request, reply) => send(reply, health.now(), 'live'))

  async function sendReady(reply: FastifyReply): Promise<FastifyReply> {
    return send(reply, await health.check(), 'ready')
  }
}

function send(reply: FastifyReply, health: ReturnType<Engine['health']['now']>, asked: 'live' | 'ready'): FastifyReply {
  const status = health[asked] ? 'ok' : 'unavailable'
  return reply
    .code(health[asked] ? 200 : 503)
    .header('cache-control', 'no-store')
    .send({ status, ...health })
}
