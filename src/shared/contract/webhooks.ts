import { z } from 'zod'
import { ProjectName, WebhookId, ShownName } from './ids.ts'
import { read, write } from './operation.ts'

export const WebhookEvent = z.enum([
  'job.queued',
  'job.started',
  'job.ended',
  'schedule.fired',
  'schedule.missed',
  'schedule.paused',
  'node.down',
  'node.up',
  'audit.recorded'
])
export type WebhookEvent = z.infer<typeof WebhookEvent>

export const WebhookSettings = z.object({
  name: ShownName.max(200),
  url: z.string().min(1).max(2_000),
  events: z.array(WebhookEvent).min(1).max(20),
  project: ProjectName.nullable().default(null),
  enabled: z.boolean().default(true)
})
export type WebhookSettings = z.infer<typeof WebhookSettings>

export const Webhook = WebhookSettings.extend({
  name: z.string(),
  id: WebhookId,
  createdAtMs: z.number(),
  lastDeliveredAtMs: z.number().nullable(),
  /** `waiting`: deliveries that wait for an attempt. `dead`: deliveries that were given up on. */
  waiting: z.number().int(),
  dead: z.number().int(),
  problem: z.string().nullable()
})
export type Webhook = z.infer<typeof Webhook>

export const Delivery = z.object({
  /** The `webhook-id` of Standard Webhooks. It is the same for every attempt. */
  id: z.string(),
  webhookId: WebhookId,
  event: WebhookEvent,
  state: z.enum(['waiting', 'delivered', 'dead']),
  tries: z.number().int(),
  madeAtMs: z.number(),
  nextTryAtMs: z.number().nullable(),
  endedAtMs: z.number().nullable(),
  answer: z.string().nullable()
})
export type Delivery = z.infer<typeof Delivery>

const Secret = z.object({
  secret: z.string()
})

export const webhooksContract = {
  list: read('webhooks.change', 'GET /webhooks', 'service').output(z.object({ webhooks: z.array(Webhook) })),
  create: write('webhooks.change', 'POST /webhooks', 'service', { tellsSecret: 'once' })
    .input(WebhookSettings)
    .output(Secret.extend({ webhook: Webhook })),
  update: write('webhooks.change', 'PUT /webhooks/{id}', 'service')
    .input(WebhookSettings.extend({ id: WebhookId }))
    .output(z.object({ webhook: Webhook })),
  remove: write('webhooks.change', 'DELETE /webhooks/{id}', 'service')
    .input(z.object({ id: WebhookId }))
    .output(z.object({ removed: z.boolean() })),
  /** Creates a new secret. The old secret stays valid for a day. */
  rotate: write('webhooks.change', 'POST /webhooks/{id}/rotate', 'service', { tellsSecret: 'once' })
    .input(z.object({ id: WebhookId }))
    .output(Secret.extend({ webhook: Webhook })),
  /** Sends a test event now, without retries, and returns the response. */
  test: write('webhooks.change', 'POST /webhooks/{id}/test', 'service')
    .input(z.object({ id: WebhookId }))
    .output(z.object({ ok: z.boolean(), answer: z.string() })),
  deliveries: read('webhooks.change', 'GET /webhooks/{id}/deliveries', 'service')
    .input(
      z.object({
        id: WebhookId,
        state: Delivery.shape.state.optional(),
        before: z.string().max(100).optional(),
        limit: z.coerce.number().int().min(1).max(500).default(100)
      })
    )
    .output(z.object({ deliveries: z.array(Delivery), nextBefore: z.string().nullable() })),
  /** Repeats these deliveries with a new count of attempts. Empty `deliveryIds`: all dead deliveries. */
  replay: write('webhooks.change', 'POST /webhooks/{id}/replay', 'service')
    .input(z.object({ id: WebhookId, deliveryIds: z.array(z.string().max(100)).max(10_000).default([]) }))
    .output(z.object({ replayed: z.number().int() }))
}
