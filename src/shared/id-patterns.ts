/**
 * Job ids are 32 lower-case hex digits. The first 12 are the creation time in milliseconds. Ids therefore sort by
 * creation time. Ids created by one process also sort within the same millisecond.
 */
export const JOB_ID_PATTERN = /^[0-9a-f]{32}$/

export const NODE_ID_PATTERN = /^[a-z0-9-]{1,40}$/

export const RANDOM_ID_PATTERN = /^[0-9a-f]{32}$/
