import { describe, expect, it } from 'vitest'
import { WITHOUT_FILES } from '../engine/access/run-rights.ts'
import { openWithLimitedUser } from './testing/limited-client.ts'

const RUN = { project: 'shop', spiders: ['x'] }
const INTERVAL = { rules: [{ kind: 'interval' as const, everySeconds: 3_600, anchorMs: 0 }], zone: 'UTC', name: 'n' }
const REFUSED = { code: 'ROLE_REQUIRED', message: expect.stringContaining('in all projects') }

describe('a user who has a role in one project', () => {
  it('cannot take slots from others by its weight, and can change all other settings', async () => {
    const { client, limited } = await openWithLimitedUser({ shop: 'deployer' })
    const change = (settings: object) => limited.projects.changeSettings({ project: 'shop', settings } as never)
    await expect(change({ weight: 100 })).rejects.toMatchObject(REFUSED)
    const { settings } = await limited.projects.get({ project: 'shop' })
    const heavy = { project: 'shop', settings: { ...settings, weight: 2 } }
    await expect(limited.projects.configure(heavy)).rejects.toMatchObject(REFUSED)
    await client.projects.changeSettings({ project: 'shop', settings: { weight: 3 } } as never)
    expect((await change({ noOverlap: true })).settings).toMatchObject({ weight: 3, noOverlap: true })
    await expect(change({ defaults: { priority: 1 } })).rejects.toMatchObject(REFUSED)
    expect((await change({ defaults: { priority: -1 } })).settings.defaults.priority).toBe(-1)
    const high = { spiderDefaults: { x: { ...settings.defaults, priority: 5 } } }
    await client.projects.changeSettings({ project: 'shop', settings: high } as never)
    await expect(change({ defaults: { priority: 5 } })).rejects.toMatchObject(REFUSED)
    expect((await change({ noOverlap: false })).settings).toMatchObject({ noOverlap: false })
  })

  it('cannot put its jobs before those of others, but behind them', async () => {
    const { client, limited } = await openWithLimitedUser({ shop: 'operator' })
    const high = { ...RUN, priority: 1 }
    await expect(limited.jobs.run(high)).rejects.toMatchObject(REFUSED)
    await expect(limited.jobs.runMany({ jobs: [{ project: 'shop', spider: 'x', priority: 9 }] })).rejects.toMatchObject(
      REFUSED
    )
    await expect(limited.schedules.create({ ...INTERVAL, jobs: [high] })).rejects.toMatchObject(REFUSED)
    const chain = { name: 'c', project: 'shop', spider: '*', on: 'ended' as const }
    await expect(limited.chains.create({ ...chain, run: high })).rejects.toMatchObject(REFUSED)
    const later = { notBeforeMs: 1_900_000_000_000 }
    const { id } = (await limited.jobs.run({ ...RUN, ...later, priority: -1 })).jobs[0]!
    await expect(limited.jobs.setPriority({ ids: [id], priority: 1 })).rejects.toMatchObject(REFUSED)
    expect((await limited.jobs.setPriority({ ids: [id], priority: 0 })).changed).toEqual([id])
    expect((await client.jobs.list({})).jobs).toHaveLength(1)
    const first = (await client.jobs.run({ ...RUN, ...later, priority: 5 })).jobs[0]!.id
    await expect(limited.jobs.reorder({ ids: [id], to: { before: first } })).rejects.toMatchObject(REFUSED)
    await client.jobs.cancel({ ids: [first] })
    expect((await limited.jobs.retry({ ids: [first] })).jobs).toMatchObject([{ priority: 0 }])
    expect((await client.jobs.retry({ ids: [first] })).jobs).toMatchObject([{ priority: 5 }])
  })
})

describe('an operator of one project, with a schedule to which an owner gave a high priority,', () => {
  const high = { ...INTERVAL, jobs: [{ ...RUN, priority: 50 }] }

  it('runs it now without the priority, unlike the owner', async () => {
    const { client, limited, clock } = await openWithLimitedUser({ shop: 'operator' })
    const { id } = (await client.schedules.create(high)).schedule
    const priorityOf = async (by: typeof client) => {
      await clock.advanceBy(1_000)
      const { jobIds } = (await by.schedules.runNow({ id })).firing
      return (await client.jobs.get({ id: jobIds[0]! })).job.priority
    }
    expect([await priorityOf(limited), await priorityOf(client)]).toEqual([0, 50])
  })

  it('backfills it without the priority, unlike the owner', async () => {
    const { client, limited, clock } = await openWithLimitedUser({ shop: 'operator' })
    const { id } = (await client.schedules.create(high)).schedule
    await client.schedules.setPaused({ ids: [id], paused: true, note: null })
    const nowMs = clock.nowMs()
    const priorityOf = async (by: typeof client, hours: number) => {
      const fromMs = nowMs - hours * 3_600_000
      await by.schedules.backfill({ id, fromMs, untilMs: fromMs + 3_600_000 - 1 })
      return (await client.jobs.list({})).jobs[0]!.priority
    }
    expect(await priorityOf(limited, 40)).toBe(0)
    await limited.schedules.cancelBackfill({ id, cancelJobs: true })
    expect(await priorityOf(client, 20)).toBe(50)
  })
})

describe('an operator', () => {
  it.each([
    ['crawl', ['file:///etc/passwd']],
    ['crawl', ['https://shop.example/', ' FILE:/etc/passwd']],
    ['crawl', ['s3://bucket/key']],
    ['crawl', ['data:text/html,x']]
  ])('cannot order %s of %s, once or repeatedly', async (_name, start_urls) => {
    const { client, limited } = await openWithLimitedUser({ shop: 'operator' })
    const order = { project: 'shop', spider: 'x', start_urls }
    for (const more of [{}, { interval: 3_600 }]) {
      await expect(limited.crawl({ ...order, ...more })).rejects.toMatchObject({
        code: 'ROLE_REQUIRED',
        message: expect.stringContaining('read files of its node')
      })
    }
    await limited.crawl({ ...order, start_urls: ['https://shop.example/file:1', 'shop.example'], interval: 3_600 })
    const id = (await client.crawlOrders.list({})).orders[0]!.schedule_id!
    const single = await limited.crawl({ project: 'shop', spider: 'x', schedule_at: '2100-01-01T00:00:00Z' })
    for (const one of [id, single.body.job_id!])
      await expect(limited.crawlOrders.update({ id: one, start_urls })).rejects.toMatchObject({ code: 'ROLE_REQUIRED' })
  })

  it('orders nothing that reads files, even after a user with more rights has changed another part of the order', async () => {
    const { client, limited } = await openWithLimitedUser({ shop: 'operator' })
    const later = await limited.crawl({ project: 'shop', spider: 'x', schedule_at: '2100-01-01T00:00:00Z' })
    const id = later.body.job_id!
    expect(await client.crawlOrders.update({ id, depth: 1 })).toMatchObject({ job_id: id, depth: 1 })
    expect((await client.jobs.get({ id })).job.settings).toEqual({ DEPTH_LIMIT: '1', ...WITHOUT_FILES })
  })

  it('cannot name a file of a node in the arguments of a run either; a deployer can', async () => {
    const { limited } = await openWithLimitedUser({ shop: 'operator', news: 'deployer' })
    const run = { spiders: ['x'], args: { page: 'file:///var/lib/scrapdeck/credentials.json' } }
    await expect(limited.jobs.run({ project: 'shop', ...run })).rejects.toMatchObject({ code: 'ROLE_REQUIRED' })
    expect((await limited.jobs.run({ project: 'news', ...run })).jobs).toHaveLength(1)
    const profile = { ...RUN, args: { page: 'https://shop.example/profile:1' } }
    expect((await limited.jobs.run(profile)).jobs).toHaveLength(1)
  })
})
