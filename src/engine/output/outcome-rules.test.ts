import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { OutcomeRules } from '../../shared/contract/index.ts'
import { outcomeRulesOf } from '../../shared/outcome-rules.ts'
import { applyOutcomeRules } from './outcome-rules.ts'
import type { Judgement } from './outcome.ts'

const count = fc.nat({ max: 30 })
const maybe = fc.option(count)
const reasons = fc.constantFrom('finished', 'closespider_timeout', 'shutdown', 'catalogue_empty')
const rules: fc.Arbitrary<OutcomeRules> = fc.record(
  {
    maxErrors: maybe,
    minItems: maybe,
    minPages: maybe,
    finishReasons: fc.option(fc.array(reasons, { minLength: 1, maxLength: 3 }))
  },
  { requiredKeys: [] }
)
const judgement: fc.Arbitrary<Judgement> = fc.record({
  outcome: fc.constantFrom('succeeded', 'failed', 'cancelled', 'lost'),
  reason: fc.oneof(reasons, fc.constantFrom('exit code 1', 'wall time limit of 2 min')),
  killingLine: fc.constant(null),
  stats: fc.option(reasons.map((reason) => ({ finish_reason: reason }))),
  counts: fc.record({ pages: maybe, items: maybe, errors: maybe })
})
const OK = { hasFailedExit: false }

function succeeded(counts: Partial<Judgement['counts']>, reason = 'finished'): Judgement {
  const unknown = { pages: null, items: null, errors: null }
  const stats = { finish_reason: reason }
  return { outcome: 'succeeded', reason, killingLine: null, stats, counts: { ...unknown, ...counts } }
}

describe('the rules of a project', () => {
  test.each([
    [{ maxErrors: 10 }, { errors: 14 }, 'errors above 10', 'errors above 10 (had 14)'],
    [{ minItems: 100 }, { items: 3 }, 'items below 100', 'items below 100 (had 3)'],
    [{ minPages: 5 }, { pages: 0 }, 'pages below 5', 'pages below 5 (had 0)'],
    [{ maxErrors: 0, minItems: 1 }, { errors: 1, items: 0 }, 'errors above 0', 'errors above 0 (had 1)']
  ])('%j fail a run with %j: %s', (given, counts, reason, words) => {
    expect(applyOutcomeRules(succeeded(counts), given, OK)).toMatchObject({ outcome: 'failed', reason, words })
  })

  test('a finish_reason that is not in the list fails, one that is in it succeeds', () => {
    const timeout = succeeded({}, 'closespider_timeout')
    expect(applyOutcomeRules(timeout, { finishReasons: ['finished', 'done'] }, OK)).toMatchObject({
      outcome: 'failed',
      reason: 'finish reason closespider_timeout',
      words: 'finish reason closespider_timeout (expected finished or done)'
    })
    const own: Judgement = { ...succeeded({}, 'done'), outcome: 'failed' }
    expect(applyOutcomeRules(own, { finishReasons: ['done'] }, OK).outcome).toBe('succeeded')
    expect(applyOutcomeRules(own, { finishReasons: ['done'] }, { hasFailedExit: true }).outcome).toBe('failed')
    expect(
      applyOutcomeRules({ ...own, counts: { ...own.counts, items: 0 } }, { finishReasons: ['done'], minItems: 1 }, OK)
    ).toMatchObject({ outcome: 'failed', reason: 'items below 1' })
  })

  test('what the log does not tell breaks no rule', () => {
    const all = { maxErrors: 0, minItems: 1, minPages: 1, finishReasons: ['finished'] }
    const hidden = { ...succeeded({}), reason: 'exit code 0', stats: null }
    expect(applyOutcomeRules(hidden, all, OK).outcome).toBe('succeeded')
  })

  test('never change what was cancelled, lost, stopped by a limit or crashed; counts are never changed', () => {
    fc.assert(
      fc.property(judgement, rules, fc.boolean(), (before, given, hasFailedExit) => {
        const after = applyOutcomeRules(before, given, { hasFailedExit })
        expect(after.counts).toEqual(before.counts)
        const isSettled = before.outcome === 'cancelled' || before.outcome === 'lost'
        const isFailure =
          before.outcome === 'failed' && (hasFailedExit || before.reason !== before.stats?.finish_reason)
        if (isSettled || isFailure) expect(after).toEqual({ ...before, words: before.reason })
      })
    )
  })

  test('a run succeeds exactly if it breaks no rule, and the reason does not depend on its counts', () => {
    fc.assert(
      fc.property(judgement, rules, (some, given) => {
        const before: Judgement = { ...some, outcome: 'succeeded' }
        const { errors, items, pages } = before.counts
        const finish = before.stats?.finish_reason === before.reason ? before.reason : null
        const breaks =
          (given.maxErrors ?? Infinity) < (errors ?? -1) ||
          (given.minItems ?? -1) > (items ?? Infinity) ||
          (given.minPages ?? -1) > (pages ?? Infinity) ||
          (given.finishReasons != null && finish !== null && !given.finishReasons.includes(finish))
        const after = applyOutcomeRules(before, given, OK)
        expect(after.outcome).toBe(breaks ? 'failed' : 'succeeded')
        expect(after.reason).not.toContain('(')
        expect(after.words.startsWith(after.reason)).toBe(true)
      })
    )
  })
})

test('a spider’s rules replace those of its project one by one; null removes one', () => {
  const outcome = { maxErrors: 10, minItems: 5 }
  const settings = {
    outcome,
    spiderOutcomes: { prices: { minItems: null, minPages: 3 }, bare: { maxErrors: null, minItems: null } }
  }
  expect(outcomeRulesOf(settings, 'prices')).toEqual({ maxErrors: 10, minItems: null, minPages: 3 })
  expect(outcomeRulesOf(settings, 'other')).toEqual(outcome)
  expect(outcomeRulesOf(settings, 'constructor')).toEqual(outcome)
  expect(outcomeRulesOf(settings, 'bare')).toBeNull()
  expect(outcomeRulesOf({}, 'prices')).toBeNull()
})
