import type { FastifyInstance } from 'fastify'
import type { Engine } from '../engine/index.ts'

export const EGG_ROUTE = '/kubernetes/eggs/:token'

/** The eggs of runs on Kubernetes, for their pods: the signed link is all that they have, and all that they need. */
export async function kubernetesEggEndpoint(app: FastifyInstance, options: { engine: Pick<Engine, 'openEgg'> }) {
  app.get<{ Params: { token: string } }>(EGG_ROUTE, async ({ params }, reply) => {
    const egg = await options.engine.openEgg(params.token)
    return reply
      .header('content-type', 'application/octet-stream')
      .header('content-length', egg.sizeBytes)
      .send(await egg.open())
  })
}
