import type { Backfill, Firing, Schedule } from '../../../shared/contract/index.ts'
import { maskSecrets } from '../../../shared/secret-values.ts'
import { isLive } from '../../schedules/failures.ts'
import type { StoredFiring, StoredSchedule } from '../../model/records.ts'

/** The part of a schedule's state that only the scheduler knows. */
export interface ScheduleOutlook {
  next: { nextAtMs: number; nextNominalMs: number } | null
  backfill: Backfill | null
}

/** A schedule as clients see it: secrets masked, with its next moment and its newest firings, newest first. Pure. */
export function describeSchedule(
  { settings, doneUntilMs: _doneUntilMs, movedAtMs: _movedAtMs, crawl: _crawl, ...stored }: StoredSchedule,
  recent: readonly StoredFiring[],
  { next, backfill }: ScheduleOutlook
): Schedule {
  return {
    ...settings,
    ...stored,
    jobs: settings.jobs.map((template) => maskSecrets(template)),
    nextAtMs: next?.nextAtMs ?? null,
    nextNominalMs: next?.nextNominalMs ?? null,
    recent: recent.map(describeFiring),
    backfill
  }
}

/** The worst outcome of its jobs is the firing's outcome; it is live while any job is live. Pure. */
export function describeFiring(stored: StoredFiring): Firing {
  const { backfillId: _backfillId, statuses, startedAtMs, endedAtMs, ...firing } = stored
  const outcome = outcomeOf(statuses)
  const isOver = outcome !== null && outcome !== 'live' && startedAtMs !== null && endedAtMs !== null
  return { ...firing, outcome, durationMs: isOver ? Math.max(0, endedAtMs - startedAtMs) : null }
}

function outcomeOf(statuses: StoredFiring['statuses']): Firing['outcome'] {
  if (statuses.length === 0) return null
  if (statuses.some(isLive)) return 'live'
  return WORST_FIRST.find((outcome) => statuses.includes(outcome)) ?? 'succeeded'
}

const WORST_FIRST = ['failed', 'lost', 'unclear', 'cancelled'] as const
