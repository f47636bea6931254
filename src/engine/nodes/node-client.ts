import type { JobId, NodeHealth, ProjectName, RunLimits, VersionName } from '../../shared/contract/index.ts'
import { type Message, render } from '../../shared/texts/message.ts'
import type { EggToSend } from '../projects/projects.ts'
import type { NodeTraits } from './node-traits.ts'
import type { TunnelUse } from './ssh/ssh-tunnels.ts'

/**
 * A node that runs spiders: scrapyd/ sends HTTP requests to a remote Scrapyd, local/ runs spiders on this machine,
 * pulling/ waits for the node's requests, kubernetes/ creates Jobs in a cluster, peers/ uses the local nodes of other
 * engines. Every method has its own time limit and rejects with NodeError.
 */
export interface NodeClient {
  readonly traits: NodeTraits
  /** null: the node runs our own eggs. */
  readonly eggTarget: EggTarget | null
  /** Why the node cannot start a run of this project now, phrased to follow the node's name. null or absent: it can. */
  whyNotReady?(project: ProjectName): Message | null
  /** The number of jobs that the node runs in parallel. null: not known yet. Absent: the node never reports it. */
  reportedSlots?(): number | null
  /** Why an accepted job has not started, phrased to follow the node's name. null or absent: not known. */
  whyPending?(jobid: string): Message | null
  readonly tunnel?: Pick<TunnelUse, 'status' | 'watch'> | undefined
  /** Calls `onChange` for changes that no poll has found yet, until `close`. Absent: only polls find changes. */
  watchJobs?(onChange: () => void): void
  /** Lets the node delete ended runs for which `isNeeded` is false. Absent: the node keeps nothing for us. */
  release?(isNeeded: (jobid: string) => boolean): void
  /** Cheap enough to call once a second. */
  daemonStatus(signal?: AbortSignal): Promise<DaemonStatus>
  /** All live and ended jobs of all projects. */
  listJobs(signal?: AbortSignal): Promise<Snapshot>
  /** Only `delivered: 'no'` proves that the node did not accept the run. */
  schedule(request: ScheduleRequest, signal?: AbortSignal): Promise<{ jobid: string }>
  /** Signals a running job or removes a pending job. `wasState` null: the node has no such live job. */
  cancel(
    request: { project: ProjectName; jobid: string; signal: NodeSignal },
    signal?: AbortSignal
  ): Promise<{ wasState: 'pending' | 'running' | null }>
  /** To list the spiders, the node imports the project, which can block the node for several seconds. */
  listSpiders(project: ProjectName, version: VersionName, signal?: AbortSignal): Promise<string[]>
  /**
   * Reads a range of a run's log. A negative `offset` counts from the end. null: no such file. `sizeBytes` is the
   * size of the whole file when it was read. `bytes` is empty if `offset` is at or past the end.
   */
  readLog(run: RunNames, range: { offset: number; limitBytes: number }, signal?: AbortSignal): Promise<LogRange | null>
  /** Calls `onChange` when the log grows, until the returned function is called. Absent: poll the log. */
  watchLog?(run: RunNames, onChange: () => void): () => void
  /** The log file on this machine. Absent: the log is elsewhere. */
  logPath?(run: RunNames): string
  /** What a run printed if it did not fail. Absent: the node does not keep the output. */
  readPrinted?: NodeClient['readLog']
  /** Like readLog, but for the items that the run wrote. */
  readItems: NodeClient['readLog']
  /** Makes requests in flight reject. */
  close(): Promise<void>
}

/** The eggs of a Scrapyd. Methods reject with NodeError. */
export interface EggTarget extends Pick<NodeClient, 'listSpiders'> {
  /** `1.5+`, `1.3 or 1.4` …, inferred from the node's behavior. */
  probeVersion?(signal?: AbortSignal): Promise<string>
  listProjects(signal?: AbortSignal): Promise<ProjectName[]>
  /** The versions as the node spells them (sanitized), latest last. */
  listVersions(project: ProjectName, signal?: AbortSignal): Promise<VersionName[]>
  /** Stores an egg. After a refusal, deletes it again (delversion) unless a version with this name existed before. */
  addVersion(
    project: ProjectName,
    version: VersionName,
    egg: EggToSend,
    signal?: AbortSignal
  ): Promise<{ spiders: number }>
  deleteVersion(project: ProjectName, version: VersionName, signal?: AbortSignal): Promise<void>
}

/** Scrapyd accepts these names and, since 1.6, numbers. */
export type NodeSignal = 'HUP' | 'INT' | 'KILL' | 'STOP' | 'TERM' | number

/** The signals that we treat as ending a spider: HUP, INT, QUIT, KILL, TERM. */
export const ENDING_SIGNALS: ReadonlySet<NodeSignal> = new Set(['HUP', 'INT', 'KILL', 'TERM', 1, 2, 3, 9, 15])

export interface DaemonStatus {
  pending: number
  running: number
  finished: number
  nodeName: string | null
  /** The node's clock minus ours, from the Date header, accurate to half a second. null: no header. */
  clockOffsetMs: number | null
  /** The Date header, and when the request was sent and the response arrived. Wall clock. */
  dateSeen?: { dateMs: number; askedAtMs: number; arrivedAtMs: number } | null
  /** The slots that the node reports. `said`: how the node knows their number. */
  slots?: { count: number; said: Message } | null
}

/** A job as a node lists it. Its times are local text without a zone. Never compare them with ours. */
export interface SeenJob {
  project: ProjectName
  spider: string
  jobid: string
  pid: number | null
  startTime: string | null
  endTime: string | null
  /** null: the node, like Scrapyd, does not report exits. */
  exit: SeenExit | null
  /** The id of our job. Set if the job's process has ended but a process that it started keeps the run listed. */
  heldOf?: JobId | undefined
}

export interface SeenExit {
  code: number | null
  signal: string | null
  /** Why the spider closed, regardless of its log. null: it did not close. Absent: unknown. */
  finishReason?: string | null | undefined
  /** The limit that ended the run (`memory limit of 512 MB`). */
  limit: Message | null
  peakMemoryBytes: number | null
  cpuSeconds: number | null
}

export interface Snapshot {
  /** Monotonic. When the first request was sent. The lists include everything that happened before then. */
  begunAtMs: number
  pending: SeenJob[]
  running: SeenJob[]
  finished: SeenJob[]
}

export interface ScheduleRequest {
  project: ProjectName
  version: VersionName
  spider: string
  jobid: string
  settings: Record<string, string>
  args: Record<string, string>
  /** Absent for nodes that cannot set variables (node-traits.ts). */
  env?: Record<string, string>
  priority: number
  /** Whether the client named the version. If not, the spider does not receive it, as with Scrapyd. */
  isVersionAsked: boolean
  /** Settings and arguments with values that must be hidden. */
  secretNames: string[]
  /** The job's limits merged over those of its project. Scrapyd does not enforce them; see node-traits.ts. */
  limits: RunLimits | null
}

export interface LogRange {
  offset: number
  sizeBytes: number
  bytes: Uint8Array
  /** Distinguishes a file from a later file with the same name. */
  fileId?: string | undefined
}

export interface RunNames {
  project: ProjectName
  spider: string
  jobid: string
}

export type NodeErrorKind =
  | 'unreachable' // no connection: refused, no such host, TLS failure
  | 'timeout' // no complete response in time
  | 'reset' // the connection broke during the exchange
  | 'unauthorized' // 401
  | 'forbidden' // 403 from a Kubernetes API: a permission is missing
  | 'http' // a status other than 200
  | 'not_scrapyd' // 200 but not JSON, or JSON of another shape
  | 'too_large' // the response exceeded the size limit
  | 'refused' // status: "error"
  | 'aborted' // aborted by our own signal

/**
 * Why a node refused, according to its message. `bad_egg`: no node will ever run the egg. `import_failed`: this
 * node's Python cannot import the project. `process_ended`: the node lists the run, but its process no longer
 * exists. `unrunnable`: no node of this kind can start the run (node-checks.ts).
 */
export type RefusalKind =
  | 'unknown_project'
  | 'unknown_version'
  | 'unknown_spider'
  | 'bad_egg'
  | 'import_failed'
  | 'process_ended'
  | 'unrunnable'
  | 'other'

/** A failed request to a node. `said` is a sentence for operators and names the node; `message` is its text. */
export class NodeError extends Error {
  override readonly name = 'NodeError'
  readonly kind: NodeErrorKind
  readonly said: Message
  /** `no`: the node certainly did not act on the request (connection refused, 401, its own "error"). */
  readonly delivered: 'no' | 'unknown'
  readonly nodeMessage: string | null
  /** `nodeMessage`, or the message with its code if the node belongs to Scrapdeck. */
  readonly nodeSaid: Message | string | null
  readonly refusal: RefusalKind
  /** Whether a proxy responded instead of the node. The proxy might do so for one path only. */
  isFromProxy = false

  constructor(
    kind: NodeErrorKind,
    said: Message,
    details: {
      delivered: 'no' | 'unknown'
      nodeMessage?: Message | string | null
      refusal?: RefusalKind
      cause?: unknown
    }
  ) {
    super(render(said), details.cause === undefined ? undefined : { cause: details.cause })
    this.kind = kind
    this.said = said
    this.delivered = details.delivered
    const { nodeMessage = null } = details
    this.nodeSaid = nodeMessage
    this.nodeMessage = typeof nodeMessage === 'object' ? nodeMessage && render(nodeMessage) : nodeMessage
    this.refusal = details.refusal ?? 'other'
  }

  /**
   * Whether the node does not have the project or version. A deletion that fails for this reason counts as
   * successful.
   */
  get isUnknownThere(): boolean {
    return this.refusal === 'unknown_project' || this.refusal === 'unknown_version'
  }
}

/** Whether every node of this kind would refuse the request, so that repeating it is useless. */
export function isFinal(refusal: RefusalKind): boolean {
  return refusal === 'unknown_spider' || refusal === 'unrunnable'
}

/** The node's message if it could not import an egg (often a traceback). null: a different failure. */
export function importErrorOf(error: unknown): string | null {
  if (!(error instanceof NodeError) || !['import_failed', 'bad_egg', 'unrunnable'].includes(error.refusal)) return null
  const words = (error.nodeMessage ?? error.message).replace(/^RunnerError: ?/, '').trim()
  return words || 'The process that imported it ended without output: by a signal, or by an exit of its own'
}

/** The kind of a gateway's failure to reach its target (520 and above: Cloudflare). null: a different status. */
export function kindOfGateway(status: number): 'unreachable' | 'timeout' | null {
  if ([504, 522, 524].includes(status)) return 'timeout'
  return [502, 503, 520, 521, 523, 525, 526, 530].includes(status) ? 'unreachable' : null
}

export const fromProxy = (error: NodeError): NodeError => Object.assign(error, { isFromProxy: true })

export function healthOf(error: NodeError): NodeHealth {
  switch (error.kind) {
    case 'unreachable':
    case 'timeout':
    case 'reset':
      return 'down'
    case 'unauthorized':
      return 'unauthorized'
    case 'forbidden':
    case 'http':
    case 'not_scrapyd':
    case 'too_large':
    case 'refused':
      return 'invalid'
    case 'aborted':
      return 'unknown'
  }
}
