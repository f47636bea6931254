import type {
  Attempt,
  AttemptNumber,
  AttemptResult,
  AttemptState,
  JobId,
  Outcome,
  TransitionKind
} from '../../shared/contract/index.ts'
import type { Message } from '../../shared/texts/message.ts'

export interface TimelineEntry {
  atMs: number
  message: Message
  evidence: Record<string, unknown>
}

/** A new fact about an attempt, with its effect on the attempt and its job. */
export interface AttemptChange {
  jobId: JobId
  attemptNumber: AttemptNumber
  from: AttemptState[]
  /** The new state; absent: only the entry (and `details`) are written. */
  to?: AttemptState
  kind: TransitionKind
  entry: TimelineEntry
  /** With `to: 'ended'`. `refused` and `absent` put the job back in the queue unless `jobOutcome` says otherwise. */
  result?: AttemptResult
  reason?: Message
  /** With `to: 'ended'`: the job's outcome; null sends it back to the queue. */
  jobOutcome?: Outcome | null
  /** With `jobOutcome: null`: the job is held (`retry`) until this time. */
  retryAtMs?: number
  /** Flags that the job may have run more than once; cleared if its only run is found again. */
  mayHaveRunTwice?: true
  killingLine?: string | null
  /** Defaults for missing times: `to: 'accepted'` sets `acceptedAtMs`, `to: 'running'` sets `startedAtMs`. */
  details?: Partial<
    Pick<
      Attempt,
      'acceptedAtMs' | 'startedAtMs' | 'pid' | 'exitCode' | 'signal' | 'stats' | 'peakMemoryBytes' | 'cpuSeconds'
    >
  > & { limitHit?: Message | null }
  counts?: { pages: number | null; items: number | null; errors: number | null }
}
