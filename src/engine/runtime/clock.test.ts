import { expect, onTestFinished, test, vi } from 'vitest'
import { createFakeClock } from '../testing/fake-clock.ts'
import { Alarm, sleep, systemClock, unlessAborted, within } from './clock.ts'

test('a sleep ends at its time', async () => {
  const clock = createFakeClock()
  let woke = false
  void sleep(clock, 100).then(() => {
    woke = true
  })
  await clock.advanceBy(99)
  expect(woke).toBe(false)
  await clock.advanceBy(1)
  expect(woke).toBe(true)
})

test('an aborted sleep ends at once and leaves no timer', async () => {
  const clock = createFakeClock()
  const controller = new AbortController()
  const sleeping = sleep(clock, 100, controller.signal)
  controller.abort()
  await sleeping
  await sleep(clock, 100, controller.signal)
  expect(clock.timerCount()).toBe(0)
})

test('work that ends within its limit keeps its result, and leaves no timer', async () => {
  const clock = createFakeClock()
  expect(await within(clock, 100, Promise.resolve('done'), () => 'late')).toBe('done')
  await expect(within(clock, 100, Promise.reject(new Error('no')), () => 'late')).rejects.toThrow('no')
  expect(clock.timerCount()).toBe(0)
})

test('work that takes longer settles as the limit says, and may fail later unnoticed', async () => {
  const clock = createFakeClock()
  const work = Promise.withResolvers<string>()
  const first = within(clock, 100, work.promise, () => 'late')
  const second = within(clock, 100, work.promise, () => {
    throw new Error('too late')
  })
  second.catch(() => {})
  await clock.advanceBy(100)
  expect(await first).toBe('late')
  await expect(second).rejects.toThrow('too late')
  work.reject(new Error('failed later'))
})

test('work ends with the reason of an abort, before or during it, else with its own result', async () => {
  const never = new Promise<void>(() => {})
  const controller = new AbortController()
  const waiting = unlessAborted(controller.signal, never)
  expect(await unlessAborted(controller.signal, Promise.resolve(1))).toBe(1)
  controller.abort(new Error('enough'))
  await expect(waiting).rejects.toThrow('enough')
  await expect(unlessAborted(controller.signal, never)).rejects.toThrow('enough')
})

function anAlarm() {
  const clock = createFakeClock()
  const rungAtMs: number[] = []
  const startMs = clock.monotonicMs()
  const alarm = new Alarm(clock, () => rungAtMs.push(clock.monotonicMs() - startMs))
  return { clock, alarm, rungAtMs }
}

test('an alarm rings once, at the earliest time that it was set to, and can then be set again', async () => {
  const { clock, alarm, rungAtMs } = anAlarm()
  alarm.set(100)
  alarm.set(40)
  alarm.set(70)
  expect(clock.timerCount()).toBe(1)
  await clock.advanceBy(200)
  expect([rungAtMs, alarm.isSet]).toEqual([[40], false])
  alarm.set(30)
  await clock.advanceBy(30)
  expect(rungAtMs).toEqual([40, 230])
})

test('an alarm that rings at once does not ring again at the time that it was set to', async () => {
  const { clock, alarm, rungAtMs } = anAlarm()
  alarm.set(100)
  alarm.ringNow()
  expect([rungAtMs, alarm.isSet]).toEqual([[0], false])
  await clock.advanceBy(200)
  expect(rungAtMs).toEqual([0])
})

test('a stopped alarm does not ring, whatever it is set to afterwards', async () => {
  const { clock, alarm, rungAtMs } = anAlarm()
  alarm.set(100)
  alarm.stop()
  alarm.set(10)
  alarm.ringNow()
  await clock.advanceBy(200)
  expect([rungAtMs, clock.timerCount()]).toEqual([[], 0])
})

test('the real clock calls a timer once, unless it was cancelled', async () => {
  const called: string[] = []
  systemClock.setTimer(1, () => called.push('cancelled')).cancel()
  await new Promise<void>((resolve) => {
    systemClock.setTimer(5, () => {
      called.push('kept')
      resolve()
    })
    // The tested timer does not keep the process alive, so this one does.
    setTimeout(() => {}, 50)
  })
  expect(called).toEqual(['kept'])
})

test('the real clock can wait for months', () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const dayMs = 86_400_000
  let called = 0
  systemClock.setTimer(90 * dayMs, () => {
    called += 1
  })
  const cancelled = systemClock.setTimer(60 * dayMs, () => {
    called += 100
  })
  vi.advanceTimersByTime(59 * dayMs)
  cancelled.cancel()
  vi.advanceTimersByTime(30.9 * dayMs)
  expect(called).toBe(0)
  vi.advanceTimersByTime(dayMs)
  expect(called).toBe(1)
})
