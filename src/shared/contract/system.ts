import { eventIterator } from '@orpc/contract'
import { z } from 'zod'
import { JobId, NodeId, AnyProjectName } from './ids.ts'
import { read, write } from './operation.ts'
import { Job, JobStatus } from './jobs.ts'
import { StartMode } from './nodes.ts'

/** The figures of the status bar and the overview, as of `sampledAtMs`. */
export const Figures = z.object({
  sampledAtMs: z.number(),
  /**
   * Slots of responding nodes. Nodes that accept no jobs now (cordoned, draining, stuck) count only their used slots.
   */
  slotsTotal: z.number().int(),
  slotsUsed: z.number().int(),
  queued: z.number().int(),
  starting: z.number().int(),
  running: z.number().int(),
  /** Ended in the last 60 minutes. */
  finishedLastHour: z.number().int(),
  failedLastHour: z.number().int(),
  /** Jobs ended in the last 60 seconds. */
  jobsPerMinute: z.number(),
  loopP99Ms: z.number(),
  paused: z.boolean()
})
export type Figures = z.infer<typeof Figures>

/** Something an operator should fix, worst first. `mend`: the action that the UI offers. */
export const Problem = z.object({
  id: z.string(),
  severity: z.enum(['error', 'warning']),
  title: z.string(),
  text: z.string(),
  sinceMs: z.number().nullable(),
  nodeId: NodeId.nullable(),
  project: AnyProjectName.nullable(),
  spider: z.string().nullable(),
  scheduleId: z.string().brand<'ScheduleId'>().optional(),
  jobId: JobId.optional(),
  /** For `open_jobs`: only the jobs with this status. */
  status: JobStatus.optional(),
  mend: z
    .enum([
      'edit_node',
      'cordon_node',
      'open_jobs',
      'create_environment',
      'open_nodes',
      'resume',
      /** Give up the jobs of `nodeId` and run them on other nodes. */
      'run_elsewhere',
      'open_discovery',
      'open_project',
      'open_storage',
      /** Opens `scheduleId`; if absent, all schedules. */
      'open_schedules',
      /** Opens `jobId`, or dismisses what is unusual about it (findings.dismiss). */
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
  /** What is missing and what to do; null when ready. */
  problem: z.string().nullable()
})
export type PythonState = z.infer<typeof PythonState>

export const SystemStatus = z.object({
  scrapdeckVersion: z.string(),
  startedAtMs: z.number(),
  /** `http://127.0.0.1:6800`; null without an HTTP server. */
  address: z.string().nullable(),
  host: z.enum(['desktop', 'service']),
  /** Where node passwords are stored, for Settings: `keychain`, or `file` with a description of its protection. */
  secrets: z.object({ store: z.enum(['keychain', 'file']), text: z.string() }),
  /** Other engines that this one names, for its page to link to: each has its own login. Absent: none, or older. */
  trustedEngines: z.array(z.object({ name: z.string(), url: z.string() })).optional(),
  figures: Figures,
  problems: z.array(Problem),
  python: PythonState
})
export type SystemStatus = z.infer<typeof SystemStatus>

export const Progress = z.object({ text: z.string(), done: z.boolean(), share: z.number().min(0).max(1).nullable() })
export type Progress = z.infer<typeof Progress>

export const systemContract = {
  status: read('read', 'GET /system', 'seen').output(SystemStatus),
  /** Samples of the figures, oldest first, one every 10 s for the last hour: the sparklines. */
  history: read('read', 'GET /system/history', 'seen').output(z.object({ samples: z.array(Figures) })),
  /** Ends all browser sessions with their streams, and unused login links. */
  logOutEverywhere: write('users.change', 'POST /system/logout', 'service').output(
    z.object({ ended: z.number().int() })
  ),
  setPaused: write('queue.pause', 'POST /system/paused', 'service')
    .input(z.object({ paused: z.boolean() }))
    .output(z.object({ paused: z.boolean() })),
  /** Deploys the bundled demo project if necessary and queues one run of its spider. */
  runDemo: write(['eggs.deploy', 'jobs.run'], 'POST /system/demo', 'service').output(z.object({ job: Job })),
  /** Creates a Python environment with Scrapy for the local node. */
  createEnvironment: write('environments.change', 'POST /system/environment', 'service').output(eventIterator(Progress))
}
