import { beforeEach, expect, test } from 'vitest'
import { createFakeClock, type FakeClock } from '../testing/fake-clock.ts'
import { lateProblems } from '../monitoring/health/schedule-problems.ts'
import { ScheduleWatchdog } from './watchdog.ts'

let clock: FakeClock
let dueMs: number | null
let changes: number
let watchdog: ScheduleWatchdog

beforeEach(() => {
  clock = createFakeClock()
  dueMs = null
  changes = 0
  watchdog = new ScheduleWatchdog({ clock, dueSinceMs: () => dueMs })
  watchdog.events.on('changed', () => (changes += 1))
  watchdog.start()
})

test('a schedule that stays due is late after five minutes, and no longer once it has fired', async () => {
  await clock.advanceBy(60_000)
  dueMs = clock.nowMs() - 1
  await clock.advanceBy(300_000)
  expect(watchdog.lateSinceMs()).toBeNull()
  await clock.advanceBy(60_000)
  expect(watchdog.lateSinceMs()).toBe(dueMs)
  expect(lateProblems(dueMs)).toMatchObject([{ id: 'schedules-late', severity: 'error' }])
  dueMs = null
  await clock.advanceBy(60_000)
  expect([watchdog.lateSinceMs(), changes]).toEqual([null, 2])
  expect(lateProblems(null)).toEqual([])
})

test('many schedules that are due one after another are not late, and neither is one from before a start', async () => {
  for (let minute = 0; minute < 20; minute += 1) {
    dueMs = clock.nowMs() + 59_000
    await clock.advanceBy(60_000)
  }
  expect(changes).toBe(0)
  dueMs = clock.nowMs() + 1
  await clock.advanceBy(240_000)
  expect(watchdog.lateSinceMs()).toBeNull()
  watchdog.stop()
  await clock.advanceBy(6_000_000)
  expect(watchdog.lateSinceMs()).toBeNull()
})
