import { z } from 'zod'
import { ALERT_WATCH_NAMES } from '../alert-watches.ts'
import {
  AlertChannelId,
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
import { TimeZone } from './schedules.ts'

export const AlertWatch = z.enum(ALERT_WATCH_NAMES)
export const AlertSeverity = z.enum(['info', 'warning', 'critical'])
export type AlertSeverity = z.infer<typeof AlertSeverity>

/** What rules and silences are about: all of it must fit; null: any. */
export const AlertScope = z.object({
  project: ProjectName.nullable().default(null),
  spider: z.string().min(1).max(200).nullable().default(null),
  scheduleId: ScheduleId.nullable().default(null),
  nodeId: NodeId.nullable().default(null),
  /** Of the node. */
  nodeTag: z.string().min(1).max(100).nullable().default(null)
})
export type AlertScope = z.infer<typeof AlertScope>

export const AlertGrouping = z.enum(['rule', 'project', 'node', 'each'])
export type AlertGrouping = z.infer<typeof AlertGrouping>

const Channels = z.array(AlertChannelId).max(20)

export const AlertRuleSettings = AlertScope.extend({
  name: ShownName.max(200),
  enabled: z.boolean().default(true),
  watch: AlertWatch,
  comparison: z.enum(['at_least', 'at_most']),
  threshold: z.number().finite(),
  /** How long it must be so before it is told. */
  forSeconds: z.number().int().min(0).max(31_622_400),
  severity: AlertSeverity,
  /** Who looks after it, for the message: a name, a team. */
  owner: z.string().max(200).default(''),
  channels: Channels,
  /** Alerts that are told in one message: all of the rule, of a project, of a node, or each in its own. */
  groupBy: AlertGrouping.default('rule'),
  /** How long a message waits for others of its group. */
  gatherSeconds: z.number().int().min(0).max(3_600).default(30),
  /** Told again after this long while nobody acknowledges it; null: once. */
  repeatSeconds: z.number().int().min(60).max(31_622_400).nullable().default(14_400),
  /** Told to these too when nobody has acknowledged it for this long. */
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
  /** Of the node. */
  nodeTags: z.array(z.string())
})
export type AlertLabels = z.infer<typeof AlertLabels>

export const AlertState = z.enum(['pending', 'firing', 'resolved'])
export type AlertState = z.infer<typeof AlertState>

/** One time that something was as a rule says. */
export const Alert = z.object({
  id: AlertId,
  ruleId: AlertRuleId,
  /** As it was then: the rule may have been changed or removed. */
  ruleName: z.string(),
  watch: AlertWatch,
  severity: AlertSeverity,
  owner: z.string(),
  state: AlertState,
  /** What it is of: a node's name, `shop/prices`. */
  subject: z.string(),
  /** What is so: `north is down: connection refused`. */
  text: z.string(),
  value: z.number(),
  labels: AlertLabels,
  sinceMs: z.number(),
  firedAtMs: z.number().nullable(),
  resolvedAtMs: z.number().nullable(),
  acknowledged: z.object({ by: z.string(), atMs: z.number() }).nullable(),
  /** Nobody is told of it now, and why. */
  muted: z.enum(['silenced', 'node_down', 'node_cordoned']).nullable(),
  /** It stopped and began too often lately: it stays until it is quiet for a while. */
  isFlapping: z.boolean()
})
export type Alert = z.infer<typeof Alert>

export const AlertSilence = AlertScope.extend({
  project: AnyProjectName.nullable(),
  id: AlertSilenceId,
  ruleId: AlertRuleId.nullable(),
  fromMs: z.number(),
  untilMs: z.number(),
  comment: z.string(),
  by: z.string()
})
export type AlertSilence = z.infer<typeof AlertSilence>

/** Times of the day at which a channel tells only what is critical; the rest waits until they end. */
export const QuietHours = z.object({
  zone: TimeZone,
  /** `22:00`; after `until`: over midnight. */
  from: z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'Write a time of day as 22:00'),
  until: z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'Write a time of day as 07:00'),
  /** On which they begin, 0 (Sunday) to 6. */
  days: z.array(z.number().int().min(0).max(6)).min(1).max(7)
})
export type QuietHours = z.infer<typeof QuietHours>
