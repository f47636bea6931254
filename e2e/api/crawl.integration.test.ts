import { afterAll, beforeAll, expect, test } from 'vitest'
import { uploadDemo } from '../support/demo-egg.ts'
import { askRest } from '../support/rest.ts'
import { type Service, startService } from '../support/service.ts'
import { until } from '../../src/engine/testing/until.ts'
import { isCore } from '../../scripts/test-length.mjs'

/** The number of parallel requests, within the burst limit of one credential (docs/api.md, Limits). */
const AT_ONCE = 1_000

let service: Service
beforeAll(async () => {
  service = await startService({ localSlots: 0 })
  await uploadDemo(service, 'r1')
})
afterAll(() => service?.stop())

const crawl = (order: object) =>
  askRest(service.address, { method: 'POST', path: '/crawl', body: { project: 'demo', spider: 'quotes', ...order } })

async function jobIds(): Promise<string[]> {
  const { jobs, nextBefore } = await service.client.jobs.list({ limit: 500 })
  expect(nextBefore).toBeNull()
  return jobs.map(({ id }) => id)
}

test.skipIf(isCore)(
  'a thousand clients that request the same crawl at once get one job, and exactly one response says that it is new',
  async () => {
    const start_urls = ['https://shop.example/', 'https://shop.example/shoes']
    const order = { user_id: 'ann', depth: 2 }
    const earlier = new Set(await jobIds())
    const answers = await Promise.all(
      Array.from({ length: AT_ONCE }, (_, index) =>
        crawl({ ...order, start_urls: index % 2 === 0 ? start_urls : start_urls.toReversed() })
      )
    )

    expect(answers.filter(({ status }) => status !== 200)).toEqual([])
    const made = (await jobIds()).filter((id) => !earlier.has(id))
    expect(made).toHaveLength(1)
    const [fresh, ...others] = answers.map(({ body }) => body).sort((one, other) => one.cached - other.cached)
    const same = { job_id: made[0], scheduled: false, logs_url: `/api/v1/jobs/${made[0]}/logs` }
    expect(fresh).toEqual({ ...same, cached: false, cached_at: null })
    const { cached_at } = others[0]
    expect(Math.abs(Date.parse(cached_at) - Date.now())).toBeLessThan(60_000)
    for (const other of others) expect(other).toEqual({ ...same, cached: true, cached_at })
  }
)

test('a different user, a fresh crawl or an expired cache entry gets its own job', async () => {
  const order = { start_urls: ['https://news.example/'] }
  const first = (await crawl(order)).body
  const others = await Promise.all(
    ['ann', 'bob', 'bob'].map(async (user_id) => (await crawl({ ...order, user_id })).body)
  )
  const [ann, bob] = others
  expect(new Set([first.job_id, ann.job_id, bob.job_id]).size).toBe(3)
  expect(new Set(others.map(({ job_id }) => job_id)).size).toBe(2)
  const fresh = (await crawl({ ...order, ignore_cache: true })).body
  expect([fresh.cached, fresh.job_id === first.job_id]).toEqual([false, false])

  const brief = { start_urls: ['https://brief.example/'], cache_seconds: 1 }
  const forgotten = (await crawl(brief)).body
  // The service's clock decides when a second has passed, so retry.
  const late = await until(
    'the order to be forgotten',
    async () => (await crawl(brief)).body,
    ({ cached }) => cached === false
  )
  expect(late.job_id).not.toBe(forgotten.job_id)
})

test('a crawl for later is one waiting job and a repeated crawl one schedule, however many clients request it', async () => {
  const schedule_at = new Date(Math.floor(Date.now() / 1000) * 1000 + 3_600_000).toISOString()
  const later = await Promise.all(Array.from({ length: 20 }, () => crawl({ schedule_at })))
  expect(later.map(({ status, body }) => [status, body.next_run])).toEqual(later.map(() => [202, schedule_at]))
  expect(new Set(later.map(({ body }) => body.job_id)).size).toBe(1)
  expect(later.filter(({ body }) => !body.cached)).toHaveLength(1)
  const { body: job } = await askRest(service.address, { path: `/jobs/${later[0]!.body.job_id}` })
  expect(job.job).toMatchObject({ status: 'queued', hold: 'not_before', notBeforeMs: Date.parse(schedule_at) })

  const repeated = await Promise.all(Array.from({ length: 100 }, () => crawl({ interval: '12h', schedule_at })))
  expect(repeated.map(({ status, body }) => [status, body.next_run])).toEqual(repeated.map(() => [202, schedule_at]))
  expect(repeated.filter(({ body }) => !body.cached)).toHaveLength(1)
  const { schedules } = await service.client.schedules.list({})
  expect(schedules.map(({ id }) => id)).toEqual([...new Set(repeated.map(({ body }) => body.schedule_id))])
  expect(schedules).toHaveLength(1)
})
