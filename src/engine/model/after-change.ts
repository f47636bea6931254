import type { Attempt, AttemptNumber, Job, Outcome } from '../../shared/contract/index.ts'
import { encode, encodeText, say } from '../../shared/texts/message.ts'
import type { AttemptChange, TimelineEntry } from './attempt-change.ts'
import type { JobEvent } from './events.ts'
import { stoppedBeforeRetry } from './timeline.ts'
import { assertTransition } from './transitions.ts'

/** The job fields that attempt changes read and write, as stored: `reason` and `killingLine` are encoded. */
export interface JobFacts
  extends Pick<
    Job,
    | 'state'
    | 'outcome'
    | 'hold'
    | 'notBeforeMs'
    | 'reason'
    | 'nodeId'
    | 'startedAtMs'
    | 'endedAtMs'
    | 'killingLine'
    | 'pages'
    | 'items'
    | 'errors'
    | 'mayHaveRunTwice'
    | 'attemptCount'
    | 'cancelAskedAtMs'
  > {}

export interface AfterChange<Facts extends JobFacts> {
  /** As stored: `reason` and `limitHit` are encoded. */
  attempt: Attempt
  /** The same object if the job did not change. */
  job: Facts
  /** The job's own entry, if the end of the attempt does not explain why the job ended. */
  jobEntry: TimelineEntry | null
  event: { name: JobEvent; atMs: number } | null
  /** Set when the job ended, because chains and dependent jobs need its outcome. */
  outcome: Outcome | null
  /**
   * Whether the job stops being live, because it ended or was requeued. The next run with its overlap key can then
   * start.
   */
  hasLeft: boolean
}

/**
 * Computes the attempt and its job after a change. A job follows only its newest attempt (see transitions.ts). A change
 * to an older attempt can only set `mayHaveRunTwice`. Throws if the table has no such transition.
 */
export function afterChange<Facts extends JobFacts>(
  before: Facts,
  attemptBefore: Attempt,
  change: AttemptChange
): AfterChange<Facts> {
  assertTransition(attemptBefore.state, change)
  const attempt = changedAttempt(attemptBefore, change)
  const unmoved = { attempt, jobEntry: null, event: null, outcome: null, hasLeft: false }
  const flagged = change.mayHaveRunTwice === true ? { ...before, mayHaveRunTwice: true } : before
  if (before.attemptCount !== change.attemptNumber) return { ...unmoved, job: flagged }
  const updated = withFindings(flagged, change)
  if (change.to === undefined) return { ...unmoved, job: updated }
  if (change.to !== 'ended') {
    const job = continued(updated, attempt)
    const hasStarted = job.state === 'running' && before.state !== 'running'
    const event = hasStarted ? { name: 'job.started' as const, atMs: job.startedAtMs ?? change.entry.atMs } : null
    return { ...unmoved, job, event }
  }
  const outcome = jobOutcomeAfter(change, before)
  if (outcome === null) return { ...unmoved, job: requeued(updated, change), hasLeft: true }
  // A requested cancel ends a job that the end of the attempt would requeue. This is a separate transition.
  const isStopped = outcomeOf(change) === null
  const { atMs } = change.entry
  return {
    attempt,
    job: {
      ...updated,
      state: 'ended',
      outcome,
      reason: isStopped ? encode(say('reason.cancelled')) : attempt.reason,
      startedAtMs: attempt.startedAtMs,
      endedAtMs: atMs
    },
    jobEntry: isStopped ? stoppedBeforeRetry(before.cancelAskedAtMs!, atMs) : null,
    event: { name: 'job.ended', atMs },
    outcome,
    hasLeft: true
  }
}

/**
 * Whether `found_again` can revive an ended attempt. Its job must be queued, neither started again nor cancelled, and
 * no other run with the same overlap key may be live.
 */
export function mayRevive(
  job: Pick<JobFacts, 'state' | 'attemptCount' | 'cancelAskedAtMs'>,
  { attemptNumber, isOverlapLive }: { attemptNumber: AttemptNumber; isOverlapLive: boolean }
): boolean {
  return job.state === 'queued' && job.attemptCount === attemptNumber && job.cancelAskedAtMs === null && !isOverlapLive
}

/** The job's outcome when its newest attempt ends; null: the job is requeued. A requested cancel prevents requeuing. */
export function jobOutcomeAfter(
  change: Pick<AttemptChange, 'result' | 'jobOutcome'>,
  { cancelAskedAtMs }: Pick<JobFacts, 'cancelAskedAtMs'>
): Outcome | null {
  return outcomeOf(change) ?? (cancelAskedAtMs === null ? null : 'cancelled')
}

export function outcomeOf({ result, jobOutcome }: Pick<AttemptChange, 'result' | 'jobOutcome'>): Outcome | null {
  if (jobOutcome !== undefined) return jobOutcome
  return result === undefined || result === 'refused' || result === 'absent' ? null : result
}

function changedAttempt(before: Attempt, change: AttemptChange): Attempt {
  const { to, entry, result, details = {} } = change
  const isLive = to !== undefined && to !== 'ended'
  return {
    ...before,
    ...(isLive ? { state: to, result: null, endedAtMs: null } : {}),
    ...(to === 'ended' ? { state: to, result: result!, endedAtMs: entry.atMs } : {}),
    reason: change.reason ? encode(change.reason) : isLive ? null : before.reason,
    acceptedAtMs: details.acceptedAtMs ?? before.acceptedAtMs ?? (to === 'accepted' ? entry.atMs : null),
    startedAtMs: details.startedAtMs ?? before.startedAtMs ?? (to === 'running' ? entry.atMs : null),
    pid: details.pid ?? before.pid,
    exitCode: details.exitCode ?? before.exitCode,
    signal: details.signal ?? before.signal,
    stats: details.stats ?? before.stats,
    limitHit: details.limitHit ? encode(details.limitHit) : before.limitHit,
    peakMemoryBytes: details.peakMemoryBytes ?? before.peakMemoryBytes,
    cpuSeconds: details.cpuSeconds ?? before.cpuSeconds
  }
}

function withFindings<Facts extends JobFacts>(job: Facts, { counts, killingLine }: AttemptChange): Facts {
  if (counts === undefined && killingLine === undefined) return job
  return {
    ...job,
    ...counts,
    ...(killingLine === undefined ? {} : { killingLine: killingLine && encodeText(killingLine) })
  }
}

function continued<Facts extends JobFacts>(job: Facts, { state, nodeId, startedAtMs }: Attempt): Facts {
  const isRunning = state === 'running' || state === 'finishing'
  const after: Facts = { ...job, ...(isRunning ? { state: 'running', startedAtMs } : {}), hold: null, nodeId }
  if (job.state !== 'queued') return after
  return {
    ...after,
    state: isRunning ? 'running' : 'starting',
    // The job is running again, so it does not wait for a retry.
    notBeforeMs: null,
    // The job's only run was found again, so it did not run twice.
    mayHaveRunTwice: job.mayHaveRunTwice && job.attemptCount > 1
  }
}

function requeued<Facts extends JobFacts>(
  job: Facts,
  { retryAtMs, entry }: Pick<AttemptChange, 'retryAtMs' | 'entry'>
): Facts {
  return {
    ...job,
    state: 'queued',
    reason: null,
    startedAtMs: null,
    killingLine: null,
    pages: null,
    items: null,
    errors: null,
    hold: retryAtMs !== undefined && retryAtMs > entry.atMs ? 'retry' : null,
    notBeforeMs: retryAtMs ?? job.notBeforeMs
  }
}
