/**
 * The clock of a node relative to ours, which is taken as true time. Both values are narrowed by intersection: the
 * offset from HTTP's Date header, and the time zone from jobs that started between two polls, because Scrapyd writes
 * naive local times. Pure.
 */
export interface ClockEstimate {
  /** The node's clock minus ours lies in this range; null: it sent no Date. */
  offset: { lowMs: number; highMs: number; atMs: number } | null
  /** What is shown. Changes only if it is off by more than people would notice. */
  shownMs: number | null
  /** Its local time minus UTC; null: no job's start has been seen yet. */
  zoneMinutes: number | null
}

export const UNKNOWN_CLOCK: ClockEstimate = { offset: null, shownMs: null, zoneMinutes: null }

/** Of what runs on this machine and writes its local time. The zone is that of `nowMs`, as clocks change in a year. */
export function ownClock(nowMs: number): ClockEstimate {
  return {
    offset: { lowMs: 0, highMs: 0, atMs: nowMs },
    shownMs: null,
    zoneMinutes: -new Date(nowMs).getTimezoneOffset() + 0
  }
}

// Date is truncated to whole seconds, and servers cache it some milliseconds longer.
const DATE_RESOLUTION_MS = 1_020
// Twice the drift of a bad quartz. The known range widens by it, so that a drifting clock is followed.
const DRIFT_PER_MS = 0.000_2
const SHOWN_STEP_MS = 50
// Every time zone since 1972 is a multiple of this.
const ZONE_STEP_MINUTES = 15
const ZONE_MAX_MINUTES = 14 * 60
// Tolerance, because job times differ slightly from when we see the job (Scrapyd's poller, the network).
const ZONE_SLACK_MS = 60_000

/**
 * Applies one response's Date, with when it was requested and received by our clock. If it contradicts the range so
 * far, one of the clocks was set: from then on only the newest response counts.
 */
export function refineByDate(
  before: ClockEstimate,
  seen: { dateMs: number | null; askedAtMs: number; arrivedAtMs: number }
): ClockEstimate {
  const { dateMs, askedAtMs, arrivedAtMs } = seen
  // Our own clock was set back during the request, so this proves nothing.
  if (dateMs === null || arrivedAtMs < askedAtMs) return before
  const now = { lowMs: dateMs - arrivedAtMs, highMs: dateMs + DATE_RESOLUTION_MS - askedAtMs, atMs: arrivedAtMs }
  const believed = before.offset
  if (believed === null) return withOffset(before, now)
  const driftMs = Math.abs(arrivedAtMs - believed.atMs) * DRIFT_PER_MS
  const lowMs = Math.max(now.lowMs, believed.lowMs - driftMs)
  const highMs = Math.min(now.highMs, believed.highMs + driftMs)
  return withOffset(before, lowMs <= highMs ? { lowMs, highMs, atMs: arrivedAtMs } : now)
}

/** Applies a job's start time as the node wrote it. The start happened between two moments of our clock. */
export function refineByStart(
  before: ClockEstimate,
  seen: { nodeText: string | null; afterMs: number; beforeMs: number }
): ClockEstimate {
  const localMs = parseLocalTime(seen.nodeText)
  const { offset } = before
  if (localMs === null || offset === null || seen.beforeMs < seen.afterMs) return before
  const lowestMs = localMs - seen.beforeMs - offset.highMs - ZONE_SLACK_MS
  const highestMs = localMs - seen.afterMs - offset.lowMs + ZONE_SLACK_MS
  const stepMs = ZONE_STEP_MINUTES * 60_000
  const first = Math.ceil(lowestMs / stepMs)
  const last = Math.floor(highestMs / stepMs)
  // `+ 0` turns -0 into 0.
  const zoneMinutes = first * ZONE_STEP_MINUTES + 0
  // No zone or several zones fit: this proves nothing.
  if (first !== last || Math.abs(zoneMinutes) > ZONE_MAX_MINUTES) return before
  return before.zoneMinutes === zoneMinutes ? before : { ...before, zoneMinutes }
}

/** A time that the node wrote, by our clock; null: not a time, or not enough is known of the node's clock. */
export function trueTime(nodeText: string | null, estimate: ClockEstimate): number | null {
  const localMs = parseLocalTime(nodeText)
  if (localMs === null || estimate.offset === null || estimate.zoneMinutes === null) return null
  return Math.round(localMs - estimate.zoneMinutes * 60_000 - middle(estimate.offset))
}

/**
 * The true time of an event between two moments of our clock: the node's own time if it fits, otherwise the later
 * moment, at which we saw it.
 */
export function trueTimeBetween(
  nodeText: string | null,
  estimate: ClockEstimate,
  between: { afterMs: number; beforeMs: number }
): number {
  const ms = trueTime(nodeText, estimate)
  const slackMs = estimate.offset === null ? 0 : (estimate.offset.highMs - estimate.offset.lowMs) / 2 + 1_000
  if (ms === null || ms < between.afterMs - slackMs || ms > between.beforeMs + slackMs) return between.beforeMs
  return Math.min(Math.max(ms, between.afterMs), Math.max(between.beforeMs, between.afterMs))
}

function withOffset(before: ClockEstimate, offset: NonNullable<ClockEstimate['offset']>): ClockEstimate {
  const bestMs = middle(offset)
  const isStill = before.shownMs !== null && Math.abs(before.shownMs - bestMs) <= SHOWN_STEP_MS
  return { ...before, offset, shownMs: isStill ? before.shownMs : Math.round(bestMs) }
}

function middle({ lowMs, highMs }: { lowMs: number; highMs: number }): number {
  return (lowMs + highMs) / 2
}

/** `2026-01-31 23:59:59.123456`, as Python writes a datetime (no fraction if it is zero), read as if it were UTC. */
function parseLocalTime(text: string | null): number | null {
  const parts = /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?$/.exec(text ?? '')
  if (parts === null) return null
  const ms = Date.parse(`${parts[1]}T${parts[2]}.${(parts[3] ?? '').padEnd(3, '0').slice(0, 3)}Z`)
  return Number.isNaN(ms) ? null : ms
}
