import { occurrencesOf } from '../../shared/calendar/index.ts'
import type { ScheduleTiming } from '../../shared/contract/index.ts'
import { Heap } from '../queue/heap.ts'

const MINUTE_MS = 60_000
/** So many moments are computed before others get their turn of the event loop. */
const MOMENTS_A_TURN = 200
const READ_AHEAD_MAX = 64

interface Upcoming {
  id: string
  timing: ScheduleTiming
}

interface Span {
  fromMs: number
  untilMs: number
}

/**
 * The moments of many schedules from `fromMs` on and before `untilMs`, in order, at most `limit`: as one stream that is merged from the
 * schedules' own, so that one which fires each second hides no other. Thousands of schedules take a while: it lets others in between.
 */
export async function upcomingMoments(
  schedules: readonly Upcoming[],
  { fromMs, untilMs }: Span,
  limit: number
): Promise<{ moments: { scheduleId: string; atMs: number }[]; more: boolean }> {
  const breathe = breather()
  const streams: Stream[] = []
  for (const { id, timing } of schedules) {
    const stream = { id, timing, moments: [], at: 0, ahead: 1 }
    if (readAhead(stream, fromMs - 1, untilMs)) streams.push(stream)
    await breathe(1)
  }
  const heap = new Heap<Stream>(streams, (one, other) => momentOf(one) < momentOf(other))
  const moments: { scheduleId: string; atMs: number }[] = []
  for (let stream = heap.first(); stream !== undefined; stream = heap.first()) {
    if (moments.length === limit) return { moments, more: true }
    const atMs = momentOf(stream)
    moments.push({ scheduleId: stream.id, atMs })
    stream.at += 1
    if (stream.at < stream.moments.length || readAhead(stream, atMs, untilMs)) heap.sinkFirst()
    else heap.removeFirst()
    await breathe(1)
  }
  return { moments, more: false }
}

/** The moments of one schedule that were computed, and which of them is its next. */
interface Stream extends Upcoming {
  moments: number[]
  at: number
  ahead: number
}

const momentOf = (stream: Stream) => stream.moments[stream.at]!

/** False where there are no more. */
function readAhead(stream: Stream, afterMs: number, untilMs: number): boolean {
  const found = occurrencesOf(stream.timing, { afterMs, untilMs: untilMs - 1, limit: stream.ahead })
  stream.moments = found.map(({ nominalMs }) => nominalMs)
  stream.at = 0
  stream.ahead = Math.min(READ_AHEAD_MAX, stream.ahead * 4)
  return found.length > 0
}

export interface Loading extends Upcoming {
  /** By how much it fires later than its moments. */
  offsetMs: number
  /** So many jobs each time. */
  jobs: number
}

/** How many firings and jobs each minute brings, jitter included; minutes with none are left out. At most `limit` moments are counted. */
export async function loadByMinute(schedules: readonly Loading[], { fromMs, untilMs }: Span, limit: number) {
  const breathe = breather()
  const minutes = new Map<number, { atMs: number; firings: number; jobs: number }>()
  let left = limit
  for (const { timing, offsetMs, jobs } of schedules) {
    const range = { afterMs: fromMs - offsetMs - 1, untilMs: untilMs - offsetMs - 1 }
    const found = left <= 0 ? [] : occurrencesOf(timing, { ...range, limit: left })
    left -= found.length
    for (const { nominalMs } of found) {
      const atMs = Math.floor((nominalMs + offsetMs) / MINUTE_MS) * MINUTE_MS
      const minute = minutes.get(atMs) ?? { atMs, firings: 0, jobs: 0 }
      minute.firings += 1
      minute.jobs += jobs
      minutes.set(atMs, minute)
    }
    await breathe(1 + found.length)
  }
  return [...minutes.values()].sort((one, other) => one.atMs - other.atMs)
}

function breather(): (count: number) => Promise<void> {
  let since = 0
  return async (count) => {
    since += count
    if (since < MOMENTS_A_TURN) return
    since = 0
    await new Promise((resolve) => setImmediate(resolve))
  }
}
