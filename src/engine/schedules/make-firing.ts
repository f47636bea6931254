import type { Firing, JobId, RunItem, RunTemplate, ScheduleId } from '../../shared/contract/index.ts'
import type { NewFiring, NewJob, StoredSchedule } from '../store/records.ts'
import type { Moments } from './moments.ts'
import { expandTemplates, needsPrevious } from './template.ts'

/** Creates jobs for a schedule: injected from commands/prepare-jobs.ts, with the opening of secrets. */
export interface JobMaker {
  prepare(
    items: RunItem[],
    origin: { source: 'schedule'; scheduled: { scheduleId: ScheduleId; nominalMs: number } }
  ): Promise<NewJob[]>
  /** Returns a copy with plain secret values. */
  openTemplate(template: RunTemplate): Promise<RunTemplate>
}

export type FiringRequest = Pick<Firing, 'nominalMs' | 'origin' | 'reason' | 'text'> & {
  backfillId: string | null
  /** Jobs that the new jobs must wait for. */
  after: JobId[]
  doneUntilMs: number | null
}

/** Most dependencies per firing; beyond it, each job waits for a share of the earlier jobs instead of all. */
const WAITS_MAX = 20_000

/** Builds the row and jobs of a moment that fires. Rejects like prepareJobs if the jobs cannot be created. */
export async function makeFiring(
  schedule: Pick<StoredSchedule, 'id' | 'settings'>,
  moments: Moments,
  asked: FiringRequest,
  { maker, nowMs }: { maker: JobMaker; nowMs: number }
): Promise<NewFiring> {
  const { id, settings } = schedule
  const { after, ...firing } = asked
  const { nominalMs } = firing
  const previousMs = needsPrevious(settings.jobs) ? moments.previous(nominalMs) : null
  const hasSecrets = settings.jobs.some(({ secretNames }) => secretNames.length > 0)
  const jobs = hasSecrets ? await Promise.all(settings.jobs.map(maker.openTemplate)) : settings.jobs
  const placeholders = { nominalMs, previousMs, nowMs, zone: settings.zone, schedule: settings.name }
  const items = expandTemplates({ name: settings.name, jobs }, placeholders)
  const made = await maker.prepare(items, { source: 'schedule', scheduled: { scheduleId: id, nominalMs } })
  return {
    ...{ ...firing, scheduleId: id, atMs: nowMs, state: 'fired', count: 1 },
    jobs: after.length === 0 ? made : made.map((job, index) => ({ ...job, after: waitsOf(index, made.length) }))
  }

  function waitsOf(index: number, count: number): NewJob['after'] {
    const stride = after.length * count <= WAITS_MAX ? 1 : Math.min(count, after.length)
    const mine = after.filter((_, other) => other % stride === index % stride)
    return mine.map((jobId) => ({ jobId, on: 'ended' as const }))
  }
}
