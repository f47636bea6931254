import pLimit from 'p-limit'
import type {
  AlertChannel,
  AlertChannelId,
  AlertChannelSettings,
  AlertId,
  AlertNotice,
  AlertRule,
  AlertRuleId,
  AlertRuleSettings,
  AlertRuleState,
  AlertSilence,
  AlertSilenceId,
  ProjectName
} from '../../../shared/contract/index.ts'
import { ALERT_WATCHES, SCOPE_OF, type ScopeField } from '../../../shared/alert-watches.ts'
import { areApart, isZone, windowFrom } from '../../../shared/calendar/index.ts'
import { ScrapdeckError } from '../../../shared/errors.ts'
import type { Sentence } from '../../../shared/texts/sentence.ts'
import { sentence } from '../../../shared/texts/errors/api.ts'
import type { Permission } from '../../../shared/permissions.ts'
import { actorMayEverywhere, actorName, actorSees } from '../../access/acting.ts'
import type { Alerts } from '../../monitoring/alerts/alerts.ts'
import type { RulePreview, RulePreviews } from '../../monitoring/alerts/past/preview.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Random } from '../../runtime/random.ts'
import type { SecretBox } from '../../runtime/secret-box.ts'
import type { NewWebhook, StoredWebhook } from '../../model/records.ts'
import type { AlertStore, DeliveryStore, WebhookStore } from '../../storage/store.ts'
import type { Deliverer } from '../../notify/deliveries/deliverer.ts'
import type { Channels, TestResult } from '../../notify/deliveries/channels/channels.ts'
import { noticeOf } from '../../notify/deliveries/channels/desktop.ts'
import { exampleNews } from '../../notify/deliveries/channels/message.ts'
import { makeSecret } from '../../notify/deliveries/signature.ts'
import { mayTell } from '../../notify/deliveries/channels/seen-news.ts'

export interface AlertCommandsParts {
  store: AlertStore & WebhookStore & Pick<DeliveryStore, 'findNewestDelivery' | 'listDeliveriesAfter'>
  alerts: Alerts
  previews: RulePreviews
  deliverer: Deliverer
  channels: Channels
  secretBox: SecretBox
  clock: Clock
  random: Random
  onChange: () => void
}

const RULES: Quota = { most: 5_000, what: 'rules' }
const CHANNELS: Quota = { most: 200, what: 'channels' }
const SILENCES: Quota = { most: 1_000, what: 'silences' }
const NOISE_WINDOW_MS = 30 * 86_400_000
const SILENCE_MAX_MS = 366 * 86_400_000
const SCOPE_FIELDS: readonly ScopeField[] = ['project', 'spider', 'scheduleId', 'nodeId', 'nodeTag']
const NOTICES_MAX = 50
const FROM_THE_FIRST = '0'

export class AlertCommands {
  readonly #parts: AlertCommandsParts
  /** No other write may happen between a quota check and the write that it allows. */
  readonly #oneAtATime = pLimit(1)

  constructor(parts: AlertCommandsParts) {
    this.#parts = parts
  }

  rules(): readonly AlertRule[] {
    return this.#parts.alerts.rules()
  }

  async channelNames(): Promise<Map<AlertChannelId, string>> {
    return new Map((await this.#stored()).map(({ id, name }) => [id, name]))
  }

  async listRules(): Promise<AlertRuleState[]> {
    const { store, alerts, clock } = this.#parts
    const figures = new Map((await store.sumAlerts(clock.nowMs() - NOISE_WINDOW_MS)).map((one) => [one.ruleId, one]))
    const firing = alerts.firingByRule()
    return alerts.rules().map((rule) => ({
      ...rule,
      firing: firing.get(rule.id) ?? 0,
      fired: figures.get(rule.id)?.fired ?? 0,
      actedOn: figures.get(rule.id)?.actedOn ?? 0,
      lastFiredAtMs: figures.get(rule.id)?.lastFiredAtMs ?? null
    }))
  }

  async createRule(settings: AlertRuleSettings): Promise<AlertRule> {
    const { alerts, clock, random } = this.#parts
    await this.#checkRule(settings)
    const id = random.hex(16) as AlertRuleId
    return this.#oneAtATime(async () => {
      requireRoom(alerts.rules(), settings.project, 'alerts.change', RULES)
      return this.#putRule({ ...settings, id, revision: 1, createdAtMs: clock.nowMs() })
    })
  }

  async #putRule(rule: AlertRule): Promise<AlertRule> {
    await this.#parts.store.putAlertRule(rule)
    await this.#parts.alerts.reload()
    return rule
  }

  /** Rejects like createRule. */
  async previewRule({ days, ...settings }: AlertRuleSettings & { days: number }): Promise<RulePreview> {
    const { previews } = this.#parts
    await this.#checkRule(settings)
    if (previews.isBusy) throw new ScrapdeckError('TOO_MANY_REQUESTS', sentence('api.rules_being_previewed'))
    return previews.preview(settings, days)
  }

  /** `revision` is the revision that the client edited. Rejects with ALERT_RULE_NOT_FOUND and CHANGED_MEANWHILE. */
  async updateRule({
    id,
    revision,
    ...settings
  }: AlertRuleSettings & { id: AlertRuleId; revision: number }): Promise<AlertRule> {
    const { alerts } = this.#parts
    const before = alerts.rules().find((rule) => rule.id === id)
    if (before === undefined) throw noAlertRule(id)
    await this.#checkRule(settings)
    return this.#oneAtATime(async () => {
      if (settings.project !== before.project)
        requireRoom(
          alerts.rules().filter((rule) => rule.id !== id),
          settings.project,
          'alerts.change',
          RULES
        )
      return this.#putRule({ ...settings, id, revision: revision + 1, createdAtMs: before.createdAtMs })
    })
  }

  async removeRule(id: AlertRuleId): Promise<boolean> {
    if (!this.#parts.alerts.rules().some((rule) => rule.id === id)) throw noAlertRule(id)
    return (await this.removeRules([id])).length > 0
  }

  removeRules(ids: readonly AlertRuleId[]): Promise<AlertRuleId[]> {
    return this.#removeEach(ids, this.#parts.store.deleteAlertRule)
  }

  async #removeEach<Id>(ids: readonly Id[], remove: (id: Id) => Promise<boolean>): Promise<Id[]> {
    const areRemoved = await Promise.all([...new Set(ids)].map(async (id) => ((await remove(id)) ? [id] : [])))
    await this.#parts.alerts.reload()
    return areRemoved.flat()
  }

  acknowledge(ids: readonly AlertId[]): Promise<number> {
    return this.#parts.alerts.acknowledge(ids, actorName() ?? 'the owner')
  }

  unacknowledge(ids: readonly AlertId[]): Promise<number> {
    return this.#parts.alerts.unacknowledge(ids)
  }

  async silence({ fromMs, ...of }: NewSilence): Promise<AlertSilence> {
    const { store, alerts, clock, random } = this.#parts
    const isNamable = ({ id, project }: AlertRule) => id === of.ruleId && (project === null || actorSees([project]))
    if (of.ruleId !== null && !alerts.rules().some(isNamable)) throw noAlertRule(of.ruleId)
    const nowMs = clock.nowMs()
    // A repeating silence keeps its first start time, because later windows are computed from it.
    const from = of.repeats === null ? Math.max(fromMs ?? nowMs, nowMs) : (fromMs ?? nowMs)
    const id = random.hex(16) as AlertSilenceId
    const silence: AlertSilence = { ...of, id, fromMs: from, by: actorName() ?? 'the owner' }
    checkSilence(silence, nowMs)
    return this.#oneAtATime(async () => {
      requireRoom(alerts.silences(), of.project, 'alerts.answer', SILENCES)
      await store.putSilence(silence)
      await alerts.reload()
      return silence
    })
  }

  async endSilence(id: AlertSilenceId): Promise<boolean> {
    if (!this.#parts.alerts.silences().some((silence) => silence.id === id)) throw noSilence(id)
    return (await this.endSilences([id])).length > 0
  }

  endSilences(ids: readonly AlertSilenceId[]): Promise<AlertSilenceId[]> {
    return this.#removeEach(ids, this.#parts.store.deleteSilence)
  }

  async listChannels(): Promise<AlertChannel[]> {
    const held = this.#parts.alerts.held()
    return (await this.#stored()).map((stored) => describeChannel(stored, held.get(stored.id)))
  }

  async createChannel({ secret, ...settings }: AlertChannelSettings & { secret?: string | undefined }) {
    const { clock, random, secretBox } = this.#parts
    requireRoom(
      (await this.#stored()).map(() => ({ project: null })),
      null,
      'webhooks.change',
      CHANNELS
    )
    this.#checkChannel(settings, secret ?? null)
    const made = settings.target.kind === 'webhook' ? makeSecret(random) : null
    const sealedSecret = made ?? secret ?? null
    const channel = await this.#put({
      ...rowOf(settings),
      id: random.hex(16) as AlertChannelId,
      createdAtMs: clock.nowMs(),
      sealedSecret: sealedSecret === null ? null : await secretBox.seal(sealedSecret)
    })
    return { channel, ...(made !== null && { secret: made }) }
  }

  /** Rejects with ALERT_CHANNEL_NOT_FOUND, and with BAD_INPUT if the kind would change. */
  async updateChannel({
    id,
    secret,
    ...settings
  }: AlertChannelSettings & { id: AlertChannelId; secret?: string | undefined }) {
    const before = await this.#require(id)
    const { target } = before.channel!
    // A webhook signs with its secret. If a mail server's password became that secret, a receiver could guess it
    // offline.
    if (target.kind !== settings.target.kind)
      throw new ScrapdeckError(
        'BAD_INPUT',
        sentence('api.channel_keeps_kind', { name: before.name, kind: target.kind })
      )
    const isOtherPlace = placeOf(target) !== placeOf(settings.target)
    // Sending a secret to an address other than the one for which it was entered could leak it.
    const kept = isOtherPlace && target.kind !== 'webhook' ? null : before.sealedSecret
    this.#checkChannel(settings, secret ?? kept)
    const sealedSecret = secret === undefined ? kept : await this.#parts.secretBox.seal(secret)
    const channel = await this.#put({ ...rowOf(settings), id, createdAtMs: before.createdAtMs, sealedSecret })
    this.#parts.deliverer.forgetFailures(id)
    return { channel }
  }

  async removeChannel(id: AlertChannelId): Promise<boolean> {
    await this.#require(id)
    const isRemoved = await this.#parts.store.deleteWebhook(id)
    await this.#publish()
    return isRemoved
  }

  async testChannel(id: AlertChannelId): Promise<TestResult> {
    const channel = await this.#require(id)
    if (channel.channel!.target.kind === 'desktop') return this.#testDesktop(channel)
    const result = await this.#parts.channels.test(channel)
    if (result.ok) this.#parts.deliverer.forgetFailures(id)
    return result
  }

  async #testDesktop({ id, enabled }: StoredWebhook): Promise<TestResult> {
    const { alerts, clock } = this.#parts
    if (!enabled)
      return { ok: false, answer: 'The channel is turned off: turn it on, and test it again.', conversation: [] }
    const atMs = clock.nowMs()
    await alerts.tell({ channelId: id, atMs, data: exampleNews(atMs) })
    return {
      ok: true,
      answer: 'Everybody who has the desktop app or a page of Scrapdeck open gets it now.',
      conversation: []
    }
  }

  /**
   * Returns the notices sent to desktop channels after message `after`, oldest first, and the cursor for the next call.
   * If `after` is null, returns only the cursor.
   */
  async notices(
    after: string | null,
    isShown: (of: { project: string | null }) => boolean
  ): Promise<{ notices: AlertNotice[]; after: string }> {
    const { store } = this.#parts
    const channels = (await this.#stored()).filter(({ channel }) => channel!.target.kind === 'desktop')
    const ids = channels.map(({ id }) => id)
    const newest = (await store.findNewestDelivery(ids)) ?? FROM_THE_FIRST
    if (after === null) return { notices: [], after: newest }
    const rows = await store.listDeliveriesAfter(ids, after === FROM_THE_FIRST ? null : after, NOTICES_MAX)
    const notices = rows.map((row) => noticeOf(row, isShown)).filter((notice) => notice !== null)
    return { notices, after: rows.at(-1)?.id ?? newest }
  }

  /** Throws BAD_INPUT for a comparison that the watch does not support, or for a rule that could never fire. */
  checkFigures(settings: Pick<AlertRuleSettings, 'watch' | 'comparison'> & Record<ScopeField, string | null>): void {
    const watch = ALERT_WATCHES[settings.watch]
    if (!(watch.compares as readonly string[]).includes(settings.comparison))
      throw bad(sentence('api.rule_comparison', { watch: watch.label, compares: watch.compares }))
    const fits = SCOPE_OF[settings.watch]
    const named = SCOPE_FIELDS.find((field) => settings[field] !== null && !fits.includes(field))
    if (named !== undefined) throw bad(sentence('api.rule_scope', { watch: watch.label, named, fits }))
    if (settings.watch === 'spider_overdue' && (settings.project === null || settings.spider === null))
      throw bad(sentence('api.rule_needs_spider'))
  }

  async #checkRule(settings: AlertRuleSettings): Promise<void> {
    this.checkFigures(settings)
    const known = new Map((await this.#stored()).map((one) => [one.id, one]))
    for (const id of [...settings.channels, ...(settings.escalation?.channels ?? [])]) {
      const stored = known.get(id)
      const seen = projectsOf(stored).filter((project) => actorSees([project]))
      if (stored === undefined || (seen.length === 0 && projectsOf(stored).length > 0)) throw noChannel(id)
      if (!mayTell(stored.channel!, settings.project))
        throw new ScrapdeckError('BAD_INPUT', sentence('api.channel_of_other_projects', { name: stored.name, seen }))
    }
  }

  #checkChannel({ target, quiet, digest }: AlertChannelSettings, secret: string | null): void {
    const zone = [quiet?.zone, digest?.zone].find((one) => one !== undefined && !isZone(one))
    if (zone !== undefined) throw noZone(zone)
    if (digest !== null && (target.kind === 'pagerduty' || target.kind === 'desktop'))
      throw new ScrapdeckError('BAD_INPUT', sentence('api.channel_not_for_reports'))
    this.#parts.channels.check(target, secret !== null)
  }

  async #put(row: NewWebhook): Promise<AlertChannel> {
    await this.#parts.store.putWebhook(row)
    await this.#publish()
    return describeChannel(await this.#require(row.id), this.#parts.alerts.held().get(row.id))
  }

  async #publish(): Promise<void> {
    await this.#parts.deliverer.refreshReceivers()
    await this.#parts.alerts.reload()
    this.#parts.onChange()
  }

  async #stored(): Promise<StoredWebhook[]> {
    return (await this.#parts.store.listWebhooks()).filter(({ kind }) => kind === 'channel')
  }

  async #require(id: AlertChannelId): Promise<StoredWebhook> {
    const found = (await this.#stored()).find((one) => one.id === id)
    if (found === undefined) throw noChannel(id)
    return found
  }
}

type NewSilence = Omit<AlertSilence, 'id' | 'by' | 'fromMs'> & { fromMs: number | null }

/** Throws BAD_INPUT for a silence that could never apply, or that has invalid times. */
function checkSilence(silence: AlertSilence, nowMs: number): void {
  const { fromMs, untilMs, repeats } = silence
  if (fromMs < 0 || untilMs <= fromMs || untilMs - nowMs > SILENCE_MAX_MS) throw bad(sentence('api.silence_end'))
  if (repeats === null) return
  if (!isZone(repeats.zone)) throw noZone(repeats.zone)
  if (!areApart(silence)) throw bad(sentence('api.silence_too_long', { every: repeats.every }))
  if ((repeats.endsMs !== null && repeats.endsMs <= fromMs) || windowFrom(silence, nowMs) === null)
    throw bad(sentence('api.silence_over'))
}

const bad = (text: Sentence): ScrapdeckError => new ScrapdeckError('BAD_INPUT', text)
const noZone = (zone: string): ScrapdeckError => new ScrapdeckError('BAD_INPUT', sentence('api.no_time_zone', { zone }))

const projectsOf = (stored: StoredWebhook | undefined): readonly ProjectName[] => stored?.channel?.projects ?? []

const rowOf = ({ name, enabled, target, quiet, digest, messagesPerHour, projects }: AlertChannelSettings) => ({
  kind: 'channel' as const,
  name,
  enabled,
  url: '',
  events: [],
  project: null,
  sealedOldSecret: null,
  oldSecretUntilMs: null,
  channel: { target, quiet, digest, messagesPerHour, projects }
})

const placeOf = (target: AlertChannelSettings['target']): string =>
  JSON.stringify([
    'host' in target ? [target.host, target.port, target.security] : null,
    'url' in target ? target.url : null
  ])

function describeChannel(stored: StoredWebhook, held: AlertChannel['held'] = null): AlertChannel {
  const { id, name, enabled, channel, createdAtMs, lastDeliveredAtMs, waiting, dead, dropped, sealedSecret } = stored
  const lost = dropped === 0 ? null : `${dropped} messages were dropped because too many were already waiting`
  const problems = [stored.problem, lost].filter((problem) => problem !== null)
  return {
    id,
    name,
    enabled,
    target: channel!.target,
    quiet: channel!.quiet,
    digest: channel!.digest ?? null,
    messagesPerHour: channel!.messagesPerHour ?? null,
    projects: [...projectsOf(stored)],
    createdAtMs,
    lastDeliveredAtMs,
    waiting,
    dead,
    held,
    hasSecret: sealedSecret !== null,
    problem: problems.length === 0 ? null : problems.join('; ')
  }
}

function requireRoom(
  there: readonly { project: ProjectName | null }[],
  project: ProjectName | null,
  needed: Permission,
  quota: Quota
): void {
  const why = whyNoRoom(there, { project, isOfAll: actorMayEverywhere(needed) }, quota)
  if (why !== null) throw new ScrapdeckError('BAD_INPUT', why)
}

export const noAlert = (id: AlertId): ScrapdeckError =>
  new ScrapdeckError('ALERT_NOT_FOUND', sentence('api.no_alert', { id }))
export const noAlertRule = (id: AlertRuleId): ScrapdeckError =>
  new ScrapdeckError('ALERT_RULE_NOT_FOUND', sentence('api.no_alert_rule', { id }))
export const noSilence = (id: AlertSilenceId): ScrapdeckError =>
  new ScrapdeckError('ALERT_SILENCE_NOT_FOUND', sentence('api.no_silence', { id }))
const noChannel = (id: AlertChannelId): ScrapdeckError =>
  new ScrapdeckError('ALERT_CHANNEL_NOT_FOUND', sentence('api.no_alert_channel', { id }))

interface Quota {
  most: number
  what: 'rules' | 'channels' | 'silences'
}

/** One project can have a tenth of the total. Another tenth is reserved for users with rights in all projects. */
const SHARES = 10

/**
 * Returns why one more item does not fit, or null if it does. As the total fills up, the limit per project falls, which
 * leaves room for projects that have few items.
 */
export function whyNoRoom(
  there: readonly { project: ProjectName | null }[],
  { project, isOfAll }: { project: ProjectName | null; isOfAll: boolean },
  { most, what }: Quota
): Sentence | null {
  if (there.length >= most) return sentence('api.no_room', { most, what })
  if (isOfAll) return null
  const share = most / SHARES
  const own = there.filter((one) => one.project === project).length
  if (own >= share) return sentence('api.no_room_in_project', { project, own, what })
  const left = Math.max(0, most - share - there.length)
  if (own < left) return null
  return sentence('api.little_room_for_projects', { project, own, left, what })
}
