import type { JobId, RunItem, RunTemplate, ScheduleId } from '../../shared/contract/index.ts'
import type { NewFiring, NewJob, StoredSchedule } from '../model/records.ts'
import type { Clock } from '../runtime/clock.ts'
import type { FireTimes } from './moments.ts'
import { expandTemplates, needsPrevious, weightOf } from './template.ts'

export interface JobMaker {
  clock: Clock
  /** Throws PROJECT_, VERSION_ or SPIDER_NOT_FOUND, before anything is computed. */
  requireSpiders(template: RunTemplate): void
  prepare(
    items: RunItem[],
    origin: { source: 'schedule'; scheduled: { scheduleId: ScheduleId; nominalMs: number } }
  ): Promise<NewJob[]>
  openTemplate(template: RunTemplate): Promise<RunTemplate>
}

export type FiringRequest = Pick<NewFiring, 'nominalMs' | 'origin' | 'reason' | 'message'> & {
  backfillId: string | null
  after: JobId[]
  doneUntilMs: number | null
}

/** The maximum number of dependencies per firing. If exceeded, each job waits for a share of the earlier jobs. */
const WAITS_MAX = 20_000

/**
 * Builds the row and jobs of a firing, with their weight (`weightOf`). Rejects like prepareJobs and expandTemplates.
 */
export async function makeFiring(
  schedule: Pick<StoredSchedule, 'id' | 'settings'>,
  moments: FireTimes,
  asked: FiringRequest,
  { maker, nowMs }: { maker: JobMaker; nowMs: number }
): Promise<{ firing: NewFiring; weight: number }> {
  const { id, settings } = schedule
  const { after, ...rest } = asked
  const { nominalMs } = rest
  for (const template of settings.jobs) maker.requireSpiders(template)
  const previousMs = needsPrevious(settings.jobs) ? moments.previous(nominalMs) : null
  const hasSecrets = settings.jobs.some(({ secretNames }) => secretNames.length > 0)
  const jobs = hasSecrets ? await Promise.all(settings.jobs.map(maker.openTemplate)) : settings.jobs
  const placeholders = { nominalMs, previousMs, nowMs, zone: settings.zone, schedule: settings.name }
  const { items, bytes } = await expandTemplates({ name: settings.name, jobs }, placeholders, maker.clock)
  const made = await maker.prepare(items, { source: 'schedule', scheduled: { scheduleId: id, nominalMs } })
  const firing: NewFiring = {
    ...rest,
    scheduleId: id,
    atMs: nowMs,
    state: 'fired',
    count: 1,
    jobs: after.length === 0 ? made : made.map((job, index) => ({ ...job, after: waitsOf(index, made.length) }))
  }
  return { firing, weight: weightOf({ jobs: made.length, bytes }) }

  function waitsOf(index: number, count: number): NewJob['after'] {
    const stride = after.length * count <= WAITS_MAX ? 1 : Math.min(count, after.length)
    const mine = after.filter((_, other) => other % stride === index % stride)
    return mine.map((jobId) => ({ jobId, on: 'ended' as const }))
  }
}
