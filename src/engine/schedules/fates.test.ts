import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { RunTemplate } from '../../shared/contract/index.ts'
import { aJobId, aScheduleId } from '../../shared/testing/ids.ts'
import { createFakeClock } from '../testing/fake-clock.ts'
import { decideOverlap, judgeMoments, LATE_AFTER_MS, pausedFates } from './fates.ts'
import { jitterOf } from './moments.ts'
import { checkTemplates, countJobs, expandTemplates } from './template.ts'

const NOW_MS = 1_800_000_000_000
const clock = createFakeClock(NOW_MS)
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

describe('the decisions about due times', () => {
  it('are one for each time, in order, and each that fires stands alone', () => {
    fc.assert(
      fc.property(moments, settings, fc.boolean(), (due, policy, hasMore) => {
        for (const fates of [judgeMoments(due, policy, { ...at, hasMore }), pausedFates(due)]) {
          expect(fates.flatMap(({ nominalMs }) => nominalMs)).toEqual(due.map(({ nominalMs }) => nominalMs))
          for (const { state, nominalMs } of fates) if (state === 'fired') expect(nominalMs).toHaveLength(1)
        }
      })
    )
  })

  it('fire every time that is on time, and late ones as the policy says', () => {
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
  it('never lets two firings of a schedule run at once, unless that is allowed', () => {
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
  it('creates as many jobs, with as many bytes of text, as it predicts', async () => {
    const names = fc.uniqueArray(fc.stringMatching(/^[a-z]{1,3}$/), { minLength: 1, maxLength: 3 })
    const template = fc
      .record({
        spiders: names,
        argSets: fc.array(fc.dictionary(fc.constantFrom('x', 'y'), fc.string({ maxLength: 3 })), { maxLength: 3 }),
        matrix: fc.dictionary(fc.constantFrom('size', 'shop'), names)
      })
      .map((over) => RunTemplate.parse({ project: 'shop', ...over }))
    const placeholders = { nominalMs: NOW_MS, previousMs: null, nowMs: NOW_MS, zone: 'UTC', schedule: 'nightly' }
    await fc.assert(
      fc.asyncProperty(fc.array(template, { minLength: 1, maxLength: 3 }), async (jobs) => {
        const { items, bytes } = await expandTemplates({ name: 'nightly', jobs }, placeholders, clock)
        expect(items).toHaveLength(countJobs(jobs))
        const texts = items.flatMap(({ settings = {}, args = {} }) => Object.entries({ ...args, ...settings }))
        expect(bytes).toBe(texts.reduce((sum, [name, text]) => sum + JSON.stringify({ [name]: text }).length - 1, 0))
      })
    )
  })

  it('that creates too many is refused with the number', async () => {
    const many = Array.from({ length: 100 }, (_, number) => String(number))
    const jobs = [RunTemplate.parse({ project: 'shop', spiders: ['prices'], matrix: { a: many, b: many, c: many } })]
    const placeholders = { nominalMs: NOW_MS, previousMs: null, nowMs: NOW_MS, zone: 'UTC', schedule: 'nightly' }
    const expanding = expandTemplates({ name: 'nightly', jobs }, placeholders, clock)
    await expect(expanding).rejects.toThrow(/would create 1000000 jobs/)
  })
})

describe('a template whose texts multiply', () => {
  const many = Array.from({ length: 100 }, (_, number) => String(number))
  const placeholders = { nominalMs: NOW_MS, previousMs: null, nowMs: NOW_MS, zone: 'UTC', schedule: 'nightly' }
  const timeOf = async (work: Promise<unknown>) => {
    const startedAtMs = performance.now()
    await work
    return performance.now() - startedAtMs
  }
  const aTemplate = (over: object) => [RunTemplate.parse({ project: 'shop', spiders: ['prices'], ...over })]
  const refusedWith = (jobs: RunTemplate[], code: string) =>
    expect(expandTemplates({ name: 'nightly', jobs }, placeholders, clock)).rejects.toMatchObject({ code })

  it('is refused by its size before any job is created', async () => {
    const long = `${'x'.repeat(100_000)}{nominal:yyyy}`
    const matrix = { x: many, y: many }
    expect(await timeOf(refusedWith(aTemplate({ args: { a: long }, matrix }), 'REQUEST_TOO_LARGE'))).toBeLessThan(500)
    const names = Object.fromEntries(Array.from({ length: 900 }, (_, number) => [`a${number}`, ['x']]))
    const wide = aTemplate({ matrix: { ...names, ...matrix } })
    expect(await timeOf(refusedWith(wide, 'REQUEST_TOO_LARGE'))).toBeLessThan(500)
    const short = aTemplate({ args: Object.fromEntries(Array.from({ length: 60 }, (_, a) => [a, ''])), matrix })
    await refusedWith(short, 'REQUEST_TOO_LARGE')
    await refusedWith(aTemplate({ args: { a: '{now}'.repeat(1_001) } }), 'BAD_INPUT')
  })

  it('expands each text once, not for each of ten thousand jobs', async () => {
    const jobs = aTemplate({ args: { a: '{nominal:yyyy}'.repeat(200) }, matrix: { x: many, y: many } })
    const made = expandTemplates({ name: 'nightly', jobs }, placeholders, clock)
    expect(await timeOf(made)).toBeLessThan(1_000)
    const { items } = await made
    expect([items.length, items.at(-1)!.args]).toEqual([10_000, { a: '2027'.repeat(200), x: '99', y: '99' }])
  })

  it('is refused when it is saved', async () => {
    const check = (jobs: RunTemplate[]) => checkTemplates({ name: 'nightly', jobs }, 'UTC', clock)
    await check(aTemplate({ args: { a: 'x'.repeat(2_900_000) } }))
    const error = { code: 'REQUEST_TOO_LARGE' }
    await expect(check(aTemplate({ args: { a: 'x'.repeat(3_000_001) } }))).rejects.toMatchObject(error)
    await expect(
      check(aTemplate({ args: { a: 'x'.repeat(2_000) }, matrix: { x: many, y: many } }))
    ).rejects.toMatchObject(error)
  })
})

it('jitter never changes for a schedule, and is spread over the whole span', () => {
  const ids = Array.from({ length: 1_000 }, (_, number) => number.toString(16).padStart(32, '0'))
  const offsets = ids.map((id) => jitterOf(aScheduleId(id), 100))
  expect(offsets).toEqual(ids.map((id) => jitterOf(aScheduleId(id), 100)))
  for (let tenth = 0; tenth < 10; tenth += 1) {
    const inTenth = offsets.filter((offsetMs) => Math.floor(offsetMs / 10_001) === tenth)
    expect(inTenth.length).toBeGreaterThan(50)
  }
})
