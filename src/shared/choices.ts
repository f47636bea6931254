/** Values of some fields, for programs that do not load the schemas, such as the command line. */
export const OUTCOMES = ['succeeded', 'failed', 'cancelled', 'lost', 'unclear'] as const
export const JOB_STATUSES = ['queued', 'starting', 'running', ...OUTCOMES] as const
/** A filter for jobs on a node that does not respond, shown as a status. No job has a state with this name. */
export const UNKNOWN_STATUS = 'unknown'
export const SHOWN_STATUSES = [...JOB_STATUSES, UNKNOWN_STATUS] as const
export const OVERLAP_POLICIES = ['skip', 'queue_one', 'queue_all', 'cancel_running', 'allow'] as const
