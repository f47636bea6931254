import type { Firing, Job, ScheduleSettings } from '../../shared/contract/index.ts'
import { maskSecrets } from '../../shared/secret-values.ts'

/** What webhooks and plugins are told of jobs, from the store's own transactions. */
export type JobEvent = 'job.queued' | 'job.started' | 'job.ended'

/** Where an event of schedules belongs; null: nobody is told. What a policy leaves out is as it should be: no news. */
export function firingEvent(state: Firing['state']): 'schedule.fired' | 'schedule.missed' | null {
  if (state === 'skipped') return null
  return state === 'fired' ? 'schedule.fired' : 'schedule.missed'
}

/** The body of a delivery, as its receiver reads it. */
export function eventBody(type: string, atMs: number, data: unknown): string {
  return JSON.stringify({ type, timestamp: new Date(atMs).toISOString(), data })
}

/** A job as it is now, its secret values masked. How placement sees it concerns nobody outside. */
export function jobEventData(job: Omit<Job, 'waiting' | 'unknownSinceMs'>) {
  const { lane: _lane, ...told } = maskSecrets(job)
  return { job: told }
}

export function firingEventData(
  {
    scheduleId: id,
    nominalMs,
    origin,
    state,
    reason,
    text,
    count,
    jobIds
  }: Omit<Firing, 'id' | 'outcome' | 'durationMs'>,
  { name }: Pick<ScheduleSettings, 'name'>
) {
  return { schedule: { id, name }, firing: { nominalMs, origin, state, reason, text, count, jobIds } }
}

export function pausedEventData(schedule: {
  id: string
  settings: Pick<ScheduleSettings, 'name'>
  pausedBy: unknown
  pauseNote: string | null
}) {
  const { id, settings, pausedBy, pauseNote: note } = schedule
  return { schedule: { id, name: settings.name }, pausedBy, note }
}

/** Whether somebody who is told of one project, or of all (null), is told of what is about these. */
export function isAbout(projects: readonly string[], wanted: string | null): boolean {
  return wanted === null || projects.includes(wanted)
}
