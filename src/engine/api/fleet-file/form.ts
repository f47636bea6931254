import { z } from 'zod'
import {
  AlertRuleSettings,
  ChainSettings,
  EggPolicy,
  JobDefaults,
  KeepPolicy,
  KubernetesSettings,
  LimitRule,
  NewLimitRule,
  NewSource,
  NodeAddress,
  type NodeId,
  NodeMode,
  NodeSettings,
  ProjectName,
  ProjectPython,
  ProjectSettings,
  RunTemplate,
  type ScheduleRule,
  ScheduleSettings,
  StoragePolicy,
  WebhookSettings
} from '../../../shared/contract/index.ts'

const OFFSET_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d)$/

/** `2026-11-21T10:00:00+01:00`, normalized, so that the same time is always the same text. */
const Moment = z
  .string()
  .refine((text) => OFFSET_TIME.test(text) && !Number.isNaN(Date.parse(text)), {
    error: 'is not a time with an offset, such as 2026-11-21T10:00:00+01:00 or 2026-11-21T09:00:00Z'
  })
  .transform((text) => textOfMoment(Date.parse(text)))

export const textOfMoment = (atMs: number): string => new Date(atMs).toISOString().replace('.000Z', 'Z')

const FileTemplate = RunTemplate.omit({ nodeId: true })
  .extend({
    /** The node's name or address. */
    node: z.string().min(1).max(2_000).nullable().default(null)
  })
  .strict()
export type FileTemplate = z.infer<typeof FileTemplate>

const FileRule = z.union(
  [
    z.strictObject({ cron: z.string().min(1).max(200) }),
    z.strictObject({
      /** In seconds. */
      every: z.number().int().min(1).max(31_622_400),
      from: Moment.default('1970-01-01T00:00:00Z')
    }),
    z.strictObject({ once: Moment })
  ],
  { error: 'is not one of { cron: EXPRESSION }, { every: SECONDS, from: TIME } and { once: TIME }' }
)

type FileRule = z.infer<typeof FileRule>

const FileNode = z.strictObject({
  name: NodeSettings.shape.name.unwrap(),
  kind: z.enum(['scrapyd', 'local', 'engine', 'pulling', 'kubernetes']).default('scrapyd'),
  /** Empty for the local node, `engine:NAME` for an engine's local node, `pull:ID` for a pulling node. */
  url: z.string().max(2_000).default(''),
  username: z.string().max(200).nullable().default(null),
  /** Never exported. If absent, the stored password is kept. */
  password: NodeAddress.shape.password,
  caCertificate: z.string().max(100_000).nullable().default(null),
  clientCertificate: z.string().max(100_000).nullable().default(null),
  /** Never exported. If absent, the stored key is kept. */
  clientKey: NodeAddress.shape.clientKey,
  proxyUrl: z.string().max(2_000).nullable().default(null),
  slots: NodeSettings.shape.slots.unwrap().default(null),
  tags: NodeSettings.shape.tags.unwrap().default([]),
  queueAhead: NodeSettings.shape.queueAhead.unwrap().default(0),
  giveUpAfterSeconds: NodeSettings.shape.giveUpAfterSeconds.unwrap().default(null),
  logsKept: NodeSettings.shape.logsKept.unwrap().default(null),
  group: NodeSettings.shape.group.unwrap().default(null),
  mode: NodeMode.default('active'),
  kubernetes: KubernetesSettings.nullable().default(null)
})
export type FileNode = z.infer<typeof FileNode>

const FileSource = NewSource.extend({ password: NodeAddress.shape.password }).strict()
export type FileSource = z.infer<typeof FileSource>

const FileDefaults = JobDefaults.omit({ nodeId: true }).extend({ node: FileTemplate.shape.node }).strict()
export type FileDefaults = z.infer<typeof FileDefaults>

const FileProject = ProjectSettings.extend({
  name: ProjectName,
  python: ProjectPython.default({ kind: 'default' }),
  limits: ProjectSettings.shape.limits.default(null),
  /** If absent, the pin stays, because applying a file must not undo a rollback. null removes the pin. */
  pinnedVersion: ProjectSettings.shape.pinnedVersion,
  defaults: FileDefaults.default(FileDefaults.parse({})),
  spiderDefaults: z.record(z.string().min(1).max(200), FileDefaults).default({})
}).strict()
export type FileProject = z.infer<typeof FileProject>

const FileLimit = z.strictObject({
  project: LimitRule.shape.project.default(null),
  spider: LimitRule.shape.spider.default(null),
  tag: NewLimitRule.shape.tag.default(null),
  perNode: LimitRule.shape.perNode.default(false),
  max: LimitRule.shape.max
})
export type FileLimit = z.infer<typeof FileLimit>

const FileSchedule = ScheduleSettings.omit({ rules: true, startMs: true, endMs: true, jobs: true })
  .extend({
    rules: z.array(FileRule).min(1).max(20),
    start: Moment.nullable().default(null),
    end: Moment.nullable().default(null),
    jobs: z.array(FileTemplate).min(1).max(50),
    /**
     * If absent, the state stays, because applying a file must not resume a schedule that has ended or that failures
     * paused.
     */
    paused: z.boolean().optional(),
    pauseNote: z.string().max(1_000).nullable().optional()
  })
  .strict()
export type FileSchedule = z.infer<typeof FileSchedule>

const FileChain = ChainSettings.extend({ run: FileTemplate }).strict()
export type FileChain = z.infer<typeof FileChain>

const FileWebhook = WebhookSettings.strict()
export type FileWebhook = z.infer<typeof FileWebhook>

const ChannelNames = z.array(z.string().min(1).max(200)).max(20)

/** Channels and subjects are given by name. Absent figures get the default values of the watch. */
const FileAlert = AlertRuleSettings.omit({ scheduleId: true, nodeId: true })
  .extend({
    schedule: z.string().min(1).max(200).nullable().default(null),
    node: z.string().min(1).max(200).nullable().default(null),
    comparison: AlertRuleSettings.shape.comparison.optional(),
    threshold: AlertRuleSettings.shape.threshold.optional(),
    forSeconds: AlertRuleSettings.shape.forSeconds.optional(),
    severity: AlertRuleSettings.shape.severity.optional(),
    channels: ChannelNames.default([]),
    escalation: z
      .strictObject({ afterSeconds: z.number().int().min(60).max(2_678_400), channels: ChannelNames.min(1) })
      .nullable()
      .default(null)
  })
  .strict()
export type FileAlert = z.infer<typeof FileAlert>

const FileKeep = KeepPolicy.strict()
const FileEggs = EggPolicy.strict()
const FileRetention = z.strictObject({
  jobs: FileKeep.default(FileKeep.parse({})),
  logs: FileKeep.default(FileKeep.parse({})),
  items: FileKeep.default(FileKeep.parse({})),
  eggs: FileEggs.default(FileEggs.parse({})),
  /** A kind that a project omits follows the policy above. */
  projects: z
    .record(
      ProjectName,
      z.strictObject({
        jobs: FileKeep.optional(),
        logs: FileKeep.optional(),
        items: FileKeep.optional(),
        eggs: FileEggs.optional()
      })
    )
    .default({}),
  paused: z.boolean().default(false),
  budgetBytes: StoragePolicy.shape.budgetBytes
})
export type FileRetention = z.infer<typeof FileRetention>

/**
 * The contents of a fleet file. Items refer to nodes by name instead of id. Unknown fields are refused, because a
 * misspelled field would never be applied. An absent part changes nothing. With pruning, an empty part removes all its
 * items.
 */
export const FleetForm = z.strictObject({
  version: z.literal(1, { error: 'must be 1: the version of this form' }),
  nodes: z.array(FileNode).max(10_000).optional(),
  discovery: z.array(FileSource).max(1_000).optional(),
  projects: z.array(FileProject).max(10_000).optional(),
  limits: z.array(FileLimit).max(1_000).optional(),
  schedules: z.array(FileSchedule).max(20_000).optional(),
  chains: z.array(FileChain).max(10_000).optional(),
  webhooks: z.array(FileWebhook).max(1_000).optional(),
  /** Only the rules. The file does not contain the channels that they name. */
  alerts: z.array(FileAlert).max(5_000).optional(),
  /** Applied as a whole, because retention could delete something between partial changes. */
  retention: FileRetention.transform((policy) => [policy]).optional()
})
export type FleetForm = z.infer<typeof FleetForm>

/** The parts of a file in the order in which they are applied, because later parts can refer to earlier ones. */
export const PARTS = {
  nodes: FileNode,
  discovery: FileSource,
  projects: FileProject,
  limits: FileLimit,
  schedules: FileSchedule,
  chains: FileChain,
  webhooks: FileWebhook,
  alerts: FileAlert,
  retention: FileRetention
} as const
export type Part = keyof typeof PARTS
export const PART_NAMES = Object.keys(PARTS) as Part[]
export type ItemOf<P extends Part> = NonNullable<FleetForm[P]>[number]

export const TEMPLATE_FIELDS: z.ZodRawShape = FileTemplate.shape
export const DEFAULTS_FIELDS: z.ZodRawShape = FileDefaults.shape
export const KEEP_FIELDS: z.ZodRawShape = { ...FileEggs.shape, ...FileKeep.shape }

export function templateOfFile<T extends { nodeId: NodeId | null }>(
  { nodeId, ...template }: T,
  nameOf: (nodeId: NodeId) => string
): Omit<T, 'nodeId'> & { node: string | null } {
  return { ...template, node: nodeId === null ? null : nameOf(nodeId) }
}

export function templateFromFile<T extends { node: string | null }>(
  { node, ...template }: T,
  idOf: (name: string) => NodeId
): Omit<T, 'node'> & { nodeId: NodeId | null } {
  return { ...template, nodeId: node === null ? null : idOf(node) }
}

export function ruleOfFile(rule: ScheduleRule): FileRule {
  if (rule.kind === 'cron') return { cron: rule.expression }
  if (rule.kind === 'once') return { once: textOfMoment(rule.atMs) }
  return { every: rule.everySeconds, from: textOfMoment(rule.anchorMs) }
}

function ruleFromFile(rule: FileRule): ScheduleRule {
  if ('cron' in rule) return { kind: 'cron', expression: rule.cron }
  if ('once' in rule) return { kind: 'once', atMs: Date.parse(rule.once) }
  return { kind: 'interval', everySeconds: rule.every, anchorMs: Date.parse(rule.from) }
}

export function settingsFromFile(schedule: FileSchedule, idOf: (name: string) => NodeId): ScheduleSettings {
  const { rules, start, end, jobs, paused: _paused, pauseNote: _pauseNote, ...rest } = schedule
  return {
    ...rest,
    rules: rules.map(ruleFromFile),
    startMs: start === null ? null : Date.parse(start),
    endMs: end === null ? null : Date.parse(end),
    jobs: jobs.map((template) => templateFromFile(template, idOf))
  }
}

export function policyOfFile({ projects, paused, budgetBytes, ...defaults }: FileRetention): StoragePolicy {
  return { paused, defaults, projects, budgetBytes }
}

export const retentionOfFile = ({ defaults, ...others }: StoragePolicy): FileRetention => ({ ...defaults, ...others })
