/**
 * Job ids are 32 lower-case hex digits, of which the first 12 are the time in milliseconds, so that they sort by the
 * time they were made, and those of one process made in the same millisecond still sort in the order of making.
 */
export const JOB_ID_PATTERN = /^[0-9a-f]{32}$/

/** Ids of nodes: short, stable, independent of name and address. */
export const NODE_ID_PATTERN = /^[a-z0-9-]{1,40}$/

/** Ids of schedules, chains and webhooks. */
export const RANDOM_ID_PATTERN = /^[0-9a-f]{32}$/
