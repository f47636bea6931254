/**
 * Ids of jobs: 32 lower-case hex digits, of which the first 12 are the time in milliseconds, so that ids sort by
 * the time they were made, and ids of one process made in the same millisecond still sort in the order of making.
 */
export const JOB_ID_PATTERN = /^[0-9a-f]{32}$/

/**
 * Jobids that are safe everywhere: in paths of every system, in addresses, in shells. Others are taken too
 * (docs/scrapyd-compatibility.md).
 */
export const SAFE_JOBID_PATTERN = /^[A-Za-z0-9_-]{1,128}$/

/** Ids of nodes: short, stable, independent of name and address. */
export const NODE_ID_PATTERN = /^[a-z0-9-]{1,40}$/

/** The id of the node inside the engine. */
export const LOCAL_NODE_ID = 'local'

/** Time (milliseconds since 1970) at which a job id was made. */
export function timeOfJobId(jobId: string): number {
  return Number.parseInt(jobId.slice(0, 12), 16)
}

/**
 * The version name as Scrapyd stores and lists it: everything outside `A-Za-z0-9_-` becomes `_` (scrapyd-protocol.md,
 * 4.1).
 */
export function sanitiseVersion(version: string): string {
  return version.replace(/[^A-Za-z0-9_-]/g, '_')
}
