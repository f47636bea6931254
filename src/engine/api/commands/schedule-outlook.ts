import { type OccurrenceRange, occurrencesOf, TimingTooCostly } from '../../../shared/calendar/index.ts'
import type {
  Occurrence,
  ScheduleId,
  ScheduleTiming,
  Backfill,
  Firing,
  Schedule
} from '../../../shared/contract/index.ts'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/api.ts'
import { Heap } from '../../runtime/heap.ts'
import { yielder } from '../../runtime/yielder.ts'
import type { Clock } from '../../runtime/clock.ts'
import { maskSecrets } from '../../../shared/secret-values.ts'
import { isLive } from '../../schedules/failures.ts'
import type { StoredFiring, StoredSchedule } from '../../model/records.ts'

const MINUTE_MS = 60_000
const READ_AHEAD_MAX = 64
/** The number of fire times of one schedule to count before yielding. */
const COUNTED_AT_ONCE = 1_000

interface Upcoming {
  id: ScheduleId
  timing: ScheduleTiming
}

interface Span {
  fromMs: number
  untilMs: number
}

interface Bounds {
  limit: number
  clock: Pick<Clock, 'monotonicMs'>
}

/**
 * Returns the fire times from `fromMs` up to but excluding `untilMs`, in order, at most `limit`. The streams are
 * merged, so a schedule that fires every second cannot hide others. `more`: whether there are further fire times, or
 * finding them takes too long.
 */
export async function upcomingMoments(
  schedules: readonly Upcoming[],
  { fromMs, untilMs }: Span,
  { limit, clock }: Bounds
): Promise<{ moments: { scheduleId: ScheduleId; atMs: number }[]; more: boolean }> {
  const yieldTurn = yielder(clock)
  const streams: Stream[] = []
  let isCut = false
  for (const { id, timing } of schedules) {
    const stream: Stream = { id, timing, moments: [], at: 0, ahead: 1, isCut: false }
    if (readAhead(stream, fromMs - 1, untilMs)) streams.push(stream)
    isCut ||= stream.isCut
    await yieldTurn()
  }
  const heap = new Heap<Stream>(streams, (one, other) => momentOf(one) < momentOf(other))
  const moments: { scheduleId: ScheduleId; atMs: number }[] = []
  for (let stream = heap.first(); stream !== undefined; stream = heap.first()) {
    if (moments.length === limit) return { moments, more: true }
    const atMs = momentOf(stream)
    moments.push({ scheduleId: stream.id, atMs })
    stream.at += 1
    if (stream.at < stream.moments.length || readAhead(stream, atMs, untilMs)) heap.sinkFirst()
    else heap.removeFirst()
    isCut ||= stream.isCut
    await yieldTurn()
  }
  return { moments, more: isCut }
}

interface Stream extends Upcoming {
  moments: number[]
  at: number
  ahead: number
  isCut: boolean
}

const momentOf = (stream: Stream) => stream.moments[stream.at]!

function readAhead(stream: Stream, afterMs: number, untilMs: number): boolean {
  const found = findAhead(stream, afterMs, untilMs)
  stream.moments = found.map(({ nominalMs }) => nominalMs)
  stream.at = 0
  stream.ahead = Math.min(READ_AHEAD_MAX, stream.ahead * 4)
  return found.length > 0
}

function findAhead(stream: Stream, afterMs: number, untilMs: number): Occurrence[] {
  try {
    return occurrencesOf(stream.timing, { afterMs, untilMs: untilMs - 1, limit: stream.ahead })
  } catch (error) {
    if (!(error instanceof TimingTooCostly)) throw error
    stream.isCut = true
    return []
  }
}

export interface Loading extends Upcoming {
  offsetMs: number
  jobs: number
}

/**
 * Counts the firings and jobs per minute, including jitter. Omits empty minutes. Rejects with BAD_INPUT for more
 * than `limit` firings, or if finding them takes too long.
 */
export async function loadByMinute(
  schedules: readonly Loading[],
  { fromMs, untilMs }: Span,
  { limit, clock }: Bounds
): Promise<{ atMs: number; firings: number; jobs: number }[]> {
  const yieldTurn = yielder(clock)
  const minutes = new Map<number, { atMs: number; firings: number; jobs: number }>()
  let counted = 0
  for (const { id, timing, offsetMs, jobs } of schedules) {
    let afterMs: number | null = fromMs - offsetMs - 1
    while (afterMs !== null) {
      const range: OccurrenceRange = { afterMs, untilMs: untilMs - offsetMs - 1, limit: COUNTED_AT_ONCE }
      const found: Occurrence[] = countable(id, () => occurrencesOf(timing, range))
      for (const { nominalMs } of found) {
        const atMs = Math.floor((nominalMs + offsetMs) / MINUTE_MS) * MINUTE_MS
        const minute = minutes.get(atMs) ?? { atMs, firings: 0, jobs: 0 }
        minute.firings += 1
        minute.jobs += jobs
        minutes.set(atMs, minute)
      }
      counted += found.length
      if (counted > limit) throw tooMany(limit)
      afterMs = found.length < COUNTED_AT_ONCE ? null : found.at(-1)!.nominalMs
      await yieldTurn()
    }
  }
  return [...minutes.values()].sort((one, other) => one.atMs - other.atMs)
}

function countable<Result>(id: ScheduleId, find: () => Result): Result {
  try {
    return find()
  } catch (error) {
    if (!(error instanceof TimingTooCostly)) throw error
    throw new ScrapdeckError('BAD_INPUT', sentence('api.schedule_problem', { id, error: error.message }))
  }
}

function tooMany(limit: number): ScrapdeckError {
  const count = limit.toLocaleString('en')
  return new ScrapdeckError('BAD_INPUT', sentence('api.too_many_firings_in_range', { count }))
}

interface ScheduleOutlook {
  next: { nextAtMs: number; nextNominalMs: number } | null
  backfill: Backfill | null
}

/** Masks secrets and adds the next fire time and the newest firings, newest first. */
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

/** A firing's outcome is the worst outcome of its jobs. */
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
