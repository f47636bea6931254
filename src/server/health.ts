import type { FastifyInstance } from 'fastify'
import type { Engine } from '../engine/index.ts'

/** For load balancers and start scripts: no credentials needed, and nothing told that would need them. */
export async function healthDoor(app: FastifyInstance, options: { engine: Pick<Engine, 'health'> }): Promise<void> {
  app.get('/health', (_request, reply) => {
    const { live, ready, reasons } = options.engine.health()
    const isHealthy = live && ready
    return reply
      .code(isHealthy ? 200 : 503)
      .header('cache-control', 'no-store')
      .send({ status: isHealthy ? 'ok' : 'unavailable', reasons })
  })
}
