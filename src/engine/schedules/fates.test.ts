import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { RunTemplate } from '../../shared/contract/index.ts'
import { aJobId, aScheduleId } from '../../shared/testing/ids.ts'
import { decideOverlap, judgeMoments, LATE_AFTER_MS, pausedFates } from './fates.ts'
import { jitterOf } from './moments.ts'
import { countJobs, expandTemplates } from './template.ts'

const NOW_MS = 1_800_000_000_000
const moments = fc
  .uniqueArray(fc.record({ agoMs: fc.nat(10_000_000), isLeftOut: fc.boolean() }), {
    selector: ({ agoMs }) => agoMs,
    maxLength: 30
  })
  .map((found) =>
    found
      .map(({ agoMs, isLeftOut }) => ({ nominalMs: NOW_MS - agoMs, isLeftOut }))
      .sort((one, other) => one.nominalMs - other.nominalMs)
  )
const settings = fc.record({
  catchUp: fc.constantFrom('none' as const, 'last' as const, 'all' as const),
  catchUpWindowSeconds: fc.nat(10_000)
})
const at = { nowMs: NOW_MS, offsetMs: 0, cause: 'stopped' as const }

describe('the fates of moments', () => {
  it('are one for each, in their order, and those that fire stand alone', () => {
    fc.assert(
      fc.property(moments, settings, fc.boolean(), (due, policy, hasMore) => {
        for (const fates of [judgeMoments(due, policy, { ...at, hasMore }), pausedFates(due)]) {
          expect(fates.flatMap(({ nominalMs }) => nominalMs)).toEqual(due.map(({ nominalMs }) => nominalMs))
          for (const { state, nominalMs } of fates) if (state === 'fired') expect(nominalMs).toHaveLength(1)
        }
      })
    )
  })

  it('fire everything that is on time, and of what is late what the policy says', () => {
    fc.assert(
      fc.property(moments, settings, (due, policy) => {
        const fates = judgeMoments(due, policy, { ...at, hasMore: false })
        const fired = fates.filter(({ state }) => state === 'fired').map(({ nominalMs }) => nominalMs[0])
        const run = due.filter(({ isLeftOut }) => !isLeftOut).map(({ nominalMs }) => nominalMs)
        const onTime = run.filter((nominalMs) => NOW_MS - nominalMs <= LATE_AFTER_MS)
        const late = run.filter((nominalMs) => NOW_MS - nominalMs > LATE_AFTER_MS)
        const inWindow = late.filter((nominalMs) => NOW_MS - nominalMs <= policy.catchUpWindowSeconds * 1_000)
        const newest = onTime.length === 0 ? inWindow.slice(-1) : []
        const caughtUp = { none: [], last: newest, all: inWindow }[policy.catchUp]
        expect(fired).toEqual([...caughtUp, ...onTime])
      })
    )
  })
})

describe('overlap', () => {
  it('never lets two moments of a schedule run at once, but where it is allowed', () => {
    const live = [
      { nominalMs: NOW_MS - 2_000, jobIds: [aJobId('a')] },
      { nominalMs: NOW_MS - 1_000, jobIds: [aJobId('b'), aJobId('c')] }
    ]
    const decide = (policy: Parameters<typeof decideOverlap>[0], count: number) => {
      const decision = decideOverlap(policy, live.slice(0, count))
      return decision.kind === 'skip' ? 'skip' : `after ${decision.after} cancel ${decision.cancel}`
    }
    for (const policy of ['skip', 'queue_one', 'queue_all', 'cancel_running', 'allow'] as const) {
      expect(decide(policy, 0)).toBe('after  cancel ')
    }
    expect([decide('skip', 1), decide('queue_one', 1), decide('queue_one', 2)]).toEqual([
      'skip',
      'after a cancel ',
      'skip'
    ])
    expect([decide('queue_all', 2), decide('cancel_running', 2)]).toEqual([
      'after b,c cancel ',
      'after a,b,c cancel a,b,c'
    ])
    expect(decide('allow', 2)).toBe('after  cancel ')
  })
})

describe('a template', () => {
  it('makes as many jobs as it says', () => {
    const names = fc.uniqueArray(fc.stringMatching(/^[a-z]{1,3}$/), { minLength: 1, maxLength: 3 })
    const template = fc
      .record({
        spiders: names,
        argSets: fc.array(fc.dictionary(fc.constantFrom('x', 'y'), fc.string({ maxLength: 3 })), { maxLength: 3 }),
        matrix: fc.dictionary(fc.constantFrom('size', 'shop'), names)
      })
      .map((over) => RunTemplate.parse({ project: 'shop', ...over }))
    const placeholders = { nominalMs: NOW_MS, previousMs: null, nowMs: NOW_MS, zone: 'UTC', schedule: 'nightly' }
    fc.assert(
      fc.property(fc.array(template, { minLength: 1, maxLength: 3 }), (jobs) => {
        expect(expandTemplates({ name: 'nightly', jobs }, placeholders)).toHaveLength(countJobs(jobs))
      })
    )
  })

  it('that makes too many is refused with a number', () => {
    const many = Array.from({ length: 100 }, (_, number) => String(number))
    const jobs = [RunTemplate.parse({ project: 'shop', spiders: ['prices'], matrix: { a: many, b: many, c: many } })]
    const placeholders = { nominalMs: NOW_MS, previousMs: null, nowMs: NOW_MS, zone: 'UTC', schedule: 'nightly' }
    expect(() => expandTemplates({ name: 'nightly', jobs }, placeholders)).toThrow(/would create 1000000 jobs/)
  })
})

it('jitter is the same for ever and spread over the whole of its span', () => {
  const ids = Array.from({ length: 1_000 }, (_, number) => number.toString(16).padStart(32, '0'))
  const offsets = ids.map((id) => jitterOf(aScheduleId(id), 100))
  expect(offsets).toEqual(ids.map((id) => jitterOf(aScheduleId(id), 100)))
  for (let tenth = 0; tenth < 10; tenth += 1) {
    const inTenth = offsets.filter((offsetMs) => Math.floor(offsetMs / 10_001) === tenth)
    expect(inTenth.length).toBeGreaterThan(50)
  }
})
