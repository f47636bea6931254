import type { AlertNews } from '../../../shared/contract/index.ts'
import type { StoredJob } from '../../model/records.ts'

// A plugin is a module with a default export that creates it (docs/plugins.md; examples in resources/plugins/).
// This file has only types, because a plugin runs in its own thread and receives copies.

/** A job as in the API, with masked secret values. */
export type PluginJob = Omit<StoredJob, 'lane'>

/** If the hook fails or the engine dies, the event is delivered again with the same `id`. */
export interface PluginEvent<Type extends string, Data> {
  id: string
  type: Type
  /** ISO 8601. When the event happened. */
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

export interface DispatchQuestion {
  job: PluginJob
  attempt: number
  version: string
  node: { id: string; name: string; tags: string[] }
}

/** No value: the job is sent unchanged. Names set to null are removed. */
export type DispatchAnswer =
  | undefined
  | null
  | { args?: Record<string, string | null>; settings?: Record<string, string | null> }
  /** Not now: the job is requeued, and the hook is called again after this many seconds (default 60). */
  | { veto: string; retryAfterSeconds?: number }
  /** Never: the job ends as cancelled. */
  | { cancel: string }

/** A job that several nodes could run now. They have its egg and had free slots when the hook was called. */
export interface NodeQuestion {
  job: { id: string; project: string; spider: string; priority: number; version: string }
  /** Least loaded first, at most 50. `free`: how many more jobs the node accepts now. */
  candidates: { id: string; name: string; tags: readonly string[]; slots: number; free: number }[]
}

/** Maps job ids to a node id and the reason. A job without an entry goes to the least loaded node. */
export type NodeAnswer = undefined | null | Record<string, string | { node: string; why?: string } | null>

/** A user with the correct password. `name` must always be the same for a user. Roles come from `plugin_roles`. */
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
  /** Called for all jobs that are sent together. A result that takes longer than 0.1 s is not used. */
  chooseNode?(jobs: NodeQuestion[]): Answer<NodeAnswer>
  jobStarted?(event: JobEvent<'job.started'>): Answer<void>
  jobEnded?(event: JobEvent<'job.ended'>): Answer<void>
  /** The hooks of plugins for Scrapyd. `jobId` is the id in Scrapyd's API. */
  on_spider_start?(project: string, spider: string, jobId: string): Answer<void>
  /** Called when a job has ended after its last attempt, if its spider had started. */
  on_spider_complete?(project: string, spider: string, jobId: string, success: boolean): Answer<void>
  /** Called for credentials that Scrapdeck itself does not accept. No result: they are wrong. Never log them. */
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
  /** Called when alerts fire or end, for channels that name this plugin. Retried for three days. */
  alert?(event: PluginEvent<'alert', AlertNews>): Answer<void>
  /** Stores eggs and large logs instead of the data directory. At most one plugin can do so. */
  blobs?: PluginBlobs
}

/** Scrapdeck chooses the names: `eggs/<sha256>`, `logs/<job id>-<attempt>.zst`. No time limit. */
export interface PluginBlobs {
  /** Must be atomic: the name must not exist before the last byte is stored, and a broken stream must leave nothing. */
  write(name: string, content: ReadableStream<Uint8Array>): Promise<{ sizeBytes: number }>
  /** null: no such blob. */
  read(name: string): Promise<ReadableStream<Uint8Array> | null>
  has(name: string): Promise<boolean>
  /** Deleting a blob that does not exist is not an error. */
  delete(name: string): Promise<void>
  list(prefix: string): Promise<{ name: string; sizeBytes: number }[]>
}

/**
 * A module's default export, or what a CommonJS module exports. Alternatively, the export is the plugin itself, or
 * the module exports its hooks by name. If the factory throws, the engine does not start.
 */
export type PluginFactory = (options: Readonly<Record<string, string>>) => Answer<Plugin>

/** The hook for alert channels. Plugins do not subscribe to it as they do to events. */
export const ALERT_HOOK = 'alert' satisfies keyof Plugin

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

/** The hooks of plugins for Scrapyd. They are called for the same events as ours, but with plain arguments. */
export const SPIDER_HOOKS = {
  'job.started': 'on_spider_start',
  'job.ended': 'on_spider_complete'
} as const satisfies Record<string, keyof Plugin>

export const BLOB_CALLS = ['write', 'read', 'has', 'delete', 'list'] as const
