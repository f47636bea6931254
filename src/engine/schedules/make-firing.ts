import type { Firing, JobId, RunItem, RunTemplate, ScheduleId } from '../../shared/contract/index.ts'
import type { NewFiring, NewJob, StoredSchedule } from '../store/records.ts'
import type { Moments } from './moments.ts'
import { expandTemplates, needsPrevious } from './template.ts'

/** What makes jobs of a schedule: commands/prepare-jobs.ts and the opening of secrets, handed in. */
export interface JobMaker {
  prepare(
    items: RunItem[],
    origin: { source: 'schedule'; scheduled: { scheduleId: ScheduleId; nominalMs: number } }
  ): Promise<NewJob[]>
  /** Its sealed values as they were given. */
  openTemplate(template: RunTemplate): Promise<RunTemplate>
}

export type AskedFiring = Pick<Firing, 'nominalMs' | 'origin' | 'reason' | 'text'> & {
  backfillId: string | null
  /** Jobs that its own wait for. */
  after: JobId[]
  doneUntilMs: number | null
}

/** Waits that one firing writes at most: beyond it each job waits for its share of the earlier ones, not for all. */
const WAITS_MAX = 20_000

/** The row of a moment that fires, with its jobs. Rejects, as prepareJobs does, where they cannot be made. */
export async function makeFiring(
  schedule: Pick<StoredSchedule, 'id' | 'settings'>,
  moments: Moments,
  asked: AskedFiring,
  { maker, nowMs }: { maker: JobMaker; nowMs: number }
): Promise<NewFiring> {
  const { id, settings } = schedule
  const { after, ...told } = asked
  const { nominalMs } = told
  const previousMs = needsPrevious(settings.jobs) ? moments.previous(nominalMs) : null
  const hasSecrets = settings.jobs.some(({ secretNames }) => secretNames.length > 0)
  const jobs = hasSecrets ? await Promise.all(settings.jobs.map(maker.openTemplate)) : settings.jobs
  const placeholders = { nominalMs, previousMs, nowMs, zone: settings.zone, schedule: settings.name }
  const items = expandTemplates({ name: settings.name, jobs }, placeholders)
  const made = await maker.prepare(items, { source: 'schedule', scheduled: { scheduleId: id, nominalMs } })
  return {
    ...{ ...told, scheduleId: id, atMs: nowMs, state: 'fired', count: 1 },
    jobs: after.length === 0 ? made : made.map((job, index) => ({ ...job, after: waitsOf(index, made.length) }))
  }

  function waitsOf(index: number, count: number): NewJob['after'] {
    const stride = after.length * count <= WAITS_MAX ? 1 : Math.min(count, after.length)
    const mine = after.filter((_, other) => other % stride === index % stride)
    return mine.map((jobId) => ({ jobId, on: 'ended' as const }))
  }
}
