import { eventIterator } from '@orpc/contract'
import { z } from 'zod'
import { codeOfText, problemText } from './coded-text.ts'
import { JobId, NodeId, AnyProjectName } from './ids.ts'
import { read, write } from './operation.ts'
import { Job, JobStatus } from './jobs.ts'
import { StartMode } from './nodes.ts'

export const Environment = z.object({
  /** `main`: the default for projects. Otherwise, a short hash of what the environment is built from. */
  id: z.string().regex(/^[a-z0-9-]{1,64}$/),
  kind: z.enum(['main', 'interpreter', 'requirements']),
  state: z.enum(['building', 'ready', 'failed']),
  path: z.string().nullable(),
  version: z.string().nullable(),
  scrapyVersion: z.string().nullable(),
  projects: z.array(AnyProjectName),
  start: StartMode,
  ...problemText,
  progress: z.object({ text: z.string(), ...codeOfText, share: z.number().min(0).max(1).nullable() }).nullable(),
  hasLog: z.boolean(),
  madeAtMs: z.number().nullable()
})
export type Environment = z.infer<typeof Environment>

const ById = z.object({ id: Environment.shape.id })

export const environmentsContract = {
  list: read('read', 'GET /environments', 'seen').output(z.object({ environments: z.array(Environment) })),
  log: read('read', 'GET /environments/{id}/log', { id: 'environment' })
    .input(ById)
    .output(eventIterator(z.object({ text: z.string() }))),
  rebuild: write('environments.change', 'POST /environments/{id}/rebuild', { id: 'environment' })
    .input(ById)
    .output(Environment),
  remove: write('environments.change', 'DELETE /environments/{id}', { id: 'environment' })
    .input(ById)
    .output(z.object({ removed: z.string() }))
}

/** A Scrapdeck process that shares its database with others. Each start has a new `id`. */
export const EngineInfo = z.object({
  id: z.string(),
  name: z.string(),
  address: z.string(),
  version: z.string(),
  startedAtMs: z.number(),
  /** `silent`: the engine has sent no heartbeat for several seconds. */
  state: z.enum(['leading', 'following', 'silent']),
  silentMs: z.number(),
  drained: z.boolean(),
  hasLocalNode: z.boolean()
})
export type EngineInfo = z.infer<typeof EngineInfo>

export const EngineList = z.object({
  /** Whether the database is PostgreSQL. Otherwise, there is only this engine. */
  shared: z.boolean(),
  engines: z.array(EngineInfo),
  /** When each engine became the leader, and why. Newest first. */
  terms: z.array(z.object({ epoch: z.number().int(), engine: z.string(), sinceMs: z.number(), reason: z.string() }))
})
export type EngineList = z.infer<typeof EngineList>

const EngineId = z.string().min(1).max(100)

export const enginesContract = {
  list: read('read', 'GET /engines', 'seen').output(EngineList),
  /**
   * Returns before the handover is complete. Requests can fail with NO_LEADER in the meantime. `to`: the next leader;
   * default: any engine.
   */
  handOver: write('engines.operate', 'POST /engines/handover', 'service')
    .input(z.object({ to: EngineId.optional() }))
    .output(z.object({ handedOver: z.literal(true) })),
  /** For maintenance. A drained engine responds to requests but never leads. If it leads, it hands over. */
  drain: write('engines.operate', 'POST /engines/{id}/drain', 'service')
    .input(z.object({ id: EngineId, drained: z.boolean() }))
    .output(z.object({ drained: z.boolean() }))
}

/** The figures of the status bar and the overview, as of `sampledAtMs`. */
export const Figures = z.object({
  sampledAtMs: z.number(),
  /**
   * The slots of responding nodes. For nodes that accept no jobs (cordoned, draining, stuck), only used slots count.
   */
  slotsTotal: z.number().int(),
  slotsUsed: z.number().int(),
  queued: z.number().int(),
  starting: z.number().int(),
  running: z.number().int(),
  finishedLastHour: z.number().int(),
  failedLastHour: z.number().int(),
  jobsPerMinute: z.number(),
  loopP99Ms: z.number(),
  paused: z.boolean()
})
export type Figures = z.infer<typeof Figures>

/**
 * Something that an operator should fix. `titleCode` and `code`: the codes of `title` and `text` (shared/texts).
 * Older servers do not send them. `mend`: the action that the UI offers.
 */
export const Problem = z.object({
  id: z.string(),
  severity: z.enum(['error', 'warning']),
  title: z.string(),
  titleCode: z.string().optional(),
  titleParams: z.record(z.string(), z.unknown()).optional(),
  text: z.string(),
  ...codeOfText,
  sinceMs: z.number().nullable(),
  nodeId: NodeId.nullable(),
  project: AnyProjectName.nullable(),
  spider: z.string().nullable(),
  scheduleId: z.string().brand<'ScheduleId'>().optional(),
  jobId: JobId.optional(),
  /** For `open_jobs`: show only the jobs with this status. */
  status: JobStatus.optional(),
  mend: z
    .enum([
      'edit_node',
      'cordon_node',
      'open_jobs',
      'create_environment',
      'open_nodes',
      'resume',
      /** Gives up on the attempts on `nodeId` and runs their jobs on other nodes. */
      'run_elsewhere',
      'open_discovery',
      'open_project',
      'open_storage',
      'open_schedules',
      /** Opens `jobId`, or dismisses its findings (findings.dismiss). */
      'open_findings'
    ])
    .nullable()
})
export type Problem = z.infer<typeof Problem>

export const PythonState = z.object({
  state: z.enum(['ready', 'missing', 'checking', 'creating']),
  path: z.string().nullable(),
  version: z.string().nullable(),
  scrapyVersion: z.string().nullable(),
  start: StartMode,
  ...problemText
})
export type PythonState = z.infer<typeof PythonState>

export const SystemStatus = z.object({
  scrapdeckVersion: z.string(),
  startedAtMs: z.number(),
  address: z.string().nullable(),
  host: z.enum(['desktop', 'service']),
  /** Where node passwords are stored. `text` describes the store and its protection. Shown in Settings. */
  secrets: z.object({ store: z.enum(['keychain', 'file']), text: z.string() }),
  /** Other engines that the UI links to. Each has its own login. Older engines do not send this field. */
  trustedEngines: z.array(z.object({ name: z.string(), url: z.string() })).optional(),
  figures: Figures,
  problems: z.array(Problem),
  python: PythonState
})
export type SystemStatus = z.infer<typeof SystemStatus>

export const Progress = z.object({
  text: z.string(),
  ...codeOfText,
  done: z.boolean(),
  share: z.number().min(0).max(1).nullable()
})
export type Progress = z.infer<typeof Progress>

export const systemContract = {
  status: read('read', 'GET /system', 'seen').output(SystemStatus),
  /** Samples of the figures for the sparklines, oldest first, one every 10 s for the last hour. */
  history: read('read', 'GET /system/history', 'seen').output(z.object({ samples: z.array(Figures) })),
  logOutEverywhere: write('users.change', 'POST /system/logout', 'service').output(
    z.object({ ended: z.number().int() })
  ),
  setPaused: write('queue.pause', 'POST /system/paused', 'service')
    .input(z.object({ paused: z.boolean() }))
    .output(z.object({ paused: z.boolean() })),
  /** Deploys the bundled demo project if necessary and queues one run of its spider. */
  runDemo: write(['eggs.deploy', 'jobs.run'], 'POST /system/demo', 'service').output(z.object({ job: Job })),
  createEnvironment: write('environments.change', 'POST /system/environment', 'service').output(eventIterator(Progress))
}
