import { connect } from 'node:net'
import { expect, it } from 'vitest'
import { createFakeClock } from '../engine/testing/fake-clock.ts'
import { MAX_TEXT_BYTES, MAX_UPLOAD_BYTES, perSecond } from './limits.ts'
import { openTestService, RIGHT } from './testing/test-app.ts'

async function open(apiRequests = 0) {
  const clock = createFakeClock()
  const { service } = await openTestService({ rateLimits: { api: perSecond(apiRequests) }, clock })
  const { address } = service
  const ask = (path: string, init: RequestInit & { duplex?: 'half' } = {}) => {
    const headers = { authorization: RIGHT, 'content-type': 'application/json', ...(init.headers as object) }
    return fetch(`${address}${path}`, { ...init, headers })
  }
  return { clock, service, ask }
}

it('a client over the rate limit learns how long to wait, and that is long enough; others are not affected', async () => {
  const { clock, service, ask } = await open(2)
  const login = await fetch(service.createLoginLink(), { redirect: 'manual' })
  const cookie = login.headers.get('set-cookie')!.split(';', 1)[0]!
  const burst = await Promise.all(Array.from({ length: 20 }, () => ask('/api/v1/nodes')))
  expect(burst.filter(({ status }) => status === 200)).toHaveLength(8)
  const refused = burst.filter(({ status }) => status === 429)
  expect(refused).toHaveLength(12)
  const answer = (await refused[0]!.json()) as { code: string; status: number; data: { retryAfterSeconds: number } }
  const seconds = Number(refused[0]!.headers.get('retry-after'))
  expect(answer).toMatchObject({ code: 'TOO_MANY_REQUESTS', status: 429, data: { retryAfterSeconds: seconds } })
  // Other credentials, the Scrapyd API and health checks are not limited.
  expect((await fetch(`${service.address}/api/v1/nodes`, { headers: { cookie } })).status).toBe(200)
  expect((await ask('/daemonstatus.json')).status).toBe(200)
  expect((await ask('/health/ready')).status).toBe(200)
  for (const path of ['/api/rpc/nodes/list', '/api/v1/jsonrpc']) {
    expect([path, (await ask(path, { method: 'POST', body: '{}' })).status]).toEqual([path, 429])
  }
  await clock.advanceBy(seconds * 1_000)
  expect((await ask('/api/v1/nodes')).status).toBe(200)
})

it.each([
  ['with its length told', (text: string) => ({ body: text })],
  ['in pieces', (text: string) => ({ body: new Blob([text]).stream(), duplex: 'half' as const })]
])('a request that is too large, %s, is rejected with its code; one at the limit is not', async (_how, bodyOf) => {
  const { ask } = await open()
  const textOf = (bytes: number) => {
    const order = (fill: string) => JSON.stringify({ project: 'shop', spiders: ['a'], args: { text: fill } })
    return order('x'.repeat(bytes - order('').length))
  }
  const fits = await ask('/api/v1/jobs', { method: 'POST', ...bodyOf(textOf(MAX_TEXT_BYTES)) })
  expect(fits.status).toBe(200)
  const large = await ask('/api/v1/jobs', { method: 'POST', ...bodyOf(textOf(MAX_TEXT_BYTES + 1)) })
  expect([large.status, await large.json()]).toEqual([413, expect.objectContaining({ code: 'REQUEST_TOO_LARGE' })])
})

it('a file announced as too large is rejected before it is sent', async () => {
  const { service } = await open()
  const { port } = new URL(service.address)
  const answer = await new Promise<string>((resolve, reject) => {
    let text = ''
    const socket = connect(Number(port), '127.0.0.1', () => {
      const head = ['POST /api/v1/projects HTTP/1.1', `Host: 127.0.0.1:${port}`, `Authorization: ${RIGHT}`]
      const more = ['Content-Type: multipart/form-data; boundary=b', `Content-Length: ${MAX_UPLOAD_BYTES + 1}`]
      socket.write([...head, ...more, '', ''].join('\r\n'))
    })
    socket.on('data', (piece) => {
      text += piece.toString()
      if (text.includes('}')) socket.end()
    })
    socket.on('close', () => resolve(text))
    socket.on('error', reject)
  })
  expect(answer).toMatch(/^HTTP\/1\.1 413 /)
  expect(answer).toContain('"EGG_TOO_LARGE"')
})
