import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type ClaimFacts, isHeldByNode, judgeClaim } from './judge-claim.ts'

const facts = (over: Partial<ClaimFacts> = {}): ClaimFacts => ({
  isOffered: false,
  wasGranted: false,
  wasWithdrawn: false,
  belief: null,
  ...over
})

test('a claim is granted if the job is offered, and again if the response was lost', () => {
  expect(judgeClaim(facts({ isOffered: true, belief: 'sending' }))).toBe('granted')
  expect(judgeClaim(facts({ wasGranted: true, belief: 'sending' }))).toBe('granted')
  // The engine that granted the run is gone, but it recorded the run.
  expect(judgeClaim(facts({ belief: 'accepted' }))).toBe('granted')
})

test('an offer that was withdrawn, or never existed, cannot be claimed', () => {
  expect(judgeClaim(facts({ wasWithdrawn: true, belief: 'sending' }))).toBe('gone')
  expect(judgeClaim(facts())).toBe('gone')
  expect(judgeClaim(facts({ belief: 'ended' }))).toBe('gone')
})

test('a run whose attempt has ended since it was granted or offered is gone, so that it does not run in vain', () => {
  for (const over of [{ wasGranted: true }, { isOffered: true }, { wasGranted: true, belief: 'ended' as const }]) {
    expect(judgeClaim(facts(over))).toBe('gone')
    expect(isHeldByNode(facts(over))).toBe(false)
  }
})

test('an offer of a dead engine is not granted before it counts as accepted', () => {
  expect(judgeClaim(facts({ belief: 'uncertain' }))).toBe('wait')
  expect(isHeldByNode(facts({ belief: 'uncertain' }))).toBe(true)
})

const anyFacts = fc.record({
  isOffered: fc.boolean(),
  wasGranted: fc.boolean(),
  wasWithdrawn: fc.boolean(),
  belief: fc.constantFrom(null, 'sending', 'uncertain', 'accepted', 'running', 'finishing', 'ended' as const)
})

test('a later engine, which knows only the attempt, decides the same or waits, unless this one took the run back', () => {
  fc.assert(
    fc.property(anyFacts, (one) => {
      fc.pre(!one.wasWithdrawn)
      const later = judgeClaim(facts({ belief: one.belief }))
      if (later !== 'wait') expect(later).toBe(judgeClaim(one))
    })
  )
})

test('no claim is granted that the engine may count as absent', () => {
  fc.assert(
    fc.property(anyFacts, (one) => {
      // A granted run is no longer offered, but the next listing contains it.
      const after = { ...one, isOffered: false, wasGranted: true }
      if (judgeClaim(one) === 'granted') expect(isHeldByNode(after)).toBe(true)
      // The node does not list runs that it is allowed to forget.
      if (judgeClaim(one) === 'gone') expect(isHeldByNode(one)).toBe(false)
    })
  )
})
