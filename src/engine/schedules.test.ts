import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { SECRET_MASK, ScheduleSettings } from '../shared/contract/index.ts'
import { type EngineWithFakeNode, openEngineWithFakeNode } from './testing/engine-with-fake-node.ts'

const MINUTE_MS = 60_000
const STEP_MS = 20_000
let house: EngineWithFakeNode

beforeEach(async () => {
  house = await openEngineWithFakeNode()
  await house.prepare()
})

afterEach(() => house.remove())

const settings = (over: Partial<ScheduleSettings> = {}): ScheduleSettings =>
  ScheduleSettings.parse({
    name: 'often',
    zone: 'UTC',
    rules: [{ kind: 'cron', expression: '*/20 * * * * *' }],
    jobs: [{ project: 'shop', spiders: ['prices'] }],
    overlap: 'allow',
    ...over
  })
const jobsOf = async (scheduleId: string) => (await house.client.jobs.list({ scheduleId })).jobs

describe('schedules in a complete engine', () => {
  it('fire on time, pass on their nominal time and secrets, and show how their runs went', async () => {
    const template = settings().jobs[0]!
    const jobs = [{ ...template, args: { day: '{nominal:yyyy-MM-dd}', token: 'abc' }, secretNames: ['token'] }]
    const { schedule } = await house.client.schedules.create(settings({ jobs }))
    expect(schedule.jobs[0]?.args['token']).toBe(SECRET_MASK)
    await house.until(async () => (await jobsOf(schedule.id)).length > 0)
    const [job] = await jobsOf(schedule.id)
    const nominalMs = job!.nominalMs!
    expect(nominalMs % STEP_MS).toBe(0)
    const day = new Date(nominalMs).toISOString().slice(0, 10)
    expect(job).toMatchObject({ source: 'schedule', args: { day, token: SECRET_MASK } })
    await house.until(async () => house.node.running.length > 0)
    expect(house.node.running[0]).toMatchObject({ jobid: job!.id, args: { day, token: 'abc' } })
    house.node.end(job!.id)
    await house.until(async () => (await house.client.jobs.get({ id: job!.id })).job.state === 'ended')
    const told = await house.client.schedules.get({ id: schedule.id })
    expect(told.nextNominalMs).toBe(told.recent[0]!.nominalMs + STEP_MS)
    const fired = { nominalMs, state: 'fired', reason: 'on_time', jobIds: [job!.id], outcome: 'succeeded' }
    expect(told.recent.at(-1)).toMatchObject(fired)
  })

  it('send changes to subscribers: of the schedule, of its firing, and of its end', async () => {
    const stop = new AbortController()
    const told: string[] = []
    const stream = await house.client.events.subscribe({}, { signal: stop.signal })
    const reading = (async () => {
      for await (const { changes } of stream) {
        for (const change of changes) {
          if (change.kind === 'schedule') told.push(`${change.schedule.name} ran ${change.schedule.runCount} times`)
          if (change.kind === 'schedule_removed') told.push('removed')
        }
      }
    })().catch(() => 'stopped')
    const { schedule } = await house.client.schedules.create(settings())
    await house.until(async () => told.includes('often ran 1 times'))
    await house.client.schedules.remove({ ids: [schedule.id] })
    await house.until(async () => told.at(-1) === 'removed')
    expect(told[0]).toBe('often ran 0 times')
    stop.abort()
    await reading
  })

  it('record what they missed while the engine was off, report a problem, and never fire twice for one time', async () => {
    const { schedule } = await house.client.schedules.create(settings({ catchUp: 'none' }))
    await house.until(async () => (await jobsOf(schedule.id)).length > 0)
    await house.restart(10 * MINUTE_MS)
    const missed = async () => (await house.client.schedules.firings({ state: ['missed'] })).firings
    await house.until(async () => (await missed()).length > 0)
    expect((await missed()).reduce((sum, { count }) => sum + count, 0)).toBeGreaterThanOrEqual(20)
    const problems = async () => (await house.client.system.status()).problems
    await house.until(async () => (await problems()).length > 0)
    expect((await problems())[0]).toMatchObject({ scheduleId: schedule.id, mend: 'open_schedules' })
    const { firings } = await house.client.schedules.firings({ scheduleId: schedule.id, state: ['fired'] })
    expect(new Set(firings.map(({ nominalMs }) => nominalMs)).size).toBe(firings.length)
    expect((await jobsOf(schedule.id)).length).toBe(firings.length)
  })

  it('without their spider record a failed firing with the reason, and report a problem', async () => {
    const jobs = [{ ...settings().jobs[0]!, spiders: ['prizes'] }]
    const { schedule } = await house.client.schedules.create(settings({ jobs }))
    await house.until(async () => (await house.client.system.status()).problems.length > 0)
    const [firing] = (await house.client.schedules.get({ id: schedule.id })).recent
    expect(firing).toMatchObject({ state: 'failed', reason: 'refused', jobIds: [], outcome: null })
    expect(firing?.text).toContain('prizes')
    await expect(house.client.schedules.runNow({ id: schedule.id })).rejects.toMatchObject({ code: 'SPIDER_NOT_FOUND' })
  })
})
