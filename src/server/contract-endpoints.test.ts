import { describe, expect, it } from 'vitest'
import { request } from 'node:http'
import { openTestApp, openTestService, RIGHT } from './testing/test-app.ts'

const JSON_TYPE = { 'content-type': 'application/json' }

describe('the contract as REST', () => {
  it('parses numbers, defaults and lists in the query', async () => {
    const { ask } = openTestApp()
    const response = await ask({ url: '/api/v1/jobs?limit=7&project=news&status%5B%5D=queued&sinceMs=5' })
    expect(response.json().jobs[0]).toMatchObject({ project: 'news', priority: 7 })
  })

  it('one status in the query needs no brackets', async () => {
    const { ask } = openTestApp()
    for (const query of ['status=queued', 'status[]=queued']) {
      expect((await ask({ url: `/api/v1/jobs?${query}` })).statusCode).toBe(200)
    }
    expect((await ask({ url: '/api/v1/jobs?status=asleep' })).statusCode).toBe(400)
    const document = (await ask({ url: '/api/openapi.json' })).json()
    const parameters = document.paths['/jobs'].get.parameters as { name: string; schema: { anyOf: unknown[] } }[]
    expect(parameters.find(({ name }) => name === 'status')!.schema.anyOf).toMatchObject([
      { type: 'array', items: { enum: expect.arrayContaining(['queued']) } },
      { enum: expect.arrayContaining(['queued']) }
    ])
  })

  it('finds a version that is named like a branch, and never follows a parent path to another operation', async () => {
    const { port } = await openTestService()
    const statusOf = (path: string) =>
      new Promise<number | undefined>((resolve, reject) => {
        const target = { host: '127.0.0.1', port, path: `/api/v1/projects/shop/versions/${path}` }
        const options = { ...target, method: 'DELETE', headers: { authorization: RIGHT } }
        request(options, (response) => resolve(response.resume().statusCode))
          .on('error', reject)
          .end()
      })
    expect(await statusOf('r5-feature%2Fx')).toBe(200)
    for (const path of ['..', '%2E%2e', '.', '../', '../../news'])
      expect([path, await statusOf(path)]).toEqual([path, 400])
  })

  it('accepts JSON bodies', async () => {
    const { ask } = openTestApp()
    const payload = { project: 'shop', spiders: ['a', 'b'] }
    const response = await ask({ method: 'POST', url: '/api/v1/jobs', headers: JSON_TYPE, payload })
    expect(response.json().jobs.map((job: { spider: string }) => job.spider)).toEqual(['a', 'b'])
  })

  it('an operation without input needs no body', async () => {
    const { ask } = openTestApp()
    expect((await ask({ method: 'POST', url: '/api/v1/system/demo' })).json()).toMatchObject({
      job: { spider: 'quotes' }
    })
    expect((await ask({ method: 'DELETE', url: '/api/v1/nodes/eu-1' })).json()).toEqual({ removed: 'eu-1' })
  })

  it.each([
    [
      'PUT',
      '/queue/limits',
      { limits: [{ id: '1', project: null, spider: 'price*', tag: null, perNode: true, max: 1 }] },
      { limits: [{ spider: 'price*', live: 0 }] }
    ],
    ['GET', '/queue/lanes?limit=5', undefined, { lanes: [], total: 0 }],
    ['POST', '/jobs/bulk', { jobs: [{ project: 'shop', spider: 'a' }] }, { deduplicated: 0 }],
    ['POST', '/jobs/count', { ids: ['019b0000000000000000000000000009'] }, { status: [{ value: 'queued', count: 1 }] }],
    ['POST', '/nodes/n-0a/external/cancel', { project: '../x', jobid: 'a/b?c#d' }, { wasState: 'pending' }],
    ['POST', '/nodes/n-0a/external/adopt', { project: '../x', jobid: 'a/b' }, { project: '../x', jobid: 'a/b' }],
    [
      'PUT',
      '/discovery/pods',
      { source: { kind: 'dns', hostname: 'scrapyd', record: 'SRV' }, username: 'deck', password: 'hush' },
      { id: 'pods', refreshSeconds: 30, hasPassword: true }
    ],
    ['DELETE', '/discovery/pods', undefined, { removed: 'pods' }]
  ] as const)('%s %s', async (method, path, payload, expected) => {
    const { ask } = openTestApp()
    const body = payload === undefined ? {} : { headers: JSON_TYPE, payload }
    const response = await ask({ method, url: `/api/v1${path}`, ...body })
    expect(response.json()).toMatchObject(expected)
    expect(response.statusCode).toBe(200)
    expect(response.body).not.toContain('hush')
  })

  it('ten thousand jobs, or their ids, fit into one request', async () => {
    const { ask } = openTestApp()
    const ids = Array.from({ length: 10_000 }, (_, index) => `019b${index.toString(16).padStart(28, '0')}`)
    const counted = await ask({ method: 'POST', url: '/api/v1/jobs/count', headers: JSON_TYPE, payload: { ids } })
    expect(counted.json()).toEqual({ status: [{ value: 'queued', count: 10_000 }] })
    const args = { url: `https://shop.example/${'p'.repeat(250)}` }
    const jobs = ids.map(() => ({ project: 'shop', spider: 'price_watch', args, dedupe: null }))
    const bulk = await ask({ method: 'POST', url: '/api/v1/jobs/bulk', headers: JSON_TYPE, payload: { jobs } })
    expect(bulk.json().ids).toHaveLength(10_000)
  })

  it('our errors keep their status, code, message and data', async () => {
    const { ask } = openTestApp()
    const id = '019b0000000000000000000000000009'
    const response = await ask({ url: `/api/v1/jobs/${id}` })
    expect([response.statusCode, response.json()]).toEqual([
      404,
      { defined: false, code: 'JOB_NOT_FOUND', status: 404, message: `There is no job ${id}.`, data: { id } }
    ])
  })

  it('explains which part of the input is wrong', async () => {
    const { ask } = openTestApp()
    const payload = { project: 'shop', spiders: [''] }
    const response = await ask({ method: 'POST', url: '/api/v1/jobs', headers: JSON_TYPE, payload })
    expect([response.statusCode, response.json().code]).toEqual([400, 'BAD_INPUT'])
    expect(response.json().message).toContain('spiders.0: ')
  })

  it('a bug reveals no details to the client and is logged completely', async () => {
    const { ask, logged } = openTestApp()
    const payload = { ids: ['019b0000000000000000000000000009'] }
    const response = await ask({ method: 'POST', url: '/api/v1/jobs/retry', headers: JSON_TYPE, payload })
    expect([response.statusCode, response.json().code]).toEqual([500, 'INTERNAL'])
    expect(response.body).not.toContain('secret')
    expect(logged.join()).toContain('secret detail in /home/anna')
  })

  it.each([
    ['no JSON', '{"paused":'],
    ['a list', '[1]'],
    ['nothing', '']
  ])('a body that is %s is invalid input', async (_name, payload) => {
    const { ask } = openTestApp()
    const response = await ask({ method: 'POST', url: '/api/v1/system/paused', headers: JSON_TYPE, payload })
    expect([response.statusCode, response.json().code]).toEqual([400, 'BAD_INPUT'])
  })

  it('an unknown path is reported', async () => {
    const { ask } = openTestApp()
    expect((await ask({ url: '/api/v1/none' })).json()).toMatchObject({ code: 'NOT_FOUND', status: 404 })
    expect((await ask({ method: 'POST', url: '/api/rpc/none' })).json()).toMatchObject({ json: { code: 'NOT_FOUND' } })
  })

  it('a GET over RPC cannot change anything', async () => {
    const { ask } = openTestApp()
    const response = await ask({ url: '/api/rpc/system/runDemo' })
    expect(response.statusCode).toBeGreaterThanOrEqual(400)
  })

  it('its document names each operation once and describes every path parameter', async () => {
    const { ask } = openTestApp()
    const { paths } = (await ask({ url: '/api/openapi.json' })).json() as {
      paths: Record<string, Record<string, { operationId: string; parameters?: { name: string; in: string }[] }>>
    }
    const operations = Object.entries(paths).flatMap(([path, methods]) =>
      Object.values(methods).map((operation) => ({ path, ...operation }))
    )
    expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length)
    for (const { path, operationId, parameters = [] } of operations) {
      const named = parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name)
      expect([operationId, named]).toEqual([operationId, [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)])
    }
  })

  it('is described by an OpenAPI document and a page with every operation', async () => {
    const { ask } = openTestApp()
    const document = (await ask({ url: '/api/openapi.json' })).json()
    expect(document.openapi).toMatch(/^3\.1/)
    expect(document.servers).toEqual([{ url: '/api/v1' }])
    expect(document.paths['/jobs'].post.operationId).toBe('jobs.run')
    const page = (await ask({ url: '/api' })).body
    expect(page).toContain('<tr><td>GET</td><td>/api/v1/jobs/{jobId}/log/tail</td><td>logs.tail</td></tr>')
  })
})
