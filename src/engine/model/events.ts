import type { Firing, Job, Schedule, ScheduleSettings } from '../../shared/contract/index.ts'
import { maskSecrets } from '../../shared/secret-values.ts'

/** Job events for webhooks and plugins. The store writes them in its own transactions. */
export type JobEvent = 'job.queued' | 'job.started' | 'job.ended'

/** The event for a firing; null: none. A fire time that a policy skips is expected, so it causes no event. */
export function firingEvent(state: Firing['state']): 'schedule.fired' | 'schedule.missed' | null {
  if (state === 'skipped') return null
  return state === 'fired' ? 'schedule.fired' : 'schedule.missed'
}

export function eventBody(type: string, atMs: number, data: unknown): string {
  return JSON.stringify({ type, timestamp: new Date(atMs).toISOString(), data })
}

export function jobEventData(job: Omit<Job, 'waiting' | 'unknownSinceMs' | 'pagesPerMinute' | 'itemsPerMinute'>) {
  const { lane: _lane, ...masked } = maskSecrets(job)
  return { job: masked }
}

export function firingEventData(
  {
    scheduleId: id,
    nominalMs,
    origin,
    state,
    reason,
    text,
    code,
    params,
    count,
    jobIds
  }: Omit<Firing, 'id' | 'outcome' | 'durationMs'>,
  { name }: Pick<ScheduleSettings, 'name'>
) {
  return { schedule: { id, name }, firing: { nominalMs, origin, state, reason, text, code, params, count, jobIds } }
}

export function pausedEventData({
  id,
  settings: { name },
  pausedBy,
  pauseNote: note,
  pauseNoteCode: noteCode,
  pauseNoteParams: noteParams
}: Pick<Schedule, 'id' | 'pausedBy' | 'pauseNote' | 'pauseNoteCode' | 'pauseNoteParams'> & {
  settings: Pick<ScheduleSettings, 'name'>
}) {
  return { schedule: { id, name }, pausedBy, note, noteCode, noteParams }
}

/** Whether a subscriber to one project, or to all (null), receives events about these projects. */
export function isAbout(projects: readonly string[], wanted: string | null): boolean {
  return wanted === null || projects.includes(wanted)
}
