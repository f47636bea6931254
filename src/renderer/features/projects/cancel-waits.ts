import { CANCEL_WAITS_MS } from '../../../shared/run-limits.ts'
import { formatDuration } from '../../../shared/time.ts'

const [first, second] = CANCEL_WAITS_MS.map((waitMs) => formatDuration(waitMs / 1000))

/** How long a run may finish after the first INT unless its project or the service's configuration says otherwise. */
export const FIRST_WAIT = first!
/** What follows that, after a comma. The service's configuration can change the wait. */
export const AFTER_FIRST_WAIT = `then a second INT, and KILL ${second} later`
