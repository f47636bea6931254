import { expect, test } from 'vitest'
import { sleep } from '../runtime/clock.ts'
import { createFakeClock } from './fake-clock.ts'

test('timers run in the order of their times, and in the order of setting if the times are equal', async () => {
  const clock = createFakeClock()
  const ran: [string, number][] = []
  const set = (name: string, delayMs: number) => clock.setTimer(delayMs, () => ran.push([name, clock.monotonicMs()]))
  set('late', 30)
  set('first', 10)
  set('second', 10)
  set('never', 51)
  await clock.advanceBy(50)
  expect(ran).toEqual([
    ['first', 10],
    ['second', 10],
    ['late', 30]
  ])
  expect([clock.monotonicMs(), clock.timerCount()]).toEqual([50, 1])
})

test('a timer that another timer sets runs in the same advance, if it is due', async () => {
  const clock = createFakeClock(1000)
  const ticks: number[] = []
  async function loop() {
    for (;;) {
      await sleep(clock, 10)
      ticks.push(clock.nowMs())
    }
  }
  void loop()
  await clock.advanceBy(35)
  expect(ticks).toEqual([1010, 1020, 1030])
})

test('a jump of the wall clock runs no timer', async () => {
  const clock = createFakeClock(1000)
  let ran = false
  clock.setTimer(10, () => {
    ran = true
  })
  clock.jumpWallBy(-500)
  await clock.advanceBy(9)
  expect([clock.nowMs(), clock.monotonicMs(), ran]).toEqual([509, 9, false])
})
