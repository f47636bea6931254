import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { AttemptResult, AttemptState, Job, Transition } from '../../shared/contract/index.ts'
import {
  assertTransition,
  ATTEMPT_TRANSITIONS,
  type AttemptEvent,
  attemptStatesAfter,
  jobStatesAfter,
  JOB_TRANSITIONS
} from './transitions.ts'

const KINDS = Transition.shape.kind.options
const EVENTS = Object.keys(ATTEMPT_TRANSITIONS) as AttemptEvent[]

describe('the transition table', () => {
  test('has every kind of timeline entry, as an event of attempts, of jobs, or of both', () => {
    const known = new Set<string>([...EVENTS, ...Object.keys(JOB_TRANSITIONS)])
    expect([...known].sort()).toEqual([...KINDS].sort())
  })

  test('only found_again leaves the final states of an attempt', () => {
    const leading = EVENTS.filter((event) => attemptStatesAfter('ended', event).some((to) => to !== 'ended'))
    expect(leading).toEqual(['found_again'])
  })

  test('only an undone cancel leaves the final states of a job', () => {
    for (const kind of KINDS) {
      for (const newestAttempt of [true, false]) {
        const leads = jobStatesAfter('ended', kind, { newestAttempt }).some((to) => to !== 'ended')
        expect([kind, leads]).toEqual([kind, kind === 'restored' && !newestAttempt])
      }
    }
  })

  test('every state of an attempt is reachable, and reaches a final state', () => {
    const next = (states: Set<AttemptState | null>) =>
      new Set([...states, ...[...states].flatMap((one) => EVENTS.flatMap((event) => attemptStatesAfter(one, event)))])
    const reachedFrom = (from: AttemptState | null) => {
      let states = new Set([from])
      for (let size = 0; size !== states.size; ) {
        size = states.size
        states = next(states)
      }
      return states
    }
    expect(reachedFrom(null)).toEqual(new Set([null, ...AttemptState.options]))
    for (const state of AttemptState.options) expect(reachedFrom(state)).toContain('ended')
  })

  test('the job of a live attempt is live, and that of an ended one is not, after any event', () => {
    const JOBS_OF: Record<AttemptState, Job['state'][]> = {
      sending: ['starting'],
      uncertain: ['starting'],
      accepted: ['starting'],
      running: ['running'],
      finishing: ['running'],
      ended: ['queued', 'ended']
    }
    for (const from of AttemptState.options) {
      for (const event of EVENTS) {
        for (const to of attemptStatesAfter(from, event)) {
          for (const job of JOBS_OF[from]) {
            const jobs = jobStatesAfter(job, event, { newestAttempt: true })
            expect([from, event, to, job, jobs.filter((state) => JOBS_OF[to].includes(state)).length > 0]).toEqual([
              ...[from, event, to, job],
              // A job that has ended does not return when its run is found again.
              !(event === 'found_again' && job === 'ended')
            ])
          }
        }
      }
    }
  })

  test('throws for a transition that it does not have, and names it', () => {
    const change = fc.record({
      from: fc.constantFrom(...AttemptState.options),
      kind: fc.constantFrom(...KINDS),
      to: fc.option(fc.constantFrom(...AttemptState.options), { nil: undefined }),
      result: fc.option(fc.constantFrom(...AttemptResult.options), { nil: undefined })
    })
    fc.assert(
      fc.property(change, ({ from, kind, to, result }) => {
        const rule = (ATTEMPT_TRANSITIONS as Record<string, { results?: readonly string[] }>)[kind]
        const isLegal =
          attemptStatesAfter(from, kind).includes(to ?? from) &&
          (result === undefined ? rule?.results === undefined : rule?.results?.includes(result) === true)
        const given = { kind, ...(to === undefined ? {} : { to }), ...(result === undefined ? {} : { result }) }
        if (isLegal) assertTransition(from, given)
        else expect(() => assertTransition(from, given)).toThrow(`from ${from} to ${to ?? from}`)
      })
    )
  })
})
