import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Engine } from '../engine/index.ts'

/**
 * For load balancers, containers and start scripts, without credentials. Not live: restart the service. Live but not
 * ready: it is stopping or cannot write to its disk, so send it no requests for now.
 */
export async function healthDoor(
  app: FastifyInstance,
  options: { engine: Pick<Engine, 'health'>; engineName?: string | undefined }
): Promise<void> {
  const { health } = options.engine
  // Of several engines on one database, each says which it is (follower.ts does so for the others).
  const role = options.engineName === undefined ? {} : { engine: options.engineName, leads: true }
  app.get('/health', async (_request, reply) => sendReady(reply))
  app.get('/health/ready', async (_request, reply) => sendReady(reply))
  // Supervisors kill a service that does not answer in time, so this does not wait for the disk.
  app.get('/health/live', (_request, reply) => send(reply, { ...health.now(), ...role }, 'live'))

  async function sendReady(reply: FastifyReply): Promise<FastifyReply> {
    return send(reply, { ...(await health.check()), ...role }, 'ready')
  }
}

function send(reply: FastifyReply, health: ReturnType<Engine['health']['now']>, asked: 'live' | 'ready'): FastifyReply {
  const status = health[asked] ? 'ok' : 'unavailable'
  return reply
    .code(health[asked] ? 200 : 503)
    .header('cache-control', 'no-store')
    .send({ status, ...health })
}
