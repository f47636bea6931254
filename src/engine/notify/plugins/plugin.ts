import type { AlertNews } from '../../../shared/contract/index.ts'
import type { StoredJob } from '../../model/records.ts'

// What a plugin is: a module whose default export creates one (docs/plugins.md; examples in resources/plugins/).
// Types only: a plugin runs in its own thread and gets copies.

/** A job as in the API, with secret values masked. */
export type PluginJob = Omit<StoredJob, 'lane'>

/** `id` is the same for every delivery of an event: delivery is repeated if the hook failed or the engine died. */
export interface PluginEvent<Type extends string, Data> {
  id: string
  type: Type
  /** ISO 8601: when the event happened. */
  timestamp: string
  data: Data
}

type JobEvent<Type extends string> = PluginEvent<Type, { job: PluginJob }>
type NodeEvent<Type extends string> = PluginEvent<
  Type,
  { node: { id: string; name: string; url: string; health: string; problem: string | null } }
>
type FiringEvent<Type extends string> = PluginEvent<
  Type,
  {
    schedule: { id: string; name: string }
    firing: {
      nominalMs: number
      origin: string
      state: string
      reason: string
      text: string
      count: number
      jobIds: string[]
    }
  }
>

/** A job that is about to be sent, and its node. */
export interface DispatchQuestion {
  job: PluginJob
  attempt: number
  /** The version that will run. */
  version: string
  node: { id: string; name: string; tags: string[] }
}

/** Nothing: the job is sent unchanged. Names set to null are removed. */
export type DispatchAnswer =
  | undefined
  | null
  | { args?: Record<string, string | null>; settings?: Record<string, string | null> }
  /** Not now: the job is requeued, and the hook is called again after this many seconds (default 60). */
  | { veto: string; retryAfterSeconds?: number }
  /** Never: the job ends as cancelled. */
  | { cancel: string }

/** A job that several nodes could run now. They have its egg, and room when the question was asked. */
export interface NodeQuestion {
  job: { id: string; project: string; spider: string; priority: number; version: string }
  /** The least loaded first, at most 50. `free`: how many more jobs the node takes now. */
  candidates: { id: string; name: string; tags: readonly string[]; slots: number; free: number }[]
}

/** Maps the id of a job to the id of a node and the reason. A job without an answer goes to the least loaded node. */
export type NodeAnswer = undefined | null | Record<string, string | { node: string; why?: string } | null>

/** A user whose password is right. `name` must be the same each time. Roles come from `plugin_roles`. */
export interface PluginUser {
  name: string
  groups?: string[]
}

type Answer<T> = T | Promise<T>

/** Every member is optional. Event hooks and `beforeDispatch` must finish within the plugin's time limit. */
export interface Plugin {
  jobQueued?(event: JobEvent<'job.queued'>): Answer<void>
  /** Called for each job that is about to be sent, while its slot is reserved. */
  beforeDispatch?(question: DispatchQuestion): Answer<DispatchAnswer>
  /** Asked about all jobs that are sent together. An answer that takes longer than 0.1 s is not used. */
  chooseNode?(jobs: NodeQuestion[]): Answer<NodeAnswer>
  jobStarted?(event: JobEvent<'job.started'>): Answer<void>
  jobEnded?(event: JobEvent<'job.ended'>): Answer<void>
  /** Hooks as in plugins for Scrapyd. `jobId` is the id that clients of Scrapyd's API know. */
  on_spider_start?(project: string, spider: string, jobId: string): Answer<void>
  /** Called when a job whose spider had started has ended, after its last try. */
  on_spider_complete?(project: string, spider: string, jobId: string, success: boolean): Answer<void>
  /** Asked about names and passwords that this Scrapdeck does not know. No result: they are wrong. Never print them. */
  authenticate?(credentials: { username: string; password: string }): Answer<PluginUser | undefined | null>
  nodeUp?(event: NodeEvent<'node.up'>): Answer<void>
  nodeDown?(event: NodeEvent<'node.down'>): Answer<void>
  scheduleFired?(event: FiringEvent<'schedule.fired'>): Answer<void>
  scheduleMissed?(event: FiringEvent<'schedule.missed'>): Answer<void>
  schedulePaused?(
    event: PluginEvent<
      'schedule.paused',
      { schedule: { id: string; name: string }; pausedBy: string | null; note: string | null }
    >
  ): Answer<void>
  deployed?(
    event: PluginEvent<'deploy', { project: string; version: string; sha256: string | null; spiders: string[] | null }>
  ): Answer<void>
  /** For channels of the kind `plugin` that name it: alerts fired or ended. A failed call is retried for three days. */
  alert?(event: PluginEvent<'alert', AlertNews>): Answer<void>
  /** Stores eggs and large logs instead of the data directory; at most one plugin may do so. */
  blobs?: PluginBlobs
}

/** Scrapdeck chooses the names: `eggs/<sha256>`, `logs/<job id>-<attempt>.zst`. No time limit: blobs may be large. */
export interface PluginBlobs {
  /** Atomic: the name must not exist until the last byte is safe; a stream that breaks off leaves nothing behind. */
  write(name: string, content: ReadableStream<Uint8Array>): Promise<{ sizeBytes: number }>
  /** null: no such blob. */
  read(name: string): Promise<ReadableStream<Uint8Array> | null>
  has(name: string): Promise<boolean>
  /** Deleting a blob that does not exist is not an error. */
  delete(name: string): Promise<void>
  list(prefix: string): Promise<{ name: string; sizeBytes: number }[]>
}

/**
 * A module's default export, or what a CommonJS module exports. It may also be the plugin itself, and a module without
 * a default export may export its hooks by name. `options`: from the configuration, after the module. If it throws, the
 * engine does not start.
 */
export type PluginFactory = (options: Readonly<Record<string, string>>) => Answer<Plugin>

/** Called for channels, not for events that a plugin subscribes to. */
export const ALERT_HOOK = 'alert' satisfies keyof Plugin

/** The hook for each event. */
export const EVENT_HOOKS = {
  'job.queued': 'jobQueued',
  'job.started': 'jobStarted',
  'job.ended': 'jobEnded',
  'node.up': 'nodeUp',
  'node.down': 'nodeDown',
  'schedule.fired': 'scheduleFired',
  'schedule.missed': 'scheduleMissed',
  'schedule.paused': 'schedulePaused',
  deploy: 'deployed'
} as const satisfies Record<string, keyof Plugin>

/** Hooks for the same events, with plain arguments instead of an event. */
export const SPIDER_HOOKS = {
  'job.started': 'on_spider_start',
  'job.ended': 'on_spider_complete'
} as const satisfies Record<string, keyof Plugin>

export const BLOB_CALLS = ['write', 'read', 'has', 'delete', 'list'] as const
