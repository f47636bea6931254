import { eventIterator } from '@orpc/contract'
import { z } from 'zod'
import { JobId, NodeId, ScheduleId } from './ids.ts'
import { read } from './operation.ts'
import { LiveFigures } from './figures.ts'
import { Job, Waiting } from './jobs.ts'
import { Node } from './nodes.ts'
import { Project } from './projects.ts'
import { Schedule } from './schedules.ts'
import { Figures, Problem, PythonState, Environment } from './system.ts'

/** A change sent to clients. Several changes of one thing between two batches are merged into its newest state. */
export const Change = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('job'), job: Job }),
  z.object({ kind: z.literal('job_removed'), id: JobId }),
  z.object({ kind: z.literal('job_progress'), id: JobId, progress: LiveFigures }),
  /** Too many jobs changed to send them individually: refetch the shown jobs. */
  z.object({ kind: z.literal('jobs') }),
  z.object({ kind: z.literal('waiting'), lane: z.string(), waiting: Waiting }),
  z.object({ kind: z.literal('node'), node: Node }),
  z.object({ kind: z.literal('node_removed'), id: NodeId }),
  z.object({ kind: z.literal('project'), project: Project }),
  z.object({ kind: z.literal('project_removed'), name: z.string() }),
  z.object({ kind: z.literal('figures'), figures: Figures }),
  z.object({ kind: z.literal('problems'), problems: z.array(Problem) }),
  z.object({ kind: z.literal('python'), python: PythonState }),
  z.object({ kind: z.literal('limits') }),
  z.object({ kind: z.literal('discovery') }),
  z.object({ kind: z.literal('schedule'), schedule: Schedule }),
  z.object({ kind: z.literal('schedule_removed'), id: ScheduleId }),
  z.object({ kind: z.literal('chains') }),
  z.object({ kind: z.literal('webhooks') }),
  z.object({ kind: z.literal('alerts') }),
  /** Sent at most once every two seconds. */
  z.object({ kind: z.literal('errors') }),
  z.object({ kind: z.literal('findings') }),
  z.object({ kind: z.literal('storage') }),
  z.object({ kind: z.literal('environments'), environments: z.array(Environment) })
])
export type Change = z.infer<typeof Change>

export const ChangeBatch = z.object({
  /** Pass this as `after` to resume after this batch. */
  cursor: z.string(),
  /** Whether the cursor is older than the stored changes. If so, refetch everything shown, then resume from here. */
  reset: z.boolean(),
  changes: z.array(Change)
})
export type ChangeBatch = z.infer<typeof ChangeBatch>

export const eventsContract = {
  /** Without `after`, sends only future changes. The first batch is sent immediately and has only the cursor. */
  subscribe: read('read', 'GET /events', 'seen')
    .input(z.object({ after: z.string().max(100).optional() }))
    .output(eventIterator(ChangeBatch))
}
