/**
 * A node's clock relative to ours, which we assume to be correct. The HTTP Date header narrows the offset. Jobs that
 * start between two polls reveal the time zone, which Scrapyd omits from its times.
 */
export interface ClockEstimate {
  /** Bounds of the node's clock minus ours. null: the node has not sent a Date header. */
  offset: { lowMs: number; highMs: number; atMs: number } | null
  /** The offset that users see. It changes only when the difference is noticeable. */
  shownMs: number | null
  /** The node's local time minus UTC. null: no job start seen yet. */
  zoneMinutes: number | null
}

export const UNKNOWN_CLOCK: ClockEstimate = { offset: null, shownMs: null, zoneMinutes: null }

/** The clock estimate for programs on this machine that write local time. `nowMs` determines daylight saving time. */
export function ownClock(nowMs: number): ClockEstimate {
  return {
    offset: { lowMs: 0, highMs: 0, atMs: nowMs },
    shownMs: null,
    zoneMinutes: -new Date(nowMs).getTimezoneOffset() + 0
  }
}

// The Date header has a resolution of one second, and servers cache it for some milliseconds more.
const DATE_RESOLUTION_MS = 1_020
// Twice the drift of a bad quartz clock. The bounds of the offset widen at this rate, so that they can follow a
// drifting clock.
const DRIFT_PER_MS = 0.000_2
const SHOWN_STEP_MS = 50
// All UTC offsets in use today are multiples of this.
const ZONE_STEP_MINUTES = 15
const ZONE_MAX_MINUTES = 14 * 60
// The time that Scrapyd records differs slightly from the time at which we see the job (poll interval, network).
const ZONE_SLACK_MS = 60_000

/** Applies the Date header of one response. Starts a new range if either clock was set. */
export function refineByDate(
  before: ClockEstimate,
  seen: { dateMs: number | null; askedAtMs: number; arrivedAtMs: number }
): ClockEstimate {
  const { dateMs, askedAtMs, arrivedAtMs } = seen
  // Our own clock was set back during the request.
  if (dateMs === null || arrivedAtMs < askedAtMs) return before
  const now = { lowMs: dateMs - arrivedAtMs, highMs: dateMs + DATE_RESOLUTION_MS - askedAtMs, atMs: arrivedAtMs }
  const believed = before.offset
  if (believed === null) return withOffset(before, now)
  const driftMs = Math.abs(arrivedAtMs - believed.atMs) * DRIFT_PER_MS
  const lowMs = Math.max(now.lowMs, believed.lowMs - driftMs)
  const highMs = Math.min(now.highMs, believed.highMs + driftMs)
  return withOffset(before, lowMs <= highMs ? { lowMs, highMs, atMs: arrivedAtMs } : now)
}

/** Applies a job's start time as the node wrote it. The job started between `afterMs` and `beforeMs` of our clock. */
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
  if (first !== last || Math.abs(zoneMinutes) > ZONE_MAX_MINUTES) return before
  return before.zoneMinutes === zoneMinutes ? before : { ...before, zoneMinutes }
}

/** Converts the node's time to our clock. null: not a time, or the node's clock is unknown. */
export function trueTime(nodeText: string | null, estimate: ClockEstimate): number | null {
  const localMs = parseLocalTime(nodeText)
  if (localMs === null || estimate.offset === null || estimate.zoneMinutes === null) return null
  return Math.round(localMs - estimate.zoneMinutes * 60_000 - middle(estimate.offset))
}

/** Returns the time of an event by our clock: the node's time if it is plausible, otherwise `beforeMs`. */
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

/** Reads `2026-01-31 23:59:59.123456` as UTC. Python writes datetimes like this and omits a zero fraction. */
function parseLocalTime(text: string | null): number | null {
  const parts = /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?$/.exec(text ?? '')
  if (parts === null) return null
  const ms = Date.parse(`${parts[1]}T${parts[2]}.${(parts[3] ?? '').padEnd(3, '0').slice(0, 3)}Z`)
  return Number.isNaN(ms) ? null : ms
}
