import type { Attempt, AttemptNumber, Job, Outcome } from '../../shared/contract/index.ts'
import type { AttemptChange, TimelineEntry } from './attempt-change.ts'
import type { JobEvent } from './events.ts'
import { stoppedBeforeRetry } from './timeline.ts'
import { assertTransition } from './transitions.ts'

/** Of a job, what the changes of its attempts depend on, and change. */
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

/** What a store writes for one change of an attempt, in one transaction. */
export interface AfterChange<Facts extends JobFacts> {
  attempt: Attempt
  /** The very same object where nothing of it has changed. */
  job: Facts
  /** The job's end is an entry of its own where it does not follow from the attempt's. */
  jobEntry: TimelineEntry | null
  event: { name: JobEvent; atMs: number } | null
  /** The job ended: chains, and jobs that wait for it, are to learn how. */
  outcome: Outcome | null
  /** It is no longer live, whether it ended or went back to the queue: the next run of its overlap key may go. */
  hasLeft: boolean
}

/**
 * What an attempt and its job are after a change. A job follows its newest attempt only, as transitions.ts draws it; an
 * older one only tells that it may have run twice. Throws where the table has no such transition.
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
  const told = withFindings(flagged, change)
  if (change.to === undefined) return { ...unmoved, job: told }
  if (change.to !== 'ended') {
    const job = goingOn(told, attempt)
    const hasStarted = job.state === 'running' && before.state !== 'running'
    const event = hasStarted ? { name: 'job.started' as const, atMs: job.startedAtMs ?? change.entry.atMs } : null
    return { ...unmoved, job, event }
  }
  const outcome = jobOutcomeAfter(change, before)
  if (outcome === null) return { ...unmoved, job: queuedAgain(told, change), hasLeft: true }
  // The attempt alone would send it back: that it ends instead is a transition of its own.
  const isStopped = outcomeOf(change) === null
  const { atMs } = change.entry
  return {
    attempt,
    job: {
      ...told,
      state: 'ended',
      outcome,
      reason: isStopped ? 'cancelled' : attempt.reason,
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
 * Whether an ended attempt that its node shows again may go on (`found_again`): while its job waits, has not started
 * again and is not to be cancelled, and no other run of its overlap key is live. With it the job leaves the queue.
 */
export function mayGoOn(
  job: Pick<JobFacts, 'state' | 'attemptCount' | 'cancelAskedAtMs'>,
  { attemptNumber, isOverlapLive }: { attemptNumber: AttemptNumber; isOverlapLive: boolean }
): boolean {
  return job.state === 'queued' && job.attemptCount === attemptNumber && job.cancelAskedAtMs === null && !isOverlapLive
}

/** What a job comes to when its newest attempt ends; null: back to the queue, where a cancelled job does not go. */
export function jobOutcomeAfter(
  change: Pick<AttemptChange, 'result' | 'jobOutcome'>,
  { cancelAskedAtMs }: Pick<JobFacts, 'cancelAskedAtMs'>
): Outcome | null {
  return outcomeOf(change) ?? (cancelAskedAtMs === null ? null : 'cancelled')
}

/** What the end of the attempt alone says of its job. */
export function outcomeOf({ result, jobOutcome }: Pick<AttemptChange, 'result' | 'jobOutcome'>): Outcome | null {
  if (jobOutcome !== undefined) return jobOutcome
  return result === undefined || result === 'refused' || result === 'absent' ? null : result
}

function changedAttempt(before: Attempt, change: AttemptChange): Attempt {
  const { to, entry, result, details = {} } = change
  const goesOn = to !== undefined && to !== 'ended'
  return {
    ...before,
    ...(goesOn ? { state: to, result: null, endedAtMs: null } : {}),
    ...(to === 'ended' ? { state: to, result: result!, endedAtMs: entry.atMs } : {}),
    reason: change.reason ?? (goesOn ? null : before.reason),
    acceptedAtMs: details.acceptedAtMs ?? before.acceptedAtMs ?? (to === 'accepted' ? entry.atMs : null),
    startedAtMs: details.startedAtMs ?? before.startedAtMs ?? (to === 'running' ? entry.atMs : null),
    pid: details.pid ?? before.pid,
    exitCode: details.exitCode ?? before.exitCode,
    signal: details.signal ?? before.signal,
    stats: details.stats ?? before.stats,
    limitHit: details.limitHit ?? before.limitHit,
    peakMemoryBytes: details.peakMemoryBytes ?? before.peakMemoryBytes,
    cpuSeconds: details.cpuSeconds ?? before.cpuSeconds
  }
}

function withFindings<Facts extends JobFacts>(job: Facts, { counts, killingLine }: AttemptChange): Facts {
  if (counts === undefined && killingLine === undefined) return job
  return { ...job, ...counts, ...(killingLine === undefined ? {} : { killingLine }) }
}

function goingOn<Facts extends JobFacts>(job: Facts, { state, nodeId, startedAtMs }: Attempt): Facts {
  const isRunning = state === 'running' || state === 'finishing'
  const after: Facts = { ...job, ...(isRunning ? { state: 'running', startedAtMs } : {}), hold: null, nodeId }
  if (job.state !== 'queued') return after
  return {
    ...after,
    state: isRunning ? 'running' : 'starting',
    // No time is set any more for it to be tried again.
    notBeforeMs: null,
    // Found again, and its only run: that it might run twice was a fear that did not come true.
    mayHaveRunTwice: job.mayHaveRunTwice && job.attemptCount > 1
  }
}

/** As one that has not run; the time of the retry takes the place of the one that was asked for. */
function queuedAgain<Facts extends JobFacts>(
  job: Facts,
  { retryAtMs, entry }: Pick<AttemptChange, 'retryAtMs' | 'entry'>
): Facts {
  return {
    ...job,
    ...{ state: 'queued', reason: null, startedAtMs: null },
    ...{ killingLine: null, pages: null, items: null, errors: null },
    hold: retryAtMs !== undefined && retryAtMs > entry.atMs ? 'retry' : null,
    notBeforeMs: retryAtMs ?? job.notBeforeMs
  }
}
