import { expect, it } from 'vitest'
import { ScheduleSettings } from '../../shared/contract/index.ts'
import { createFakeEngine } from './fake-engine.ts'

const START_MS = Date.UTC(2027, 0, 15, 3)
const MINUTE_MS = 60_000

// As the engine: src/engine/commands/schedule-commands.test.ts.
it('spans end before their end, the calendar is without jitter and the load with it', async () => {
  const { client } = createFakeEngine({ firstRun: true, jobCount: 0 })
  const jobs = [{ project: 'prices', spiders: ['otto'] }]
  const create = (name: string, rule: object, jitterSeconds: number) =>
    client.schedules.create(ScheduleSettings.parse({ name, zone: 'UTC', rules: [rule], jobs, jitterSeconds }))
  await create('each minute', { kind: 'cron', expression: '* * * * *' }, 0)
  // The fake's jitter is 0.4 of what it may be.
  const { schedule } = await create('once', { kind: 'once', atMs: START_MS }, 150)
  expect(schedule).toMatchObject({ nextNominalMs: START_MS, nextAtMs: START_MS + MINUTE_MS })
  const span = { fromMs: START_MS, untilMs: START_MS + 2 * MINUTE_MS }
  const { moments } = await client.schedules.calendar(span)
  expect(moments.map(({ atMs }) => atMs - START_MS)).toEqual([0, 0, MINUTE_MS])
  const { minutes } = await client.schedules.load(span)
  expect(minutes.map(({ atMs, firings }) => [atMs - START_MS, firings])).toEqual([
    [0, 1],
    [MINUTE_MS, 2]
  ])
})
