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

export interface AttemptChange {
  jobId: JobId
  attemptNumber: AttemptNumber
  from: AttemptState[]
  /** The new state. If absent, only the entry and `details` are written. */
  to?: AttemptState
  kind: TransitionKind
  entry: TimelineEntry
  /** With `to: 'ended'`. `refused` and `absent` return the job to the queue unless `jobOutcome` is set. */
  result?: AttemptResult
  reason?: Message
  /** With `to: 'ended'`: the job's outcome; null: the job returns to the queue. */
  jobOutcome?: Outcome | null
  /** With `jobOutcome: null`: the job is held (`retry`) until this time. */
  retryAtMs?: number
  /** Set if the job may have run more than once. Cleared if its only run is found again. */
  mayHaveRunTwice?: true
  /** A string is a log line or another text from outside. */
  killingLine?: Message | string | null
  /** If these times are absent, `to: 'accepted'` sets `acceptedAtMs`, and `to: 'running'` sets `startedAtMs`. */
  details?: Partial<
    Pick<
      Attempt,
      'acceptedAtMs' | 'startedAtMs' | 'pid' | 'exitCode' | 'signal' | 'stats' | 'peakMemoryBytes' | 'cpuSeconds'
    >
  > & { limitHit?: Message | null }
  counts?: { pages: number | null; items: number | null; errors: number | null }
}
