/**
 * Job ids are 32 lower-case hex digits. The first 12 are the creation time in milliseconds, so ids sort by it; ids from
 * one process also sort by creation within the same millisecond.
 */
export const JOB_ID_PATTERN = /^[0-9a-f]{32}$/

/** Ids of nodes: short, stable, independent of name and address. */
export const NODE_ID_PATTERN = /^[a-z0-9-]{1,40}$/

export const RANDOM_ID_PATTERN = /^[0-9a-f]{32}$/
