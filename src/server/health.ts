import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Engine } from '../engine/index.ts'

/**
 * For load balancers, container platforms and start scripts: no credentials needed, and nothing told that would need them. Not live: it
 * must be restarted. Live but not ready: it stops, or waits for something, and should get no requests meanwhile.
 */
export async function healthDoor(app: FastifyInstance, options: { engine: Pick<Engine, 'health'> }): Promise<void> {
  const answer = (reply: FastifyReply, isWell: (health: ReturnType<Engine['health']>) => boolean) => {
    const health = options.engine.health()
    const { live, ready, reasons } = health
    const isHealthy = isWell(health)
    return reply
      .code(isHealthy ? 200 : 503)
      .header('cache-control', 'no-store')
      .send({ status: isHealthy ? 'ok' : 'unavailable', live, ready, reasons })
  }
  app.get('/health', (_request, reply) => answer(reply, ({ live, ready }) => live && ready))
  app.get('/health/live', (_request, reply) => answer(reply, ({ live }) => live))
  app.get('/health/ready', (_request, reply) => answer(reply, ({ live, ready }) => live && ready))
}
