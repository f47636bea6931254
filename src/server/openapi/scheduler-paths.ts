import type { OpenAPI } from '@orpc/contract'
import { ORDER_STATUSES } from '../../shared/order-status.ts'
import { JOB_ID, NOON_MS } from '../../shared/examples/things.ts'

type Operation = OpenAPI.OperationObject

/** Paths that are also served outside the API with the same fields (api/crawl-endpoints.ts). */
export const ALSO_AT_ROOT = ['/crawl', '/crawl/{id}']

const API_SERVER = { url: '/api/v1' }
const ROOT = {
  url: '/',
  description: 'For clients of a crawl scheduler: job_id is always set, of a repeated crawl to the id of its schedule'
}
export const BOTH_SERVERS: OpenAPI.ServerObject[] = [API_SERVER, ROOT]

const TEXT_OR_NULL: ('string' | 'null')[] = ['string', 'null']
const moment = (description: string) => ({ type: TEXT_OR_NULL, format: 'date-time', description })
const JOBID = {
  type: TEXT_OR_NULL,
  description: 'The jobid of the newest run on its node; null before it'
}
const REASON = { type: TEXT_OR_NULL, description: 'cancelled, lost, unclear, or why the run failed; else null' }
const STATUS = { type: 'string' as const, enum: [...ORDER_STATUSES] }

/** The API has the same paths, and a document cannot contain a path twice, so these paths use the server `/jobs`. */
export function schedulerPaths(
  stream: Operation,
  problem: OpenAPI.ResponseObject
): Record<string, { get: Operation & { servers: OpenAPI.ServerObject[] } }> {
  const common = { tags: ['crawl'], servers: [{ url: '/jobs' }] }
  const id = stream.parameters!.find((parameter) => 'in' in parameter && parameter.in === 'path')!
  const status: Operation = {
    operationId: 'scheduler.status',
    summary: 'The progress of a crawl, with the names of a crawl scheduler: GET /jobs/{id}/status outside /api/v1',
    parameters: [id],
    responses: {
      200: {
        description: 'Of a repeated crawl: of its newest job',
        content: {
          'application/json': {
            schema: {
              type: 'object',
              properties: {
                job_id: { type: 'string' },
                status: STATUS,
                reason: REASON,
                started_at: moment('When its spider started'),
                finished_at: moment('When it ended'),
                spider_job_id: JOBID
              },
              required: ['job_id', 'status', 'reason', 'started_at', 'finished_at', 'spider_job_id']
            },
            example: {
              job_id: JOB_ID,
              status: 'running',
              reason: null,
              started_at: new Date(NOON_MS).toISOString(),
              finished_at: null,
              spider_job_id: JOB_ID
            }
          }
        }
      },
      default: problem
    }
  }
  const logs: Operation = {
    ...stream,
    operationId: 'scheduler.logs',
    summary: 'The log of a crawl, with the names of a crawl scheduler: GET /jobs/{id}/logs outside /api/v1',
    description:
      'Events: `log` for each line (`ts`, `level`, `msg`), `attempt` when the job runs again, `problem` when its node stops responding, `end` with `status`, `reason` and `spider_job_id`. Send the last id back as `Last-Event-ID` to resume.',
    responses: {
      ...stream.responses,
      200: {
        description: 'A stream that closes after `end`',
        content: {
          'text/event-stream': {
            schema: { type: 'string' },
            example: `event: log\nid: 1:62\ndata: {"ts":"2026-11-02T12:00:02","level":"INFO","msg":"Spider opened"}\n\nevent: end\nid: end\ndata: {"status":"finished","reason":null,"spider_job_id":"${JOB_ID}"}\n\n`
          }
        }
      }
    }
  }
  return { '/{id}/status': { get: { ...status, ...common } }, '/{id}/logs': { get: { ...logs, ...common } } }
}
