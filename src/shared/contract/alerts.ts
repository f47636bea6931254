import { z } from 'zod'
import { ALERT_SEVERITIES, ALERT_WATCH_NAMES } from '../alert-watches.ts'
import { ALERT_CODES, AlertReport, AlertRulePreview, AlertEvidence } from './alert-reports.ts'
import { MAX_MESSAGES_PER_HOUR } from './fixed-values.ts'
import {
  WebhookId,
  AlertId,
  AlertRuleId,
  AlertSilenceId,
  AnyProjectName,
  ErrorGroupId,
  JobId,
  NodeId,
  ProjectName,
  ScheduleId,
  ShownName
} from './ids.ts'
import { ask, read, write } from './operation.ts'
import { TimeZone } from './schedules.ts'

export const AlertWatch = z.enum(ALERT_WATCH_NAMES)
export const AlertSeverity = z.enum(ALERT_SEVERITIES)
export type AlertSeverity = z.infer<typeof AlertSeverity>

/** What rules and silences apply to. All criteria must match; null: any. */
export const AlertScope = z.object({
  project: ProjectName.nullable().default(null),
  spider: z.string().min(1).max(200).nullable().default(null),
  scheduleId: ScheduleId.nullable().default(null),
  nodeId: NodeId.nullable().default(null),
  nodeTag: z.string().min(1).max(100).nullable().default(null)
})
export type AlertScope = z.infer<typeof AlertScope>

export const AlertGrouping = z.enum(['rule', 'project', 'node', 'each'])
export type AlertGrouping = z.infer<typeof AlertGrouping>

const Channels = z.array(WebhookId).max(20)

export const AlertRuleSettings = AlertScope.extend({
  name: ShownName.max(200),
  enabled: z.boolean().default(true),
  watch: AlertWatch,
  comparison: z.enum(['at_least', 'at_most']),
  threshold: z.number().finite(),
  forSeconds: z.number().int().min(0).max(31_622_400),
  severity: AlertSeverity,
  /** The responsible person or team, whom the messages name. */
  owner: z.string().max(200).default(''),
  channels: Channels,
  groupBy: AlertGrouping.default('rule'),
  gatherSeconds: z.number().int().min(0).max(3_600).default(30),
  /** How often to remind the channels until a user acknowledges the alert; null: never. */
  repeatSeconds: z.number().int().min(60).max(31_622_400).nullable().default(14_400),
  /** The alert is also sent to these channels if it stays unacknowledged for this time. */
  escalation: z
    .object({ afterSeconds: z.number().int().min(60).max(2_678_400), channels: Channels.min(1) })
    .nullable()
    .default(null)
})
export type AlertRuleSettings = z.infer<typeof AlertRuleSettings>

export const AlertRule = AlertRuleSettings.extend({
  name: z.string(),
  project: AnyProjectName.nullable(),
  id: AlertRuleId,
  revision: z.number().int(),
  createdAtMs: z.number()
})
export type AlertRule = z.infer<typeof AlertRule>

export const AlertLabels = z.object({
  project: AnyProjectName.nullable(),
  spider: z.string().nullable(),
  jobId: JobId.nullable(),
  scheduleId: ScheduleId.nullable(),
  errorGroupId: ErrorGroupId.nullable(),
  nodeId: NodeId.nullable(),
  nodeTags: z.array(z.string())
})
export type AlertLabels = z.infer<typeof AlertLabels>

export const AlertState = z.enum(['pending', 'firing', 'resolved'])
export type AlertState = z.infer<typeof AlertState>

export const Alert = z.object({
  id: AlertId,
  ruleId: AlertRuleId,
  /** The rule's name when the alert started. The rule may have been changed or removed since then. */
  ruleName: z.string(),
  watch: AlertWatch,
  severity: AlertSeverity,
  owner: z.string(),
  state: AlertState,
  /** A node's name, or `shop/prices`. */
  subject: z.string(),
  /** `north is down: connection refused` */
  text: z.string(),
  ...ALERT_CODES,
  value: z.number(),
  labels: AlertLabels,
  sinceMs: z.number(),
  firedAtMs: z.number().nullable(),
  resolvedAtMs: z.number().nullable(),
  acknowledged: z.object({ by: z.string(), atMs: z.number() }).nullable(),
  /** Why messages about the alert are not being sent; null: messages are sent. */
  muted: z.enum(['silenced', 'node_down', 'node_cordoned']).nullable(),
  /** Whether the alert recently started and stopped too often. It then stays open until it has been quiet a while. */
  isFlapping: z.boolean()
})
export type Alert = z.infer<typeof Alert>

/** A maintenance window that repeats each day or week, at the same times on the zone's clocks. */
export const SilenceRepeat = z.object({
  every: z.enum(['day', 'week']),
  zone: TimeZone,
  /** No window starts after this time; null: the windows repeat until a user ends the silence. */
  endsMs: z.number().nullable().default(null)
})
export type SilenceRepeat = z.infer<typeof SilenceRepeat>

export const AlertSilence = AlertScope.extend({
  project: AnyProjectName.nullable(),
  id: AlertSilenceId,
  ruleId: AlertRuleId.nullable(),
  fromMs: z.number(),
  untilMs: z.number(),
  repeats: SilenceRepeat.nullable(),
  comment: z.string(),
  by: z.string()
})
export type AlertSilence = z.infer<typeof AlertSilence>

/** Times of day at which a channel sends only critical alerts. Other messages wait until the end of the quiet hours. */
export const QuietHours = z.object({
  zone: TimeZone,
  /** `22:00`. If it is after `until`, the quiet hours include midnight. */
  from: z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'Write a time of day as 22:00'),
  until: z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'Write a time of day as 07:00'),
  /** The days on which the quiet hours start, 0 (Sunday) to 6. */
  days: z.array(z.number().int().min(0).max(6)).min(1).max(7)
})
export type QuietHours = z.infer<typeof QuietHours>

export const AlertDigest = z.object({
  every: z.enum(['day', 'week']),
  at: z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'Write a time of day as 08:00'),
  zone: TimeZone,
  /** For a weekly report, the day: 0 (Sunday) to 6. */
  weekday: z.number().int().min(0).max(6).default(1)
})
export type AlertDigest = z.infer<typeof AlertDigest>

const Address = z.string().min(3).max(320)
const Host = z.string().min(1).max(255)

/**
 * The destination of messages. The channel's `secret` has the confidential part: the mail server's password, the
 * whole address of an incoming webhook (Slack, Discord, Teams), a bot's token, or an integration key.
 */
export const AlertTarget = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('email'),
    to: z.array(Address).min(1).max(50),
    from: Address,
    host: Host,
    port: z.number().int().min(1).max(65_535).default(587),
    /** `starttls` fails if the server does not offer it. */
    security: z.enum(['tls', 'starttls', 'none']).default('starttls'),
    username: z.string().max(320).default('')
  }),
  z.object({ kind: z.literal('slack') }),
  z.object({ kind: z.literal('telegram'), chatId: z.string().min(1).max(100) }),
  z.object({ kind: z.literal('discord') }),
  z.object({ kind: z.literal('teams') }),
  z.object({
    kind: z.literal('pagerduty'),
    url: z.string().max(2_000).default('https://events.pagerduty.com/v2/enqueue')
  }),
  z.object({ kind: z.literal('webhook'), url: z.string().min(1).max(2_000) }),
  /** A command from `alert_commands` in the configuration. It receives the message as JSON on standard input. */
  z.object({ kind: z.literal('command'), command: z.string().min(1).max(100) }),
  /** A plugin in the configuration with the hook `alert`. */
  z.object({ kind: z.literal('plugin'), plugin: z.string().min(1).max(100) }),
  z.object({ kind: z.literal('desktop') })
])
export type AlertTarget = z.infer<typeof AlertTarget>
export type AlertTargetKind = AlertTarget['kind']

export const AlertChannelSettings = z.object({
  name: ShownName.max(200),
  enabled: z.boolean().default(true),
  target: AlertTarget,
  quiet: QuietHours.nullable().default(null),
  /** Messages over the limit are held. Critical messages have twice the limit. null: no limit. */
  messagesPerHour: z.number().int().min(1).max(MAX_MESSAGES_PER_HOUR).nullable().default(null),
  digest: AlertDigest.nullable().default(null),
  /** Only rules and alerts of these projects can use the channel; empty: all, including those without a project. */
  projects: z.array(ProjectName).max(100).default([])
})
export type AlertChannelSettings = z.infer<typeof AlertChannelSettings>

export const AlertChannel = AlertChannelSettings.extend({
  name: z.string(),
  projects: z.array(AnyProjectName),
  id: WebhookId,
  createdAtMs: z.number(),
  hasSecret: z.boolean(),
  lastDeliveredAtMs: z.number().nullable(),
  waiting: z.number().int(),
  dead: z.number().int(),
  held: z.object({ messages: z.number().int(), nextAtMs: z.number() }).nullable(),
  problem: z.string().nullable()
})
export type AlertChannel = z.infer<typeof AlertChannel>

const Secret = z.string().min(1).max(4_000)
const RuleResult = z.object({ rule: AlertRule })
const ChannelResult = z.object({
  channel: AlertChannel,
  /** Only for a new webhook: `whsec_…`, shown once. */
  secret: z.string().optional()
})

export const AlertRuleState = AlertRule.extend({
  firing: z.number().int(),
  /** How often the rule fired in the last 30 days. `actedOn`: how many of these alerts were acknowledged. */
  fired: z.number().int(),
  actedOn: z.number().int(),
  lastFiredAtMs: z.number().nullable()
})
export type AlertRuleState = z.infer<typeof AlertRuleState>

export const AlertNotice = z.object({
  id: z.string(),
  atMs: z.number(),
  /** A notice replaces an earlier notice of the same group. */
  groupId: z.string(),
  /** null: the notice reports ended alerts, or is a test. */
  severity: AlertSeverity.nullable(),
  title: z.string(),
  body: z.string(),
  /** The firing alerts, in the order of the text. A click opens the first alert. */
  alertIds: z.array(AlertId),
  retryJobIds: z.array(JobId)
})
export type AlertNotice = z.infer<typeof AlertNotice>

/** The id of a message; `0`: before all messages. */
const NoticePosition = z.string().regex(/^(?:0|msg_[0-9a-z]{1,12}_[0-9a-z]{1,10})$/)

export const alertsContract = {
  /** Firing alerts by severity, then ended alerts, newest first. Omits pending alerts. */
  list: read('read', 'GET /alerts', 'seen', { answerBytes: () => 1_500_000 })
    .input(
      z.object({
        state: z.enum(['firing', 'resolved']).optional(),
        ruleId: AlertRuleId.optional(),
        before: z
          .string()
          .regex(/^(?:f[0-2]-)?\d{1,15}-[0-9a-f]{32}$/)
          .optional(),
        limit: z.coerce.number().int().min(1).max(500).default(100)
      })
    )
    .output(z.object({ alerts: z.array(Alert), nextBefore: z.string().nullable() })),
  /** The end of the log of the alert's run, and the history of the figure. Both are computed on each request. */
  evidence: read('read', 'GET /alerts/{id}/evidence', { id: 'alert' }, { answerBytes: () => 250_000 })
    .input(z.object({ id: AlertId }))
    .output(AlertEvidence),
  /** Ends reminders and escalation. Channels still report the end of the alert. */
  acknowledge: write('alerts.answer', 'POST /alerts/acknowledge', { ids: 'alerts' })
    .input(z.object({ ids: z.array(AlertId).min(1).max(1_000) }))
    .output(z.object({ acknowledged: z.number().int() })),
  /**
   * Notices sent to desktop channels after this position, oldest first. Without `after`, returns only the position
   * from which to start. A change of kind `alerts` means that there may be more.
   */
  notices: read('read', 'GET /alerts/notices', 'seen')
    .input(z.object({ after: NoticePosition.optional() }))
    .output(z.object({ notices: z.array(AlertNotice), after: NoticePosition })),
  /** Undoes `acknowledge`. Sends reminders and escalations immediately if they became due in the meantime. */
  unacknowledge: write('alerts.answer', 'POST /alerts/unacknowledge', { ids: 'alerts' })
    .input(z.object({ ids: z.array(AlertId).min(1).max(1_000) }))
    .output(z.object({ unacknowledged: z.number().int() })),
  report: read('read', 'GET /alerts/report', 'seen')
    .input(z.object({ days: z.coerce.number().int().min(1).max(7).default(1) }))
    .output(AlertReport)
}

export const alertRulesContract = {
  list: read('read', 'GET /alerts/rules', 'seen').output(z.object({ rules: z.array(AlertRuleState) })),
  create: write('alerts.change', 'POST /alerts/rules', { project: 'maybeProject' })
    .input(AlertRuleSettings)
    .output(RuleResult),
  /** The messages that the rule would have sent in the last `days` days. Sends and stores nothing. */
  preview: ask('alerts.change', 'POST /alerts/rules/preview', { project: 'maybeProject' })
    .input(AlertRuleSettings.extend({ days: z.number().int().min(1).max(30).default(14) }))
    .output(AlertRulePreview),
  update: write('alerts.change', 'PUT /alerts/rules/{id}', { id: 'alertRule', project: 'maybeProject' })
    .input(AlertRuleSettings.extend({ id: AlertRuleId, revision: z.number().int() }))
    .output(RuleResult),
  remove: write('alerts.change', 'DELETE /alerts/rules/{id}', { id: 'alertRule' })
    .input(z.object({ id: AlertRuleId }))
    .output(z.object({ removed: z.boolean() })),
  /** Returns the ids that existed. */
  removeMany: write('alerts.change', 'POST /alerts/rules/remove', { ids: 'alertRules' })
    .input(z.object({ ids: z.array(AlertRuleId).min(1).max(1_000) }))
    .output(z.object({ removed: z.array(AlertRuleId) }))
}

export const alertSilencesContract = {
  list: read('read', 'GET /alerts/silences', 'seen').output(z.object({ silences: z.array(AlertSilence) })),
  create: write('alerts.answer', 'POST /alerts/silences', { project: 'maybeProject' })
    .input(
      AlertScope.extend({
        ruleId: AlertRuleId.nullable().default(null),
        /** null: now. A repeating silence can have started long ago. */
        fromMs: z.number().nullable().default(null),
        untilMs: z.number(),
        repeats: SilenceRepeat.nullable().default(null),
        comment: z.string().max(500).default('')
      })
    )
    .output(z.object({ silence: AlertSilence })),
  remove: write('alerts.answer', 'DELETE /alerts/silences/{id}', { id: 'alertSilence' })
    .input(z.object({ id: AlertSilenceId }))
    .output(z.object({ removed: z.boolean() })),
  /** Returns the ids that existed. */
  removeMany: write('alerts.answer', 'POST /alerts/silences/remove', { ids: 'alertSilences' })
    .input(z.object({ ids: z.array(AlertSilenceId).min(1).max(1_000) }))
    .output(z.object({ removed: z.array(AlertSilenceId) }))
}

export const alertChannelsContract = {
  /** `projects`: the caller's projects that can use the channel; empty: all projects. */
  names: read('alerts.change', 'GET /alerts/channels/names', 'seen').output(
    z.object({
      channels: z.array(
        z.object({ id: WebhookId, name: z.string(), kind: z.string(), projects: z.array(AnyProjectName) })
      )
    })
  ),
  list: read('webhooks.change', 'GET /alerts/channels', 'service').output(
    z.object({ channels: z.array(AlertChannel) })
  ),
  create: write('webhooks.change', 'POST /alerts/channels', 'service', { tellsSecret: 'once' })
    .input(AlertChannelSettings.extend({ secret: Secret.optional() }))
    .output(ChannelResult),
  /** If the input has no secret, the stored secret is kept. */
  update: write('webhooks.change', 'PUT /alerts/channels/{id}', 'service')
    .input(AlertChannelSettings.extend({ id: WebhookId, secret: Secret.optional() }))
    .output(z.object({ channel: AlertChannel })),
  remove: write('webhooks.change', 'DELETE /alerts/channels/{id}', 'service')
    .input(z.object({ id: WebhookId }))
    .output(z.object({ removed: z.boolean() })),
  /** Sends an example now, without retries, and returns the recorded conversation. */
  test: write('webhooks.change', 'POST /alerts/channels/{id}/test', 'service')
    .input(z.object({ id: WebhookId }))
    .output(z.object({ ok: z.boolean(), answer: z.string(), conversation: z.array(z.string()) }))
}

/** The message to a channel, and the `data` of a webhook for alerts. */
export interface AlertNews {
  kind: 'news' | 'repeat' | 'test' | 'report'
  ruleId: AlertRuleId
  /** Identical for all messages of one group to one channel, which form a thread. */
  groupId: string
  ruleName: string
  owner: string
  /** The severity of the worst firing alert. If none is firing, the severity of the worst ended alert. */
  severity: AlertSeverity
  /** `3 alerts: north is down: connection refused` */
  title: string
  titleCode?: string
  titleParams?: object
  firing: AlertView[]
  resolved: AlertView[]
  moreFiring: number
  moreResolved: number
  stillFiring: number
  /**
   * Set if this message reached the channel's limit. `heldUntilMs`: when the channel sends messages again. `all`:
   * whether critical messages are held too.
   */
  limit?: { heldUntilMs: number; all: boolean } | null
}

export interface AlertView {
  id: AlertId
  severity: AlertSeverity
  watch: z.infer<typeof AlertWatch>
  subject: string
  subjectCode?: string
  subjectParams?: object
  text: string
  code?: string
  params?: object
  value: number
  labels: AlertLabels
  firedAtMs: number
  resolvedAtMs: number | null
}
