import type { InjectOptions } from 'fastify'
import { describe, expect, it } from 'vitest'
import type { RateLimits } from './limits.ts'
import { cookieOf, openTestApp, RIGHT } from './testing/test-app.ts'

const TWO = { requests: 2, windowSeconds: 10, burst: 2 }

function open(rateLimits: Partial<RateLimits>) {
  const app = openTestApp({ rateLimits })
  const send = async (request: InjectOptions) => {
    const { statusCode, headers } = await app.ask(request)
    const shown = ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset', 'retry-after'].map(
      (name) => headers[name]
    )
    return [statusCode, ...shown]
  }
  const batch = (payload: unknown[]) =>
    app.ask({
      method: 'POST',
      url: '/api/v1/jsonrpc',
      headers: { 'content-type': 'application/json' },
      payload: JSON.stringify(payload)
    })
  return { ...app, send, batch }
}

describe('the rate limit of the endpoints', () => {
  it.each(['/daemonstatus.json', '/jobs', '/logs/', '/items/', '/metrics', '/docs', '/ui/', '/', '/nothing'])(
    'applies to %s: responses say what is left, and a 429 how long to wait',
    async (url) => {
      const { send, clock } = open({ endpoints: TWO })
      expect((await send({ url })).slice(1)).toEqual(['2', '1', '5', undefined])
      expect((await send({ url })).slice(1)).toEqual(['2', '0', '10', undefined])
      expect(await send({ url })).toEqual([429, '2', '0', '10', '5'])
      await clock.advanceBy(5_000)
      expect((await send({ url }))[0]).not.toBe(429)
    }
  )

  it('is off by default, and the API has a limit of its own', async () => {
    const { send } = open({})
    expect(await send({ url: '/daemonstatus.json' })).toEqual([200, undefined, undefined, undefined, undefined])
    const limited = open({ endpoints: TWO })
    for (let time = 0; time < 3; time++) await limited.send({ url: '/jobs' })
    expect((await limited.send({ url: '/api/v1/nodes' }))[0]).toBe(200)
  })

  it.each([
    ['/api/v1/nodes', { api: TWO }],
    ['/api/rpc/nodes/list', { api: TWO }],
    ['/health', { open: TWO }]
  ])('of %s is in its 429, too', async (url, limits) => {
    const { send } = open(limits)
    for (let time = 0; time < 2; time++) await send({ url })
    expect(await send({ url })).toEqual([429, '2', '0', '10', '5'])
  })

  it.each(['/api/v1/jobs', '/api/rpc/jobs/run', '/api/v1/jsonrpc'])(
    'of %s counts requests whose body cannot be read',
    async (url) => {
      const { send } = open({ api: TWO })
      const post = (payload: string) =>
        send({ method: 'POST', url, headers: { 'content-type': 'application/json' }, payload })
      expect((await post('{"a')).slice(1, 3)).toEqual(['2', '1'])
      expect((await post('{"__proto__": 1}')).slice(1, 3)).toEqual(['2', '0'])
      expect(await post('{"a')).toEqual([429, '2', '0', '10', '5'])
    }
  )

  it('counts all sessions of a credential at one address as one, and each login', async () => {
    const { askAnonymously, clock } = open({ endpoints: { requests: 5, windowSeconds: 1, burst: 5 } })
    const logIn = () =>
      askAnonymously({
        method: 'POST',
        url: '/ui/login',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        payload: `username=scrapdeck&password=${encodeURIComponent('correct horse: battery')}`
      })
    const codes: number[] = []
    let cookie = ''
    for (let time = 0; time < 30; time++) {
      if (time % 2 === 0) {
        const answer = await logIn()
        codes.push(answer.statusCode)
        if (answer.statusCode === 303) cookie = cookieOf(answer)
      } else codes.push((await askAnonymously({ url: '/jobs', headers: { cookie } })).statusCode)
    }
    expect(codes.slice(0, 6)).toEqual([303, 200, 303, 200, 303, 429])
    expect(new Set(codes.slice(5))).toEqual(new Set([429]))
    await clock.advanceBy(1_000)
    expect((await logIn()).statusCode).toBe(303)
  })

  it('does not use up a login link', async () => {
    const { askAnonymously, createLoginPath, clock } = open({ endpoints: { ...TWO, burst: 1 } })
    const login = async (url: string) => (await askAnonymously({ url })).statusCode
    const [first, second] = [createLoginPath(), createLoginPath()]
    expect([await login(first), await login(second)]).toEqual([303, 429])
    await clock.advanceBy(5_000)
    expect([await login(second), await login(second)]).toEqual([303, 403])
  })

  it('responds to a Scrapyd client in the format of Scrapyd', async () => {
    const { ask } = open({ endpoints: { ...TWO, burst: 1 } })
    await ask({ url: '/daemonstatus.json' })
    const { statusCode, json } = await ask({ url: '/daemonstatus.json' })
    expect([statusCode, json()]).toEqual([
      429,
      { status: 'error', message: 'Rate limit of 2 requests per 10 s exceeded. Retry in 5 s.' }
    ])
  })

  it('counts each credential at each address separately', async () => {
    const { send, askAnonymously, createLoginPath } = open({ endpoints: TWO, api: TWO })
    const cookie = cookieOf(await askAnonymously({ url: createLoginPath() }))
    for (const url of ['/jobs', '/api/v1/nodes']) {
      for (let time = 0; time < 2; time++) await send({ url })
      expect((await send({ url }))[0]).toBe(429)
      expect((await send({ url, remoteAddress: '192.0.2.9' }))[0]).toBe(200)
      expect((await askAnonymously({ url, headers: { cookie } })).statusCode).toBe(200)
    }
  })
})

describe('the rate limit without credentials', () => {
  it('applies to requests with a foreign origin', async () => {
    const { ask } = open({ open: { requests: 1, windowSeconds: 1, burst: 1 } })
    const foreign = { url: '/jobs', headers: { origin: 'https://evil.example' } }
    expect([(await ask(foreign)).statusCode, (await ask(foreign)).statusCode]).toEqual([403, 429])
    expect((await ask({ url: '/jobs' })).statusCode).toBe(200)
  })

  it('applies to each address, to health, to the login page and to missing credentials', async () => {
    const { askAnonymously, ask } = open({ open: { requests: 1, windowSeconds: 1, burst: 3 } })
    const status = async (url: string, remoteAddress?: string) =>
      (await askAnonymously({ url, ...(remoteAddress !== undefined && { remoteAddress }) })).statusCode
    expect([await status('/health'), await status('/ui/login'), await status('/jobs')]).toEqual([200, 200, 401])
    expect([await status('/health'), await status('/ui/login'), await status('/jobs')]).toEqual([429, 429, 429])
    expect(await status('/health', '192.0.2.9')).toBe(200)
    expect((await ask({ url: '/jobs' })).statusCode).toBe(200)
    // A user has just logged in from here, so the login stays open. Failures are charged.
    expect([await status('/ui/login'), await status('/health')]).toEqual([200, 429])
    const guess = () =>
      askAnonymously({
        method: 'POST',
        url: '/ui/login',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        payload: 'username=scrapdeck&password=wrong'
      })
    expect((await guess()).statusCode).toBe(429)
  })
})

describe('a batch', () => {
  it('that is rejected as a whole costs one request, however long it is', async () => {
    const { batch, ask } = open({ api: { requests: 1, windowSeconds: 1, burst: 4 } })
    expect((await batch(Array.from({ length: 300_000 }, () => 1))).json()).toMatchObject({
      error: { message: expect.stringContaining('at most') }
    })
    expect((await ask({ url: '/api/v1/nodes' })).headers['ratelimit-remaining']).toBe('2')
  })

  it('that costs more than the burst blocks its client for at most a minute', async () => {
    const { batch, ask, clock } = open({ api: { requests: 1, windowSeconds: 1, burst: 4 } })
    const calls = Array.from({ length: 1_000 }, (_, id) => ({ jsonrpc: '2.0', method: 'nodes.list', id }))
    expect((await batch(calls)).json()).toHaveLength(1_000)
    const refused = await ask({ url: '/api/v1/nodes' })
    expect([refused.statusCode, refused.headers['retry-after']]).toEqual([429, '61'])
    await clock.advanceBy(61_000)
    expect((await ask({ url: '/api/v1/nodes', headers: { authorization: RIGHT } })).statusCode).toBe(200)
  })
})
