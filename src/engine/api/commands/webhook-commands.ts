import type { Delivery, Webhook, WebhookEvent, WebhookId, WebhookSettings } from '../../../shared/contract/index.ts'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/api.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Random } from '../../runtime/random.ts'
import type { SecretBox } from '../../runtime/secret-box.ts'
import type { NewWebhook, StoredWebhook } from '../../model/records.ts'
import type { DeliveryStore, WebhookStore } from '../../storage/store.ts'
import type { AddressGuard } from '../../notify/deliveries/addresses.ts'
import type { Deliverer } from '../../notify/deliveries/deliverer.ts'
import type { Post } from '../../notify/deliveries/post.ts'
import { makeSecret } from '../../notify/deliveries/signature.ts'
import { sendToWebhook } from '../../notify/deliveries/send-to-webhook.ts'

export interface WebhookCommandsParts {
  store: WebhookStore & DeliveryStore
  guard: AddressGuard
  deliverer: Deliverer
  post: Post
  secretBox: SecretBox
  clock: Clock
  random: Random
  onChange: () => void
}

/** How long the old secret remains valid. Receivers need time to switch to the new one. */
const OLD_SECRET_HOLDS_MS = 86_400_000

/** A secret is returned only once, when it is created. */
export class WebhookCommands {
  readonly #parts: WebhookCommandsParts

  constructor(parts: WebhookCommandsParts) {
    this.#parts = parts
  }

  async list(): Promise<Webhook[]> {
    return (await this.#all()).map(describe)
  }

  /** Throws WEBHOOK_URL_FORBIDDEN, like create and update. */
  check(settings: WebhookSettings): void {
    this.#parts.guard.checkUrl(settings.url)
  }

  async create(settings: WebhookSettings): Promise<{ secret: string; webhook: Webhook }> {
    const { clock, random, secretBox } = this.#parts
    const secret = makeSecret(random)
    const webhook = await this.#put({
      ...this.#checked(settings),
      id: random.hex(16) as WebhookId,
      kind: 'webhook',
      createdAtMs: clock.nowMs(),
      sealedSecret: await secretBox.seal(secret),
      sealedOldSecret: null,
      oldSecretUntilMs: null
    })
    return { secret, webhook }
  }

  async update({ id, ...settings }: WebhookSettings & { id: WebhookId }): Promise<Webhook> {
    const webhook = await this.#put({ ...(await this.#require(id)), ...this.#checked(settings) })
    this.#parts.deliverer.forgetFailures(id)
    return webhook
  }

  async remove(id: WebhookId): Promise<boolean> {
    await this.#require(id)
    const isRemoved = await this.#parts.store.deleteWebhook(id)
    await this.#publishChange()
    return isRemoved
  }

  async rotate(id: WebhookId): Promise<{ secret: string; webhook: Webhook }> {
    const { clock, random, secretBox } = this.#parts
    const before = await this.#require(id)
    const secret = makeSecret(random)
    const webhook = await this.#put({
      ...before,
      sealedSecret: await secretBox.seal(secret),
      sealedOldSecret: before.sealedSecret,
      oldSecretUntilMs: clock.nowMs() + OLD_SECRET_HOLDS_MS
    })
    return { secret, webhook }
  }

  async test(id: WebhookId): Promise<{ ok: boolean; answer: string }> {
    const { clock, random } = this.#parts
    const webhook = await this.#require(id)
    const data = { webhook: { id, name: webhook.name } }
    const body = JSON.stringify({ type: 'webhook.test', timestamp: new Date(clock.nowMs()).toISOString(), data })
    const { isGood, answer } = await sendToWebhook(this.#parts, webhook, { id: `msg_test_${random.hex(8)}`, body })
    // The receiver responds again, so pending deliveries need not wait for its backoff.
    if (isGood) this.#parts.deliverer.forgetFailures(id)
    return { ok: isGood, answer }
  }

  async deliveries(input: {
    id: WebhookId
    state?: Delivery['state'] | undefined
    before?: string | undefined
    limit: number
  }): Promise<{ deliveries: Delivery[]; nextBefore: string | null }> {
    const { id, state, before = null, limit } = input
    await this.#require(id)
    const rows = await this.#parts.store.listDeliveries(id, { state, before, limit: limit + 1 })
    const page = rows.slice(0, limit)
    const deliveries = page.map(({ body: _body, event, ...row }) => ({ ...row, event: event as WebhookEvent }))
    return { deliveries, nextBefore: rows.length > limit ? page.at(-1)!.id : null }
  }

  async replay(id: WebhookId, deliveryIds: string[]): Promise<number> {
    const { store, clock, deliverer, onChange } = this.#parts
    await this.#require(id)
    const replayed = await store.replayDeliveries(id, deliveryIds, clock.nowMs())
    deliverer.forgetFailures(id)
    onChange()
    return replayed
  }

  #checked(settings: WebhookSettings): WebhookSettings {
    const url = this.#parts.guard.checkUrl(settings.url)
    return { ...settings, url: url.href, events: [...new Set(settings.events)] }
  }

  async #put(webhook: NewWebhook): Promise<Webhook> {
    await this.#parts.store.putWebhook(webhook)
    await this.#publishChange()
    return describe(await this.#require(webhook.id))
  }

  async #publishChange(): Promise<void> {
    await this.#parts.deliverer.refreshReceivers()
    this.#parts.onChange()
  }

  /** Omits plugins: they receive events too, but come from the configuration. */
  async #all(): Promise<StoredWebhook[]> {
    return (await this.#parts.store.listWebhooks()).filter(({ kind }) => kind === 'webhook')
  }

  async #require(id: WebhookId): Promise<StoredWebhook> {
    const webhook = (await this.#all()).find((candidate) => candidate.id === id)
    if (webhook === undefined) {
      throw new ScrapdeckError('WEBHOOK_NOT_FOUND', sentence('api.no_webhook', { id }))
    }
    return webhook
  }
}

function describe(stored: StoredWebhook): Webhook {
  const { id, name, url, project, enabled, createdAtMs, lastDeliveredAtMs, waiting, dead, dropped } = stored
  const lost = dropped === 0 ? null : `${dropped} events were dropped because too many deliveries were already waiting`
  const problems = [stored.problem, lost].filter((problem) => problem !== null)
  return {
    id,
    name,
    url,
    project,
    enabled,
    createdAtMs,
    lastDeliveredAtMs,
    waiting,
    dead,
    events: stored.events as WebhookEvent[],
    problem: problems.length === 0 ? null : problems.join('; ')
  }
}
