import type { WebhookId } from '../../../shared/contract/index.ts'
import { EventEmitter } from 'node:events'
import { Alarm, type Clock, within } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { Random } from '../../runtime/random.ts'
import type { DeliveryTry, StoredDelivery, StoredWebhook } from '../../model/records.ts'
import type { ChangeNotifier, DueDeliveryStore, WebhookReader } from '../../storage/store.ts'
import { BACK_OFF_MS, planTry, type SendResult } from './plan-try.ts'
import { backoffMs } from '../../runtime/backoff.ts'

export interface DelivererParts {
  store: WebhookReader & DueDeliveryStore & ChangeNotifier
  clock: Clock
  random: Random
  logger: Logger
  /** Never rejects, and enforces its own timeout. */
  send: (receiver: StoredWebhook, delivery: StoredDelivery) => Promise<SendResult>
}

/** The maximum number of concurrent deliveries per receiver. Failing receivers and plugins get one at a time. */
const AT_ONCE_MAX = 4
/** How long to wait after a change. Changes come in bursts, and one check handles all of them. */
const DELIVER_AFTER_MS = 50
/** The maximum time between checks. The wall clock can change, so waiting for the next due time is not enough. */
const DELIVER_EVERY_MS = 60_000
const PAUSE_FIRST_MS = 1_000
const PAUSE_MAX_MS = 60_000
const STOP_GRACE_MS = 2_000
/**
 * The delays after failed calls of a plugin. A hook that throws is more likely to be broken than temporarily
 * unavailable, so we retry soon and give up soon.
 */
const PLUGIN_BACK_OFF_MS = [1_000, 30_000, 300_000]

/** `waiting`: the delivery failed and will be retried. `dead`: no further attempts. */
export interface Tried {
  receiver: StoredWebhook
  state: DeliveryTry['state']
}

interface Pace {
  inFlight: Set<string>
  failuresInARow: number
  pausedUntilMs: number
}

/**
 * Delivers the outbox at least once: if the engine dies before a result is on disk, it repeats the delivery with the
 * same id. A receiver is what `StoredWebhook` stores: a webhook, a channel of alerts or a plugin. Receivers never wait
 * for one another. A failing receiver is retried after growing pauses, and the deliveries queued behind it lose none of
 * their attempts.
 */
export class Deliverer {
  /** `changed`: a receiver, as the list shows it, has changed. `tried`: a delivery was attempted, with this result. */
  readonly events = new EventEmitter<{ changed: []; tried: [Tried] }>()
  readonly #parts: DelivererParts
  readonly #paces = new Map<string, Pace>()
  readonly #sending = new Set<Promise<void>>()
  /** Deliveries attempted since the last read started. The result of that read can still contain their old state. */
  readonly #attemptedSince = new Set<string>()
  #receivers = new Map<string, StoredWebhook>()
  #stopListening: (() => void) | null = null
  readonly #alarm: Alarm
  #delivering: Promise<void> | null = null
  #again = false
  #stopped = false

  constructor(parts: DelivererParts) {
    this.#parts = parts
    this.#alarm = new Alarm(parts.clock, () => this.#deliver())
  }

  async start(): Promise<void> {
    this.#stopListening = this.#parts.store.onChange(() => {
      if (this.#receivers.size > 0) this.wake()
    })
    await this.refreshReceivers()
  }

  /** Call this after receivers were added, changed or removed. */
  async refreshReceivers(): Promise<void> {
    this.#receivers = new Map((await this.#parts.store.listWebhooks()).map((receiver) => [receiver.id, receiver]))
    for (const id of this.#paces.keys()) if (!this.#receivers.has(id)) this.#paces.delete(id)
    this.wake()
  }

  /** Retries immediately, because the receiver may have been fixed. */
  forgetFailures(id: WebhookId): void {
    const pace = this.#paces.get(id)
    if (pace !== undefined) Object.assign(pace, { failuresInARow: 0, pausedUntilMs: 0 })
    this.wake()
  }

  wake(): void {
    if (this.#receivers.size > 0) this.#alarm.set(DELIVER_AFTER_MS)
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#stopListening?.()
    this.#alarm.stop()
    await this.#delivering
    await within(this.#parts.clock, STOP_GRACE_MS, Promise.all(this.#sending), () => {})
  }

  #deliver(): void {
    this.#again = true
    if (this.#delivering !== null || this.#stopped) return
    this.#delivering = this.#deliverUntilQuiet().finally(() => {
      this.#delivering = null
    })
  }

  async #deliverUntilQuiet(): Promise<void> {
    while (this.#again && !this.#stopped) {
      this.#again = false
      try {
        await this.#startDue()
      } catch (error) {
        if (!this.#stopped) this.#parts.logger.error({ error }, 'reading which deliveries are due failed')
        this.#alarm.set(DELIVER_EVERY_MS)
        return
      }
    }
  }

  async #startDue(): Promise<void> {
    if (this.#receivers.size === 0) return
    const { store, clock } = this.#parts
    const nowMs = clock.nowMs()
    this.#attemptedSince.clear()
    // The result includes deliveries in flight. Twice the limit ensures that it contains enough others.
    const { deliveries, nextDueMs } = await store.listDueDeliveries(nowMs, 2 * AT_ONCE_MAX)
    if (this.#stopped) return
    let nextMs = DELIVER_EVERY_MS
    if (nextDueMs !== null) nextMs = Math.min(nextMs, Math.max(1, nextDueMs - nowMs))
    for (const delivery of deliveries) {
      const receiver = this.#receivers.get(delivery.webhookId)
      if (receiver === undefined) continue
      if (this.#attemptedSince.has(delivery.id)) continue
      const pace = this.#paceOf(receiver.id)
      const pauseMs = pace.pausedUntilMs - clock.monotonicMs()
      if (pauseMs > 0) nextMs = Math.min(nextMs, pauseMs)
      const atOnce = pace.failuresInARow > 0 || receiver.kind === 'plugin' ? 1 : AT_ONCE_MAX
      if (pauseMs > 0 || pace.inFlight.size >= atOnce || pace.inFlight.has(delivery.id)) continue
      pace.inFlight.add(delivery.id)
      const sending = this.#deliverOne(receiver, delivery, pace).finally(() => {
        this.#sending.delete(sending)
        this.#deliver()
      })
      this.#sending.add(sending)
    }
    this.#alarm.set(nextMs)
  }

  async #deliverOne(receiver: StoredWebhook, delivery: StoredDelivery, pace: Pace): Promise<void> {
    const { store, clock, random, logger, send } = this.#parts
    try {
      const answer = await send(receiver, delivery)
      const backOffMs = receiver.kind === 'plugin' ? PLUGIN_BACK_OFF_MS : BACK_OFF_MS
      const made = planTry(delivery, answer, { nowMs: clock.nowMs(), random, backOffMs })
      await store.concludeTries([made])
      if (made.state === 'dead') {
        const facts = { webhook: receiver.name, event: delivery.event, delivery: delivery.id, answer: made.answer }
        logger.warn(facts, 'an event could not be delivered; giving up')
      }
      if (made.isGone === true) await this.refreshReceivers()
      // Plugins are never paused: one hook can fail while the others work.
      this.#setPause(pace, answer.isGood || receiver.kind === 'plugin')
      this.events.emit('tried', { receiver, state: made.state })
      this.events.emit('changed')
    } catch (error) {
      if (this.#stopped) return
      logger.error({ error, delivery: delivery.id }, 'recording the result of a delivery failed; it will be repeated')
      // Keeps the same event from being sent again and again while the disk fails.
      Object.assign(pace, { failuresInARow: 1, pausedUntilMs: clock.monotonicMs() + PAUSE_MAX_MS })
    } finally {
      pace.inFlight.delete(delivery.id)
      this.#attemptedSince.add(delivery.id)
    }
  }

  #setPause(pace: Pace, isGood: boolean): void {
    if (isGood) return void Object.assign(pace, { failuresInARow: 0, pausedUntilMs: 0 })
    pace.failuresInARow += 1
    const pauseMs = backoffMs(pace.failuresInARow, PAUSE_FIRST_MS, PAUSE_MAX_MS)
    pace.pausedUntilMs = this.#parts.clock.monotonicMs() + pauseMs
  }

  #paceOf(id: WebhookId): Pace {
    const known = this.#paces.get(id)
    if (known !== undefined) return known
    const fresh: Pace = { inFlight: new Set(), failuresInARow: 0, pausedUntilMs: 0 }
    this.#paces.set(id, fresh)
    return fresh
  }
}
