import type { AttemptNumber, NodeId } from './contract/ids.ts'

/** Jobids that are safe in paths, URLs and shells. Other jobids are accepted too (docs/scrapyd-compatibility.md). */
export const SAFE_JOBID_PATTERN = /^[A-Za-z0-9_-]{1,128}$/

export const LOCAL_NODE_ID = 'local' as NodeId

export function nextAttempt(attemptCount: number): AttemptNumber {
  return (attemptCount + 1) as AttemptNumber
}

/**
 * Short ids are the last 8 digits, which are random. The first digits are a time and look alike in ids of the same
 * minute.
 */
export const SHORT_ID_LENGTH = 8

/** Such as `1f3a2b9c`: the only short form of an id of 32 digits. Every search for ids accepts this form. */
export const shortId = (id: string): string => id.slice(-SHORT_ID_LENGTH)

/** Whether the text is the id, 8 or more of its last digits, or at least `startMin` of its first digits. */
export const isNamedBy = (id: string, text: string, startMin = 10): boolean =>
  (text.length >= startMin && id.startsWith(text)) || (text.length >= SHORT_ID_LENGTH && id.endsWith(text))

export function timeOfJobId(jobId: string): number {
  return Number.parseInt(jobId.slice(0, 12), 16)
}

/** The version name as Scrapyd stores and lists it: `_` for all but `A-Za-z0-9_-` (scrapyd-protocol.md, 4.1). */
export function sanitiseVersion(version: string): string {
  return version.replace(/[^A-Za-z0-9_-]/g, '_')
}
