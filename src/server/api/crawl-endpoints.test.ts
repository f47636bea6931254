import { implement } from '@orpc/server'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { LightMyRequestResponse } from 'fastify'
import { describe, expect, it } from 'vitest'
import { contract, type CrawlInput, type CrawlOrder, type Job, type JobDetail } from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { aJob } from '../../shared/testing/builders.ts'
import { aJobId, aScheduleId } from '../../shared/testing/ids.ts'
import { describeApi } from '../openapi/describe.ts'
import { EXAMPLES } from '../../shared/examples/operations.ts'
import { createFakeEngine } from '../testing/fake-engine.ts'
import { openTestApp } from '../testing/test-app.ts'

type Answer = Pick<LightMyRequestResponse, 'statusCode' | 'json'>

const JOB = aJobId('0'.repeat(31) + '1')
const SCHEDULE = aScheduleId('a'.repeat(32))
const NOBODY = 'f'.repeat(32)

function open(over: Partial<Job> = {}, options: Parameters<typeof openTestApp>[0] & { hasRun?: boolean } = {}) {
  const { hasRun = true, ...rest } = options
  const fake = createFakeEngine()
  const asked: CrawlInput[] = []
  const state = { isRemoved: false }
  const os = implement(contract).$context<object>()
  const job = aJob({ id: JOB, ...over })
  const attempt = { ...EXAMPLES.jobs.get.output.attempts[0]!, jobid: 'run-2' }
  const detail: JobDetail = { job, attempts: job.state === 'queued' ? [] : [attempt], timeline: [] }
  const router = {
    ...fake.parts,
    crawl: os.crawl.handler(({ input }) => {
      asked.push(input)
      const times = { cached: false, cached_at: null }
      if (input.interval === undefined)
        return { status: 200, body: { job_id: JOB, scheduled: false, ...times, logs_url: `/api/v1/jobs/${JOB}/logs` } }
      const ids = { job_id: null, schedule_id: SCHEDULE, logs_url: `/api/v1/schedules/${SCHEDULE}/logs` }
      return { status: 202, body: { ...ids, ...times, scheduled: true, next_run: '2040-01-01T09:00:00.000Z' } }
    }),
    jobs: {
      ...(fake.parts.jobs as object),
      get: os.jobs.get.handler(({ input }) => {
        if (input.id === JOB) return detail
        throw new ScrapdeckError('JOB_NOT_FOUND', `There is no job ${input.id}.`)
      }),
      list: os.jobs.list.handler(({ input }) => ({
        jobs: hasRun && input.scheduleId === SCHEDULE ? [job] : [],
        nextBefore: null
      }))
    },
    schedules: {
      ...(fake.parts.schedules as object),
      get: os.schedules.get.handler(({ input }) => {
        if (input.id === SCHEDULE && !state.isRemoved) return { ...EXAMPLES.schedules.get.output, id: SCHEDULE }
        throw new ScrapdeckError('SCHEDULE_NOT_FOUND', 'There is no such schedule.')
      })
    }
  }
  const engine = { ...fake, router: async () => router } as unknown as typeof fake
  return { ...openTestApp({ ...rest, engine }), asked, state }
}

const order = (payload: object, query = '') => ({ method: 'POST' as const, url: `/crawl${query}`, payload })

describe('an order outside the API', () => {
  it('gets a 200 with the names of a crawl scheduler and the path of its log', async () => {
    const { ask, asked } = open()
    const answer = await ask(order({ user_id: 'ann', spider: 'prices', start_urls: ['https://a.example/'], depth: 1 }))
    expect([answer.statusCode, answer.json()]).toEqual([
      200,
      { job_id: JOB, scheduled: false, cached: false, cached_at: null, logs_url: `/jobs/${JOB}/logs` }
    ])
    expect(asked[0]).toMatchObject({ user_id: 'ann', spider: 'prices', start_urls: ['https://a.example/'], depth: 1 })
  })

  it('arrives with its original types: no string becomes a number, and no value changes', async () => {
    const { ask, asked } = open()
    const params = { zip: '04109', on: 'true', none: 'null', n: 1.5, deep: { a: ['1', null] } }
    await ask(order({ user_id: '042', spider: 'prices', params }))
    await ask(order({ user_id: 42, spider: 'prices' }))
    await ask(order({ user_id: 'null', spider: 'prices' }))
    expect(asked.map(({ user_id }) => user_id)).toEqual(['042', '42', 'null'])
    expect(asked[0]!.params).toEqual(params)
  })

  it('treats null like a missing field, because many clients send omitted fields as null', async () => {
    const { ask, asked } = open()
    const names = ['project', 'user_id', 'start_urls', 'depth', 'params', 'schedule_at', 'interval', 'zone']
    const nothing = Object.fromEntries(
      [...names, 'ignore_cache', 'cache_seconds', 'http_cache'].map((name) => [name, null])
    )
    const headers = { 'idempotency-key': 'k-1' }
    const answer = await ask({ ...order({ spider: 'prices', ...nothing }), headers })
    expect([answer.statusCode, answer.json().scheduled]).toEqual([200, false])
    expect((await ask(order({ spider: 'prices', ...nothing }, '?ignore_cache=true'))).statusCode).toBe(200)
    expect((await ask(order({ spider: 'prices' }))).statusCode).toBe(200)
    expect(asked.map(({ zone, ignore_cache }) => [zone, ignore_cache])).toEqual([
      ...[
        ['UTC', false],
        ['UTC', true],
        ['UTC', false]
      ]
    ])
    expect(JSON.stringify(asked[0])).toBe(JSON.stringify(asked[2]))
    const { statusCode, json } = await ask(order({ spider: null }))
    expect([statusCode, json().message]).toEqual([400, expect.stringContaining('spider: must be text')])
  })

  it('accepts a time with a space, as Python writes it, with or without a zone', async () => {
    const { ask, asked } = open()
    for (const schedule_at of ['2040-12-01 10:00:00', '2040-12-01 10:00:00.250+01:00', '2040-12-01T09:00:00Z'])
      expect((await ask(order({ spider: 'prices', schedule_at }))).statusCode).toBe(200)
    expect(asked.map(({ schedule_at }) => schedule_at)).toEqual([
      ...['2040-12-01T10:00:00', Date.UTC(2040, 11, 1, 9, 0, 0, 250), Date.UTC(2040, 11, 1, 9)]
    ])
    expect((await ask(order({ spider: 'prices', schedule_at: '2040-02-31 10:00:00' }))).statusCode).toBe(400)
  })

  it.each([[[1]], 'abc', 5, true])('needs an object as params: %j is refused', async (params) => {
    const { ask, asked } = open()
    const answer = await ask(order({ spider: 'prices', params }))
    expect([answer.statusCode, answer.json().message]).toEqual([
      400,
      expect.stringContaining('params: must be an object')
    ])
    expect(asked).toEqual([])
  })

  it('that is repeated also gets a 202 and a job_id: that of its schedule', async () => {
    const answer = await open().ask(order({ spider: 'prices', interval: '0 9 * * *', zone: 'Europe/Berlin' }))
    expect([answer.statusCode, answer.json()]).toMatchObject([
      202,
      { job_id: SCHEDULE, scheduled: true, next_run: '2040-01-01T09:00:00.000Z', logs_url: `/jobs/${SCHEDULE}/logs` }
    ])
    const inApi = await open().ask({ ...order({ spider: 'prices', interval: 60 }), url: '/api/v1/crawl' })
    expect(inApi.json()).toMatchObject({ job_id: null, schedule_id: SCHEDULE })
  })

  it.each(['/crawl', '/api/v1/crawl'])(
    'to %s ignores the cache if the body or the query says so, whatever the other one says',
    async (url) => {
      const { ask, asked } = open()
      const send = async (query: string, body: object = {}) =>
        (await ask({ method: 'POST', url: `${url}${query}`, payload: { spider: 'prices', ...body } })).statusCode
      expect(await send('?ignore_cache=true')).toBe(200)
      expect(await send('', { ignore_cache: true })).toBe(200)
      expect(await send('?ignore_cache=true', { ignore_cache: true })).toBe(200)
      for (const text of ['1', 'yes', 'On'])
        expect(await send(`?ignore_cache=${text}`, { ignore_cache: true })).toBe(200)
      expect(await send('?ignore_cache=false')).toBe(200)
      expect(await send('?ignore_cache=0')).toBe(200)
      expect(await send('')).toBe(200)
      expect(asked.map(({ ignore_cache }) => ignore_cache)).toEqual([...Array(6).fill(true), false, false, false])
      expect(await send('?ignore_cache=true', { ignore_cache: false })).toBe(200)
      expect(await send('?ignore_cache=false', { ignore_cache: true })).toBe(200)
      expect(await send('?ignore_cache=true', { ignore_cache: 'false' })).toBe(200)
      expect(await send('?ignore_cache=false&ignore_cache=true', { ignore_cache: null })).toBe(200)
      expect(await send('?ignore_cache=0', { ignore_cache: false })).toBe(200)
      expect(asked.slice(9).map(({ ignore_cache }) => ignore_cache)).toEqual([true, true, true, true, false])
      expect(await send('?ignore_cache=perhaps')).toBe(400)
      expect(await send('?ignore_cache=true&ignore_cache=perhaps')).toBe(400)
      expect(await send('?ignore_cache=true', { ignore_cache: 'perhaps' })).toBe(400)
      expect(await send('?depth=3')).toBe(400)
      expect(asked).toHaveLength(14)
      for (const flag of [1, '1', 'yes', 'On', 0, '0', 'no', 'OFF'])
        expect(await send('', { ignore_cache: flag })).toBe(200)
      expect(await send('?ignore_cache=false', { ignore_cache: 1 })).toBe(200)
      expect(asked.slice(14).map(({ ignore_cache }) => ignore_cache)).toEqual([
        true,
        true,
        true,
        true,
        false,
        false,
        false,
        false,
        true
      ])
      for (const flag of [2, 'perhaps', '', [1], {}]) expect(await send('', { ignore_cache: flag })).toBe(400)
      expect(asked).toHaveLength(23)
      expect((await ask({ method: 'POST', url, payload: [] })).json().message).toContain('is not an object')
    }
  )

  it('is performed once per Idempotency-Key', async () => {
    const { ask, asked } = open()
    const once = { ...order({ spider: 'prices' }, '?ignore_cache=true'), headers: { 'idempotency-key': 'k-1' } }
    const answers = [await ask(once), await ask(once)]
    expect(answers.map(({ headers }) => headers['idempotency-replayed'])).toEqual([undefined, 'true'])
    expect(answers[1]!.json()).toEqual(answers[0]!.json())
    expect(asked).toHaveLength(1)
  })

  it('is refused like in the API, with the reason', async () => {
    const { ask, asked } = open()
    const refused = await ask(order({ spider: 'prices', dpeth: 3 }))
    expect([refused.statusCode, refused.json()]).toMatchObject([400, { code: 'BAD_INPUT', data: { field: 'dpeth' } }])
    expect(
      (await ask({ ...order({}), payload: 'spider=prices', headers: { 'content-type': 'text/plain' } })).json()
    ).toEqual(expect.objectContaining({ code: 'BAD_INPUT' }))
    expect((await ask(order({ spider: 'prices', params: { text: 'x'.repeat(4_300_000) } }))).statusCode).toBe(413)
    expect((await ask({ method: 'PUT', url: '/crawl', payload: {} })).json()).toMatchObject({ code: 'NOT_FOUND' })
    expect(asked).toEqual([])
  })

  it('needs the password, cannot be sent by foreign pages, and counts towards the limit of the API', async () => {
    const { ask, askAnonymously, asked } = open(
      {},
      { rateLimits: { api: { requests: 1, windowSeconds: 60, burst: 2 } } }
    )
    for (const url of ['/crawl', `/jobs/${JOB}/status`, `/jobs/${JOB}/logs`]) {
      const answer = await askAnonymously({ method: url === '/crawl' ? 'POST' : 'GET', url, payload: undefined })
      expect([url, answer.statusCode, answer.json().code]).toEqual([url, 401, 'UNAUTHORIZED'])
    }
    const foreign = { ...order({ spider: 'prices' }), headers: { origin: 'https://evil.example' } }
    expect((await ask(foreign)).json()).toMatchObject({ code: 'FORBIDDEN_ORIGIN' })
    expect(asked).toEqual([])
    const answer = await ask(order({ spider: 'prices' }))
    expect([answer.statusCode, answer.headers['ratelimit-limit'], answer.headers['ratelimit-remaining']]).toEqual([
      ...[200, '2', '1']
    ])
    expect((await ask({ url: '/api/v1/queue' })).headers['ratelimit-remaining']).toBe('0')
    expect((await ask(order({ spider: 'prices' }))).json()).toMatchObject({ code: 'TOO_MANY_REQUESTS' })
  })
})

describe('the status of a job outside the API', () => {
  const startedAtMs = Date.UTC(2026, 10, 2, 12)
  const endedAtMs = startedAtMs + 90_000
  const ended = { state: 'ended', startedAtMs, endedAtMs } as const

  it.each([
    ['pending', null, { state: 'queued', status: 'queued' }],
    ['pending', null, { state: 'starting', status: 'starting' }],
    ['running', null, { state: 'running', status: 'running', startedAtMs }],
    ['finished', null, { ...ended, status: 'succeeded', outcome: 'succeeded', reason: 'finished' }],
    ['finished', 'unclear', { ...ended, status: 'unclear', outcome: 'unclear', reason: 'end not visible in the log' }],
    ['error', 'exit code 1', { ...ended, status: 'failed', outcome: 'failed', reason: 'exit code 1' }],
    ['error', 'failed', { ...ended, startedAtMs: null, status: 'failed', outcome: 'failed', reason: null }],
    ['error', 'lost', { ...ended, status: 'lost', outcome: 'lost', reason: 'no log' }],
    ['error', 'cancelled', { ...ended, status: 'cancelled', outcome: 'cancelled', reason: 'shutdown' }]
  ] as [string, string | null, Partial<Job>][])(
    'is %s, with the reason %o, for %o, in the terms of the crawl scheduler',
    async (status, reason, over) => {
      const answer = await open(over).ask({ url: `/jobs/${JOB}/status` })
      const iso = (atMs: number | null | undefined) => (atMs == null ? null : new Date(atMs).toISOString())
      expect([answer.statusCode, answer.json()]).toEqual([
        200,
        {
          job_id: JOB,
          status,
          reason,
          started_at: iso(over.startedAtMs),
          finished_at: iso(over.endedAtMs),
          spider_job_id: over.state === 'queued' ? null : 'run-2'
        }
      ])
    }
  )

  it('of a repeated order is that of its newest job, or pending before the first', async () => {
    const url = `/jobs/${SCHEDULE}/status`
    const ran = await open({ ...ended, status: 'succeeded' }).ask({ url })
    expect(ran.json()).toMatchObject({ job_id: SCHEDULE, status: 'finished', spider_job_id: 'run-2' })
    const waits = await open({}, { hasRun: false }).ask({ url })
    const nothing = { reason: null, started_at: null, finished_at: null, spider_job_id: null }
    expect(waits.json()).toEqual({ job_id: SCHEDULE, status: 'pending', ...nothing })
  })

  it.each(['status', 'logs'])(
    'of something unknown is a 404 in JSON (%s); /jobs is still the page of Scrapyd',
    async (what) => {
      const { ask } = open()
      expect((await ask({ url: `/jobs/${NOBODY}/${what}` })).json()).toMatchObject({
        code: 'JOB_NOT_FOUND',
        status: 404
      })
      for (const id of ['not-an-id', '7', NOBODY.toUpperCase(), '019b2c3d-0000-7000-8000-000000000000', '%00', 'é'])
        expect([id, (await ask({ url: `/jobs/${encodeURIComponent(id)}/${what}` })).statusCode]).toEqual([id, 404])
      expect((await ask({ url: '/jobs' })).body).toContain('<table id="jobs">')
      expect((await ask({ url: `/jobs/${JOB}` })).statusCode).toBe(404)
    }
  )
})

it.each([`/jobs/${SCHEDULE}/logs`, `/api/v1/schedules/${SCHEDULE}/logs`])(
  'the log of a repeated order that is removed before its first run ends with a problem (%s)',
  async (url) => {
    const { ask, clock, state } = open({}, { hasRun: false })
    let answer: string | null = null
    void ask({ url }).then(({ body }) => {
      answer = body
    })
    await clock.advanceBy(16_000)
    expect(answer).toBeNull()
    state.isRemoved = true
    await expect
      .poll(async () => {
        await clock.advanceBy(15_000)
        return answer
      })
      .toMatch(/^retry: 2000\n\n(: still here\n\n)+event: problem\ndata: \{"code":"SCHEDULE_NOT_FOUND"/)
  }
)

it('its paths are in the OpenAPI document, and responses match their description there', async () => {
  const document = await describeApi()
  const ajv = new Ajv2020({ strict: false, validateFormats: false }).addSchema({ ...document, $id: 'api' } as object)
  const isDescribed = (path: string, method: string, { statusCode, json }: Answer) => {
    const at = `${path.replaceAll('/', '~1')}/${method}/responses/${statusCode}/content/application~1json/schema`
    return ajv.validate({ $ref: `api#/paths/${encodeURI(at)}` }, json())
  }
  const serversOf = (path: string, method: string) =>
    (document.paths![path] as Record<string, { servers: { url: string }[] }>)[method]!.servers.map(({ url }) => url)
  const { ask } = open({ state: 'ended', outcome: 'lost', status: 'lost' })
  for (const payload of [{ spider: 'prices' }, { spider: 'prices', interval: 60 }])
    expect(isDescribed('/crawl', 'post', await ask(order(payload)))).toBe(true)
  expect(isDescribed('/{id}/status', 'get', await ask({ url: `/jobs/${JOB}/status` }))).toBe(true)
  expect(isDescribed('/{id}/status', 'get', await ask({ url: `/api/v1/jobs/${JOB}/status` }))).toBe(false)
  for (const [path, method] of [...['get', 'patch', 'delete'].map((verb) => ['/crawl/{id}', verb]), ['/crawl', 'get']])
    expect(serversOf(path!, method!)).toEqual(['/api/v1', '/'])
  expect([serversOf('/{id}/status', 'get'), serversOf('/{id}/logs', 'get')]).toEqual([['/jobs'], ['/jobs']])
})

it('orders are listed, read, changed and cancelled at /crawl as in the API, and each one has a job_id', async () => {
  const { ask } = openTestApp()
  const { crawlOrders } = EXAMPLES
  const url = `/crawl/${SCHEDULE}`
  const withId = (order: CrawlOrder) => ({ ...order, job_id: order.job_id ?? order.schedule_id })
  const { orders, next_after } = crawlOrders.list.output
  expect((await ask({ url: '/crawl?user_id=ann' })).json()).toEqual({ orders: orders.map(withId), next_after })
  expect((await ask({ url })).json()).toEqual(withId(crawlOrders.get.output))
  expect((await ask({ url: `/api/v1${url}` })).json()).toEqual(crawlOrders.get.output)
  const changed = await ask({ method: 'PATCH', url, payload: { depth: 3 } })
  expect(changed.json()).toEqual(withId(crawlOrders.update.output))
  expect((await ask({ method: 'DELETE', url })).json()).toEqual(crawlOrders.cancel.output)
  expect((await ask({ url: '/crawl?usr_id=ann' })).json()).toMatchObject({ code: 'BAD_INPUT' })
})

it('a paused repeated order is pending at /crawl, which has only four states, and paused in the API', async () => {
  const paused = { ...EXAMPLES.crawlOrders.get.output, status: 'paused' as const }
  const os = implement(contract).$context<object>()
  const fake = createFakeEngine()
  const crawlOrders = { ...(fake.parts.crawlOrders as object), get: os.crawlOrders.get.handler(() => paused) }
  const engine = { ...fake, router: async () => ({ ...fake.parts, crawlOrders }) } as unknown as typeof fake
  const { ask } = openTestApp({ engine })
  expect((await ask({ url: `/crawl/${SCHEDULE}` })).json()).toMatchObject({ status: 'pending', reason: 'paused' })
  expect((await ask({ url: `/api/v1/crawl/${SCHEDULE}` })).json()).toMatchObject({ status: 'paused', reason: null })
})
