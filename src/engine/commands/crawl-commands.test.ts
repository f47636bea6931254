import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  CrawlInput,
  CrawlOutput,
  DEFAULT_PROJECT_SETTINGS,
  type Schedule,
  type ScheduleSettings
} from '../../shared/contract/index.ts'
import { aProjectName, branded } from '../../shared/testing/ids.ts'
import type { Dispatch } from '../dispatch/dispatch.ts'
import { WaitingReasons } from '../queue/waiting-reasons.ts'
import { createJobIds } from '../runtime/ids.ts'
import { aVersion } from '../testing/builders.ts'
import { createFakeClock, type FakeClock } from '../testing/fake-clock.ts'
import { createSeededRandom } from '../testing/seeded-random.ts'
import { openTemporaryStore, type TemporaryStore } from '../testing/temporary-store.ts'
import { CrawlCommands } from './crawl-commands.ts'
import { JobCommands } from './job-commands.ts'
import { asSealedText } from '../runtime/secret-box.ts'

let temporary: TemporaryStore
let clock: FakeClock
let commands: CrawlCommands
let schedules: ScheduleSettings[]
const spiders: Record<string, string[]> = { shop: ['prices', 'stock'], news: ['stock', 'front_page'] }

beforeEach(async () => {
  clock = createFakeClock()
  temporary = await openTemporaryStore({ clock, inMemory: true })
  const jobCommands = new JobCommands({
    store: temporary.store,
    fleet: { get: () => undefined },
    projects: { catalog: { resolve: () => aVersion() }, settingsOf: () => DEFAULT_PROJECT_SETTINGS },
    dispatch: { wake: () => {} } as Dispatch,
    waiting: new WaitingReasons(),
    secretBox: { seal: async (text) => asSealedText(text) },
    clock,
    newJobId: createJobIds(clock, createSeededRandom(1))
  })
  schedules = []
  const made = (settings: ScheduleSettings) =>
    ({
      ...settings,
      id: String(schedules.indexOf(settings)).padStart(32, '0'),
      createdAtMs: clock.nowMs(),
      nextAtMs: settings.startMs
    }) as Schedule
  commands = new CrawlCommands({
    jobCommands,
    catalog: {
      names: () => branded(Object.keys(spiders).map(aProjectName)),
      hasActiveSpider: (project, spider) => spiders[project]?.includes(spider) ?? false
    },
    clock,
    async findSchedule(name) {
      const found = schedules.findLast((one) => one.name === name)
      return found === undefined ? null : made(found)
    },
    async createSchedule(settings) {
      schedules.push(settings)
      return made(settings)
    }
  })
})

afterEach(() => temporary.remove())

/** As it comes through a door: read by its schema, and the answer held against its own. */
const crawl = async (order: unknown) => CrawlOutput.parse(await commands.crawl(CrawlInput.parse(order)))
const queued = async () => (await temporary.store.countByState()).queued

describe('a crawl order', () => {
  it('becomes a job: addresses as one argument, depth as a setting, parameters as arguments', async () => {
    const urls = ['https://shop.example/a?x=1,2', 'https://shop.example/{b}']
    const { status, body } = await crawl({
      ...{ spider: 'prices', start_urls: urls, depth: 2, params: { currency: 'EUR', pages: 3, deep: true } }
    })
    expect([status, body.cached, body.cached_at]).toEqual([200, false, null])
    expect(await temporary.store.getJob(body.job_id!)).toMatchObject({
      project: 'shop',
      spider: 'prices',
      settings: { DEPTH_LIMIT: '2' },
      args: { start_urls: JSON.stringify(urls), currency: 'EUR', pages: '3', deep: 'true' },
      source: 'crawl'
    })
  })

  it('that a thousand clients send at the same time makes one job', async () => {
    const order = { user_id: 'ann', project: 'shop', spider: 'prices', start_urls: ['https://shop.example/'] }
    const answers = await Promise.all(Array.from({ length: 1_000 }, () => crawl(order)))
    expect(new Set(answers.map(({ body }) => body.job_id)).size).toBe(1)
    expect(answers.filter(({ body }) => !body.cached)).toHaveLength(1)
    expect(await queued()).toBe(1)
  })

  it('is answered with the earlier job for as long as it asked for, then with a new one', async () => {
    const madeAt = new Date(clock.nowMs()).toISOString()
    const first = await crawl({ spider: 'prices', cache_seconds: 60 })
    await clock.advanceBy(59_000)
    const again = await crawl({ spider: 'prices', params: {} })
    expect(again).toEqual({ status: 200, body: { job_id: first.body.job_id, cached: true, cached_at: madeAt } })
    await clock.advanceBy(2_000)
    expect((await crawl({ spider: 'prices' })).body).toMatchObject({ cached: false })
    expect(await queued()).toBe(2)
  })

  it('of another user, of other parameters or of another time is another order; the order of parameters is not', async () => {
    const orders = [
      { spider: 'prices', params: { a: '1', b: '2' } },
      { spider: 'prices', params: { b: '2', a: '1' } },
      { spider: 'prices', params: { a: '2', b: '1' } },
      { spider: 'prices', params: { a: '1', b: '2' }, user_id: 'bob' },
      { spider: 'prices', params: { a: '1', b: '2' }, depth: 1 },
      { spider: 'prices', params: { a: '1', b: '2' }, schedule_at: '2100-01-01T00:00:00Z' }
    ]
    for (const order of orders) await crawl(order)
    expect(await queued()).toBe(5)
  })

  it('that ignores what was made before is what later orders are answered with', async () => {
    const first = await crawl({ spider: 'prices' })
    const fresh = await crawl({ spider: 'prices', ignore_cache: true })
    expect(fresh.body.job_id).not.toBe(first.body.job_id)
    expect((await crawl({ spider: 'prices' })).body).toMatchObject({ job_id: fresh.body.job_id, cached: true })
  })

  it('for later is a job that waits for its time; for a time that is over, one for now', async () => {
    const atMs = Math.floor(clock.nowMs() / 1000) * 1000 + 3_600_000
    const later = await crawl({ spider: 'prices', schedule_at: new Date(atMs).toISOString() })
    expect(later).toMatchObject({ status: 202, body: { next_run: new Date(atMs).toISOString(), schedule_id: null } })
    expect(await temporary.store.getJob(later.body.job_id!)).toMatchObject({ notBeforeMs: atMs, hold: 'not_before' })
    expect((await crawl({ spider: 'prices', schedule_at: 5 })).status).toBe(200)
  })

  it('to be repeated becomes one schedule, however many ask for it at once or again', async () => {
    const order = { spider: 'prices', interval: '30m', params: { text: 'a {nominal} b' } }
    const answers = await Promise.all(Array.from({ length: 20 }, () => crawl(order)))
    expect(schedules).toMatchObject([
      {
        rules: [{ kind: 'interval', everySeconds: 1_800, anchorMs: clock.nowMs() + 1_000 }],
        jobs: [{ project: 'shop', spiders: ['prices'], args: { text: 'a {{nominal} b' } }]
      }
    ])
    const first = { job_id: null, schedule_id: '0'.repeat(32), cached: false, cached_at: null }
    expect(answers[0]).toMatchObject({ status: 202, body: first })
    await clock.advanceBy(60_000)
    expect((await crawl(order)).body).toMatchObject({ schedule_id: '0'.repeat(32), cached: true })
    expect(schedules).toHaveLength(1)
  })

  it('for a spider of several projects, or of none, is refused with their names', async () => {
    await expect(crawl({ spider: 'stock' })).rejects.toMatchObject({
      code: 'BAD_INPUT',
      message: expect.stringContaining('shop, news')
    })
    await expect(crawl({ spider: 'stocks' })).rejects.toMatchObject({ code: 'SPIDER_NOT_FOUND' })
    await expect(crawl({ spider: 'prices', start_urls: [], params: { start_urls: 'x' } })).rejects.toMatchObject({
      code: 'BAD_INPUT'
    })
  })

  it.each([
    { interval: '0s' },
    { interval: 1.5 },
    { interval: '9999999d' },
    { schedule_at: 'tomorrow' },
    { depth: -1 }
  ])('with %o is not read', (part) => {
    expect(CrawlInput.safeParse({ spider: 'prices', ...part }).success).toBe(false)
  })
})
