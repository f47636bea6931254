import { z } from 'zod'
import { NodeId, ShownName, SourceId, VersionName } from './ids.ts'
import { KubernetesSettings } from './kubernetes.ts'
import { problemOfShownName } from '../unseen.ts'

// What the engine needs to read its store and its options. Separate from the operations, for a faster start.

/** A tag of a node. Spaces, `|` and `!` are the syntax of tag terms. */
export const NodeTag = z
  .string()
  .max(60)
  .regex(/^[^\s|!]+$/, 'A tag must not contain spaces, | or !')
  .refine((tag) => problemOfShownName(tag) === null, { error: 'A tag must not contain invisible characters' })
/**
 * A condition on a node's tags: `eu`, `!slow` (the node must not have the tag), `eu|us` (one of these tags),
 * `gpu|!slow`.
 */
export const TagTerm = z
  .string()
  .max(200)
  .regex(/^!?[^\s|!]+(\|!?[^\s|!]+)*$/, 'Write a tag, !tag, or several separated by |')
export const RunEnvironment = z.record(
  z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'Use letters, digits and _ in the name of a variable')
    .max(200),
  z.string().refine((text) => !text.includes('\0'), 'A variable cannot contain a null character')
)

const Limit = z.number().int().min(1).max(1_000_000_000).nullable().optional()

/**
 * Limits that end a run early. Every node enforces `wallSeconds` and the limits on what the log shows
 * (`noProgressSeconds`, `maxErrors`, `maxBanPercent`); only the local node enforces the others. Absent or null: no
 * limit or, for a job, the project's limit. Memory is the resident memory of all processes, sampled.
 * `addressSpaceMegabytes`, `cpuSeconds` and `openFiles` are also set in the kernel for each process.
 */
export const RunLimits = z.object({
  wallSeconds: Limit,
  memoryMegabytes: Limit,
  addressSpaceMegabytes: Limit,
  cpuSeconds: Limit,
  openFiles: Limit,
  silentSeconds: Limit,
  logMegabytes: Limit,
  /** The maximum time without a new page or item in the log. */
  noProgressSeconds: Limit,
  /** The maximum number of logged errors. One more ends the run. */
  maxErrors: Limit,
  /** The maximum share of 403, 429 and 503 among the responses, if there are enough responses (BAN_RESPONSES_MIN). */
  maxBanPercent: z.number().int().min(1).max(99).nullable().optional()
})
export type RunLimits = z.infer<typeof RunLimits>

export const CancelWaitSeconds = z.number().int().min(0).max(86_400)

/**
 * When to retry a job that failed or was lost. `attempts`: the maximum number of runs that reach a node. The wait
 * before run n+1 is `backoffSeconds * backoffFactor^(n-1)`, at most `backoffMaxSeconds`. A cancelled job is never
 * retried.
 */
export const RetryPolicy = z.object({
  attempts: z.number().int().min(1).max(100),
  backoffSeconds: z.number().min(0).max(86_400).default(30),
  backoffFactor: z.number().min(1).max(10).default(2),
  backoffMaxSeconds: z.number().min(0).max(604_800).default(3_600),
  on: z
    .array(z.enum(['failed', 'lost']))
    .min(1)
    .max(2)
    .default(['failed', 'lost'])
})
export type RetryPolicy = z.infer<typeof RetryPolicy>

export const NodeAddress = z.object({
  url: z.string().min(1).max(2000),
  username: z.string().max(200).nullable().optional(),
  password: z.string().max(1000).nullable().optional(),
  /** PEM, for certificates issued by a private CA. */
  caCertificate: z.string().max(100_000).nullable().optional(),
  /** PEM, both or neither. For nodes that require a client certificate (mutual TLS). */
  clientCertificate: z.string().max(100_000).nullable().optional(),
  clientKey: z.string().max(100_000).nullable().optional(),
  /** `http://user:password@proxy:3128`; `direct`: no proxy; null: the proxy in HTTP_PROXY, HTTPS_PROXY and NO_PROXY. */
  proxyUrl: z.string().max(2000).nullable().optional(),
  /**
   * Set for a namespace of a Kubernetes cluster. The address is `https://HOST:6443/api/v1/namespaces/NAME`,
   * `in-cluster` or `in-cluster/NAME` (with the service account of this pod), or `kubeconfig`. The password is a
   * token.
   */
  kubernetes: KubernetesSettings.nullable().optional(),
  /**
   * For the addresses `kubeconfig` and `kubeconfig/NAME`: the file's content, with the address and credentials.
   */
  kubeconfig: z.string().max(200_000).nullable().optional(),
  kubeconfigContext: z.string().max(300).nullable().optional()
})
export type NodeAddress = z.infer<typeof NodeAddress>

export const NodeSettings = z.object({
  name: ShownName.max(100).optional(),
  slots: z.number().int().min(1).max(10_000).nullable().optional(),
  tags: z.array(NodeTag).max(20).optional(),
  queueAhead: z.number().int().min(0).max(1_000).optional(),
  giveUpAfterSeconds: z.number().int().min(10).max(31_536_000).nullable().optional(),
  /**
   * The node's `jobs_to_keep`. When Scrapyd starts a run, it deletes all older logs of the run's spider, even of
   * running jobs. A run that would delete the log of another running job therefore waits. null: unknown, so no run
   * waits.
   */
  logsKept: z.number().int().min(1).max(100_000).nullable().optional(),
  group: ShownName.max(100).nullable().optional()
})
export type NodeSettings = z.infer<typeof NodeSettings>

/** `requirements`: a separate environment, which is built once per distinct list. */
export const ProjectPython = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('default') }),
  z.object({ kind: z.literal('interpreter'), path: z.string().min(1).max(4000) }),
  z.object({ kind: z.literal('requirements'), text: z.string().min(1).max(200_000) })
])
export type ProjectPython = z.infer<typeof ProjectPython>

const StringMap = z.record(z.string(), z.string())

/** Values for jobs whose requests omit them. */
export const JobDefaults = z.object({
  args: StringMap.default({}),
  settings: StringMap.default({}),
  env: RunEnvironment.default({}),
  /**
   * The names with secret values, which responses replace with SECRET_MASK. A value that is sent back masked stays
   * unchanged.
   */
  secretNames: z.array(z.string().max(200)).max(100).default([]),
  priority: z.number().finite().nullable().default(null),
  nodeId: NodeId.nullable().default(null),
  tags: z.array(TagTerm).max(20).default([])
})
export type JobDefaults = z.infer<typeof JobDefaults>
export const NO_DEFAULTS: JobDefaults = JobDefaults.parse({})

const Count = z.number().int().min(0).max(1_000_000_000).nullable().optional()

/**
 * When a run counts as failed although its spider closed normally. null: no rule. Absent for a spider: the project's
 * rule applies. Values that the log does not show are not checked.
 */
export const OutcomeRules = z.object({
  /** The run fails if every request failed before any response (DNS, connection, TLS) and no item was scraped. */
  requireResponse: z.boolean().nullable().optional(),
  maxErrors: Count,
  minItems: Count,
  minPages: Count,
  /**
   * Scrapy's finish_reasons that count as success. Others count as failures. null: as described in docs/outcomes.md.
   */
  finishReasons: z
    .array(z.string().trim().min(1).max(100))
    .min(1, 'Name at least one finish_reason, or leave out the rule')
    .max(50)
    .nullable()
    .optional()
})
export type OutcomeRules = z.infer<typeof OutcomeRules>

/** The operator's settings for a project. They outlive the project's versions. */
export const ProjectSettings = z.object({
  python: ProjectPython,
  limits: RunLimits.nullable(),
  /** The share of slots at equal priority: a project of weight 2 gets twice as many slots as one of weight 1. */
  weight: z.number().min(0.01).max(100).default(1),
  paused: z.boolean().default(false),
  retry: RetryPolicy.nullable().default(null),
  noOverlap: z.boolean().default(false),
  /** How long a cancelled run can take to finish after the first INT; null: as configured (10 minutes). */
  cancelWaitSeconds: CancelWaitSeconds.nullable().default(null),
  /** `on_demand`: a node gets an egg before its first job. `at_once`: all eligible nodes get the active version. */
  distribution: z.enum(['on_demand', 'at_once']).default('on_demand'),
  /**
   * The version for jobs without one; null: the latest. If the project does not have this version, the jobs wait.
   * Always present in responses. If absent in a request, the pinned version stays unchanged.
   */
  pinnedVersion: VersionName.nullable().optional(),
  defaults: JobDefaults.default(NO_DEFAULTS),
  spiderDefaults: z
    .record(z.string().min(1).max(200), JobDefaults)
    .refine((all) => Object.keys(all).length <= 2_000, 'At most 2,000 spiders can have defaults')
    .default({}),
  outcome: OutcomeRules.nullable().default(null),
  spiderOutcomes: z
    .record(z.string().min(1).max(200), OutcomeRules)
    .refine((all) => Object.keys(all).length <= 2_000, 'At most 2,000 spiders can have outcome rules')
    .default({}),
  /** Whether to compare runs with earlier runs of the spider, and to report unusual runs as a problem. */
  expectations: z.boolean().default(true),
  /** Whether to archive the items file of each run when the run has ended, on every node. */
  keepItems: z.boolean().default(false)
})
export type ProjectSettings = z.infer<typeof ProjectSettings>
/** For projects without their own settings. Settings stored before `requireResponse` existed lack that field. */
export const DEFAULT_PROJECT_SETTINGS: ProjectSettings = ProjectSettings.parse({
  python: { kind: 'default' },
  limits: null,
  outcome: { requireResponse: true },
  pinnedVersion: null
})

/**
 * Where nodes are found. `file`: one address per line (`URL [name=…] [slots=…] [tags=a,b]`, `#` comments). The file
 * is read again when it changes. `list`: the same lines stored here, without passwords. `dns`: every address of a
 * name, as in Kubernetes's headless services. Nodes that are no longer listed are cordoned, never deleted.
 */
export const DiscoverySource = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('file'), path: z.string().min(1).max(4000) }),
  z.object({ kind: z.literal('list'), nodes: z.string().max(1_000_000) }),
  z.object({
    kind: z.literal('dns'),
    hostname: z.string().min(1).max(255),
    record: z.enum(['A', 'AAAA', 'SRV']),
    scheme: z.enum(['http', 'https']).default('http'),
    port: z.number().int().min(1).max(65_535).default(6800),
    basePath: z.string().max(500).default('/')
  })
])
export type DiscoverySource = z.infer<typeof DiscoverySource>

const NodeDefaults = NodeSettings.pick({ slots: true, tags: true, group: true, queueAhead: true })

export const SourceSettings = z.object({
  id: SourceId,
  source: DiscoverySource,
  refreshSeconds: z.number().int().min(5).max(86_400).default(30),
  /**
   * The initial settings of the nodes that the source finds. Later changes that an operator makes to a node are kept.
   */
  node: NodeDefaults.extend({
    tags: z.array(z.string()).max(20).optional(),
    group: z.string().min(1).max(100).nullable().optional()
  }).default({}),
  username: NodeAddress.shape.username
})
export type SourceSettings = z.infer<typeof SourceSettings>

export const NewSource = SourceSettings.extend({ node: NodeDefaults.default({}) })
