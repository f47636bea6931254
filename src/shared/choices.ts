/** What some fields can be, for programs that do without the schemas: the command line loads none. */
export const OUTCOMES = ['succeeded', 'failed', 'cancelled', 'lost', 'unclear'] as const
export const JOB_STATUSES = ['queued', 'starting', 'running', ...OUTCOMES] as const
/** How a job is shown while it should be on a node that does not respond: a filter, not a state of its own. */
export const UNKNOWN_STATUS = 'unknown'
export const SHOWN_STATUSES = [...JOB_STATUSES, UNKNOWN_STATUS] as const
export const OVERLAP_POLICIES = ['skip', 'queue_one', 'queue_all', 'cancel_running', 'allow'] as const
