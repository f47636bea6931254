import type { Attempt, Transition, TransitionKind } from '../../src/shared/contract/index.ts'
import { aJobId } from '../../src/shared/testing/ids.ts'
import type { StoredJob } from '../../src/engine/model/records.ts'
import type { FaultKind } from '../world/faults.ts'
import type { Run } from '../scrapyd/run.ts'
import type { History, Violation } from '../work/history.ts'
import { overlapKey } from './beliefs.ts'
import { findIllegalTransitions } from './transitions.ts'

/** Transitions after which a run might still be running somewhere. */
const DOUBTS: TransitionKind[] = ['given_up', 'seen_again', 'found_again']
const NEVER_SENT = /^(cancelled while queued|expired|skipped)/
/** Results after which a policy can safely run the job again, because the run ended in a known way. */
const KNOWN_ENDS: (Attempt['result'] | null)[] = ['failed', 'succeeded', 'cancelled']

/** Compares what jobs report with what was really executed (I1, I2, I4). */
export function checkJobs(history: History): Violation[] {
  const violations: Violation[] = []
  const runsByAttempt = new Map<string, Run[]>()
  for (const run of history.started) {
    const key = `${run.project}/${run.jobid}`
    runsByAttempt.set(key, [...(runsByAttempt.get(key) ?? []), run])
  }
  const runsOf = (attempt: Attempt) => runsByAttempt.get(`${attempt.project}/${attempt.jobid}`) ?? []
  const jobs = new Map(history.jobs.map((job) => [job.id, job]))
  const endedAtMs = new Map<string, number>()
  for (const belief of history.beliefs) {
    if (belief.kind === 'changed' && belief.to === 'ended')
      endedAtMs.set(`${belief.jobId}/${belief.number}`, belief.atMs)
  }

  for (const id of acknowledgedIds(history)) {
    if (!jobs.has(aJobId(id)))
      violations.push({ rule: 'acknowledged', jobId: id, text: 'acknowledged, and nobody knows it any more' })
  }
  for (const job of history.jobs) {
    const attempts = history.attempts.get(job.id)!
    const timeline = history.timelines.get(job.id)!
    const complain = (rule: string, text: string) => violations.push({ rule, jobId: job.id, text })
    checkRuns(job, attempts, complain)
    checkOutcome(job, attempts, timeline, complain)
    checkTimes(job, attempts, timeline, complain)
    checkDependencies(job, timeline, complain)
    checkTimeline(job, attempts, timeline, complain)
  }
  checkOverlaps()
  return violations

  /**
   * Whether another node that shares the queue ran the job, and no list from that node showed the run
   * (docs/promises.md, 7).
   */
  function ranUnseenElsewhere(attempt: Attempt, run: Run): boolean {
    return (
      history.hosts.get(attempt.nodeId) !== run.node &&
      !history.beliefs.some(
        (belief) =>
          belief.kind === 'listed' &&
          belief.host === run.node &&
          (belief.jobids.includes(attempt.jobid) || belief.finished.includes(attempt.jobid))
      )
    )
  }

  /** I2: a job runs only once, or is flagged. */
  function checkRuns(job: StoredJob, attempts: Attempt[], complain: (rule: string, text: string) => void): void {
    if (job.source === 'adopted') return
    const ran = attempts
      .flatMap((attempt) => runsOf(attempt).map((run) => ({ attempt, run })))
      .filter(({ attempt, run }) => !ranUnseenElsewhere(attempt, run))
    for (const { attempt, run } of ran) {
      // A refusal proves that nothing ran. Absence is only a conclusion, which a flag can withdraw.
      const wasAbsent = attempt.result === 'absent' && !job.mayHaveRunTwice
      if (attempt.result === 'refused' || wasAbsent) {
        complain(
          'never ran',
          `attempt ${attempt.number} is ${attempt.result} (${attempt.reason}), but ran on ${run.node}`
        )
      }
    }
    for (const { kind, evidence, attemptNumber } of history.timelines.get(job.id)!) {
      if (kind !== 'found_again' || evidence['result'] !== 'refused') continue
      complain('never ran', `attempt ${attemptNumber} was refused, and found again on its node`)
    }
    for (const attempt of attempts) {
      const times = runsOf(attempt).length
      if (times > 1 && !job.mayHaveRunTwice) complain('exactly once', `ran ${times} times as ${attempt.jobid}`)
    }
    if (ran.length > 1 && !job.mayHaveRunTwice) {
      const last = Math.max(...ran.map(({ attempt }) => attempt.number))
      const doubtful = ran.filter(({ attempt }) => attempt.number < last && !KNOWN_ENDS.includes(attempt.result))
      if (doubtful.length > 0) {
        const words = ran.map(
          ({ attempt, run }) => `attempt ${attempt.number} (${attempt.result}, ${attempt.reason}) on ${run.node}`
        )
        complain('exactly once', `ran ${ran.length} times without a flag: ${words.join(', ')}`)
      }
      for (const [index, one] of ran.entries()) {
        for (const other of ran.slice(index + 1)) {
          if (areAtOnce(one.run, other.run))
            complain('one run at a time', `ran on ${one.run.node} and ${other.run.node} at once, unflagged`)
        }
      }
    }
    const isDoubted = history.timelines
      .get(job.id)!
      .some(({ kind, evidence }) => DOUBTS.includes(kind) || evidence['remembers'] === false)
    if (job.mayHaveRunTwice && !isDoubted && !attempts.some(({ result }) => result === 'lost')) {
      complain('flag', 'flagged as having run twice, though every attempt is accounted for')
    }
  }

  function checkOutcome(
    job: StoredJob,
    attempts: Attempt[],
    timeline: Transition[],
    complain: (rule: string, text: string) => void
  ): void {
    const last = attempts.at(-1)
    const runs = last === undefined ? [] : runsOf(last)
    const wasAsked = timeline.some(({ kind }) => kind === 'cancel_asked')
    if (job.outcome === 'succeeded' && !runs.some(({ ended }) => ended === 'finished')) {
      complain('outcome', `succeeded, but its run ended ${runs.map(({ ended }) => ended).join() || 'never began'}`)
    }
    if (job.outcome === 'cancelled') {
      const isBefore = NEVER_SENT.test(job.reason ?? '')
      if (!isBefore && !wasAsked) complain('outcome', `cancelled (${job.reason}), and nobody asked for it`)
      const ranAll = attempts.filter((attempt) => runsOf(attempt).length > 0)
      // If the job is flagged, the engine knows that it may have run.
      if (isBefore && !job.mayHaveRunTwice && ranAll.some(({ result }) => result !== 'failed' && result !== 'lost')) {
        complain('outcome', `${job.reason}, but it ran`)
      }
    }
    if (last === undefined || runs.length !== 1) return
    const run = runs[0]!
    const isThere = history.hosts.get(last.nodeId) === run.node
    const isLogWhole = isThere && run.log !== null && !run.log.isGone && run.log.cutBytes === 0 && !wasLogHidden(run)
    const decidedAtMs = endedAtMs.get(`${job.id}/${last.number}`) ?? Infinity
    const endedBefore = run.endedAtMs !== null && run.endedAtMs < decidedAtMs
    const ranMs = (run.endedAtMs ?? Infinity) - run.startedAtMs!
    const wasTooLong = /limit/.test(job.reason ?? '') && ranMs >= (job.limits?.wallSeconds ?? Infinity) * 1000
    if (job.outcome === 'failed' && run.ended === 'finished' && isLogWhole && !wasTooLong) {
      complain('outcome', `failed (${job.reason}), but its run finished and its log says so`)
    }
    const wasTaken = last.reasonCode === 'reason.given_up' || last.reasonCode === 'reason.node_removed'
    if (job.outcome === 'lost' && !wasTaken && run.ended === 'finished' && isLogWhole && endedBefore) {
      complain('outcome', `lost (${job.reason}), but its run finished and its log says so`)
    }
  }

  function wasLogHidden(run: Run): boolean {
    return history.faults.some(({ kind, node }) => kind === 'log forbidden' && node === run.node)
  }

  function checkTimes(
    job: StoredJob,
    attempts: Attempt[],
    timeline: Transition[],
    complain: (rule: string, text: string) => void
  ): void {
    // The job was due when it was sent, but then our clock was set back, or the new leader's clock is behind the
    // previous leader's.
    const hasHappened = (wanted: FaultKind) => history.faults.some(({ kind }) => kind === wanted)
    const wasSetBack =
      hasHappened('our clock jumped back') || (hasHappened('our clock jumped ahead') && hasHappened('an engine leads'))
    if (job.source === 'adopted' || wasSetBack) return
    // The time of a retry replaces the requested start time.
    const retries = new Map<number | null, number>()
    for (const { attemptNumber, evidence } of timeline) {
      const { retryAtMs } = evidence
      if (typeof retryAtMs === 'number') retries.set(attemptNumber, retryAtMs)
    }
    for (const { sentAtMs, number } of attempts) {
      const earliestMs = retries.get(number - 1) ?? (number === 1 && retries.size === 0 ? job.notBeforeMs : null)
      if (earliestMs !== null && sentAtMs < earliestMs) {
        complain('not before', `attempt ${number} was sent ${earliestMs - sentAtMs} ms too early`)
      }
      if (job.expiresAtMs !== null && number === 1 && sentAtMs > job.expiresAtMs) {
        complain('expiry', `sent ${sentAtMs - job.expiresAtMs} ms after it had expired`)
      }
    }
  }

  function checkDependencies(
    job: StoredJob,
    timeline: Transition[],
    complain: (rule: string, text: string) => void
  ): void {
    const sent = timeline.find(({ kind }) => kind === 'sending')
    if (sent === undefined) return
    for (const { jobId, on } of job.after) {
      const ends = (history.timelines.get(jobId) ?? []).filter(({ kind }) => kind === 'ended')
      if (!ends.some(({ sequence }) => sequence < sent.sequence)) {
        complain('dependency', `sent before ${jobId} had ended`)
        continue
      }
      const outcome = jobs.get(jobId)?.outcome
      if (ends.length === 1 && on !== 'ended' && outcome !== on && !(on === 'failed' && outcome === 'lost')) {
        complain('dependency', `sent though ${jobId}, which should have ${on}, is ${outcome}`)
      }
    }
  }

  function checkTimeline(
    job: StoredJob,
    attempts: Attempt[],
    timeline: Transition[],
    complain: (rule: string, text: string) => void
  ): void {
    for (const text of findIllegalTransitions(job, attempts, timeline)) complain('timeline', text)
    if (job.state === 'ended' && (job.outcome === null || job.endedAtMs === null))
      complain('timeline', 'ended, and nobody knows how')
    for (const { number, state, result } of attempts)
      if (state === 'ended' && result === null) complain('timeline', `attempt ${number} ended without a result`)
  }

  /** Considers only unflagged jobs, and no attempts whose result is `lost` or `absent`. */
  function checkOverlaps(): void {
    const exclusive = history.jobs.filter(({ noOverlap }) => noOverlap)
    const runs = exclusive.flatMap((job) =>
      history.attempts.get(job.id)!.flatMap((attempt) => runsOf(attempt).map((run) => ({ job, attempt, run })))
    )
    for (const [index, one] of runs.entries()) {
      for (const other of runs.slice(index + 1)) {
        if (one.job.id === other.job.id || overlapKey(one.job) !== overlapKey(other.job)) continue
        if (!areAtOnce(one.run, other.run)) continue
        const isExcused = [one, other].some(
          ({ job, attempt }) => job.mayHaveRunTwice || attempt.result === 'lost' || attempt.result === 'absent'
        )
        if (!isExcused)
          violations.push({ rule: 'overlap', jobId: one.job.id, text: `ran at once with ${other.job.id}` })
      }
    }
  }
}

function areAtOnce(one: Run, other: Run): boolean {
  const end = (run: Run) => run.endedAtMs ?? Infinity
  return one.startedAtMs! < end(other) && other.startedAtMs! < end(one)
}

export function acknowledgedIds(history: History): string[] {
  return history.operations.flatMap(({ name, result, output }) => {
    if (result !== 'ok') return []
    if (name === 'jobs.run' || name === 'jobs.retry')
      return (output as { jobs: { id: string }[] }).jobs.map(({ id }) => id)
    return name === 'jobs.runMany' ? (output as { ids: string[] }).ids : []
  })
}
