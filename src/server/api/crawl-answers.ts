import type { JobDetail, JobId, ScheduleId } from '../../shared/contract/index.ts'
import { JOB_ID_PATTERN } from '../../shared/id-patterns.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/server.ts'
import { statusOfJob } from '../../shared/order-status.ts'
import type { LogEvents } from './job-log.ts'
import { type ApiClient, type FindJob, findJob, findJobOfSchedule, newestJobOf } from './serve-files.ts'

interface OrderFields {
  job_id?: string | null
  schedule_id?: string | null
  status?: string
}

/**
 * Converts a response to the format of the scheduler that Scrapdeck replaces. The `job_id` of a repeating order is the
 * id of its schedule.
 */
export function inSchedulerFormat(body: unknown): unknown {
  if (typeof body !== 'object' || body === null) return body
  if ('orders' in body) return { ...body, orders: (body.orders as unknown[]).map(inSchedulerFormat) }
  if (!('job_id' in body)) return body
  const { job_id, schedule_id, status } = body as OrderFields
  const id = job_id ?? schedule_id
  const log = 'logs_url' in body && { logs_url: `/jobs/${id}/logs` }
  return { ...body, job_id: id, ...log, ...(status === 'paused' && { status: 'pending', reason: status }) }
}

function describe({ job, attempts }: JobDetail) {
  return {
    ...statusOfJob(job),
    started_at: iso(job.startedAtMs),
    finished_at: iso(job.endedAtMs),
    spider_job_id: attempts.at(-1)?.jobid ?? null
  }
}

const NOTHING_YET = {
  status: 'pending',
  reason: null,
  started_at: null,
  finished_at: null,
  spider_job_id: null
} as const

const iso = (atMs: number | null): string | null => (atMs === null ? null : new Date(atMs).toISOString())

/** Returns the progress of the job with this id, or of the newest job of the schedule with this id. */
export async function progressOf(client: ApiClient, id: string): Promise<ReturnType<typeof describe>> {
  const detail = await jobOf(client, id)
  if (detail !== null) return describe(detail)
  await requireSchedule(client, id)
  const newest = await newestJobOf(client, id as ScheduleId)
  return newest === null ? NOTHING_YET : describe(await client.jobs.get({ id: newest }))
}

export const SCHEDULER_EVENTS: LogEvents = {
  log: ({ time, level, message }) => ({ ts: time, level, msg: message }),
  async end(client, id) {
    const { status, reason, spider_job_id } = describe(await client.jobs.get({ id }))
    return { status, reason, spider_job_id }
  }
}

/** Finds the job with this id, or the newest job of the schedule with this id. Waits if the schedule has no job yet. */
export const findEither: FindJob = async (client, id, clock) => {
  if ((await jobOf(client, id)) !== null) return findJob(client, id, clock)
  await requireSchedule(client, id)
  return findJobOfSchedule(client, id, clock)
}

/**
 * Returns null if there is no such job. Rejects with JOB_NOT_FOUND for an id in a different format, such as that of the
 * scheduler that Scrapdeck replaces.
 */
async function jobOf(client: ApiClient, id: string): Promise<JobDetail | null> {
  if (!JOB_ID_PATTERN.test(id)) throw noJob(id)
  try {
    return await client.jobs.get({ id: id as JobId })
  } catch (error) {
    if (error instanceof ScrapdeckError && error.code === 'JOB_NOT_FOUND') return null
    throw error
  }
}

/** Rejects with JOB_NOT_FOUND instead of SCHEDULE_NOT_FOUND, because the caller requested a job. */
async function requireSchedule(client: ApiClient, id: string): Promise<void> {
  try {
    await client.schedules.get({ id: id as ScheduleId })
  } catch (error) {
    if (!(error instanceof ScrapdeckError && error.code === 'SCHEDULE_NOT_FOUND')) throw error
    throw noJob(id)
  }
}

const noJob = (id: string) => new ScrapdeckError('JOB_NOT_FOUND', sentence('server.no_job', { id }))
