import type { AlertDigest } from '../../../../shared/contract/index.ts'
import { momentOfWall, stretchAt } from '../../../../shared/calendar/zones.ts'

const DAY_MS = 86_400_000
const MINUTE_MS = 60_000

/** The latest time at which the report was due. Local times that a clock change skips move past the gap. */
export function lastDueMs({ every, at, zone, weekday }: AlertDigest, nowMs: number): number {
  const today = Math.floor((nowMs + stretchAt(zone, nowMs).offsetMs) / DAY_MS)
  const minutes = Number(at.slice(0, 2)) * 60 + Number(at.slice(3))
  for (let day = today; ; day -= 1) {
    // 1970-01-01 was a Thursday.
    if (every === 'week' && (day + 4) % 7 !== weekday) continue
    const dueMs = momentOfWall(zone, day * DAY_MS + minutes * MINUTE_MS)
    if (dueMs <= nowMs) return dueMs
  }
}

export const daysOf = ({ every }: Pick<AlertDigest, 'every'>): number => (every === 'week' ? 7 : 1)
