import { describe, expect, it } from 'vitest'
import { judgeFirings } from './judge-firings.ts'

const aFiring = (seconds: number, over: object = {}) => ({
  nominalMs: seconds * 1_000,
  state: 'fired' as const,
  count: 1,
  jobIds: [`job of ${seconds}` as never],
  ...over
})

describe('the verdict on the firings of a schedule', () => {
  it('has no complaint if each time was fired once, in whatever order the firings are listed', () => {
    expect(judgeFirings([aFiring(15), aFiring(5), aFiring(10)], 5_000)).toEqual([])
  })

  it.each([
    ['none', [], 'the schedule never fired'],
    ['a time left out', [aFiring(5), aFiring(15)], 'the schedule did not fire between'],
    ['a time twice', [aFiring(5), aFiring(5, { jobIds: ['another'] })], 'the schedule fired twice for'],
    ['a time without a job', [aFiring(5, { jobIds: [] })], 'has 0 jobs'],
    ['a time with two jobs', [aFiring(5, { jobIds: ['one', 'another'] })], 'has 2 jobs'],
    ['a time that was missed', [aFiring(5, { state: 'missed' })], 'is missed'],
    ['a job of two times', [aFiring(5), aFiring(10, { jobIds: ['job of 5'] })], 'two firings have the same job']
  ])('complains about %s', (_, firings, words) => {
    expect(judgeFirings(firings as never, 5_000).join()).toContain(words)
  })
})
