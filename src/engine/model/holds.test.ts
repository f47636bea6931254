import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Dependency, Outcome } from '../../shared/contract/index.ts'
import { aJobId, aProjectName } from '../../shared/testing/ids.ts'
import { chainConditionMetBy } from './chain-answers.ts'
import { type DependencyOutcome, judgeDependencies } from './dependencies.ts'
import { holdOf, nextOfEachLane, overlapKey } from './holds.ts'
import { mayBeRestored } from './restore.ts'

const anyDependency: fc.Arbitrary<DependencyOutcome> = fc.record({
  jobId: fc.constantFrom(...['a', 'b', 'c'].map(aJobId)),
  on: fc.constantFrom(...Dependency.shape.on.options),
  outcome: fc.option(fc.constantFrom(...Outcome.options), { nil: null })
})

describe('what a job waits for', () => {
  test('once met or broken, stays so as more jobs end', () => {
    fc.assert(
      fc.property(fc.array(anyDependency), fc.array(fc.constantFrom(...Outcome.options)), (all, outcomes) => {
        const later = all.map((one, index) => ({ ...one, outcome: one.outcome ?? outcomes[index] ?? null }))
        const [now, then] = [judgeDependencies(all).kind, judgeDependencies(later).kind]
        if (now !== 'open') expect(then).toBe(now)
      })
    )
  })

  test('is never open after all jobs have ended, and never met before', () => {
    fc.assert(
      fc.property(fc.array(anyDependency), (all) => {
        const { kind } = judgeDependencies(all)
        const haveAllEnded = all.every(({ outcome }) => outcome !== null)
        expect(kind === 'open' && haveAllEnded).toBe(false)
        expect(kind === 'met' && !haveAllEnded).toBe(false)
      })
    )
  })

  test('is broken by an end other than the wanted one, whatever else is still open', () => {
    fc.assert(
      fc.property(fc.array(anyDependency), (all) => {
        const verdict = judgeDependencies([...all, { jobId: aJobId('z'), on: 'succeeded', outcome: 'failed' }])
        expect(verdict.kind).toBe('broken')
      })
    )
  })
})

describe('the hold of a queued job', () => {
  const anyJob = fc.record({
    notBeforeMs: fc.option(fc.integer({ min: 0, max: 20 }), { nil: null }),
    attemptCount: fc.nat(3),
    overlapKey: fc.option(fc.constant('key'), { nil: null })
  })

  test('is chosen in this order: dependency, time (after a run: retry), overlap, none', () => {
    fc.assert(
      fc.property(anyJob, fc.constantFrom('met' as const, 'open' as const), fc.boolean(), (job, verdict, isLive) => {
        const isEarly = job.notBeforeMs !== null && job.notBeforeMs > 10
        const reasons = [
          verdict === 'open' && 'dependency',
          isEarly && (job.attemptCount > 0 ? 'retry' : 'not_before'),
          job.overlapKey !== null && isLive && 'overlap'
        ]
        expect(holdOf(job, verdict, 10, () => isLive)).toBe(reasons.find((one) => one !== false) ?? null)
      })
    )
  })

  test('queries live runs of its key only if nothing else holds it', () => {
    const never = () => expect.unreachable('asked')
    expect(holdOf({ notBeforeMs: null, attemptCount: 0, overlapKey: 'k' }, 'open', 10, never)).toBe('dependency')
    expect(holdOf({ notBeforeMs: 11, attemptCount: 0, overlapKey: 'k' }, 'met', 10, never)).toBe('not_before')
    expect(holdOf({ notBeforeMs: null, attemptCount: 0, overlapKey: null }, 'met', 10, never)).toBe(null)
  })

  test('of jobs held for one key, the first of each lane is released, in the order of the queue', () => {
    const held = ['x1', 'y1', 'x2', 'z1', 'y2'].map((id) => ({ id, lane: id[0]! }))
    expect(nextOfEachLane(held).map(({ id }) => id)).toEqual(['x1', 'y1', 'z1'])
  })
})

test('an overlap key is the same for equal arguments in any order, and does not reveal secret values', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.string()), (args) => {
      const job = { project: aProjectName('shop'), spider: 'list', secretNames: [] }
      const reversed = Object.fromEntries(Object.entries(args).reverse())
      expect(overlapKey({ ...job, args })).toBe(overlapKey({ ...job, args: reversed }))
      expect(overlapKey({ ...job, args })).not.toBe(overlapKey({ ...job, args: { ...args, another: '1', more: '2' } }))
      const sealed = (value: string) => overlapKey({ ...job, args: { ...args, key: value }, secretNames: ['key'] })
      expect(sealed('sealed once')).toBe(sealed('sealed again'))
    })
  )
})

test('a job whose outcome is unclear meets only the condition that it has ended', () => {
  const jobId = aJobId('job')
  const outcome = 'unclear' as const
  expect(judgeDependencies([{ jobId, on: 'ended', outcome }])).toEqual({ kind: 'met' })
  for (const on of ['succeeded', 'failed'] as const)
    expect(judgeDependencies([{ jobId, on, outcome }])).toEqual({ kind: 'broken', by: { jobId, outcome } })
})

test('a chain treats a lost run like a failed one', () => {
  expect(Outcome.options.map((outcome) => [outcome, chainConditionMetBy(outcome)])).toEqual(
    Outcome.options.map((outcome) => [outcome, outcome === 'lost' ? 'failed' : outcome])
  )
})

test('undoing a cancel restores the named job and those that were skipped with it', () => {
  const all = (['never', 'by_itself', 'with_what_it_waited_for'] as const).map((restorable) =>
    [true, false].map((isAsked) => mayBeRestored(restorable, isAsked))
  )
  expect(all).toEqual([
    [false, false],
    [true, false],
    [true, true]
  ])
})
