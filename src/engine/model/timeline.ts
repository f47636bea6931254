import type { Hold, JobId, Outcome } from '../../shared/contract/index.ts'
import { type Message, say } from '../../shared/texts/message.ts'
import type { TimelineEntry } from './attempt-change.ts'

export interface EndInQueue {
  /** Defaults to `cancelled`. */
  outcome?: 'cancelled' | 'failed'
  reason: Message
  killingLine?: Message | string | null
  entry: TimelineEntry
}

export function cancelledInQueue(entry: TimelineEntry): EndInQueue {
  return { reason: say('reason.cancelled_while_queued'), entry }
}

export function skipped(because: { jobId: JobId; outcome: Outcome }, atMs: number): EndInQueue {
  const { jobId, outcome } = because
  return {
    reason: say('reason.skipped', { jobId, outcome }),
    entry: { atMs, message: say('timeline.skipped', { jobId, outcome }), evidence: { jobId, outcome } }
  }
}

export function expired(expiresAtMs: number, atMs: number): EndInQueue {
  return {
    reason: say('reason.expired'),
    entry: { atMs, message: say('timeline.expired'), evidence: { expiresAtMs } }
  }
}

/** Every possible node refused the egg. `error`: the last line of the traceback. */
export function eggNotImportable(error: string, entry: TimelineEntry): EndInQueue {
  return { outcome: 'failed', reason: say('reason.egg_not_importable'), killingLine: error, entry }
}

/** A requested cancel ends the job, although the end of the attempt would otherwise requeue it. */
export function stoppedBeforeRetry(cancelAskedAtMs: number, atMs: number): TimelineEntry {
  return {
    atMs,
    message: say('timeline.cancelled_before_retry'),
    evidence: { cancelAskedAtMs }
  }
}

export function dependenciesMet(last: { id: string; outcome: Outcome }, atMs: number): TimelineEntry {
  const evidence = { jobId: last.id, outcome: last.outcome }
  return { atMs, message: say('timeline.dependencies_met'), evidence }
}

export function timeReached(hold: Hold | null, notBeforeMs: number | null, atMs: number): TimelineEntry {
  const message = say(hold === 'retry' ? 'timeline.retry_delay_over' : 'timeline.start_time_reached')
  return { atMs, message, evidence: { notBeforeMs } }
}

/** `jobId`: the job whose run the released job waited for. */
export function overlapEnded(jobId: JobId, atMs: number): TimelineEntry {
  return { atMs, message: say('timeline.previous_run_ended'), evidence: { jobId } }
}

/** For a job that is released because the job ahead, with the same overlap key, moved to other nodes. */
export function nextAfterPlacement(atMs: number): TimelineEntry {
  return {
    atMs,
    message: say('timeline.next_after_placement'),
    evidence: {}
  }
}
