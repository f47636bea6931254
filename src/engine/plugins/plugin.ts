import type { Problem } from '../../shared/contract/index.ts'
import type { StoredJob } from '../store/records.ts'

// What a plugin is: a module whose default export makes one (docs/plugins.md; two examples in resources/plugins/).
// Types only: a plugin runs in a thread of its own and gets copies.

/** A job as the API has it; values that are secret are masked. */
export type PluginJob = Omit<StoredJob, 'lane'>

/** `id` is the same for every delivery of an event: it is repeated where the hook failed, or the engine died. */
export interface PluginEvent<Type extends string, Data> {
  id: string
  type: Type
  /** ISO 8601: when it happened. */
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

/** What is about to be sent, and where to. */
export interface DispatchQuestion {
  job: PluginJob
  attempt: number
  /** The version that will run. */
  version: string
  node: { id: string; name: string; tags: string[] }
}

/** Nothing: it is sent as it is. Names that are set to null are taken out. */
export type DispatchAnswer =
  | undefined
  | null
  | { args?: Record<string, string | null>; settings?: Record<string, string | null> }
  /** Not now: back in the queue, and asked again after so many seconds (60). */
  | { veto: string; retryAfterSeconds?: number }
  /** Not ever: the job ends as cancelled. */
  | { cancel: string }

type Answer<T> = T | Promise<T>

/** Every one may be left out, and may take as long as the plugin's time limit. */
export interface Plugin {
  jobQueued?(event: JobEvent<'job.queued'>): Answer<void>
  /** Asked with each job that is about to be sent, while its slot is kept for it. */
  beforeDispatch?(question: DispatchQuestion): Answer<DispatchAnswer>
  jobStarted?(event: JobEvent<'job.started'>): Answer<void>
  jobEnded?(event: JobEvent<'job.ended'>): Answer<void>
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
  /** An alert channel: a problem of the Overview has come, or is gone. */
  problemRaised?(event: PluginEvent<'problem.raised', { problem: Problem }>): Answer<void>
  problemResolved?(
    event: PluginEvent<'problem.resolved', { problem: Pick<Problem, 'id' | 'title' | 'severity'> }>
  ): Answer<void>
  /** Keeps eggs and large logs instead of the data directory; one plugin at most. */
  blobs?: PluginBlobs
}

/** Names are ours: `eggs/<sha256>`, `logs/<job id>-<attempt>.gz`. No time limit holds here: they may be large. */
export interface PluginBlobs {
  /** Atomic: the name must not exist before the last byte is safe; a stream that breaks off leaves nothing. */
  write(name: string, content: ReadableStream<Uint8Array>): Promise<{ sizeBytes: number }>
  /** null: there is none. */
  read(name: string): Promise<ReadableStream<Uint8Array> | null>
  has(name: string): Promise<boolean>
  /** Deleting what is not there is fine. */
  delete(name: string): Promise<void>
  list(prefix: string): Promise<{ name: string; sizeBytes: number }[]>
}

/** The default export. `options`: the words behind the module in the configuration. What it throws stops the start. */
export type PluginFactory = (options: Readonly<Record<string, string>>) => Answer<Plugin>

/** Hooks that are told of an event, by the event. */
export const EVENT_HOOKS = {
  'job.queued': 'jobQueued',
  'job.started': 'jobStarted',
  'job.ended': 'jobEnded',
  'node.up': 'nodeUp',
  'node.down': 'nodeDown',
  'schedule.fired': 'scheduleFired',
  'schedule.missed': 'scheduleMissed',
  'schedule.paused': 'schedulePaused',
  deploy: 'deployed',
  'problem.raised': 'problemRaised',
  'problem.resolved': 'problemResolved'
} as const satisfies Record<string, keyof Plugin>

export const BLOB_CALLS = ['write', 'read', 'has', 'delete', 'list'] as const
