import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Attempt, AttemptResult, AttemptState, type Job, Outcome } from '../../shared/contract/index.ts'
import { aJobId, anAttemptNumber, aNodeId, aProjectName, aVersionName } from '../../shared/testing/ids.ts'
import { encode, plain, say } from '../../shared/texts/message.ts'
import { afterChange, type JobFacts, mayRevive } from './after-change.ts'
import type { AttemptChange } from './attempt-change.ts'
import { ATTEMPT_TRANSITIONS, type AttemptEvent, attemptStatesAfter, jobStatesAfter } from './transitions.ts'

const NOW_MS = 1_000_000
const nullable = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: null })
const time = fc.integer({ min: NOW_MS - 1_000, max: NOW_MS + 1_000 })
const JOBS_OF: Record<AttemptState, Job['state'][]> = {
  sending: ['starting'],
  uncertain: ['starting'],
  accepted: ['starting'],
  running: ['running'],
  finishing: ['running'],
  ended: ['queued', 'ended']
}
const EVENTS = (Object.keys(ATTEMPT_TRANSITIONS) as AttemptEvent[]).filter((event) => event !== 'sending')

interface Case {
  job: JobFacts
  attempt: Attempt
  change: AttemptChange
}

const anyCase: fc.Arbitrary<Case> = fc
  .record({
    event: fc.constantFrom(...EVENTS),
    pick: fc.nat(1_000),
    attemptCount: fc.integer({ min: 1, max: 2 }),
    isOld: fc.boolean(),
    job: fc.record({
      outcome: fc.constant(null),
      hold: fc.constant(null),
      endedAtMs: fc.constant(null),
      notBeforeMs: nullable(time),
      startedAtMs: nullable(time),
      cancelAskedAtMs: nullable(time),
      reason: nullable(fc.constant('why')),
      nodeId: fc.constant(aNodeId('node-1')),
      killingLine: nullable(fc.string()),
      pages: nullable(fc.nat()),
      items: nullable(fc.nat()),
      errors: nullable(fc.nat()),
      mayHaveRunTwice: fc.boolean()
    }),
    change: fc.record(
      {
        reason: fc.constant(plain('reason')),
        jobOutcome: nullable(fc.constantFrom(...Outcome.options)),
        retryAtMs: time,
        mayHaveRunTwice: fc.constant(true as const),
        killingLine: nullable(fc.string()),
        details: fc.record({ pid: fc.nat(), stats: fc.constant({ a: 1 }) }, { requiredKeys: [] }),
        counts: fc.record({ pages: nullable(fc.nat()), items: nullable(fc.nat()), errors: nullable(fc.nat()) })
      },
      { requiredKeys: [] }
    )
  })
  .map(({ event, pick, attemptCount, isOld, job, change }) => {
    const rule = ATTEMPT_TRANSITIONS[event]
    const of = <T>(list: readonly T[]) => list[pick % list.length]!
    const isOfOld = isOld && attemptCount === 2 && (rule.from as readonly unknown[]).includes('ended')
    const from = isOfOld ? 'ended' : (of(rule.from) as AttemptState)
    const isNoted = rule.to.length === 0 || isOfOld
    const kind = isNoted && rule.to.length > 0 ? 'seen_again' : event
    const to = isNoted ? {} : { to: of(attemptStatesAfter(from, event)) }
    const result = 'results' in rule && !isNoted ? { result: of(rule.results) as AttemptResult } : {}
    const number = isOfOld ? 1 : attemptCount
    const jobs = JOBS_OF[isOfOld ? of(AttemptState.options) : from]
    const state = event === 'found_again' && !isNoted ? 'queued' : of(jobs)
    const isRevived = event === 'found_again' && !isNoted
    return {
      job: {
        ...job,
        state,
        attemptCount,
        ...(isRevived ? { cancelAskedAtMs: null } : {}),
        ...(state === 'ended' ? { outcome: 'failed' as const, endedAtMs: NOW_MS - 5 } : {})
      },
      attempt: anAttempt({
        number: anAttemptNumber(number),
        state: from,
        ...(from === 'ended' ? { result: 'lost', endedAtMs: NOW_MS - 5 } : {})
      }),
      change: {
        jobId: aJobId('job'),
        attemptNumber: anAttemptNumber(number),
        from: [from],
        kind,
        ...to,
        ...result,
        ...change,
        entry: { atMs: NOW_MS, message: plain('It changed'), evidence: {} }
      }
    }
  })

function check(holds: (given: Case, after: ReturnType<typeof afterChange<JobFacts>>) => void): void {
  fc.assert(
    fc.property(anyCase, (given) => {
      const before = structuredClone(given)
      const after = afterChange(given.job, given.attempt, given.change)
      expect(given).toEqual(before)
      holds(given, after)
    }),
    { numRuns: 500 }
  )
}

describe('a change of an attempt', () => {
  test('leaves the job in a state that the table allows', () => {
    check(({ job, attempt, change }, after) => {
      expect(attemptStatesAfter(attempt.state, change.kind)).toContain(after.attempt.state)
      if (change.attemptNumber !== job.attemptCount) return
      expect(jobStatesAfter(job.state, change.kind, { newestAttempt: true })).toContain(after.job.state)
    })
  })

  test('of an older attempt never changes the job, except its flag', () => {
    check(({ job, change }, after) => {
      if (change.attemptNumber === job.attemptCount) return
      expect(after.job).toEqual({ ...job, mayHaveRunTwice: job.mayHaveRunTwice || change.mayHaveRunTwice === true })
      expect(after).toMatchObject({ jobEntry: null, event: null, outcome: null, hasLeft: false })
    })
  })

  test('never moves an ended job', () => {
    check(({ job }, { job: { state, outcome, endedAtMs } }) => {
      if (job.state === 'ended')
        expect({ state, outcome, endedAtMs }).toMatchObject({ state: 'ended', outcome: job.outcome })
    })
  })

  test('never requeues a job whose cancel was requested: it ends, with an entry of its own', () => {
    check(({ job, change }, after) => {
      if (job.cancelAskedAtMs === null || change.to !== 'ended' || change.attemptNumber !== job.attemptCount) return
      expect(after.job.state).toBe('ended')
      expect(after.jobEntry !== null).toBe(after.job.reason === encode(say('reason.cancelled')))
    })
  })

  test('clears the flag by one rule only: the only run of a waiting job is found again', () => {
    check(({ job, change }, after) => {
      const isFoundAgain = change.kind === 'found_again' && change.to !== undefined && job.attemptCount === 1
      const wanted = job.mayHaveRunTwice || change.mayHaveRunTwice === true
      expect(after.job.mayHaveRunTwice).toBe(isFoundAgain ? false : wanted)
    })
  })

  test('reports a start and an end exactly when the job starts or ends', () => {
    check(({ job }, after) => {
      const isNow = (state: Job['state']) => job.state !== state && after.job.state === state
      expect(after.event?.name ?? null).toBe(isNow('running') ? 'job.started' : isNow('ended') ? 'job.ended' : null)
      expect(after.outcome).toBe(isNow('ended') ? after.job.outcome : null)
      const wasLive = job.state === 'starting' || job.state === 'running'
      const isLive = after.job.state === 'starting' || after.job.state === 'running'
      expect(after.hasLeft).toBe(wasLive && !isLive)
    })
  })

  test('removes all data of the run from a requeued job, and holds it until its retry', () => {
    check(({ job, change }, { job: after }) => {
      if (after.state !== 'queued' || job.state === 'queued') return
      const nothing = { reason: null, startedAtMs: null, killingLine: null, pages: null, items: null, errors: null }
      const isLater = change.retryAtMs !== undefined && change.retryAtMs > NOW_MS
      expect(after).toMatchObject({ ...nothing, outcome: null, hold: isLater ? 'retry' : null })
      expect(after.notBeforeMs).toBe(change.retryAtMs ?? job.notBeforeMs)
    })
  })

  test('ends an attempt with a result and a time; a live one has neither', () => {
    check(({ change }, { attempt }) => {
      if (change.to === undefined) return
      expect([attempt.result !== null, attempt.endedAtMs !== null]).toEqual(
        change.to === 'ended' ? [true, true] : [false, false]
      )
    })
  })

  test('keeps known values if it brings no new ones', () => {
    check(({ attempt, change }, after) => {
      const { pid, startedAtMs, acceptedAtMs } = after.attempt
      expect(pid).toBe(change.details?.pid ?? attempt.pid)
      if (attempt.startedAtMs !== null) expect(startedAtMs).toBe(attempt.startedAtMs)
      if (attempt.acceptedAtMs !== null) expect(acceptedAtMs).toBe(attempt.acceptedAtMs)
    })
  })
})

test.each([
  ['goes on', {}, false, true],
  ['does not go on once its job has started again', { attemptCount: 2 }, false, false],
  ['does not go on once its job has ended', { state: 'ended' as const }, false, false],
  ['does not go on when its job is to be cancelled', { cancelAskedAtMs: 5 }, false, false],
  ['does not go on while another run of its overlap key is live', {}, true, false]
])('a run that is found again %s', (_case, over, isOverlapLive, expected) => {
  const job = { state: 'queued' as const, attemptCount: 1, cancelAskedAtMs: null, ...over }
  expect(mayRevive(job, { attemptNumber: anAttemptNumber(1), isOverlapLive })).toBe(expected)
})

function anAttempt(over: Partial<Attempt>): Attempt {
  return {
    jobId: aJobId('job'),
    number: anAttemptNumber(1),
    jobid: 'job',
    nodeId: aNodeId('node-1'),
    project: aProjectName('shop'),
    version: aVersionName('1'),
    spider: 'list',
    state: 'sending',
    result: null,
    reason: null,
    sentAtMs: NOW_MS - 10,
    acceptedAtMs: NOW_MS - 9,
    startedAtMs: null,
    endedAtMs: null,
    pid: 7,
    exitCode: null,
    signal: null,
    stats: null,
    limitHit: null,
    peakMemoryBytes: null,
    cpuSeconds: null,
    logArchived: false,
    logDeletedAtMs: null,
    ...over
  }
}
