import { expect } from 'vitest'
import { every, it, START_MS } from './testing/schedule-fixtures.ts'
import { ScheduleWatchdog } from './watchdog.ts'

it('a schedule whose firings cannot be written is reported as late after five minutes, until they can', async ({
  world
}) => {
  let isBroken = false
  await world.scheduler.stop()
  world.scheduler = world.another({
    store: new Proxy(world.store, {
      get: (target, name) => {
        if (name === 'fire' && isBroken) return () => Promise.reject(new Error('the disk is full'))
        const value: unknown = Reflect.get(target, name)
        return typeof value === 'function' ? value.bind(target) : value
      }
    })
  })
  await world.scheduler.start()
  const watchdog = new ScheduleWatchdog({ clock: world.clock, dueSinceMs: () => world.scheduler.dueSinceMs() })
  watchdog.start()
  await world.add({ rules: every(60) })
  await world.add({ rules: every(60) }, { paused: true })
  await world.clock.advanceBy(400_000)
  expect([world.scheduler.dueSinceMs(), watchdog.lateSinceMs()]).toEqual([null, null])
  isBroken = true
  const dueMs = START_MS + 420_000
  await world.clock.advanceBy(200_000)
  expect([world.scheduler.dueSinceMs(), watchdog.lateSinceMs()]).toEqual([dueMs, null])
  await world.clock.advanceBy(250_000)
  expect(watchdog.lateSinceMs()).toBe(dueMs)
  isBroken = false
  await world.clock.advanceBy(70_000)
  expect([world.scheduler.dueSinceMs(), watchdog.lateSinceMs()]).toEqual([null, null])
  watchdog.stop()
})
