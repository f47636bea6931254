import { z } from 'zod'
import { codeOfText, problemText } from './coded-text.ts'
import { JobId, NodeId, AnyProjectName, SourceId } from './ids.ts'
import { ask, read, write } from './operation.ts'
import { Job, UsageSample } from './jobs.ts'
import { KubernetesSettings } from './kubernetes.ts'
import { NodeAddress, NodeSettings, NewSource, SourceSettings } from './settings.ts'

export const SourceState = SourceSettings.extend({
  hasPassword: z.boolean(),
  /** Sources from the configuration file can be changed only there. */
  isFromConfiguration: z.boolean(),
  refreshedAtMs: z.number().nullable(),
  /** What went wrong in the last refresh, and what to do. Nodes that were found earlier are kept. */
  ...problemText,
  found: z.number().int(),
  vanished: z.number().int(),
  /** `isCordonedForIt`: whether Scrapdeck cordoned the node because the source no longer lists it. */
  vanishedNodes: z.array(z.object({ nodeId: NodeId, sinceMs: z.number(), isCordonedForIt: z.boolean() }))
})
export type SourceState = z.infer<typeof SourceState>

export const discoveryContract = {
  list: read('read', 'GET /discovery', 'seen').output(z.object({ sources: z.array(SourceState) })),
  /** Creates or replaces a source and refreshes it. If `password` is absent, the stored password is kept. */
  put: write('nodes.change', 'PUT /discovery/{id}', 'service')
    .input(NewSource.extend({ password: NodeAddress.shape.password }))
    .output(SourceState),
  remove: write('nodes.change', 'DELETE /discovery/{id}', 'service')
    .input(z.object({ id: SourceId }))
    .output(z.object({ removed: SourceId })),
  refresh: write('nodes.change', 'POST /discovery/{id}/refresh', 'service')
    .input(z.object({ id: SourceId }))
    .output(SourceState)
}

/** How the local node starts spiders: forked from a Python that has already imported Scrapy, or in a new Python. */
export const StartMode = z.object({ mode: z.enum(['warm', 'warming', 'cold']), text: z.string(), ...codeOfText })
export type StartMode = z.infer<typeof StartMode>

export const NodeHealth = z.enum(['unknown', 'up', 'down', 'unauthorized', 'invalid'])
export type NodeHealth = z.infer<typeof NodeHealth>

/**
 * `cordoned`: the node gets no new jobs. `draining`: the node gets no new jobs, and becomes cordoned when its last job
 * has ended.
 */
export const NodeMode = z.enum(['active', 'cordoned', 'draining'])
export type NodeMode = z.infer<typeof NodeMode>

export const NodeRun = z.object({
  jobId: JobId.nullable(),
  jobid: z.string(),
  project: AnyProjectName,
  spider: z.string(),
  state: z.enum(['starting', 'running']),
  /** Whether the spider of `jobId` has ended, but something that it started keeps the process open. */
  isHeldOpen: z.boolean().optional(),
  sinceMs: z.number().nullable(),
  /** As listed by the node. For our own jobs, see `jobs.running`. */
  pid: z.number().int().nullable(),
  usage: UsageSample.nullable()
})
export type NodeRun = z.infer<typeof NodeRun>

/** The connection to the SSH host in a node's address. All nodes behind that host share it. */
export const NodeTunnel = z.object({
  host: z.string(),
  state: z.enum(['connecting', 'up', 'down']),
  sinceMs: z.number(),
  /**
   * Why the tunnel is not connected, or why the previous attempt failed; null: it is up, or this attempt is the first
   * or was requested.
   */
  ...problemText,
  retryAtMs: z.number().nullable()
})
export type NodeTunnel = z.infer<typeof NodeTunnel>

export const Node = z.object({
  id: NodeId,
  name: z.string(),
  /** `pulling`: a Scrapyd that cannot be reached, so it fetches its jobs from here. */
  kind: z.enum(['local', 'engine', 'scrapyd', 'pulling', 'kubernetes']),
  /** Empty for the local node, `pull:ID` for a pulling node, `ssh://HOST/http://…` for a node behind an SSH host. */
  url: z.string(),
  username: z.string().nullable(),
  hasPassword: z.boolean(),
  hasCaCertificate: z.boolean(),
  /** `slotsSource`: whether an operator set the slots, Scrapdeck learned them, or the default (1) applies. */
  slots: z.number().int(),
  slotsSource: z.enum(['set', 'default', 'learned']),
  /** How Scrapdeck knows the number of slots. */
  slotsText: z.string(),
  slotsTextCode: z.string().optional(),
  slotsTextParams: z.record(z.string(), z.unknown()).optional(),
  /** How many jobs can wait in the node's own queue beyond its slots. */
  queueAhead: z.number().int(),
  /** The time without a response after which Scrapdeck gives up on the node; null: never automatically. */
  giveUpAfterSeconds: z.number().int().nullable(),
  logsKept: z.number().int().nullable(),
  group: z.string().nullable(),
  tags: z.array(z.string()),
  mode: NodeMode,
  health: NodeHealth,
  ...problemText,
  /** `1.6`, `1.5+`, `1.3`; null until probed. */
  scrapydVersion: z.string().nullable(),
  nodeName: z.string().nullable(),
  runs: z.array(NodeRun),
  running: z.number().int().nullable(),
  pending: z.number().int().nullable(),
  finished: z.number().int().nullable(),
  latencyMs: z.number().nullable(),
  lastSeenAtMs: z.number().nullable(),
  /** When the node stopped responding; null: it responds, or has not been polled yet. */
  unreachableSinceMs: z.number().nullable(),
  /** The time since which the node has accepted jobs but started none. Such a node gets no new jobs. */
  stuckSinceMs: z.number().nullable(),
  clockOffsetMs: z.number().nullable(),
  addedAtMs: z.number(),
  hasClientCertificate: z.boolean(),
  proxyUrl: z.string().nullable(),
  sourceId: z.string().nullable(),
  kubernetes: KubernetesSettings.nullable(),
  python: z.object({ path: z.string(), version: z.string(), scrapyVersion: z.string(), start: StartMode }).nullable(),
  hasToken: z.boolean().default(false),
  tunnel: NodeTunnel.nullable().default(null)
})
export type Node = z.infer<typeof Node>

/** With `nodeId`, the address is probed with that node's connection settings, but without its password. */
const ProbedAddress = NodeAddress.extend({ nodeId: NodeId.optional() })

export const ProbeResult = z.object({
  /** Normalized: scheme and trailing slash added, credentials removed. */
  url: z.string(),
  reachable: z.boolean(),
  health: NodeHealth,
  ...problemText,
  scrapydVersion: z.string().nullable(),
  nodeName: z.string().nullable(),
  running: z.number().int().nullable(),
  pending: z.number().int().nullable(),
  projects: z.array(z.string()),
  latencyMs: z.number().nullable(),
  clockOffsetMs: z.number().nullable(),
  warnings: z.array(z.string()),
  duplicateOf: NodeId.nullable(),
  /** Whether an update of `nodeId` to this address keeps its password and client key; null: no `nodeId`. */
  keepsPassword: z.boolean().nullable()
})
export type ProbeResult = z.infer<typeof ProbeResult>

const ById = z.object({ id: NodeId })

/** `logsKept` has no effect here, because the package never deletes logs that have not been sent. */
const PullingNodeSettings = NodeSettings.omit({ logsKept: true }).required({ name: true })

/** Only this response has the token, because the store has only its hash. */
export const NewToken = z.object({ node: Node, token: z.string() })
export type NewToken = z.infer<typeof NewToken>
/** The job as listed by the node. Any name is accepted, so that every listed job can be cancelled. */
const ExternalJob = ById.extend({
  project: z.string().min(1).max(1_000).brand<'ProjectName'>(),
  jobid: z.string().min(1).max(1_000)
})

export const nodesContract = {
  list: read('read', 'GET /nodes', 'seen').output(z.object({ nodes: z.array(Node) })),
  get: read('read', 'GET /nodes/{id}', { id: 'node' }).input(ById).output(Node),
  probe: ask('nodes.change', 'POST /nodes/probe', { nodeId: 'node' }).input(ProbedAddress).output(ProbeResult),
  add: write('nodes.change', 'POST /nodes', { tags: 'newNode' })
    .input(NodeAddress.extend(NodeSettings.shape))
    .output(Node),
  /** Adds a pulling node: a Scrapyd behind NAT with the package from docs/pulling-nodes.md. */
  addPulling: write('nodes.change', 'POST /nodes/pulling', { tags: 'newNode' }, { tellsSecret: 'once' })
    .input(PullingNodeSettings)
    .output(NewToken),
  /** Invalidates the previous token. */
  renewToken: write('nodes.change', 'POST /nodes/{id}/token', { id: 'node' }, { tellsSecret: 'once' })
    .input(ById)
    .output(NewToken),
  /** The node cannot connect until it has a new token. */
  revokeToken: write('nodes.change', 'DELETE /nodes/{id}/token', { id: 'node' }).input(ById).output(Node),
  update: write('nodes.change', 'PATCH /nodes/{id}', { id: 'node' })
    .input(ById.extend(NodeSettings.shape).extend(NodeAddress.partial().shape))
    .output(Node),
  setMode: write('nodes.operate', 'POST /nodes/{id}/mode', { id: 'node' })
    .input(ById.extend({ mode: NodeMode }))
    .output(Node),
  /** Rejects with NODE_BUSY while our jobs are live on the node. With `force`, marks these jobs lost instead. */
  remove: write('nodes.change', 'DELETE /nodes/{id}', { id: 'node' })
    .input(ById.extend({ force: z.boolean().default(false) }))
    .output(z.object({ removed: NodeId })),
  /** Sends one signal to an external job, or removes it from the node's queue. */
  cancelExternal: write('jobs.cancel', 'POST /nodes/{id}/external/cancel', { project: 'project' })
    .input(ExternalJob)
    .output(z.object({ wasState: z.enum(['pending', 'running']).nullable() })),
  /** Adds an external job to our history. The job is then followed, judged and archived like our own. */
  adoptExternal: write('jobs.run', 'POST /nodes/{id}/external/adopt', { project: 'project' })
    .input(ExternalJob)
    .output(Job)
}
