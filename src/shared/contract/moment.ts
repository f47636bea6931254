import { z } from 'zod'

/** The end of the year 9999: what is later has no date that programs write and read. */
const LAST_MS = 253_402_300_799_999

/** A moment that somebody asks for: whole milliseconds from 1970 on. Beyond, calendars throw and dates get signs. */
export const MomentMs = z.number().int().min(0).max(LAST_MS)

/** The same in a query. */
export const MomentOfQueryMs = z.coerce.number().int().min(0).max(LAST_MS)
