import { aScheduleId } from '../../../shared/testing/ids.ts'
import { describe, expect, it } from 'vitest'
import { ScheduleTiming } from '../../../shared/contract/index.ts'
import { loadByMinute, upcomingMoments } from './schedule-outlook.ts'

const DAY_MS = 86_400_000
const FROM_MS = Date.parse('2026-11-21T12:00:00Z')
const DAY = { fromMs: FROM_MS, untilMs: FROM_MS + DAY_MS }

const everySeconds = (seconds: number) =>
  ScheduleTiming.parse({ zone: 'UTC', rules: [{ kind: 'interval', everySeconds: seconds, anchorMs: FROM_MS }] })
const loading = (id: string, seconds: number) => ({
  id: aScheduleId(id),
  timing: everySeconds(seconds),
  offsetMs: 0,
  jobs: 2
})

/** Every reading of this clock exceeds the time limit of a turn. Counts the turns that other work gets. */
function slowWorld() {
  let nowMs = 0
  let turns = 0
  let isOver = false
  const count = () => {
    turns += 1
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  return {
    clock: { monotonicMs: () => (nowMs += 10) },
    end() {
      isOver = true
      return turns
    }
  }
}

describe('the load of schedules', () => {
  it('counts every firing of a schedule that fires each second, and yields to other work in between', async () => {
    const world = slowWorld()
    const minutes = await loadByMinute([loading('a', 1), loading('b', 3_600)], DAY, { ...world, limit: 100_000 })
    // 86 slices of a thousand, and one for the day of the other schedule.
    expect(world.end()).toBeGreaterThanOrEqual(87)
    expect(minutes).toHaveLength(1_440)
    expect(minutes.slice(0, 2)).toEqual([
      { atMs: FROM_MS, firings: 61, jobs: 122 },
      { atMs: FROM_MS + 60_000, firings: 60, jobs: 120 }
    ])
  })

  it('refuses to count more than the limit, with an explanation, instead of leaving out schedules', async () => {
    const clock = { monotonicMs: () => 0 }
    const both = [loading('a', 60), loading('b', 60)]
    await expect(loadByMinute(both, DAY, { clock, limit: 2_879 })).rejects.toMatchObject({
      code: 'BAD_INPUT',
      message: expect.stringContaining('2,879 times')
    })
    expect(await loadByMinute(both, DAY, { clock, limit: 2_880 })).toHaveLength(1_440)
  })
})

it('a calendar yields to other work between schedules', async () => {
  const world = slowWorld()
  const schedules = Array.from({ length: 100 }, (_, index) => ({
    id: aScheduleId(String(index)),
    timing: everySeconds(DAY_MS / 1_000)
  }))
  const { moments } = await upcomingMoments(schedules, DAY, { ...world, limit: 5_000 })
  expect(moments).toHaveLength(100)
  expect(world.end()).toBeGreaterThanOrEqual(100)
})
