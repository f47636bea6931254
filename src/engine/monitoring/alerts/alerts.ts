import { EventEmitter } from 'node:events'
import type {
  Alert,
  AlertChannelId,
  AlertId,
  AlertLabels,
  AlertRule,
  AlertRuleId,
  AlertSeverity,
  AlertSilence,
  NodeId,
  AlertNews,
  AlertView
} from '../../../shared/contract/index.ts'
import type { AlertWatch } from '../../../shared/alert-watches.ts'
import { windowFrom } from '../../../shared/calendar/windows.ts'
import { decode } from '../../../shared/texts/message.ts'
import { Alarm, type Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { Random } from '../../runtime/random.ts'
import type { AlertWrite } from '../../model/records.ts'
import type { AlertStore, WebhookReader } from '../../storage/store.ts'
import { AlertBook, type AlertChanges, type AlertSetup } from './alert-book.ts'
import { type Episode, isFiring, type AlertMessage, textsOf } from './episodes.ts'
import type { Signal } from './signal.ts'
import { LIMIT_WINDOW_MS } from './limits.ts'
import { FLAP_WINDOW_MS } from './recent-ends.ts'
import type { HeldMessages } from './notifier.ts'
import { titleOf, worstOf } from '../../notify/deliveries/channels/words.ts'

export interface AlertsParts {
  store: AlertStore & WebhookReader
  clock: Clock
  random: Random
  logger: Logger
  cordonedNodes: () => ReadonlySet<NodeId>
}

/**
 * The number of alerts that have not ended. `pending`: not firing yet, because the rule waits for them to last
 * longer.
 */
export type AlertCounts = Record<AlertSeverity, Record<'pending' | 'firing', number>>

/** How long to collect changes before writing them. Signals come in bursts, and one write is enough for each burst. */
const WRITE_AFTER_MS = 50
const RETRY_AFTER_MS = 5_000
/** The longest wait between checks. The wall clock can be set, so waiting until the next due time is not enough. */
const LOOK_EVERY_MS = 60_000

/**
 * Stores the changes of the alert book (store.writeAlerts) before anything is sent. Only the leading engine has an
 * instance.
 */
export class Alerts {
  /** `changed`: alerts, rules or silences. `configured`: rules or muting. `recorded`: the outbox has new messages. */
  readonly events = new EventEmitter<{ changed: []; recorded: []; configured: [] }>()
  readonly #parts: AlertsParts
  readonly #book: AlertBook
  #rules: AlertRule[] = []
  #byWatch: ReadonlyMap<AlertWatch, readonly AlertRule[]> = new Map()
  #silences: AlertSilence[] = []
  #cordoned: ReadonlySet<NodeId> = new Set()
  #isReady = false
  #unwritten: AlertWrite = nothing()
  #writing: Promise<void> = Promise.resolve()
  /** Reads run one after another, because an earlier result must not replace a later one. */
  #reading: Promise<void> = Promise.resolve()
  readonly #alarm: Alarm
  #stopped = false

  constructor(parts: AlertsParts) {
    this.#parts = parts
    const write = () => this.#write((written) => parts.store.writeAlerts(written)).catch(() => undefined)
    this.#alarm = new Alarm(parts.clock, () => void write())
    this.#book = new AlertBook(() => parts.random.hex(16) as AlertId)
  }

  start(): Promise<void> {
    return this.#inTurn(async () => {
      const { store, clock } = this.#parts
      const memory = await store.readAlertMemory(clock.nowMs() - Math.max(FLAP_WINDOW_MS, LIMIT_WINDOW_MS))
      this.#book.restore(memory, await this.#readSetup(), clock.nowMs())
      this.#isReady = true
      this.#writeSoon()
    })
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#alarm.stop()
    await this.#writing
  }

  rules(): readonly AlertRule[] {
    return this.#rules
  }

  silences(): readonly AlertSilence[] {
    const nowMs = this.#parts.clock.nowMs()
    return this.#silences.filter((silence) => windowFrom(silence, nowMs) !== null)
  }

  isAbout(watch: AlertWatch, labels: AlertLabels): boolean {
    return this.#byWatch.get(watch)?.some((rule) => couldFit(rule, labels)) ?? false
  }

  isWatched(watch: AlertWatch): boolean {
    return this.#byWatch.has(watch)
  }

  /** Call this when rules, silences, channels or cordoned nodes change. */
  reload(): Promise<void> {
    return this.#inTurn(async () => {
      if (!this.#isReady) return
      this.#book.configure(await this.#readSetup(), this.#parts.clock.nowMs())
      this.events.emit('changed')
      this.events.emit('configured')
      this.#writeSoon()
    })
  }

  /** Call this for each change of a node. Reloads only if the cordon changed. */
  noticeCordon(id: NodeId, isCordoned: boolean): void {
    if (!this.#isReady || this.#cordoned.has(id) === isCordoned) return
    this.reload().catch((error: unknown) => {
      if (!this.#stopped) this.#parts.logger.error({ error }, 'cordoned nodes could not be considered for alerts')
    })
  }

  receive(signal: Signal): void {
    if (!this.#isReady) return
    this.#book.receive(signal, this.#parts.clock.nowMs())
    this.#writeSoon()
  }

  receiveAll(watch: AlertWatch, signals: readonly Signal[], unknown: ReadonlySet<string> = new Set()): void {
    if (!this.#isReady) return
    this.#book.receiveAll(watch, signals, this.#parts.clock.nowMs(), unknown)
    this.#writeSoon()
  }

  /**
   * Resolves to the number of firing alerts that were not yet acknowledged. Rejects if the write fails, but the
   * acknowledgement still applies and is written later.
   */
  acknowledge(ids: readonly AlertId[], by: string): Promise<number> {
    return this.#answered(this.#book.acknowledge(ids, by, this.#parts.clock.nowMs()))
  }

  /** Like acknowledge. Resolves to the number of firing alerts that were acknowledged. */
  unacknowledge(ids: readonly AlertId[]): Promise<number> {
    return this.#answered(this.#book.unacknowledge(ids, this.#parts.clock.nowMs()))
  }

  async tell(message: AlertWrite['messages'][number]): Promise<void> {
    await this.#parts.store.writeAlerts({ ...nothing(), messages: [message] })
    this.events.emit('changed')
    this.events.emit('recorded')
  }

  counts(): AlertCounts {
    const none = () => ({ pending: 0, firing: 0 })
    const counts: AlertCounts = { info: none(), warning: none(), critical: none() }
    for (const one of this.#book.open()) counts[one.severity][isFiring(one) ? 'firing' : 'pending'] += 1
    return counts
  }

  firingByRule(): Map<AlertRuleId, number> {
    const counts = new Map<AlertRuleId, number>()
    for (const one of this.#book.open()) {
      if (isFiring(one)) counts.set(one.ruleId, (counts.get(one.ruleId) ?? 0) + 1)
    }
    return counts
  }

  describe(stored: Episode): Alert {
    const nowMs = this.#parts.clock.nowMs()
    const one = this.#book.get(stored.id) ?? stored
    const { key: _key, endedAtMs: _ended, isEscalated: _escalated, channels: _channels, state, ...alert } = one
    const isOpen = state !== 'resolved'
    return {
      ...alert,
      ...textsOf(one),
      state: state === 'calming' ? 'firing' : state,
      muted: isOpen ? this.#book.mutedBecause(one, nowMs) : null,
      isFlapping: isOpen && this.#book.isFlapping(one, nowMs)
    }
  }

  async #answered(count: number): Promise<number> {
    // The answer and its audit log entry must be written together. A later write would not include the entry.
    if (count > 0) await this.#write((write) => this.#parts.store.answerAlerts(write))
    return count
  }

  held(): ReadonlyMap<AlertChannelId, HeldMessages> {
    return this.#book.held(this.#parts.clock.nowMs())
  }

  #inTurn(read: () => Promise<void>): Promise<void> {
    const reading = this.#reading.then(read)
    this.#reading = reading.catch(() => undefined)
    return reading
  }

  async #readSetup(): Promise<AlertSetup> {
    const { store, cordonedNodes } = this.#parts
    const [rules, silences, webhooks] = await Promise.all([
      store.listAlertRules(),
      store.listSilences(),
      store.listWebhooks()
    ])
    this.#cordoned = cordonedNodes()
    this.#rules = rules
    this.#byWatch = Map.groupBy(
      rules.filter(({ enabled }) => enabled),
      ({ watch }) => watch
    )
    this.#silences = silences
    const channels = webhooks.filter(({ enabled, channel }) => enabled && channel != null)
    return {
      rules,
      channels: new Map(
        channels.map(({ id, channel }) => {
          const { quiet, messagesPerHour = null, projects } = channel!
          return [id, { quiet, messagesPerHour, projects }]
        })
      ),
      muting: { silences, cordonedNodes: this.#cordoned }
    }
  }

  #writeSoon(): void {
    // A new signal must not retry a failing store.
    if (isEmpty(this.#unwritten)) this.#alarm.set(WRITE_AFTER_MS)
  }

  #write(how: (write: AlertWrite) => Promise<void>): Promise<void> {
    const writing = this.#writing.then(() => this.#writeNow(how))
    this.#writing = writing.catch(() => undefined)
    return writing
  }

  async #writeNow(how: (write: AlertWrite) => Promise<void>): Promise<void> {
    const { clock, logger } = this.#parts
    const nowMs = clock.nowMs()
    this.#book.advance(nowMs)
    const write = joined(this.#unwritten, this.#book.take())
    this.#unwritten = nothing()
    try {
      if (isEmpty(write)) return
      await how(write)
      this.events.emit('changed')
      if (write.messages.length > 0) this.events.emit('recorded')
    } catch (error) {
      this.#unwritten = write
      if (!this.#stopped) logger.error({ error }, 'alerts could not be written; they are sent once they are')
      throw error
    } finally {
      this.#planNext()
    }
  }

  #planNext(): void {
    const nextMs = this.#book.nextAtMs()
    if (!isEmpty(this.#unwritten)) this.#alarm.set(RETRY_AFTER_MS)
    else if (nextMs !== null) this.#alarm.set(Math.min(LOOK_EVERY_MS, Math.max(1, nextMs - this.#parts.clock.nowMs())))
  }
}

const couldFit = (rule: AlertRule, { project, spider }: AlertLabels): boolean =>
  (rule.project === null || rule.project === project) && (rule.spider === null || rule.spider === spider)

const nothing = (): AlertWrite => ({ episodes: [], forgotten: [], groups: [], endedGroups: [], messages: [] })

const isEmpty = (write: AlertWrite): boolean =>
  Object.values(write).every((list: readonly unknown[]) => list.length === 0)

function joined(before: AlertWrite, after: AlertWrite | AlertChanges): AlertWrite {
  const ended = new Set(after.endedGroups)
  const begunAgain = new Set(after.groups.map(({ id }) => id))
  const forgotten = new Set(after.forgotten)
  return {
    episodes: [...new Map([...before.episodes, ...after.episodes].map((one) => [one.id, one])).values()].filter(
      ({ id }) => !forgotten.has(id)
    ),
    forgotten: [...before.forgotten, ...after.forgotten],
    groups: [...new Map([...before.groups, ...after.groups].map((one) => [one.id, one])).values()].filter(
      ({ id }) => !ended.has(id)
    ),
    endedGroups: [...before.endedGroups.filter((id) => !begunAgain.has(id)), ...after.endedGroups],
    messages: [
      ...before.messages,
      ...after.messages.map((one) =>
        'data' in one ? one : { channelId: one.channelId, atMs: one.atMs, data: newsOf(one) }
      )
    ]
  }
}

/** The maximum number of alerts listed per kind and message. The app shows all of them. */
const LISTED_MAX = 20

function newsOf({ kind, ruleId, groupId, firing, resolved, stillFiring, limit }: AlertMessage): AlertNews {
  const shown = firing.length > 0 ? firing : resolved
  const { ruleName, owner, text } = shown[0]!
  return {
    kind,
    ruleId,
    groupId,
    ruleName,
    owner,
    severity: worstOf(shown),
    ...titleOf(shown.length, decode(text)),
    firing: firing.slice(0, LISTED_MAX).map(viewOf),
    resolved: resolved.slice(0, LISTED_MAX).map(viewOf),
    moreFiring: Math.max(0, firing.length - LISTED_MAX),
    moreResolved: Math.max(0, resolved.length - LISTED_MAX),
    stillFiring,
    limit
  }
}

const viewOf = (one: Episode): AlertView => ({
  id: one.id,
  severity: one.severity,
  watch: one.watch,
  ...textsOf(one),
  value: one.value,
  labels: one.labels,
  firedAtMs: one.firedAtMs!,
  resolvedAtMs: one.resolvedAtMs
})
