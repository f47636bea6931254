import type { JobId, NodeHealth, ProjectName, RunLimits, VersionName } from '../../shared/contract/index.ts'
import type { EggToSend } from '../projects/projects.ts'
import type { NodeTraits } from './node-traits.ts'
import type { TunnelUse } from './ssh/ssh-tunnels.ts'

/**
 * One interface for a place that runs spiders: scrapyd/ talks to a remote Scrapyd over HTTP, the launcher's local node
 * implements it in this process, pulling/ is asked by its node, FakeNode
 * in tests. Every method takes an AbortSignal and has its own time limit. Every
 * failure is a NodeError.
 */
export interface NodeClient {
  readonly traits: NodeTraits
  /** Its eggs: what it has, and where to deploy. null: it runs our own eggs. */
  readonly eggTarget: EggTarget | null
  /** Why a run of this project cannot start there now, worded to follow the node's name; null or absent: it can. */
  whyNotReady?(project: ProjectName): string | null
  /** How many jobs it runs at once, if it says so; null: not known yet. Absent: it never does. */
  reportedSlots?(): number | null
  /** Why a job that it accepted has not started, worded to follow the node's name; null or absent: not known. */
  whyPending?(jobid: string): string | null
  /** The connection to its SSH host. Absent: it is reached without one. */
  readonly tunnel?: Pick<TunnelUse, 'status' | 'watch'> | undefined
  /** Calls back when something changed there, if it notices: a poll finds the same, later. Ends with `close`. */
  watchJobs?(onChange: () => void): void
  /**
   * What the lists just showed is recorded: it may delete ended runs for which `isNeeded` is false. Absent: it keeps
   * nothing for us.
   */
  release?(isNeeded: (jobid: string) => boolean): void
  /** Counters; cheap enough for once a second. */
  daemonStatus(signal?: AbortSignal): Promise<DaemonStatus>
  /** Everything the node lists now, across all its projects. */
  listJobs(signal?: AbortSignal): Promise<Snapshot>
  /** Starts a run. Rejects with NodeError; only `delivered: 'no'` proves that the node did not accept it. */
  schedule(request: ScheduleRequest, signal?: AbortSignal): Promise<{ jobid: string }>
  /** Signals a running job or removes a pending one. `wasState` null: the node has no such live job. */
  cancel(
    request: { project: ProjectName; jobid: string; signal: NodeSignal },
    signal?: AbortSignal
  ): Promise<{ wasState: 'pending' | 'running' | null }>
  /** May block the node for seconds (it imports the project). */
  listSpiders(project: ProjectName, version: VersionName, signal?: AbortSignal): Promise<string[]>
  /**
   * Reads bytes of a run's log. A negative `offset` counts from the end. Resolves null if there is no such file.
   * `sizeBytes` is the file's size at that moment; `bytes` is empty if `offset` is at or past the end.
   */
  readLog(run: RunNames, range: { offset: number; limitBytes: number }, signal?: AbortSignal): Promise<LogRange | null>
  /** Calls back when the log grows, until the returned function is called. Absent: it must be polled. */
  watchLog?(run: RunNames, onChange: () => void): () => void
  /** Where the log is, on this machine. Absent: elsewhere. */
  logPath?(run: RunNames): string
  /** Same for what the run printed, of one that did not fail. Absent: the node does not keep it. */
  readPrinted?: NodeClient['readLog']
  /** Same for the items that the run left there. Few nodes keep them. */
  readItems: NodeClient['readLog']
  /** Closes its connections. Requests in flight end with an error. */
  close(): Promise<void>
}

/** What only a Scrapyd has: its own eggs. Fails as NodeClient does. */
export interface EggTarget extends Pick<NodeClient, 'listSpiders'> {
  /** `1.5+`, `1.3 or 1.4`…, as far as its behaviour shows. */
  probeVersion?(signal?: AbortSignal): Promise<string>
  listProjects(signal?: AbortSignal): Promise<ProjectName[]>
  /** As the node spells them (sanitised), latest last. */
  listVersions(project: ProjectName, signal?: AbortSignal): Promise<VersionName[]>
  /**
   * Stores an egg; returns the spider count. A refused egg is removed again (delversion) before the error is thrown,
   * unless a version of that name existed before. The error says what happened.
   */
  addVersion(
    project: ProjectName,
    version: VersionName,
    egg: EggToSend,
    signal?: AbortSignal
  ): Promise<{ spiders: number }>
  deleteVersion(project: ProjectName, version: VersionName, signal?: AbortSignal): Promise<void>
}

/** The signals that Scrapyd accepts: these names, and numbers from 1.6 on. */
export type NodeSignal = 'HUP' | 'INT' | 'KILL' | 'STOP' | 'TERM' | number

/** The signals that end a spider, gracefully or not: HUP, INT, QUIT, KILL, TERM. After others it continues. */
export const ENDING_SIGNALS: ReadonlySet<NodeSignal> = new Set(['HUP', 'INT', 'KILL', 'TERM', 1, 2, 3, 9, 15])

export interface DaemonStatus {
  pending: number
  running: number
  finished: number
  nodeName: string | null
  /** The node's clock minus ours, from the Date header; null when it sent none. Half a second of error is normal. */
  clockOffsetMs: number | null
  /** The response's Date, and when it was requested and received; all wall clock. Absent, null: there was none. */
  dateSeen?: { dateMs: number; askedAtMs: number; arrivedAtMs: number } | null
  /** How many jobs it says it can run at once, and where that comes from. Absent, null: it does not say. */
  slots?: { count: number; text: string } | null
}

/** A job as a node lists it. Times are the node's own, naive local text, kept as text: never compare them with ours. */
export interface SeenJob {
  project: ProjectName
  spider: string
  jobid: string
  pid: number | null
  startTime: string | null
  endTime: string | null
  /** How the process ended. Only the local node knows. */
  exit: SeenExit | null
  /** The job of ours that it was: its process has ended, and something that it started keeps the run listed. */
  heldOf?: JobId | undefined
}

export interface SeenExit {
  code: number | null
  signal: string | null
  /** Why the spider closed, whatever its log says; null: it did not; absent: unknown. */
  finishReason?: string | null | undefined
  /** The limit that ended it, in words (`memory limit of 512 MB`); null: none. */
  limit: string | null
  peakMemoryBytes: number | null
  cpuSeconds: number | null
}

/** The result of one listJobs, complete: all projects, all three lists. */
export interface Snapshot {
  /** Clock.monotonicMs when its first request was sent: it includes everything that happened before. */
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
  /** Absent for nodes that cannot set them (node-traits.ts). */
  env?: Record<string, string>
  priority: number
  /** The client named the version. If not, the local node does not pass it to the spider; neither does Scrapyd. */
  isVersionAsked: boolean
  /** Names of settings and arguments whose values must be hidden. */
  secretNames: string[]
  /** The job's limits merged over its project's. Only the local node enforces them. */
  limits: RunLimits | null
}

export interface LogRange {
  offset: number
  sizeBytes: number
  bytes: Uint8Array
  /** Tells one file from the next that has its name. */
  fileId?: string | undefined
}

/** What names a run on its node. */
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
  | 'forbidden' // 403 of a Kubernetes API: a right is missing
  | 'http' // a status other than 200
  | 'not_scrapyd' // 200 but not JSON, or JSON of another shape
  | 'too_large' // the response exceeded the size limit
  | 'refused' // status: "error"
  | 'aborted' // aborted by our own signal

/**
 * Why a node refused, as far as its message tells. `bad_egg`: no node will ever run it. `import_failed`: the project's
 * code cannot be imported with this node's Python. `process_ended`: a signal found no process, though it lists the run.
 * `unrunnable`: no node of its kind can start such a run (node-checks.ts).
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

/** A failed request to a node. `message` is a sentence for operators that names the node. */
export class NodeError extends Error {
  override readonly name = 'NodeError'
  readonly kind: NodeErrorKind
  /** Could the node have acted on it? `no`: proved not (connection refused, 401, its own "error"); else `unknown`. */
  readonly delivered: 'no' | 'unknown'
  /** For `refused`: the node's own message. */
  readonly nodeMessage: string | null
  /** For `refused`: what that message means. */
  readonly refusal: RefusalKind
  /** A proxy answered in place of what is behind it, which may be one path of the node only. */
  isFromProxy = false

  constructor(
    kind: NodeErrorKind,
    message: string,
    details: { delivered: 'no' | 'unknown'; nodeMessage?: string | null; refusal?: RefusalKind; cause?: unknown }
  ) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.kind = kind
    this.delivered = details.delivered
    this.nodeMessage = details.nodeMessage ?? null
    this.refusal = details.refusal ?? 'other'
  }

  /** The node has no such project or version. For a deletion, that counts as success. */
  get isUnknownThere(): boolean {
    return this.refusal === 'unknown_project' || this.refusal === 'unknown_version'
  }
}

/** What a repeated request to a node of this kind would not change. */
export function isFinal(refusal: RefusalKind): boolean {
  return refusal === 'unknown_spider' || refusal === 'unrunnable'
}

/** The node's own words if it refused an egg that it cannot import (often a traceback); null: it failed otherwise. */
export function importErrorOf(error: unknown): string | null {
  if (!(error instanceof NodeError) || !['import_failed', 'bad_egg', 'unrunnable'].includes(error.refusal)) return null
  const words = (error.nodeMessage ?? error.message).replace(/^RunnerError: ?/, '').trim()
  return words || 'The process that imported it ended without output: by a signal, or by an exit of its own'
}

/** Of an answer with which a proxy says that there is none behind it (those from 520 on: Cloudflare); null: another. */
export function kindOfGateway(status: number): 'unreachable' | 'timeout' | null {
  if ([504, 522, 524].includes(status)) return 'timeout'
  return [502, 503, 520, 521, 523, 525, 526, 530].includes(status) ? 'unreachable' : null
}

/** The error for such an answer. */
export const fromProxy = (error: NodeError): NodeError => Object.assign(error, { isFromProxy: true })

/** What a failed request says about the health of its node. */
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
