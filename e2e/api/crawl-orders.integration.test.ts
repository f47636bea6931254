import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildEggFromFolder } from '../../src/engine/projects/egg-builder.ts'
import { until } from '../../src/engine/testing/until.ts'
import { askRest, readEvents, type SentEvent } from '../support/rest.ts'
import { type Service, startService } from '../support/service.ts'

const SPIDERS = `import json
import scrapy


class Echo(scrapy.Spider):
    name = "echo"

    def __init__(self, start_urls="[]", **arguments):
        super().__init__(**arguments)
        self.start_urls = json.loads(start_urls)
        own = {name: text for name, text in arguments.items() if name != "_job"}
        self.logger.info("ARGUMENTS %s", json.dumps(own, sort_keys=True))
        if "fail" in own:
            raise ValueError("as ordered")

    def parse(self, response):
        yield {"url": response.url, "depth_limit": self.settings.getint("DEPTH_LIMIT")}
`

let service: Service
let pages: Server
let pageUrl: string
let fetched = 0
let folder: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'scrapdeck-orders-'))
  mkdirSync(join(folder, 'orders'))
  writeFileSync(join(folder, 'scrapy.cfg'), '[settings]\ndefault = orders.settings\n')
  writeFileSync(join(folder, 'orders', '__init__.py'), '')
  writeFileSync(
    join(folder, 'orders', 'settings.py'),
    'SPIDER_MODULES = ["orders.spiders"]\nTELNETCONSOLE_ENABLED = False\n'
  )
  writeFileSync(join(folder, 'orders', 'spiders.py'), SPIDERS)
  pages = createServer((_request, response) => {
    fetched += 1
    response.setHeader('content-type', 'text/html').end('<p>page</p>')
  })
  await new Promise<void>((resolve) => pages.listen(0, '127.0.0.1', resolve))
  pageUrl = `http://127.0.0.1:${(pages.address() as AddressInfo).port}/page`
  service = await startService({ localSlots: 2, environment: { CRAWL_CACHE_TTL: '600' } })
  const file = new File([new Uint8Array(await buildEggFromFolder(folder))], 'orders.egg')
  await service.client.projects.upload({ file, project: 'orders', version: 'r1' })
})
afterAll(async () => {
  await service?.stop()
  pages?.close()
  rmSync(folder, { recursive: true, force: true })
})

/** Leads out of `/api/v1`, which askRest and readEvents prepend. */
const OUTSIDE = '/../..'
const ask = (method: string, path: string, body?: unknown) =>
  askRest(service.address, { method, path: `${OUTSIDE}${path}`, ...(body !== undefined && { body }) })
const crawl = (order: object, query = '') => ask('POST', `/crawl${query}`, { spider: 'echo', ...order })

async function ended(id: string) {
  const { body } = await until(
    'the job to end',
    () => ask('GET', `/jobs/${id}/status`),
    ({ body }) => !['pending', 'running'].includes(body.status)
  )
  return body
}

async function logOf(path: string): Promise<SentEvent[]> {
  const events: SentEvent[] = []
  for await (const event of readEvents(service.address, `${OUTSIDE}${path}`, null)) events.push(event)
  return events
}

const argumentsIn = (events: SentEvent[]) => {
  const line = events.find(({ data }) => data.msg?.startsWith('ARGUMENTS '))
  return JSON.parse(line!.data.msg.slice('ARGUMENTS '.length))
}

test('an order runs as requested, and its status and log use the names of a crawl scheduler', async () => {
  const params = { page: 3, deep: true, text: 'as it is', nested: { list: [1, null] }, list: ['a'], nothing: null }
  const made = await crawl({ user_id: 'ann', start_urls: [pageUrl], depth: 2, params })
  const { job_id, logs_url } = made.body
  expect([made.status, made.body]).toEqual([
    200,
    { job_id, scheduled: false, cached: false, cached_at: null, logs_url: `/jobs/${job_id}/logs` }
  ])
  const events = await logOf(logs_url)
  expect(argumentsIn(events)).toEqual({
    page: '3',
    deep: 'true',
    text: 'as it is',
    nested: '{"list":[1,null]}',
    list: '["a"]',
    nothing: 'null'
  })
  const lines = events.filter(({ event }) => event === 'log').map(({ data }) => data)
  expect(lines.map((line) => Object.keys(line))).toEqual(lines.map(() => ['ts', 'level', 'msg']))
  expect(lines.find(({ msg }) => msg.startsWith('ARGUMENTS'))).toMatchObject({
    level: 'INFO',
    ts: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/)
  })
  const status = await ended(job_id)
  expect(status).toEqual({
    job_id,
    status: 'finished',
    reason: null,
    spider_job_id: job_id,
    started_at: expect.stringMatching(/Z$/),
    finished_at: expect.stringMatching(/Z$/)
  })
  expect(events.at(-1)).toEqual({
    event: 'end',
    id: 'end',
    data: { status: 'finished', reason: null, spider_job_id: status.spider_job_id }
  })
  const { job } = await service.client.jobs.get({ id: job_id })
  expect(job).toMatchObject({ userId: 'ann', settings: { DEPTH_LIMIT: '2' } })
  const byUser = await askRest(service.address, { path: '/jobs?userId=ann&fields=jobs.id' })
  expect(byUser.body).toEqual({ jobs: [{ id: job_id }] })
}, 60_000)

test('the same order in another form gets the same job, unless the query says to ignore the cache', async () => {
  const urls = [`${pageUrl}?b`, `${pageUrl}?a`]
  const first = await crawl({ start_urls: urls, params: { a: { x: 1, y: 2 }, b: 1 } })
  const again = await crawl({ start_urls: [...urls.toReversed(), urls[0]], params: { b: 1, a: { y: 2, x: 1 } } })
  expect(again.body).toMatchObject({ job_id: first.body.job_id, cached: true })
  const fresh = await crawl({ start_urls: urls, params: { a: { x: 1, y: 2 }, b: 1 } }, '?ignore_cache=true')
  expect([fresh.body.cached, fresh.body.job_id === first.body.job_id]).toEqual([false, false])
  await Promise.all([first, fresh].map(({ body }) => ended(body.job_id)))
}, 60_000)

test('a failed spider and a cancelled order both have the status error, with the reason', async () => {
  const { body } = await crawl({ params: { fail: 'yes' } })
  const { status, reason, spider_job_id } = await ended(body.job_id)
  expect([status, reason, spider_job_id]).toEqual(['error', expect.any(String), body.job_id])
  expect((await logOf(body.logs_url)).at(-1)!.data).toEqual({ status: 'error', reason, spider_job_id })
  const later = await crawl({ schedule_at: '2100-01-01T00:00:00', zone: 'Europe/Berlin' })
  expect([later.status, later.body]).toMatchObject([202, { scheduled: true, next_run: '2099-12-31T23:00:00.000Z' }])
  expect((await ask('DELETE', `/crawl/${later.body.job_id}`)).body).toEqual({ cancelled: true })
  expect(await ended(later.body.job_id)).toMatchObject({
    status: 'error',
    reason: 'cancelled',
    started_at: null,
    spider_job_id: null
  })
}, 60_000)

test('the HTTP cache fetches each page once for several jobs, and again for an order that ignores the cache', async () => {
  const url = `${pageUrl}?cached`
  const run = async (order: object) => {
    const before = fetched
    const { body } = await crawl({ start_urls: [url], http_cache: true, ...order })
    expect(await ended(body.job_id)).toMatchObject({ status: 'finished' })
    return fetched - before
  }
  expect(await run({ params: { run: 1 } })).toBe(1)
  expect(await run({ params: { run: 2 } })).toBe(0)
  expect(await run({ params: { run: 2 }, ignore_cache: true })).toBe(1)
  expect(await run({ params: { run: 3 }, http_cache: false })).toBe(1)
  // All runs of the project share one directory.
  expect(readdirSync(join(service.dataDirectory, 'local/work/orders/.scrapy/httpcache'))).toEqual(['echo'])
  const { jobs } = await service.client.jobs.list({ text: 'echo', limit: 4 })
  expect(jobs.map(({ settings }) => settings)).toEqual([
    { HTTPCACHE_ENABLED: 'False' },
    { HTTPCACHE_ENABLED: 'False' },
    ...[1, 2].map(() => ({ HTTPCACHE_ENABLED: 'True', HTTPCACHE_EXPIRATION_SECS: '600' }))
  ])
}, 90_000)

test('a repeated order can be followed by its job_id, listed, changed and cancelled', async () => {
  const order = { user_id: 'bob', start_urls: [pageUrl], params: { n: 1 }, interval: 1 }
  const made = await crawl(order)
  const { job_id, next_run } = made.body
  expect([made.status, made.body]).toMatchObject([202, { scheduled: true, logs_url: `/jobs/${job_id}/logs` }])
  expect(Date.parse(next_run) - Date.now()).toBeLessThan(5_000)
  const events = await logOf(`/jobs/${job_id}/logs`)
  expect(argumentsIn(events)).toEqual({ n: '1' })
  expect(events.at(-1)!.data.status).toBe('finished')

  const { orders, next_after } = (await ask('GET', '/crawl?user_id=bob')).body
  expect([orders, next_after]).toMatchObject([
    [{ schedule_id: job_id, user_id: 'bob', spider: 'echo', start_urls: [pageUrl], params: { n: 1 }, interval: 1 }],
    null
  ])
  const changed = await ask('PATCH', `/crawl/${job_id}`, { interval: '0 9 * * *', zone: 'Asia/Tokyo', depth: 1 })
  expect(changed.body).toMatchObject({ interval: '0 9 * * *', depth: 1, next_run: expect.stringMatching(/T00:00:00/) })
  expect((await askRest(service.address, { path: '/schedules?userId=bob' })).body.total).toBe(1)
  expect((await askRest(service.address, { path: '/schedules?userId=nobody' })).body.total).toBe(0)
  expect((await ask('DELETE', `/crawl/${job_id}`)).body).toEqual({ cancelled: true })
  expect((await ask('GET', `/jobs/${job_id}/status`)).status).toBe(404)
  const { jobs } = await service.client.jobs.list({ userId: 'bob' })
  expect(new Set(jobs.map(({ userId, source }) => `${userId} ${source}`))).toEqual(new Set(['bob schedule']))
}, 90_000)

test('a single order for later can be listed and changed under its job_id, and then runs as changed', async () => {
  const made = await crawl({ user_id: 'eve', params: { n: 1 }, schedule_at: '2100-01-01T00:00:00Z' })
  const { job_id } = made.body
  const read = await ask('GET', `/crawl/${job_id}`)
  expect(read.body).toMatchObject({ job_id, user_id: 'eve', params: { n: 1 }, status: 'pending', interval: null })
  expect((await ask('GET', '/crawl?user_id=eve')).body).toEqual({ orders: [read.body], next_after: null })
  const changed = await ask('PATCH', `/crawl/${job_id}`, { params: { n: 2 }, schedule_at: 0 })
  expect([changed.status, changed.body]).toMatchObject([200, { job_id, params: { n: 2 }, next_run: null }])
  expect(argumentsIn(await logOf(`/jobs/${job_id}/logs`))).toEqual({ n: '2' })
  expect(await ended(job_id)).toMatchObject({ status: 'finished' })
  expect((await ask('PATCH', `/crawl/${job_id}`, { depth: 1 })).status).toBe(409)
  expect((await ask('GET', `/crawl/${job_id}`)).body).toMatchObject({ job_id, status: 'finished', params: { n: 2 } })
  for (const method of ['GET', 'PATCH', 'DELETE'])
    expect((await ask(method, '/crawl/3f2b-11', method === 'PATCH' ? { depth: 1 } : undefined)).status).toBe(404)
}, 60_000)
