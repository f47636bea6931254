import type { FastifyInstance } from 'fastify'
import { Counter, Histogram, Registry } from 'prom-client'
import { forPermissionInAll } from './auth/route-permissions.ts'
import type { Engine } from '../engine/index.ts'

const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60]
/** The content type of streams. A stream lasts for hours by design, so its duration is not a response time. */
const STREAM = /^text\/event-stream/

/** Counts requests by route, not by path, because every job has its own paths. */
export function countRequests(fastify: FastifyInstance, prefix: string): Registry {
  const registry = new Registry()
  const labelNames = ['method', 'route', 'status'] as const
  // Requests are counted here until the next scrape, because the registry's own counter would take a tenth of the time
  // of a short request.
  const counts = new Map<string, { labels: Record<(typeof labelNames)[number], string>; count: number }>()
  const registers = [registry]
  new Counter({
    name: `${prefix}_http_requests_total`,
    help: 'Requests answered, by route.',
    labelNames,
    registers,
    collect() {
      for (const answered of counts.values()) {
        this.inc(answered.labels, answered.count)
        answered.count = 0
      }
    }
  })
  const duration = new Histogram({
    name: `${prefix}_http_request_duration_seconds`,
    help: 'Response time, without streams.',
    labelNames: ['method', 'route'],
    buckets: BUCKETS,
    registers
  })
  fastify.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url ?? 'none'
    const method = KNOWN_METHODS.has(request.method) ? request.method : 'other'
    const key = `${method} ${reply.statusCode} ${route}`
    let answered = counts.get(key)
    if (answered === undefined) {
      counts.set(key, (answered = { labels: { method, route, status: String(reply.statusCode) }, count: 0 }))
    }
    answered.count += 1
    const isStream = STREAM.test(String(reply.getHeader('content-type') ?? ''))
    if (!isStream) duration.observe({ method, route }, reply.elapsedTime / 1_000)
    done()
  })
  return registry
}

const KNOWN_METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'])

/** Requires the API's credentials (`basic_auth`) or an address that needs none (`metrics_from`). */
export async function metricsEndpoint(
  app: FastifyInstance,
  { engine, requests }: { engine: Pick<Engine, 'metrics'>; requests: Registry }
): Promise<void> {
  app.get('/metrics', forPermissionInAll('read'), async (_request, reply) => {
    const text = (await engine.metrics()) + (await requests.metrics())
    return reply.header('cache-control', 'no-store').header('content-type', CONTENT_TYPE).send(text)
  })
}
