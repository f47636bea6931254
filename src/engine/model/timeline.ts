import type { Hold, JobId, Outcome } from '../../shared/contract/index.ts'
import type { TimelineEntry } from './attempt-change.ts'

/** How a job that was never sent ends: the job's `reason` and its timeline entry. */
export interface EndInQueue {
  /** Default: cancelled. */
  outcome?: 'cancelled' | 'failed'
  reason: string
  killingLine?: string | null
  entry: TimelineEntry
}

/** The reason of a job that failed in the queue. */
export const EGG_NOT_IMPORTABLE = 'egg cannot be imported'

export function cancelledInQueue(entry: TimelineEntry): EndInQueue {
  return { reason: 'cancelled while queued', entry }
}

export function skipped(because: { jobId: JobId; outcome: Outcome }, atMs: number): EndInQueue {
  const { jobId, outcome } = because
  return {
    reason: `skipped: ${jobId} ended as ${outcome}`,
    entry: { atMs, text: `Skipped: ${jobId} ended as ${outcome}`, evidence: { jobId, outcome } }
  }
}

export function expired(expiresAtMs: number, atMs: number): EndInQueue {
  return {
    reason: 'expired',
    entry: { atMs, text: 'Expired: it could not be sent before its deadline', evidence: { expiresAtMs } }
  }
}

/** Every node that could take it has refused its egg with this error; `error`: the last line of the traceback. */
export function eggNotImportable(error: string, entry: TimelineEntry): EndInQueue {
  return { outcome: 'failed', reason: EGG_NOT_IMPORTABLE, killingLine: error, entry }
}

/** For a job whose attempt ended in a way that would requeue it, had no cancel been requested. */
export function stoppedBeforeRetry(cancelAskedAtMs: number, atMs: number): TimelineEntry {
  return {
    atMs,
    text: 'Cancelled: its cancellation was requested earlier, so it is not sent again',
    evidence: { cancelAskedAtMs }
  }
}

export function dependenciesMet(last: { id: string; outcome: Outcome }, atMs: number): TimelineEntry {
  const evidence = { jobId: last.id, outcome: last.outcome }
  return { atMs, text: 'The jobs it waited for have ended', evidence }
}

/** `hold`: the hold that is lifted now. */
export function timeReached(hold: Hold | null, notBeforeMs: number | null, atMs: number): TimelineEntry {
  const text = hold === 'retry' ? 'The retry delay is over' : 'Its start time is reached'
  return { atMs, text, evidence: { notBeforeMs } }
}

/** `jobId`: the job whose run was waited for. */
export function overlapEnded(jobId: JobId, atMs: number): TimelineEntry {
  return { atMs, text: 'The previous run of this spider has ended', evidence: { jobId } }
}

/** The job ahead of it in its lane, with the same overlap key, was moved to other nodes. */
export function nextAfterPlacement(atMs: number): TimelineEntry {
  return {
    atMs,
    text: 'No run of this spider is live, and the job ahead of it was moved to other nodes',
    evidence: {}
  }
}
