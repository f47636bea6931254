import type {
  Attempt,
  AttemptNumber,
  AttemptResult,
  AttemptState,
  JobId,
  Outcome,
  TransitionKind
} from '../../shared/contract/index.ts'

/** A line of a job's timeline: when, what, and what showed it. */
export interface TimelineEntry {
  atMs: number
  text: string
  evidence: Record<string, unknown>
}

/** What came to be known of an attempt, and what follows for it and for its job. */
export interface AttemptChange {
  jobId: JobId
  attemptNumber: AttemptNumber
  from: AttemptState[]
  /** New state of the attempt; absent: it stays as it is and only the entry (and `details`) are written. */
  to?: AttemptState
  kind: TransitionKind
  entry: TimelineEntry
  /** With `to: 'ended'`. `refused` and `absent` put the job back in the queue unless `jobOutcome` says otherwise. */
  result?: AttemptResult
  reason?: string
  /** With `to: 'ended'`: the job's outcome; null sends it back to the queue. */
  jobOutcome?: Outcome | null
  /** With `jobOutcome: null`: it is held (`retry`) until then. */
  retryAtMs?: number
  /** The job may have run more than once: flagged, until its only run is found again. */
  mayHaveRunTwice?: true
  killingLine?: string | null
  /** Absent times are filled in: `acceptedAtMs` by `to: 'accepted'`, `startedAtMs` by `to: 'running'`. */
  details?: Partial<
    Pick<
      Attempt,
      | 'acceptedAtMs'
      | 'startedAtMs'
      | 'pid'
      | 'exitCode'
      | 'signal'
      | 'stats'
      | 'limitHit'
      | 'peakMemoryBytes'
      | 'cpuSeconds'
    >
  >
  counts?: { pages: number | null; items: number | null; errors: number | null }
}
