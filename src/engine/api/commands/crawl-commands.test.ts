import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { nextOccurrence } from '../../../shared/calendar/index.ts'
import {
  CrawlChange,
  CrawlInput,
  type CrawlOrder,
  CrawlOutput,
  DEFAULT_PROJECT_SETTINGS,
  type OrderId
} from '../../../shared/contract/index.ts'
import { aProjectName, aScheduleId } from '../../../shared/testing/ids.ts'
import type { Dispatch } from '../../jobs/dispatch/dispatch.ts'
import { WaitingReasons } from '../../jobs/queue/waiting-reasons.ts'
import { createJobIds } from '../../runtime/ids.ts'
import { asSealedText } from '../../runtime/secret-box.ts'
import { anAttemptStart, aStoredSchedule, aVersion } from '../../testing/builders.ts'
import { createFakeClock, type FakeClock } from '../../testing/fake-clock.ts'
import { createSeededRandom } from '../../testing/seeded-random.ts'
import { openTemporaryStore, type TemporaryStore } from '../../testing/temporary-store.ts'
import { CrawlCommands } from './crawl-commands.ts'
import { JobCommands } from './job-commands.ts'
import { ScheduleCommands, type SchedulerControl } from './schedule-commands.ts'
import { ScheduleReads, type SchedulerOutlook } from './schedule-reads.ts'

type CrawlLater = Extract<CrawlOutput, { status: 202 }>['body']

let temporary: TemporaryStore
let clock: FakeClock
let commands: CrawlCommands
let openCommands: (cacheSeconds: number) => CrawlCommands
const spiders: Record<string, string[]> = { shop: ['prices', 'stock'], news: ['stock', 'front_page'] }

beforeEach(async () => {
  clock = createFakeClock()
  temporary = await openTemporaryStore({ clock, inMemory: true })
  const { store } = temporary
  const random = createSeededRandom(1)
  const common = {
    store,
    fleet: { get: () => undefined },
    secretBox: { seal: async (text: string) => asSealedText(text), open: async (text: string) => text },
    clock,
    random
  }
  const jobCommands = new JobCommands({
    ...common,
    projects: { catalog: { resolve: () => aVersion() }, settingsOf: () => DEFAULT_PROJECT_SETTINGS },
    dispatch: { wake: () => {}, cancel: () => {} } as unknown as Dispatch,
    waiting: new WaitingReasons(),
    newJobId: createJobIds(clock, random)
  })
  const next = new Map<string, number | undefined>()
  const scheduler: SchedulerControl & SchedulerOutlook = {
    ...({} as SchedulerControl & SchedulerOutlook),
    async refresh(id) {
      const [schedule] = await store.getSchedules([id])
      next.set(id, schedule && nextOccurrence(schedule.settings, clock.nowMs())?.nominalMs)
    },
    writePaused: async () => undefined,
    nextOf: (id) => (next.get(id) === undefined ? null : { nextAtMs: next.get(id)!, nextNominalMs: next.get(id)! }),
    backfillOf: () => null
  }
  const scheduleReads = new ScheduleReads({ ...common, scheduler, slots: () => 8 })
  const scheduleCommands = new ScheduleCommands({ ...common, scheduler, reads: scheduleReads, onChange: () => {} })
  const catalog = {
    names: () => Object.keys(spiders).map(aProjectName),
    hasActiveSpider: (project: string, spider: string) => spiders[project]?.includes(spider) ?? false
  }
  openCommands = (cacheSeconds) =>
    new CrawlCommands({ ...common, jobCommands, catalog, scheduleCommands, scheduleReads, cacheSeconds })
  commands = openCommands(3_600)
})

afterEach(() => temporary.remove())

const crawl = async (order: unknown) => CrawlOutput.parse(await commands.crawl(CrawlInput.parse(order)))
const change = (part: object) => commands.update(CrawlChange.parse(part))
const orders = async (filter: object = {}) => (await commands.list({ limit: 9, ...filter })).orders
const argsOf = async (order: object) => (await temporary.store.getJob((await crawl(order)).body.job_id!))!.args
const queued = async () => (await temporary.store.countByState()).queued

describe('a crawl order', () => {
  it('becomes a job: addresses as one argument, depth as a setting, parameters as arguments', async () => {
    const urls = ['https://shop.example/a?x=1,2', 'https://shop.example/{b}']
    const { status, body } = await crawl({
      spider: 'prices',
      start_urls: urls,
      depth: 2,
      params: { currency: 'EUR', pages: 3, deep: true }
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

  it('that a thousand clients send at the same time creates one job', async () => {
    const order = { user_id: 'ann', project: 'shop', spider: 'prices', start_urls: ['https://shop.example/'] }
    const answers = await Promise.all(Array.from({ length: 1_000 }, () => crawl(order)))
    expect(new Set(answers.map(({ body }) => body.job_id)).size).toBe(1)
    expect(answers.filter(({ body }) => !body.cached)).toHaveLength(1)
    expect(await queued()).toBe(1)
  })

  it('gets the earlier job for as long as requested, then a new one', async () => {
    const madeAt = new Date(clock.nowMs()).toISOString()
    const first = await crawl({ spider: 'prices', cache_seconds: 60 })
    await clock.advanceBy(59_000)
    const again = await crawl({ spider: 'prices', params: {} })
    expect(again).toEqual({
      status: 200,
      body: { ...first.body, cached: true, cached_at: madeAt }
    })
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

  it('that ignores earlier orders is returned to later ones', async () => {
    const first = await crawl({ spider: 'prices' })
    const fresh = await crawl({ spider: 'prices', ignore_cache: true })
    expect(fresh.body.job_id).not.toBe(first.body.job_id)
    expect((await crawl({ spider: 'prices' })).body).toMatchObject({ job_id: fresh.body.job_id, cached: true })
  })

  it('for a later time is a job that waits for it; for a past time, a job that runs now', async () => {
    const atMs = Math.floor(clock.nowMs() / 1000) * 1000 + 3_600_000
    const later = await crawl({ spider: 'prices', schedule_at: new Date(atMs).toISOString() })
    expect(later).toMatchObject({ status: 202, body: { next_run: new Date(atMs).toISOString(), schedule_id: null } })
    expect(await temporary.store.getJob(later.body.job_id!)).toMatchObject({ notBeforeMs: atMs, hold: 'not_before' })
    expect((await crawl({ spider: 'prices', schedule_at: 5 })).status).toBe(200)
  })

  it('that repeats becomes one schedule, however often it is sent', async () => {
    const order = { spider: 'prices', interval: '30m', params: { text: 'a {nominal} b' }, user_id: 'ann' }
    const answers = await Promise.all(Array.from({ length: 20 }, () => crawl(order)))
    const [schedule, ...others] = await temporary.store.listSchedules()
    expect([schedule!.settings, others]).toMatchObject([
      {
        rules: [{ kind: 'interval', everySeconds: 1_800, anchorMs: clock.nowMs() + 1_000 }],
        jobs: [{ project: 'shop', spiders: ['prices'], args: { text: 'a {{nominal} b' }, userId: 'ann' }]
      },
      []
    ])
    const { id } = schedule!
    const first = { job_id: null, schedule_id: id, scheduled: true, cached: false, cached_at: null }
    expect(answers[0]).toMatchObject({ status: 202, body: { ...first, logs_url: `/api/v1/schedules/${id}/logs` } })
    await clock.advanceBy(60_000)
    expect((await crawl(order)).body).toMatchObject({ schedule_id: id, cached: true })
    expect(await temporary.store.listSchedules()).toHaveLength(1)
    const fresh = await crawl({ ...order, ignore_cache: true })
    expect(fresh.body).toMatchObject({ cached: false })
    expect((await crawl(order)).body).toMatchObject({ schedule_id: (fresh.body as CrawlLater).schedule_id })
  })

  it('can also repeat by a cron expression, in a zone, from a given time on', async () => {
    const order = { spider: 'prices', interval: ' 0 9 * * * ', zone: 'Europe/Berlin' }
    const at = '2040-07-01T10:00:00'
    const { status, body } = await crawl({ ...order, schedule_at: at })
    expect([status, body]).toMatchObject([202, { scheduled: true, next_run: '2040-07-02T07:00:00.000Z' }])
    expect((await temporary.store.listSchedules())[0]!.settings).toMatchObject({
      zone: 'Europe/Berlin',
      rules: [{ kind: 'cron', expression: '0 9 * * *' }],
      startMs: Date.parse('2040-07-01T08:00:00Z')
    })
    const inUtc = await crawl({ spider: 'prices', interval: '0 9 * * *' })
    expect((inUtc.body as CrawlLater).next_run).toMatch(/T09:00:00.000Z$/)
    expect((await crawl({ ...order, schedule_at: at })).body).toMatchObject({ cached: true })
  })

  it.each([
    [{ interval: '0 25 * * *' }, /25/],
    [{ interval: '0 9 * * *', zone: 'Mars/Olympus' }, /Mars/],
    [{ zone: 'Nowhere' }, /Nowhere/]
  ])('with %o is refused by the calendar', async (part, words) => {
    const refused = crawl({ spider: 'prices', ...part })
    await expect(refused).rejects.toMatchObject({ code: 'BAD_INPUT', message: expect.stringMatching(words) })
    expect(await temporary.store.listSchedules()).toEqual([])
  })

  it('treats its addresses as a set: order and repetition make no other order, but the spider gets them as sent', async () => {
    const one = { spider: 'prices', start_urls: ['https://b.example/', 'https://a.example/', 'https://b.example/'] }
    const first = await crawl(one)
    const second = await crawl({ ...one, start_urls: ['https://a.example/', 'https://b.example/'] })
    expect(second.body).toMatchObject({ job_id: first.body.job_id, cached: true })
    expect((await temporary.store.getJob(first.body.job_id!))!.args['start_urls']).toBe(JSON.stringify(one.start_urls))
    expect((await crawl({ ...one, start_urls: ['https://a.example/'] })).body.cached).toBe(false)
  })

  it('passes on nested values, lists and null as JSON text, and text as it is', async () => {
    const params = {
      nested: { b: [1, { c: null }], a: 'x' },
      list: ['a', 2],
      nothing: null,
      text: '{"a": 1}',
      on: true
    }
    expect(await argsOf({ spider: 'prices', params })).toEqual({
      nested: '{"b":[1,{"c":null}],"a":"x"}',
      list: '["a",2]',
      nothing: 'null',
      text: '{"a": 1}',
      on: 'true'
    })
    const again = await crawl({ spider: 'prices', params: { ...params, nested: { a: 'x', b: [1, { c: null }] } } })
    expect(again.body.cached).toBe(true)
  })

  it('stores its user with the job, and accepts a number as the user', async () => {
    const userOf = async (user_id: unknown) =>
      (await temporary.store.getJob((await crawl({ spider: 'prices', user_id })).body.job_id!))!.userId
    expect([await userOf('ann'), await userOf(42), await userOf(undefined)]).toEqual(['ann', '42', null])
    expect(
      (await temporary.store.listJobs({ userId: '42' }, { before: null, limit: 9 })).map((job) => job.userId)
    ).toEqual(['42'])
  })

  it.each([
    [{ http_cache: true }, { HTTPCACHE_ENABLED: 'True', HTTPCACHE_EXPIRATION_SECS: '3600' }],
    [
      { http_cache: true, cache_seconds: 60 },
      { HTTPCACHE_ENABLED: 'True', HTTPCACHE_EXPIRATION_SECS: '60' }
    ],
    [{ http_cache: true, ignore_cache: true }, { HTTPCACHE_ENABLED: 'False' }],
    [{ ignore_cache: true }, { HTTPCACHE_ENABLED: 'False' }],
    [{ http_cache: false }, { HTTPCACHE_ENABLED: 'False' }],
    [{}, {}]
  ])('with %o runs with %o', async (part, settings) => {
    const { body } = await crawl({ spider: 'prices', ...part })
    expect((await temporary.store.getJob(body.job_id!))!.settings).toEqual(settings)
  })

  it('that ignores the HTTP cache also answers later orders that use it', async () => {
    const fresh = await crawl({ spider: 'prices', http_cache: true, ignore_cache: true })
    const later = await crawl({ spider: 'prices', http_cache: true })
    expect(later.body).toMatchObject({ job_id: fresh.body.job_id, cached: true })
  })

  it('is remembered for the default time of the server unless it sets its own; 0 turns that off', async () => {
    commands = openCommands(60)
    const first = await crawl({ spider: 'prices' })
    const own = await crawl({ spider: 'stock', project: 'shop', cache_seconds: 600 })
    await clock.advanceBy(61_000)
    expect((await crawl({ spider: 'prices' })).body.job_id).not.toBe(first.body.job_id)
    expect((await crawl({ spider: 'stock', project: 'shop' })).body.job_id).toBe(own.body.job_id)
    commands = openCommands(0)
    const answers = [await crawl({ spider: 'front_page' }), await crawl({ spider: 'front_page', http_cache: true })]
    expect(answers.map(({ body }) => body.cached)).toEqual([false, false])
    expect((await temporary.store.getJob(answers[1]!.body.job_id!))!.settings).toMatchObject({
      HTTPCACHE_EXPIRATION_SECS: '3600'
    })
  })

  it('is refused for a spider of several projects, with their names, or of none', async () => {
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
    { interval: 'every day' },
    { interval: '0 9 * *' },
    { schedule_at: 'tomorrow' },
    { user_id: 'a\u200bnn' },
    { user_id: 1.5 },
    { depth: -1 }
  ])('with %o is refused as invalid', (part) => {
    expect(CrawlInput.safeParse({ spider: 'prices', ...part }).success).toBe(false)
  })
})

describe('a repeated order', () => {
  const daily = {
    user_id: 'ann',
    spider: 'prices',
    start_urls: ['https://b.example/{x}', 'https://a.example/'],
    depth: 2,
    params: { pages: 3, tags: ['a'], text: '7' },
    interval: '0 9 * * *',
    http_cache: true
  }
  const make = async (order: object = daily) => ((await crawl(order)).body as CrawlLater).schedule_id as OrderId

  it('is listed with all its fields, by user and page by page', async () => {
    const id = await make()
    await make({ ...daily, user_id: 'bob', interval: 600 })
    const madeAt = new Date(clock.nowMs()).toISOString()
    const { interval: _interval, ...same } = daily
    expect(await orders({ user_id: 'ann' })).toEqual([
      {
        ...same,
        job_id: null,
        reason: null,
        schedule_id: id,
        project: 'shop',
        interval: '0 9 * * *',
        zone: 'UTC',
        status: 'pending',
        scheduled_at: madeAt,
        created_at: madeAt,
        updated_at: madeAt,
        next_run: expect.stringMatching(/T09:00:00.000Z$/)
      }
    ])
    expect((await orders()).map(({ user_id, interval }) => [user_id, interval]).sort()).toEqual([
      ['ann', '0 9 * * *'],
      ['bob', 600]
    ])
    const page = await commands.list({ limit: 1 })
    expect(await orders({ after: page.next_after! })).toHaveLength(1)
  })

  it('is listed on a shorter page if it has megabytes of addresses', async () => {
    const start_urls = Array.from({ length: 1_000 }, (_, index) => `https://a.example/${index}/${'x'.repeat(2_000)}`)
    for (const depth of [1, 2, 3, 4, 5]) await make({ spider: 'prices', interval: 60, start_urls, depth })
    const { orders: first, next_after } = await commands.list({ limit: 5 })
    expect(first).toHaveLength(2)
    expect((await commands.list({ limit: 5, after: next_after! })).orders).toHaveLength(2)
  })

  it('can be changed in part, and then matches orders like the new one, not like the old one', async () => {
    const id = await make()
    await clock.advanceBy(5_000)
    const changed = await change({
      id,
      depth: null,
      start_urls: ['https://c.example/'],
      interval: '2h',
      http_cache: null
    })
    expect(changed).toMatchObject({
      depth: null,
      start_urls: ['https://c.example/'],
      interval: 7_200,
      http_cache: null
    })
    expect([changed.params, changed.user_id]).toEqual([daily.params, 'ann'])
    expect(Date.parse(changed.updated_at)).toBe(clock.nowMs())
    const { settings } = (await temporary.store.listSchedules())[0]!
    expect(settings.jobs[0]!.settings).toEqual({})
    const { depth: _depth, http_cache: _cache, ...rest } = daily
    const same = await crawl({ ...rest, start_urls: ['https://c.example/'], interval: 7_200 })
    expect(same.body).toMatchObject({ schedule_id: id, cached: true })
    expect((await crawl(daily)).body).toMatchObject({ cached: false })
  })

  it('that gets another interval keeps its rhythm: the change itself runs nothing', async () => {
    const order = { spider: 'prices', interval: '12h' }
    const id = await make(order)
    const firstMs = clock.nowMs() + 1_000
    const nextOf = async (interval: unknown) => Date.parse((await change({ id, interval })).next_run!) - firstMs
    await clock.advanceBy(5_000)
    expect(await nextOf('6h')).toBe(6 * 3_600_000)
    await clock.advanceBy(60_000)
    expect(await nextOf('15m')).toBe(15 * 60_000)
    await change({ id, interval: '0 9 * * *' })
    // The rule was a cron expression, so the interval first fires after one whole interval.
    expect(await nextOf('1h')).toBe(clock.nowMs() + 3_600_000 + 1_000 - firstMs)
    const later = new Date(clock.nowMs() + 86_400_000).toISOString()
    expect(await change({ id, interval: '2h', schedule_at: later })).toMatchObject({ next_run: later })
  })

  it('can be paused and resumed', async () => {
    const id = await make()
    expect(await change({ id, paused: true })).toMatchObject({ status: 'paused', next_run: null })
    expect(await change({ id, paused: false })).toMatchObject({ status: 'pending' })
  })

  it('keeps what an operator added to its schedule', async () => {
    const id = await make()
    const [stored] = await temporary.store.getSchedules([id])
    const [template] = stored!.settings.jobs
    const jobs = [{ ...template!, settings: { ...template!.settings, LOG_LEVEL: 'INFO' }, priority: 7 }]
    await temporary.store.putSchedule({ ...stored!, revision: 2, settings: { ...stored!.settings, jobs } })
    await change({ id, params: { pages: 4 } })
    expect((await temporary.store.listSchedules())[0]!.settings.jobs[0]).toMatchObject({
      priority: 7,
      settings: { LOG_LEVEL: 'INFO', DEPTH_LIMIT: '2' },
      args: { pages: '4', start_urls: '["https://b.example/{{x}","https://a.example/"]' }
    })
  })

  it('is cancelled by removing its schedule, so that the next such order starts again; a single one by cancelling its job', async () => {
    const id = await make()
    expect(await commands.cancel(id)).toEqual({ cancelled: true })
    await expect(commands.get(id)).rejects.toMatchObject({
      message: expect.stringContaining('may have been cancelled')
    })
    await expect(commands.cancel(id)).rejects.toMatchObject({ code: 'SCHEDULE_NOT_FOUND' })
    expect(await make()).not.toBe(id)
    const later = await crawl({ spider: 'prices', schedule_at: '2100-01-01T00:00:00Z' })
    const single = later.body.job_id as OrderId
    expect(await commands.cancel(single)).toEqual({ cancelled: true })
    expect(await commands.get(single)).toMatchObject({ status: 'error', reason: 'cancelled', next_run: null })
    expect(await commands.cancel(single)).toEqual({ cancelled: false })
  })

  it('does not exist for a schedule that was created by hand', async () => {
    const id = aScheduleId('a'.repeat(32)) as OrderId
    await temporary.store.putSchedule(aStoredSchedule({ id }))
    for (const asked of [commands.get(id), commands.cancel(id), change({ id, depth: 1 })])
      await expect(asked).rejects.toMatchObject({ code: 'SCHEDULE_NOT_FOUND' })
    expect(await orders()).toEqual([])
  })
})

describe('a single order for later', () => {
  const AT = '2100-01-01T00:00:00.000Z'
  const order = {
    user_id: 'ann',
    spider: 'prices',
    start_urls: ['https://b.example/{x}', 'https://a.example/'],
    depth: 2,
    params: { text: '5', pages: 3, deep: { a: [null] }, on: true },
    http_cache: true,
    schedule_at: AT
  }
  const make = async (part: object = {}) => (await crawl({ ...order, ...part })).body.job_id as OrderId

  it('is returned as it was ordered, with the id of its job', async () => {
    const id = await make()
    const at = new Date(clock.nowMs()).toISOString()
    expect(await commands.get(id)).toEqual({
      job_id: id,
      schedule_id: null,
      user_id: 'ann',
      project: 'shop',
      spider: 'prices',
      depth: 2,
      start_urls: order.start_urls,
      params: order.params,
      interval: null,
      zone: 'UTC',
      http_cache: true,
      status: 'pending',
      reason: null,
      scheduled_at: AT,
      next_run: AT,
      created_at: at,
      updated_at: at
    })
  })

  it('can be changed in part under its id, and then matches orders like the new one', async () => {
    const id = await make()
    await clock.advanceBy(60_000)
    const next = '2100-02-01T00:00:00.000Z'
    const changed = await change({ id, depth: null, params: { text: 'x', n: [1] }, schedule_at: next })
    expect(changed).toEqual(await commands.get(id))
    expect(changed).toMatchObject({ job_id: id, depth: null, params: { text: 'x', n: [1] }, next_run: next })
    expect(changed).toMatchObject({ start_urls: order.start_urls, user_id: 'ann', http_cache: true })
    expect(Date.parse(changed.updated_at) - Date.parse(changed.created_at)).toBe(60_000)
    expect(await temporary.store.getJob(id)).toMatchObject({
      args: { text: 'x', n: '[1]', start_urls: JSON.stringify(order.start_urls) },
      notBeforeMs: Date.parse(next),
      hold: 'not_before'
    })
    const { depth: _depth, ...rest } = order
    const same = await crawl({ ...rest, params: { text: 'x', n: [1] }, schedule_at: next })
    expect(same.body).toMatchObject({ job_id: id, cached: true })
    expect((await crawl(order)).body).toMatchObject({ cached: false })
    expect(await queued()).toBe(2)
    expect((await temporary.store.listTimeline(id)).map(({ text }) => text)).toEqual([
      ...['Queued via the crawl API', 'Order changed']
    ])
  })

  it('that is moved to now can run at once, and then no longer changes', async () => {
    const id = await make()
    expect(await change({ id, schedule_at: 5 })).toMatchObject({ status: 'pending', next_run: null })
    const { lane } = (await temporary.store.getJob(id))!
    expect(await temporary.store.readHeads([{ lane, limit: 5 }])).toMatchObject([[{ id }]])
    await temporary.store.beginAttempts([anAttemptStart({ id })])
    await expect(change({ id, depth: 1 })).rejects.toMatchObject({ code: 'CHANGED_MEANWHILE' })
    expect((await temporary.store.getJob(id))!.settings['DEPTH_LIMIT']).toBe('2')
  })

  it.each([{ interval: '5m' }, { paused: true }])('cannot have %o, because it is not repeated', async (part) => {
    const id = await make()
    await expect(change({ id, ...part })).rejects.toMatchObject({ code: 'BAD_INPUT' })
    expect((await change({ id })).next_run).toBe(AT)
  })

  it('is not remembered after a change either, if it was not before it', async () => {
    const id = await make({ cache_seconds: 0 })
    await change({ id, depth: 1 })
    expect((await crawl({ ...order, depth: 1 })).body.cached).toBe(false)
  })

  it('is listed after repeated ones, in order of time and page by page, until it starts', async () => {
    const [late, early] = [await make(), await make({ schedule_at: '2099-01-01T00:00:00Z', user_id: 'bob' })]
    const now = (await crawl({ spider: 'prices' })).body.job_id
    const repeated = (await crawl({ spider: 'prices', interval: '1h' })).body as CrawlLater
    const ids = ({ orders: some }: { orders: CrawlOrder[] }) => some.map((one) => one.job_id ?? one.schedule_id)
    expect(ids(await commands.list({ limit: 9 }))).toEqual([repeated.schedule_id, early, late])
    expect(now).not.toBeNull()
    const paged: (string | null)[] = []
    for (let after: string | null = ''; after !== null; ) {
      const page: { orders: CrawlOrder[]; next_after: string | null } = await commands.list({
        limit: 1,
        ...(after !== '' && { after })
      })
      paged.push(...ids(page))
      after = page.next_after
    }
    expect(paged).toEqual([repeated.schedule_id, early, late])
    expect(ids(await commands.list({ limit: 9, user_id: 'ann' }))).toEqual([late])
    expect(ids(await commands.list({ limit: 9, project: aProjectName('news') }))).toEqual([])
    expect(ids(await commands.list({ limit: 9, onlyProjects: [aProjectName('news')] }))).toEqual([])
    expect(ids(await commands.list({ limit: 9, onlyProjects: [aProjectName('shop')] }))).toHaveLength(3)
    await commands.cancel(early)
    expect(ids(await commands.list({ limit: 9 }))).toEqual([repeated.schedule_id, late])
    await expect(commands.list({ limit: 9, after: 'later:x' })).rejects.toMatchObject({ code: 'BAD_INPUT' })
  })

  it.each(['7', 'not-an-id', 'F'.repeat(32), '019b2c3d-0000-7000-8000-000000000000', '\u0000', 'f'.repeat(32)])(
    'with the id %j is not found',
    async (text) => {
      const { id } = CrawlChange.parse({ id: text })
      for (const asked of [commands.get(id), commands.cancel(id), change({ id, depth: 1 })])
        await expect(asked).rejects.toMatchObject({ code: 'SCHEDULE_NOT_FOUND' })
    }
  )
})
