/** What some fields can be, for programs that do without the schemas: the command line loads none. */
export const JOB_STATUSES = ['queued', 'starting', 'running', 'succeeded', 'failed', 'cancelled', 'lost'] as const
export const OVERLAP_POLICIES = ['skip', 'queue_one', 'queue_all', 'cancel_running', 'allow'] as const
