import { implement } from '@orpc/server'
import { contract, type Delivery, type Webhook } from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { aProjectName, aWebhookId } from '../../shared/testing/ids.ts'
import type { FakeWorld } from './fake-world.ts'

/** Webhooks in memory that send nothing. Testing a webhook fails while it has a problem. */
export function createFakeWebhooks({ firstRun, emit, nextNumber }: FakeWorld) {
  const os = implement(contract)
  const nowMs = Date.now()
  const webhooks = new Map((firstRun ? [] : fakeWebhooks(nowMs)).map((webhook) => [webhook.id, webhook]))
  const deliveries = [...webhooks.values()].flatMap((webhook) => fakeDeliveries(webhook, nowMs))
  const webhookOf = (id: string): Webhook => {
    const webhook = webhooks.get(aWebhookId(id))
    if (webhook === undefined) throw new ScrapdeckError('WEBHOOK_NOT_FOUND', `There is no webhook ${id}.`)
    return webhook
  }
  const save = (webhook: Webhook) => {
    webhooks.set(webhook.id, webhook)
    emit({ kind: 'webhooks' })
    return { webhook }
  }
  const newSecret = () => `whsec_${btoa(`not a real secret ${nextNumber()}`)}`
  return {
    list: os.webhooks.list.handler(() => ({ webhooks: [...webhooks.values()] })),
    create: os.webhooks.create.handler(({ input }) => {
      if (/localhost|127\.|10\./.test(input.url))
        throw new ScrapdeckError(
          'WEBHOOK_URL_FORBIDDEN',
          `${input.url} is inside this network. Allow the network in the configuration (webhook_networks), or use another address.`
        )
      const fresh = { createdAtMs: Date.now(), lastDeliveredAtMs: null, waiting: 0, dead: 0, problem: null }
      return { ...save({ ...input, ...fresh, id: aWebhookId(idOf(nextNumber())) }), secret: newSecret() }
    }),
    update: os.webhooks.update.handler(({ input }) => save({ ...webhookOf(input.id), ...input })),
    remove: os.webhooks.remove.handler(({ input }) => {
      const removed = webhooks.delete(input.id)
      emit({ kind: 'webhooks' })
      return { removed }
    }),
    rotate: os.webhooks.rotate.handler(({ input }) => ({ webhook: webhookOf(input.id), secret: newSecret() })),
    test: os.webhooks.test.handler(({ input }) =>
      webhookOf(input.id).problem === null
        ? { ok: true, answer: '204 No Content after 84 ms' }
        : { ok: false, answer: '503 Service Unavailable: upstream is away' }
    ),
    deliveries: os.webhooks.deliveries.handler(({ input }) => {
      const matching = deliveries.filter(
        ({ id, webhookId, state }) =>
          webhookId === input.id &&
          (input.state === undefined || state === input.state) &&
          (input.before === undefined || id < input.before)
      )
      const page = matching.slice(0, input.limit)
      return { deliveries: page, nextBefore: matching.length > page.length ? (page.at(-1)?.id ?? null) : null }
    }),
    replay: os.webhooks.replay.handler(({ input }) => {
      const asked = deliveries.filter(
        ({ id, webhookId, state }) =>
          webhookId === input.id &&
          (input.deliveryIds.length === 0 ? state === 'dead' : input.deliveryIds.includes(id)) &&
          state !== 'waiting'
      )
      for (const delivery of asked)
        Object.assign(delivery, { state: 'waiting', tries: 0, nextTryAtMs: Date.now() + 1_000, endedAtMs: null })
      const of = deliveries.filter(({ webhookId }) => webhookId === input.id)
      const count = (state: Delivery['state']) => of.filter((delivery) => delivery.state === state).length
      save({ ...webhookOf(input.id), waiting: count('waiting'), dead: count('dead') })
      return { replayed: asked.length }
    })
  }
}

const idOf = (number: number) => `4e8b00${number.toString(16)}`.padEnd(32, '0')

function fakeWebhooks(nowMs: number): Webhook[] {
  const common = { enabled: true, createdAtMs: nowMs - 30 * 86_400_000, problem: null }
  return [
    {
      ...common,
      id: aWebhookId(idOf(1)),
      name: 'on-call',
      url: 'https://hooks.example.net/scrapdeck/on-call',
      events: ['job.ended', 'schedule.missed', 'node.down', 'node.up'],
      project: null,
      lastDeliveredAtMs: nowMs - 41_000,
      waiting: 0,
      dead: 0
    },
    {
      ...common,
      id: aWebhookId(idOf(2)),
      name: 'price warehouse',
      url: 'https://warehouse.example.net/ingest',
      events: ['job.ended'],
      project: aProjectName('prices'),
      lastDeliveredAtMs: nowMs - 7_200_000,
      waiting: 2,
      dead: 14,
      problem: 'The last 14 were given up: 503 Service Unavailable.'
    },
    {
      ...common,
      id: aWebhookId(idOf(3)),
      name: 'old dashboard',
      url: 'https://dash.example.net/in?team=crawl',
      events: ['job.queued', 'job.started', 'job.ended'],
      project: null,
      enabled: false,
      lastDeliveredAtMs: null,
      waiting: 0,
      dead: 0
    }
  ]
}

function fakeDeliveries(webhook: Webhook, nowMs: number): Delivery[] {
  if (webhook.lastDeliveredAtMs === null) return []
  const { waiting, dead } = webhook
  return Array.from({ length: waiting + dead + 30 }, (_, index): Delivery => {
    const madeAtMs = nowMs - (index + 1) * 1_100_000
    const state = index < waiting ? 'waiting' : index < waiting + dead ? 'dead' : 'delivered'
    const answer =
      state === 'delivered' ? '204 No Content' : '503 Service Unavailable: <html><body>upstream is away</body></html>'
    return {
      id: `msg_${String(9_000 - index).padStart(6, '0')}`,
      webhookId: webhook.id,
      event: webhook.events[index % webhook.events.length] ?? 'job.ended',
      state,
      tries: state === 'delivered' ? 1 : state === 'waiting' ? 3 : 12,
      madeAtMs,
      nextTryAtMs: state === 'waiting' ? nowMs + 95_000 * (index + 1) : null,
      endedAtMs: state === 'waiting' ? null : madeAtMs + 900,
      answer
    }
  })
}
