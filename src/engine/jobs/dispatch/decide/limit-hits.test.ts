import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { RunLimits } from '../../../../shared/contract/index.ts'
import { BAN_RESPONSES_MIN } from '../../../../shared/run-limits.ts'
import { findHeldLimitHit, type LimitFacts } from './limit-hits.ts'
import { render } from '../../../../shared/texts/message.ts'

const QUIET: NonNullable<LimitFacts['log']> = { pages: 120, items: 30, errors: 0, responses: {}, stillMs: 0 }
const facts = (log: Partial<typeof QUIET>, ranMs = 60_000): LimitFacts => ({ ranMs, log: { ...QUIET, ...log } })

test.each<[RunLimits, LimitFacts, string | null]>([
  [{ wallSeconds: 120 }, facts({}, 125_000), 'wall time limit of 2 min (ran 2 min 5 s)'],
  [{ wallSeconds: 120 }, facts({}, 119_999), null],
  [{ maxErrors: 10 }, facts({ errors: 14 }), 'error limit of 10 (logged 14)'],
  [{ maxErrors: 10 }, facts({ errors: 10 }), null],
  [
    { noProgressSeconds: 600 },
    facts({ stillMs: 610_500 }),
    'progress limit of 10 min (no new page or item for 10 min 10 s)'
  ],
  [{ noProgressSeconds: 600 }, facts({ stillMs: 599_000 }), null],
  [
    { maxBanPercent: 50 },
    facts({ responses: { 200: 39, 403: 30, 429: 20, 503: 11 } }),
    'ban limit of 50 % (61 % of 100 responses were 403, 429 or 503)'
  ],
  [{ maxBanPercent: 50 }, facts({ responses: { 200: 50, 403: 50 } }), null],
  [{ maxBanPercent: 50 }, facts({ responses: { 403: BAN_RESPONSES_MIN - 1 } }), null]
])('%j: %j hits %s', (limits, given, hit) => {
  const found = findHeldLimitHit(limits, given)
  expect(found && render(found)).toBe(hit)
})

const limit = fc.option(fc.integer({ min: 1, max: 99 }))
const limitsArbitrary: fc.Arbitrary<RunLimits> = fc.record({
  wallSeconds: limit,
  noProgressSeconds: limit,
  maxErrors: limit,
  maxBanPercent: limit
})
const count = fc.nat({ max: 200 })
const log = fc.record({
  pages: fc.option(count),
  items: fc.option(count),
  errors: count,
  responses: fc.dictionary(fc.constantFrom('200', '403', '404', '429', '503'), count),
  stillMs: fc.option(fc.nat({ max: 200_000 }))
})

test('a run whose log was never read is stopped only by the wall time', () => {
  fc.assert(
    fc.property(limitsArbitrary, count, (limits, ranSeconds) => {
      const hit = findHeldLimitHit(limits, { ranMs: ranSeconds * 1000, log: null })
      expect(hit !== null).toBe(limits.wallSeconds !== null && ranSeconds >= limits.wallSeconds!)
    })
  )
})

test('a limit stays exceeded when more errors, bans or idle time follow', () => {
  fc.assert(
    fc.property(limitsArbitrary, log, count, (limits, before, more) => {
      if (findHeldLimitHit(limits, { ranMs: 0, log: before }) === null) return
      const responses = { ...before.responses, '403': (before.responses['403'] ?? 0) + more }
      const stillMs = before.stillMs === null ? null : before.stillMs + more
      const after = { ...before, responses, stillMs, errors: before.errors + more }
      expect(findHeldLimitHit(limits, { ranMs: 0, log: after })).not.toBeNull()
    })
  )
})

test('without limits none is exceeded, and a limit always has the same name', () => {
  fc.assert(
    fc.property(limitsArbitrary, log, count, (limits, given, ranSeconds) => {
      const facts = { ranMs: ranSeconds * 1000, log: given }
      expect(findHeldLimitHit({}, facts)).toBeNull()
      const hit = findHeldLimitHit(limits, facts)
      if (hit !== null) expect(render(hit)).toMatch(/^(wall time|ban|error|progress) limit of [\d a-z%]+ \([^()]+\)$/)
    })
  )
})
