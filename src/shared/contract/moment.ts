import { z } from 'zod'

/** The end of the year 9999. Most programs cannot read or write later dates. */
const LAST_MS = 253_402_300_799_999

/** Whole milliseconds since 1970. Outside this range, calendars throw and years get a sign. */
export const MomentMs = z.number().int().min(0).max(LAST_MS)

export const MomentOfQueryMs = z.coerce.number().int().min(0).max(LAST_MS)
