import { EventEmitter } from 'node:events'
import type { AlertChannelId, AlertDigest, ProjectName } from '../../../../shared/contract/index.ts'
import type { Clock, Timer } from '../../../runtime/clock.ts'
import type { Logger } from '../../../runtime/logger.ts'
import type { StoredDigest } from '../../../model/records.ts'
import type { DigestStore, WebhookReader } from '../../../storage/store.ts'
import { daysOf, lastDueMs } from './due.ts'
import type { Reports } from './reports.ts'

export interface DigestsParts {
  store: DigestStore & WebhookReader
  clock: Clock
  logger: Logger
  reports: Pick<Reports, 'report'>
}

interface Due {
  id: AlertChannelId
  name: string
  digest: AlertDigest
  projects: readonly ProjectName[]
}

const LOOK_EVERY_MS = 60_000

/**
 * Sends one report per due time. After a pause, sends only the newest report that is due. A report and its due time are
 * stored in one transaction.
 */
export class Digests {
  readonly events = new EventEmitter<{ recorded: [] }>()
  readonly #parts: DigestsParts
  #sent = new Map<AlertChannelId, StoredDigest>()
  #channels: Due[] = []
  #isOld = true
  #timer: Timer | null = null
  #looking: Promise<void> = Promise.resolve()
  #stopped = false

  constructor(parts: DigestsParts) {
    this.#parts = parts
  }

  start(): void {
    this.#lookIn(0)
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#timer?.cancel()
    await this.#looking
  }

  refresh(): void {
    this.#isOld = true
    this.#lookIn(0)
  }

  #lookIn(delayMs: number): void {
    if (this.#stopped) return
    this.#timer?.cancel()
    this.#timer = this.#parts.clock.setTimer(delayMs, () => {
      this.#looking = this.#looking.then(() => this.#look())
    })
  }

  async #look(): Promise<void> {
    if (this.#stopped) return
    try {
      if (this.#isOld) await this.#read()
      for (const channel of this.#channels) await this.#tell(channel)
    } catch (error) {
      if (!this.#stopped) this.#parts.logger.error({ error }, 'reports could not be recorded; trying again in a minute')
      this.#isOld = true
    }
    this.#lookIn(LOOK_EVERY_MS)
  }

  async #read(): Promise<void> {
    const { store } = this.#parts
    this.#isOld = false
    const [webhooks, sent] = await Promise.all([store.listWebhooks(), store.listDigests()])
    this.#channels = webhooks.flatMap(({ id, name, enabled, channel }) =>
      enabled && channel?.digest ? [{ id, name, digest: channel.digest, projects: channel.projects ?? [] }] : []
    )
    this.#sent = new Map(sent.map((one) => [one.channelId, one]))
    const wanted = new Set(this.#channels.map(({ id }) => id))
    const left = sent.map(({ channelId }) => channelId).filter((id) => !wanted.has(id))
    if (left.length > 0) await store.deleteDigests(left)
  }

  async #tell({ id, name, digest, projects }: Due): Promise<void> {
    const { store, clock, reports } = this.#parts
    const settings = JSON.stringify(digest)
    const nowMs = clock.nowMs()
    const before = this.#sent.get(id)
    const isNew = before?.settings !== settings
    const dueMs = lastDueMs(digest, nowMs)
    if (!isNew && before.toldMs >= dueMs) return
    const sent = { channelId: id, settings, toldMs: isNew ? nowMs : dueMs }
    const data = isNew
      ? null
      : { ...(await reports.report(daysOf(digest), projects.length === 0 ? null : new Set(projects))), channel: name }
    const isWritten = await store.sendDigest(sent, data === null ? null : { atMs: nowMs, data })
    this.#sent.set(id, sent)
    if (isWritten && data !== null) this.events.emit('recorded')
  }
}
