import type { ProjectName, ScheduleId } from '../../../../shared/contract/index.ts'
import type { AlertWatch } from '../../../../shared/alert-watches.ts'
import { encode, messageOf, say } from '../../../../shared/texts/message.ts'
import type { StoredAlertFact, StoredErrorGroup, StoredFiring, StoredSchedule } from '../../../model/records.ts'
import { type Signal, NO_LABELS, spiderSubject } from '../signal.ts'
import { oneProject, projectsAt } from '../../../schedules/whose-past.ts'
import { bornMs, errorSignalOf } from '../signals/stored-signals.ts'
import type { PastEvent } from './replay.ts'

const HOUR_MS = 3_600_000
export const DAY_MS = 24 * HOUR_MS

const byTime = (events: PastEvent[]): PastEvent[] => events.sort((one, other) => one.atMs - other.atMs)

export const eventOfRecorded = ({ atMs, value, ...signal }: StoredAlertFact): PastEvent =>
  value === null ? { atMs, gone: { watch: signal.watch, key: signal.key } } : { atMs, signal: { ...signal, value } }

/**
 * Returns the signals of errors. Only the current number of affected runs is known, so an error counts as one run
 * when first seen, and as all its runs when last seen.
 */
export const eventsOfErrors = (groups: readonly StoredErrorGroup[]): PastEvent[] =>
  byTime(
    groups.flatMap((group): PastEvent[] => {
      const born = bornMs(group)
      const signal = errorSignalOf(group)
      const isRecent = group.lastSeenMs > born && group.lastSeenMs < born + DAY_MS
      return [
        { atMs: born, signal: { ...signal, value: Math.min(1, signal.value) } },
        ...(isRecent ? [{ atMs: group.lastSeenMs, signal }] : []),
        { atMs: born + DAY_MS, gone: { watch: signal.watch, key: signal.key } }
      ]
    })
  )

/**
 * Yields a signal for each full hour since the last success. Skips hours before `fromMs`. `endsMs`: when successful
 * runs ended, ascending.
 */
export function* eventsOfSuccesses(
  { project, spider }: { project: ProjectName; spider: string },
  endsMs: readonly number[],
  { fromMs, untilMs }: { fromMs: number; untilMs: number }
): Generator<PastEvent> {
  const signalAt = (sinceMs: number, hours: number): Signal => ({
    watch: 'spider_overdue',
    key: `${project}/${spider}`,
    value: hours,
    sinceMs,
    subject: spiderSubject({ project, spider }),
    text: encode(say('alert.spider_was_overdue', { project, spider, hours })),
    labels: { ...NO_LABELS, project, spider }
  })
  for (const [at, endMs] of endsMs.entries()) {
    const nextMs = endsMs[at + 1] ?? untilMs + 1
    const first = Math.max(0, Math.floor((fromMs - endMs) / HOUR_MS))
    for (let hours = first; endMs + hours * HOUR_MS < nextMs; hours += 1) {
      yield { atMs: endMs + hours * HOUR_MS, signal: signalAt(endMs, hours) }
    }
  }
}

/**
 * As in the problem list, missed and failed firings count for a day. Failed firings count only until the schedule fires
 * again.
 */
export function eventsOfFirings(
  firings: readonly StoredFiring[],
  firedMs: ReadonlyMap<ScheduleId, readonly number[]>,
  schedules: ReadonlyMap<ScheduleId, StoredSchedule>
): PastEvent[] {
  const events: PastEvent[] = []
  const watch: AlertWatch = 'schedule_misses'
  for (const [place, those] of Map.groupBy(firings, (one) => `${one.scheduleId} ${one.state}`)) {
    const ascending = those.toSorted((one, other) => one.atMs - other.atMs)
    for (const [at, firing] of ascending.entries()) {
      const { scheduleId, state, atMs, nominalMs } = firing
      const stored = schedules.get(scheduleId)
      if (stored === undefined) continue
      const schedule = stored.settings.name
      const project = oneProject(projectsAt(stored, atMs))
      const title =
        state === 'missed'
          ? say('problem_title.schedule_missed', { schedule, runs: 1 })
          : say('problem_title.schedule_refused', { schedule })
      events.push({
        atMs,
        signal: {
          watch,
          key: place,
          value: 1,
          sinceMs: state === 'missed' ? nominalMs : atMs,
          subject: encode(title),
          text: encode(say('alert.problem', { title, text: messageOf(firing) })),
          labels: { ...NO_LABELS, project, scheduleId }
        }
      })
      const nextMs = ascending[at + 1]?.atMs ?? Number.POSITIVE_INFINITY
      const mendedMs = state === 'missed' ? undefined : firedMs.get(scheduleId)?.find((firedAtMs) => firedAtMs > atMs)
      const overMs = Math.min(mendedMs ?? Number.POSITIVE_INFINITY, atMs + DAY_MS)
      if (overMs < nextMs) events.push({ atMs: overMs, gone: { watch, key: place } })
    }
  }
  return byTime(events)
}
