import type { FastifyInstance } from 'fastify'
import { BY_OPERATION } from '../auth/route-permissions.ts'
import type { HandlerOf } from '../contract-handlers.ts'

/**
 * Endpoints for crawl orders outside the API, with the paths and names of the scheduler service that Scrapdeck replaces
 * (docs/api.md). Orders use the API's format. A job's status and log use other names (crawl-answers.ts).
 */
export function crawlEndpoints(app: FastifyInstance, handlerOf: HandlerOf): void {
  const serveOrder = handlerOf('serveCrawl')
  app.all('/crawl', BY_OPERATION, serveOrder)
  app.all('/crawl/:id', BY_OPERATION, serveOrder)
  app.get('/jobs/:id/status', BY_OPERATION, handlerOf('serveStatusOfCrawl'))
  app.get('/jobs/:id/logs', BY_OPERATION, handlerOf('serveLogOfCrawl'))
}

/** The routes in Fastify's notation. The API's limits and error format apply to them. */
const ROUTES = new Set(['/crawl', '/crawl/:id', '/jobs/:id/status', '/jobs/:id/logs'])
export const isCrawlRoute = (url: string | undefined): boolean => url !== undefined && ROUTES.has(url)
