import { expect, test } from 'vitest'
import { storageProblems } from './storage-problems.ts'

const GB = 1_000_000_000
const HOUR_MS = 3_600_000
const state = { disk: null, encryption: null, totalBytes: 0, budgetBytes: null, isPolicySet: true }
const disk = { atMs: 0, totalBytes: 100 * GB, freeBytes: 50 * GB, fullAtMs: null }
const wordsOf = (over: Partial<Parameters<typeof storageProblems>[0]>) =>
  storageProblems({ ...state, ...over }, 0).map(({ severity, title, mend }) => [severity, title, mend])

test('a disk is reported before it is full: when little is free, or when it fills within a day', () => {
  expect(wordsOf({ disk })).toEqual([])
  expect(wordsOf({ disk: { ...disk, freeBytes: 9 * GB } })).toEqual([
    ['warning', 'The disk is almost full', 'open_storage']
  ])
  expect(wordsOf({ disk: { ...disk, freeBytes: 0.5 * GB } })[0]?.[0]).toBe('error')
  expect(wordsOf({ disk: { ...disk, fullAtMs: 20 * HOUR_MS } })).toEqual([
    ['warning', 'The disk will be full within a day', 'open_storage']
  ])
  expect(wordsOf({ disk: { ...disk, fullAtMs: 30 * HOUR_MS } })).toEqual([])
  // 10 % of a large disk would be a lot, so a fixed limit of 10 GB applies.
  expect(wordsOf({ disk: { ...disk, totalBytes: 4_000 * GB, freeBytes: 50 * GB } })).toEqual([])
})

test('the time at which the disk is full is given as roughly as it is known', () => {
  const fullAtMs = 8 * HOUR_MS + 46 * 60_000 + 15_432
  const [problem] = storageProblems({ ...state, disk: { ...disk, freeBytes: 61 * GB, fullAtMs } }, 0)
  expect(problem?.text).toMatch(/^61 GB is free; at the current rate, the disk will be full in about 8 h\. /)
})

test('a budget is reported before it is used up', () => {
  expect(wordsOf({ budgetBytes: 10 * GB, totalBytes: 8 * GB })).toEqual([])
  expect(wordsOf({ budgetBytes: 10 * GB, totalBytes: 9.5 * GB })[0]?.slice(0, 2)).toEqual([
    'warning',
    'The disk budget is almost used up'
  ])
  expect(wordsOf({ budgetBytes: 10 * GB, totalBytes: 11 * GB })[0]?.[0]).toBe('error')
})

test('a missing policy is reported only once there is much to delete', () => {
  expect(wordsOf({ isPolicySet: false, totalBytes: GB })).toEqual([])
  expect(wordsOf({ isPolicySet: false, totalBytes: 6 * GB })).toEqual([
    ['warning', 'No retention policy is set', 'open_storage']
  ])
})
