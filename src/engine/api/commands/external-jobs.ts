import type { AttemptNumber, JobId } from '../../../shared/contract/index.ts'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/api.ts'
import { say } from '../../../shared/texts/message.ts'
import type { LiveAttempts } from '../../jobs/dispatch/live-attempts.ts'
import { trueTime } from '../../nodes/clock-offset.ts'
import type { Fleet, FleetNode } from '../../nodes/fleet.ts'
import { isShownAs } from '../../nodes/list-limits.ts'
import { toClientError } from '../../nodes/node-failure.ts'
import { NodeError, type SeenJob } from '../../nodes/node-client.ts'
import { problemOfPathPart } from '../../projects/names.ts'
import type { Clock } from '../../runtime/clock.ts'
import { type NewJob, PLAIN_JOB, type RunOnNode, type StoredJob } from '../../model/records.ts'
import type { AttemptReader, JobStore } from '../../storage/store.ts'

export interface ExternalJobsParts {
  store: JobStore & AttemptReader
  fleet: Pick<Fleet, 'setExternal'>
  live: LiveAttempts
  clock: Clock
  newJobId: () => JobId
}

/**
 * Signals an external job, or removes it from the node's queue. A job of ours that we gave up on counts as external
 * while it is still on the node. Rejects with JOB_IS_OURS or NODE_….
 */
export async function cancelExternal(
  node: FleetNode,
  run: RunOnNode,
  parts: Pick<ExternalJobsParts, 'live'>
): Promise<'pending' | 'running' | null> {
  const ours = parts.live
    .ofNode(node.stored.id)
    .find(({ project, jobid }) => project === run.project && jobid === run.jobid)
  if (ours !== undefined) throw jobIsOurs(node, run, ours)
  try {
    const { project, jobid } = findExternal(node, run)?.job ?? run
    const { wasState } = await node.client.cancel({ project, jobid, signal: 'INT' })
    return wasState
  } catch (error) {
    if (error instanceof NodeError && error.refusal === 'process_ended') return null
    throw toClientError(error)
  } finally {
    node.observer.poke()
  }
}

/**
 * Adopts an external job in the state that its node last reported. Its version stays unknown, because Scrapyd does not
 * report it. Rejects with JOB_IS_OURS, EXTERNAL_JOB_GONE or BAD_INPUT.
 */
export async function adoptExternal(node: FleetNode, run: RunOnNode, parts: ExternalJobsParts): Promise<StoredJob> {
  const { store, fleet, live, clock, newJobId } = parts
  const [ours] = await store.findAttemptsOnNode(node.stored.id, [{ project: run.project, jobid: run.jobid }])
  if (ours !== undefined) throw jobIsOurs(node, run, ours)
  const seen = findExternal(node, run)
  if (seen === null) {
    throw new ScrapdeckError(
      'EXTERNAL_JOB_GONE',
      sentence('api.no_external_job', { node: node.stored.name, jobid: run.jobid, project: run.project })
    )
  }
  refuseUnusable(seen.job)
  const { project, spider, jobid, pid } = seen.job
  const nowMs = clock.nowMs()
  const name = node.stored.name
  const id = newJobId()
  const evidence = {
    node: name,
    jobid,
    ...(seen.job.startTime === null ? {} : { nodeStartTime: seen.job.startTime.slice(0, 100) })
  }
  const job: NewJob = {
    ...PLAIN_JOB,
    id,
    jobid,
    project,
    spider,
    placement: { nodeId: node.stored.id, tags: [] },
    source: 'adopted',
    entry: { atMs: nowMs, message: say('timeline.adopted', { node: name }), evidence }
  }
  const entry = { atMs: nowMs, message: say('timeline.seen_on_node', { list: seen.list, node: name }), evidence }
  const startedAtMs = trueTime(seen.job.startTime, node.status.clockEstimate) ?? nowMs
  const isRunning = seen.list === 'running'
  await live.adopt({
    job,
    nodeId: node.stored.id,
    accepted: isRunning ? { ...entry, message: say('timeline.accepted_before', { node: name }) } : entry,
    running: isRunning ? { entry, startedAtMs, pid } : null
  })
  const isOther = (other: SeenJob) => other.project !== project || other.jobid !== jobid
  const { external } = node.status
  fleet.setExternal(node, { pending: external.pending.filter(isOther), running: external.running.filter(isOther) })
  node.observer.poke()
  return (await store.getJob(id))!
}

function findExternal(node: FleetNode, run: RunOnNode): { list: 'pending' | 'running'; job: SeenJob } | null {
  for (const list of ['running', 'pending'] as const) {
    const job = node.status.external[list].find((one) => isShownAs(one, run))
    if (job !== undefined) return { list, job }
  }
  return null
}

/** An adopted job's names become parts of log and item paths, here and on the node. */
function refuseUnusable({ project, spider, jobid }: SeenJob): void {
  for (const [noun, name] of Object.entries({ project, spider, jobid })) {
    const problem = problemOfPathPart(name)
    if (problem === null) continue
    throw new ScrapdeckError('BAD_INPUT', sentence('api.job_not_adoptable', { noun, problem }))
  }
}

function jobIsOurs(node: FleetNode, run: RunOnNode, ours: { jobId: JobId; number: AttemptNumber }): ScrapdeckError {
  return new ScrapdeckError(
    'JOB_IS_OURS',
    sentence('api.job_is_ours', { jobid: run.jobid, node: node.stored.name, number: ours.number, jobId: ours.jobId }),
    { data: { jobId: ours.jobId } }
  )
}
