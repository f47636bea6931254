import { CANCEL_WAITS_MS } from '../../../shared/run-limits.ts'
import { formatDuration } from '../../../shared/time.ts'

const [first, second] = CANCEL_WAITS_MS.map((waitMs) => formatDuration(waitMs / 1000))

/** The time from the first INT to the second, unless the project or the service's configuration says otherwise. */
export const FIRST_WAIT = first!
/** The time from the second INT to KILL. The service's configuration can change it. */
export const SECOND_WAIT = second!
