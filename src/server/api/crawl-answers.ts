import type { Job, JobDetail, JobId, ScheduleId } from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import type { LogEvents } from './job-log.ts'
import { type ApiClient, type FindJob, findJob, findJobOfSchedule, newestJobOf } from './serve-log.ts'

/** An answer to an order: a repeated one is followed by the id of its schedule. */
export function asSchedulerSays(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || !('logs_url' in body)) return body
  const { job_id, schedule_id } = body as unknown as { job_id: string | null; schedule_id?: string | null }
  const id = job_id ?? schedule_id
  return { ...body, job_id: id, logs_url: `/jobs/${id}/logs` }
}

/** `failed`: the spider ran and failed. `error`: it was never seen to run to an end. */
export const SCHEDULER_STATUSES = ['pending', 'running', 'finished', 'failed', 'error', 'cancelled'] as const
type SchedulerStatus = (typeof SCHEDULER_STATUSES)[number]

function statusOf({ status, startedAtMs }: Job): SchedulerStatus {
  if (status === 'queued' || status === 'starting') return 'pending'
  if (status === 'running' || status === 'cancelled') return status
  if (status === 'succeeded') return 'finished'
  return status === 'failed' && startedAtMs !== null ? 'failed' : 'error'
}

function describe({ job, attempts }: JobDetail) {
  return {
    status: statusOf(job),
    started_at: iso(job.startedAtMs),
    finished_at: iso(job.endedAtMs),
    spider_job_id: attempts.at(-1)?.jobid ?? null
  }
}

const NOTHING_YET = { status: 'pending', started_at: null, finished_at: null, spider_job_id: null } as const

const iso = (atMs: number | null): string | null => (atMs === null ? null : new Date(atMs).toISOString())

/** Of a job, or of a repeated order: of its newest job. */
export async function progressOf(client: ApiClient, id: string): Promise<ReturnType<typeof describe>> {
  const detail = await jobOf(client, id)
  if (detail !== null) return describe(detail)
  await requireSchedule(client, id)
  const newest = await newestJobOf(client, id as ScheduleId)
  return newest === null ? NOTHING_YET : describe(await client.jobs.get({ id: newest }))
}

/** The names that a log has outside the API. */
export const SCHEDULER_EVENTS: LogEvents = {
  log: ({ time, level, message }) => ({ ts: time, level, msg: message }),
  async end(client, id) {
    const { status, spider_job_id } = describe(await client.jobs.get({ id }))
    return { status, spider_job_id }
  }
}

/** Of a job, or of a repeated order: its newest job, or its first once it exists. */
export const findEither: FindJob = async (client, id, clock) => {
  if ((await jobOf(client, id)) !== null) return findJob(client, id, clock)
  await requireSchedule(client, id)
  return findJobOfSchedule(client, id, clock)
}

async function jobOf(client: ApiClient, id: string): Promise<JobDetail | null> {
  try {
    return await client.jobs.get({ id: id as JobId })
  } catch (error) {
    if (error instanceof ScrapdeckError && error.code === 'JOB_NOT_FOUND') return null
    throw error
  }
}

/** Rejects with JOB_NOT_FOUND: the caller asked for a job. */
async function requireSchedule(client: ApiClient, id: string): Promise<void> {
  try {
    await client.schedules.get({ id: id as ScheduleId })
  } catch (error) {
    if (!(error instanceof ScrapdeckError && error.code === 'SCHEDULE_NOT_FOUND')) throw error
    throw new ScrapdeckError('JOB_NOT_FOUND', `There is no job ${id}; it may have been deleted`, { cause: error })
  }
}
