import { expect, it, vi } from 'vitest'
import { silentLogger } from '../../runtime/logger.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { DueTimer } from './due-timer.ts'

function aTimer(dueInMs: number[]) {
  const clock = createFakeClock()
  const dueMs = dueInMs.map((inMs) => clock.nowMs() + inMs)
  const releasedAtMs: number[] = []
  const startMs = clock.nowMs()
  const releaseDue = vi.fn(async (nowMs: number) => {
    const due = dueMs.filter((atMs) => atMs <= nowMs)
    for (const atMs of due) dueMs.splice(dueMs.indexOf(atMs), 1)
    for (const _ of due) releasedAtMs.push(clock.monotonicMs())
    return { released: due.length, expired: 0, nextDueMs: dueMs.length === 0 ? null : Math.min(...dueMs) }
  })
  const timer = new DueTimer({ store: { releaseDue }, clock, logger: silentLogger })
  return { clock, timer, releaseDue, releasedAtMs, add: (inMs: number) => dueMs.push(startMs + inMs) }
}

it('reads the queue when the next item is due, not earlier', async () => {
  const { clock, timer, releaseDue, releasedAtMs } = aTimer([5_000, 20_000])
  timer.scan()
  await clock.advanceBy(60_000)
  expect(releasedAtMs).toEqual([5_000, 20_000])
  expect(releaseDue).toHaveBeenCalledTimes(3)
  expect(clock.timerCount()).toBe(0)
})

it('repeated checks run at most once a second, and find an earlier time', async () => {
  const { clock, timer, releaseDue, releasedAtMs, add } = aTimer([20_000])
  timer.scan()
  await clock.advanceBy(100)
  add(4_000)
  for (let count = 0; count < 50; count += 1) timer.scan()
  await clock.advanceBy(10_000)
  expect(releasedAtMs).toEqual([4_000])
  expect(releaseDue).toHaveBeenCalledTimes(3)
})

it('notices when the wall clock is set forward', async () => {
  const { clock, timer, releasedAtMs } = aTimer([3_600_000])
  timer.scan()
  await clock.advanceBy(1_000)
  clock.jumpWallBy(3_600_000)
  await clock.advanceBy(30_000)
  expect(releasedAtMs).toEqual([30_000])
})

it('tries again after a failure, unless it was stopped', async () => {
  const { clock, timer, releaseDue, releasedAtMs } = aTimer([0])
  releaseDue.mockRejectedValueOnce(new Error('disk full'))
  timer.scan()
  await clock.advanceBy(2_000)
  expect(releasedAtMs).toEqual([1_000])
  timer.stop()
  timer.scan()
  await clock.advanceBy(60_000)
  expect(releaseDue).toHaveBeenCalledTimes(2)
  expect(clock.timerCount()).toBe(0)
})
