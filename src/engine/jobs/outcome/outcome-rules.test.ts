import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { DEFAULT_PROJECT_SETTINGS, type OutcomeRules } from '../../../shared/contract/index.ts'
import { outcomeRulesOf } from '../../../shared/outcome-rules.ts'
import { applyOutcomeRules as apply } from './outcome-rules.ts'
import { judgeOutcome as judge, type Judgement as Judged } from './outcome.ts'
import { plain, render } from '../../../shared/texts/message.ts'

type Judgement = Omit<Judged, 'reason'> & { reason: string }

function judgeOutcome(evidence: Parameters<typeof judge>[0]): Judgement {
  const judged = judge(evidence)
  return { ...judged, reason: render(judged.reason) }
}

function applyOutcomeRules(
  judged: Judgement,
  ...rest: Parameters<typeof apply> extends [unknown, ...infer R] ? R : never
) {
  const ruled = apply({ ...judged, reason: plain(judged.reason) }, ...rest)
  return { ...ruled, reason: render(ruled.reason), words: render(ruled.words) }
}

const count = fc.nat({ max: 30 })
const maybe = fc.option(count)
const reasons = fc.constantFrom('finished', 'closespider_timeout', 'shutdown', 'catalogue_empty')
const rules: fc.Arbitrary<OutcomeRules> = fc.record(
  {
    requireResponse: fc.option(fc.boolean()),
    maxErrors: maybe,
    minItems: maybe,
    minPages: maybe,
    finishReasons: fc.option(fc.array(reasons, { minLength: 1, maxLength: 3 }))
  },
  { requiredKeys: [] }
)
const judgement: fc.Arbitrary<Judgement> = fc.record({
  outcome: fc.constantFrom('succeeded', 'failed', 'cancelled', 'lost', 'unclear'),
  reason: fc.oneof(reasons, fc.constantFrom('exit code 1', 'wall time limit of 2 min')),
  killingLine: fc.constant(null),
  stats: fc.constant(null),
  finishReason: fc.option(reasons),
  counts: fc.record({ pages: maybe, items: maybe, errors: maybe })
})
const OK = { hasFailedExit: false }

function succeeded(counts: Partial<Judgement['counts']>, reason = 'finished'): Judgement {
  const unknown = { pages: null, items: null, errors: null }
  const stats = { finish_reason: reason }
  return {
    outcome: 'succeeded',
    reason,
    killingLine: null,
    stats,
    finishReason: reason,
    counts: { ...unknown, ...counts }
  }
}

describe('the rules of a project', () => {
  test.each([
    [{ maxErrors: 10 }, { errors: 14 }, 'more than 10 errors', 'more than 10 errors (had 14)'],
    [{ minItems: 100 }, { items: 3 }, 'fewer than 100 items', 'fewer than 100 items (had 3)'],
    [{ minPages: 5 }, { pages: 0 }, 'fewer than 5 pages', 'fewer than 5 pages (had 0)'],
    [{ maxErrors: 0, minItems: 1 }, { errors: 1, items: 0 }, 'more than 0 errors', 'more than 0 errors (had 1)']
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
    ).toMatchObject({ outcome: 'failed', reason: 'fewer than 1 item' })
    // Without the dump of the stats, the log still shows why the spider closed.
    const tail = '2026-11-21 01:00:00 [scrapy.core.engine] INFO: Spider closed (done)\n'
    const undumped = judgeOutcome({ tail, exit: null, cancelAsked: false })
    expect(undumped).toMatchObject({ outcome: 'failed', reason: 'done', stats: null })
    expect(applyOutcomeRules(undumped, { finishReasons: ['done'] }, OK).outcome).toBe('succeeded')
    const finished = judgeOutcome({ tail: tail.replace('done', 'finished'), exit: null, cancelAsked: false })
    expect(applyOutcomeRules(finished, { finishReasons: ['done'] }, OK)).toMatchObject({
      outcome: 'failed',
      reason: 'finish reason finished'
    })
  })

  describe('no response at all', () => {
    const sample = readFileSync(join(import.meta.dirname, 'samples', 'more', 'no-response.log'), 'utf8')
    const real = judgeOutcome({ tail: sample, exit: null, cancelAsked: false })
    const judged = (stats: Record<string, number | undefined>, items: number | null = 0, errors = 1) => {
      const given = Object.entries({ ...real.stats, ...stats }).filter(([, value]) => value !== undefined)
      const judgement = {
        ...real,
        stats: Object.fromEntries(given) as Judgement['stats'],
        counts: { ...real.counts, items, errors }
      }
      return applyOutcomeRules(judgement, { requireResponse: true }, OK).outcome
    }
    const TYPE = 'downloader/exception_type_count/'
    const IGNORED = `${TYPE}scrapy.exceptions.IgnoreRequest`
    const types = Object.keys(real.stats!).filter((key) => key.startsWith(TYPE))
    const none = { ...Object.fromEntries(types.map((key) => [key, undefined])), 'downloader/exception_count': 2 }

    test('fails a run of real Scrapy that reached no host, and says how many requests failed', () => {
      expect(real).toMatchObject({ outcome: 'succeeded', reason: 'finished' })
      expect(applyOutcomeRules(real, { requireResponse: true, maxErrors: 0, minItems: 1 }, OK)).toMatchObject({
        outcome: 'failed',
        reason: 'no response at all',
        words: 'no response at all (4 failed requests)'
      })
      for (const off of [null, {}, { requireResponse: false }, { requireResponse: null }])
        expect(applyOutcomeRules(real, off, OK)).toMatchObject({ outcome: 'succeeded', reason: 'finished' })
    })

    test.each([
      ['had one response', judged({ 'downloader/response_count': 1 })],
      ['had one response, by another count', judged({ response_received_count: 1 })],
      ['scraped an item', judged({}, 1)],
      ['has an unknown number of items', judged({}, null)],
      ['sent no request', judged({ 'downloader/exception_count': undefined })],
      ['was refused every request by Scrapy itself', judged({ 'downloader/exception_count': 2, [IGNORED]: 2 })],
      ['dropped every request without an error', judged({ ...none, [`${TYPE}shop.middlewares.Seen`]: 2 }, 0, 0)],
      ['had a response that was too large', judged({ [`${TYPE}scrapy.exceptions.DownloadCancelledError`]: 1 })],
      ['had a response that was cut off', judged({ [`${TYPE}twisted.web._newclient.ResponseFailed`]: 1 })]
    ])('does not fail a run that %s', (_case, outcome) => {
      expect(outcome).toBe('succeeded')
    })

    test('fails a run if Scrapy refused some of its requests and the others failed', () => {
      expect(judged({ 'downloader/exception_count': 3, [IGNORED]: 2 })).toBe('failed')
      expect(judged({ ...none, [`${TYPE}shop.middlewares.NoProxy`]: 2 })).toBe('failed')
    })
  })

  test('a run whose outcome is unclear fails if what its log shows breaks a rule, and stays unclear otherwise', () => {
    const reason = 'end not visible in the log'
    const unclear: Judgement = { ...succeeded({ errors: 4 }), outcome: 'unclear', reason, stats: null }
    expect(applyOutcomeRules(unclear, { maxErrors: 3 }, OK)).toMatchObject({
      outcome: 'failed',
      reason: 'more than 3 errors'
    })
    const others = { maxErrors: 4, minItems: 1, minPages: 1, requireResponse: true, finishReasons: ['finished'] }
    expect(applyOutcomeRules(unclear, others, OK)).toMatchObject({ outcome: 'unclear', reason })
  })

  test('figures missing from the log break no rule', () => {
    const all = { maxErrors: 0, minItems: 1, minPages: 1, finishReasons: ['finished'] }
    const hidden = { ...succeeded({}), reason: 'exit code 0', stats: null }
    expect(applyOutcomeRules(hidden, all, OK).outcome).toBe('succeeded')
  })

  test('never change the outcome of a run that was cancelled, lost, stopped by a limit or crashed, nor any count', () => {
    fc.assert(
      fc.property(judgement, rules, fc.boolean(), (before, given, hasFailedExit) => {
        const after = applyOutcomeRules(before, given, { hasFailedExit })
        expect(after.counts).toEqual(before.counts)
        const isSettled = before.outcome === 'cancelled' || before.outcome === 'lost'
        const isFailure = before.outcome === 'failed' && (hasFailedExit || before.reason !== before.finishReason)
        if (isSettled || isFailure) expect(after).toEqual({ ...before, words: before.reason })
      })
    )
  })

  test('a run succeeds exactly when it breaks no rule, and the reason does not depend on its counts', () => {
    fc.assert(
      fc.property(judgement, rules, (some, given) => {
        const before: Judgement = { ...some, outcome: 'succeeded' }
        const { errors, items, pages } = before.counts
        const finish = before.finishReason === before.reason ? before.reason : null
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
  expect(outcomeRulesOf({ outcome: { requireResponse: false } }, 'prices')).toBeNull()
  expect(outcomeRulesOf(DEFAULT_PROJECT_SETTINGS, 'prices')).toMatchObject({ requireResponse: true })
  const off = { ...DEFAULT_PROJECT_SETTINGS, spiderOutcomes: { prices: { requireResponse: null } } }
  expect(outcomeRulesOf(off, 'prices')).toBeNull()
})
