import { describe, expect, it } from 'vitest'
import { openTestApp } from './testing/test-app.ts'

const JSON_TYPE = { 'content-type': 'application/json' }

describe('the contract as REST', () => {
  it('reads numbers, defaults and lists from the query', async () => {
    const { ask } = openTestApp()
    const response = await ask({ url: '/api/v1/jobs?limit=7&project=news&status%5B%5D=queued&sinceMs=5' })
    expect(response.json().jobs[0]).toMatchObject({ project: 'news', priority: 7 })
  })

  it('writes JSON bodies', async () => {
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

  it('our errors keep their status, code, message and data', async () => {
    const { ask } = openTestApp()
    const id = '019b0000000000000000000000000009'
    const response = await ask({ url: `/api/v1/jobs/${id}` })
    expect([response.statusCode, response.json()]).toEqual([
      404,
      { defined: false, code: 'JOB_NOT_FOUND', status: 404, message: `There is no job ${id}.`, data: { id } }
    ])
  })

  it('says in words which part of the input is wrong', async () => {
    const { ask } = openTestApp()
    const payload = { project: 'shop', spiders: [''] }
    const response = await ask({ method: 'POST', url: '/api/v1/jobs', headers: JSON_TYPE, payload })
    expect([response.statusCode, response.json().code]).toEqual([400, 'BAD_INPUT'])
    expect(response.json().message).toContain('spiders.0: ')
  })

  it('a bug tells nothing of itself to the client, and all to the log', async () => {
    const { ask, logged } = openTestApp()
    const payload = { ids: ['019b0000000000000000000000000009'] }
    const response = await ask({ method: 'POST', url: '/api/v1/jobs/retry', headers: JSON_TYPE, payload })
    expect([response.statusCode, response.json().code]).toEqual([500, 'INTERNAL'])
    expect(response.body).not.toContain('secret')
    expect(logged.join()).toContain('secret detail in /home/somebody')
  })

  it.each([
    ['no JSON', '{"paused":'],
    ['a list', '[1]'],
    ['nothing', '']
  ])('a body that is %s is bad input', async (_name, payload) => {
    const { ask } = openTestApp()
    const response = await ask({ method: 'POST', url: '/api/v1/system/paused', headers: JSON_TYPE, payload })
    expect([response.statusCode, response.json().code]).toEqual([400, 'BAD_INPUT'])
  })

  it('a JSON body over the limit is refused', async () => {
    const { ask } = openTestApp()
    const payload = JSON.stringify({ paused: true, more: 'x'.repeat(5 * 1024 * 1024) })
    const response = await ask({ method: 'POST', url: '/api/v1/system/paused', headers: JSON_TYPE, payload })
    expect(response.statusCode).toBe(413)
  })

  it('a path that is none is told so', async () => {
    const { ask } = openTestApp()
    expect((await ask({ url: '/api/v1/none' })).json()).toMatchObject({ code: 'NOT_FOUND', status: 404 })
    expect((await ask({ method: 'POST', url: '/api/rpc/none' })).json()).toMatchObject({ json: { code: 'NOT_FOUND' } })
  })

  it('a GET over RPC cannot change anything', async () => {
    const { ask } = openTestApp()
    const response = await ask({ url: '/api/rpc/system/runDemo' })
    expect(response.statusCode).toBeGreaterThanOrEqual(400)
  })

  it('is described by an OpenAPI document and a page, with every operation', async () => {
    const { ask } = openTestApp()
    const document = (await ask({ url: '/api/openapi.json' })).json()
    expect(document.openapi).toMatch(/^3\.1/)
    expect(document.servers).toEqual([{ url: '/api/v1' }])
    expect(document.paths['/jobs'].post.operationId).toBe('jobs.run')
    const page = (await ask({ url: '/api' })).body
    expect(page).toContain('<tr><td>GET</td><td>/api/v1/jobs/{jobId}/log/tail</td><td>logs.tail</td></tr>')
  })
})
