import { describe, expect, it } from 'vitest'
import { implement } from '@orpc/server'
import { contract } from '../../shared/contract/index.ts'
import { renderMarkdown } from '../markdown.ts'
import { createFakeEngine } from '../testing/fake-engine.ts'
import { perSecond } from '../limits.ts'
import { openTestApp } from '../testing/test-app.ts'

const JSON_TYPE = { 'content-type': 'application/json' }
const RUN = { method: 'POST', url: '/api/v1/jobs', payload: { project: 'shop', spiders: ['a'] } } as const

/** A fake engine that counts orders, numbers their ids, and records the `onceKey` that the API passes. */
function countingEngine() {
  const engine = createFakeEngine()
  const asked: (string | undefined)[] = []
  const os = implement(contract).$context<{ onceKey?: string }>()
  const router = {
    ...engine.parts,
    jobs: {
      ...engine.parts.jobs,
      setPriority: os.jobs.setPriority.handler(({ context }) => {
        asked.push(context.onceKey)
        return { changed: [asked.length.toString(16).padStart(32, '0')] }
      })
    }
  }
  return { engine: { ...engine, router: async () => router } as unknown as typeof engine, asked }
}

describe('a write with an Idempotency-Key', () => {
  const payload = { ids: ['0'.repeat(32)], priority: 1 }
  const order = { method: 'POST', url: '/api/v1/jobs/priority', payload } as const

  it('is performed once; a repeat gets the first response, marked as replayed', async () => {
    const { engine, asked } = countingEngine()
    const { ask } = openTestApp({ engine })
    const headers = { ...JSON_TYPE, 'idempotency-key': 'k-1' }
    const [first, again] = [await ask({ ...order, headers }), await ask({ ...order, headers })]
    expect([again.statusCode, again.body]).toEqual([200, first.body])
    expect([first.headers['idempotency-replayed'], again.headers['idempotency-replayed']]).toEqual([undefined, 'true'])
    expect(asked).toEqual([expect.stringMatching(/^once:[0-9a-f]{64}$/)])
    await ask({ ...order, headers: { ...headers, 'idempotency-key': 'k-2' } })
    await ask({ ...order, headers: JSON_TYPE })
    expect(asked).toHaveLength(3)
  })

  it('rejects an invalid key, and a key that was used for a different request', async () => {
    const { engine, asked } = countingEngine()
    const { ask } = openTestApp({ engine })
    const headers = { ...JSON_TYPE, 'idempotency-key': 'k-1' }
    await ask({ ...order, headers })
    const other = await ask({ ...order, payload: { ...payload, priority: 2 }, headers })
    expect([other.statusCode, other.json().code]).toEqual([409, 'IDEMPOTENCY_KEY_REUSED'])
    for (const key of ['two words', 'x'.repeat(256), '']) {
      const response = await ask({ ...order, headers: { ...JSON_TYPE, 'idempotency-key': key } })
      expect([response.statusCode, response.json().code]).toEqual([400, 'BAD_INPUT'])
    }
    expect(asked).toHaveLength(1)
  })

  it('a failed request leaves the key free', async () => {
    const { ask } = openTestApp()
    const headers = { ...JSON_TYPE, 'idempotency-key': 'k-1' }
    expect((await ask({ ...order, payload: { ids: [], priority: 1 }, headers })).statusCode).toBe(400)
    expect((await ask({ ...order, headers })).statusCode).toBe(200)
  })

  it('recognizes the same file despite a different form boundary', async () => {
    const { ask } = openTestApp()
    const upload = (boundary: string, content: string) =>
      ask({
        method: 'POST',
        url: '/api/v1/projects',
        headers: { 'content-type': `multipart/form-data; boundary=${boundary}`, 'idempotency-key': 'k-1' },
        payload: `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="a.egg"\r\n\r\n${content}\r\n--${boundary}--\r\n`
      })
    expect((await upload('one', 'PK egg')).statusCode).toBe(200)
    expect((await upload('two', 'PK egg')).headers['idempotency-replayed']).toBe('true')
    expect((await upload('two', 'PK other')).json().code).toBe('IDEMPOTENCY_KEY_REUSED')
  })

  it('does not store a streamed response', async () => {
    const { ask } = openTestApp()
    const deploy = { method: 'POST', url: '/api/v1/projects/shop/versions/1/deploy' } as const
    const headers = { ...JSON_TYPE, 'idempotency-key': 'k-1' }
    for (const _time of [1, 2]) {
      const response = await ask({ ...deploy, payload: {}, headers })
      expect(response.headers['content-type']).toContain('text/event-stream')
      expect(response.headers['idempotency-replayed']).toBeUndefined()
    }
  })
})

describe('the fields parameter', () => {
  it('selects parts through lists; a whole part includes its parts', async () => {
    const { ask } = openTestApp()
    const get = async (fields: string) => (await ask({ url: `/api/v1/jobs?fields=${fields}` })).json()
    expect(await get('jobs.project,jobs.placement.tags,nextBefore')).toEqual({
      jobs: [{ project: 'shop', placement: { tags: [] } }],
      nextBefore: null
    })
    expect(await get('jobs.project&fields=nextBefore')).toEqual({ jobs: [{ project: 'shop' }], nextBefore: null })
    expect((await get('jobs.placement,jobs.placement.tags')).jobs).toEqual([{ placement: { nodeId: null, tags: [] } }])
  })

  it('leaves errors whole, and rejects malformed names', async () => {
    const { ask } = openTestApp()
    const failed = await ask({ url: `/api/v1/jobs/${'9'.repeat(32)}?fields=job.id` })
    expect(failed.json()).toMatchObject({ code: 'JOB_NOT_FOUND' })
    for (const fields of ['', 'a b', '.', 'a..b', `a${'.b'.repeat(20)}`]) {
      expect((await ask({ url: `/api/v1/nodes?fields=${encodeURIComponent(fields)}` })).json().code).toBe('BAD_INPUT')
    }
  })

  it('rejects names that the operation does not have, lists those it has, and performs nothing', async () => {
    const { engine, asked } = countingEngine()
    const { ask } = openTestApp({ engine })
    const refusal = async (url: string, more: object = {}) => (await ask({ url: `/api/v1/${url}`, ...more })).json()
    expect(await refusal('nodes?fields=nodes.id,nodes.nmae')).toMatchObject({
      code: 'BAD_INPUT',
      message: expect.stringMatching(
        /this response has no "nodes\.nmae"\. Known are nodes\.id, nodes\.name, nodes\.kind,/
      ),
      data: { field: 'nodes.nmae', known: expect.arrayContaining(['nodes.id', 'nodes.health']) }
    })
    for (const [url, words] of [
      ['nodes?fields=__proto__', 'Known are nodes'],
      ['jobs?fields=jobs.id.x', '"jobs.id" has no parts'],
      ['events?fields=changes', 'remove it'],
      [`jobs/${'0'.repeat(32)}/logs?fields=message`, 'remove it']
    ] as const) {
      expect(await refusal(url)).toMatchObject({ code: 'BAD_INPUT', message: expect.stringContaining(words) })
    }
    const payload = { ids: ['0'.repeat(32)], priority: 1 }
    const write = { method: 'POST', payload, headers: { ...JSON_TYPE, 'idempotency-key': 'k-1' } }
    expect(await refusal('jobs/priority?fields=changd', write)).toMatchObject({ code: 'BAD_INPUT' })
    expect(asked).toEqual([])
    expect((await ask({ url: '/api/v1/jobs/priority?fields=changed', ...write } as never)).statusCode).toBe(200)
    expect(asked).toHaveLength(1)
  })

  it('accepts names in free-form maps, and names of either response type', async () => {
    const { ask } = openTestApp()
    const args = { tag: 'x', other: 'y' }
    const run = { method: 'POST', headers: JSON_TYPE, payload: { project: 'shop', spiders: ['a'], args } } as const
    expect((await ask({ url: '/api/v1/jobs?fields=jobs.args.tag', ...run })).json()).toEqual({
      jobs: [{ args: { tag: 'x' } }]
    })
    const crawl = { ...run, payload: { spider: 'prices' } }
    const answer = await ask({ url: '/api/v1/crawl?fields=cached,next_run', ...crawl })
    expect(Object.keys(answer.json())).toContain('cached')
    expect((await ask({ url: '/api/v1/crawl?fields=body', ...crawl })).json().code).toBe('BAD_INPUT')
  })
})

describe('JSON-RPC', () => {
  it('accepts no text for a flag: the text "false" would force the removal of a node', async () => {
    const { ask } = openTestApp()
    const remove = async (force: unknown) => {
      const payload = { jsonrpc: '2.0', id: 1, method: 'nodes.remove', params: { id: 'eu-1', force } }
      return (await ask({ method: 'POST', url: '/api/v1/jsonrpc', headers: JSON_TYPE, payload })).json()
    }
    expect(await remove('false')).toMatchObject({ error: { data: { code: 'BAD_INPUT' } } })
    expect(await remove(false)).toMatchObject({ result: { removed: 'eu-1' } })
  })

  const call = async (payload: unknown, headers: Record<string, string> = {}) => {
    const { ask } = openTestApp()
    const text = typeof payload === 'string' ? payload : JSON.stringify(payload)
    const response = await ask({
      method: 'POST',
      url: '/api/v1/jsonrpc',
      headers: { ...JSON_TYPE, ...headers },
      payload: text
    })
    return response.body === '' ? response.statusCode : response.json()
  }

  it('calls an operation by name with named parameters', async () => {
    expect(await call({ jsonrpc: '2.0', method: 'jobs.list', params: { limit: 7 }, id: 'a' })).toMatchObject({
      jsonrpc: '2.0',
      id: 'a',
      result: { jobs: [{ priority: 7 }], nextBefore: null }
    })
    expect(await call({ jsonrpc: '2.0', method: 'crawl', params: { spider: 'prices' }, id: null })).toMatchObject({
      id: null,
      result: { cached: false }
    })
    expect(await call({ jsonrpc: '2.0', method: 'nodes.list', id: 0 })).toEqual({
      jsonrpc: '2.0',
      id: 0,
      result: { nodes: [] }
    })
  })

  it.each([
    ['a body that is no JSON', '{"jsonrpc"', -32700],
    ['an empty batch', [], -32600],
    ['a call of an older JSON-RPC', { method: 'nodes.list', id: 1 }, -32600],
    ['a number', 7, -32600],
    ['a method that is none', { jsonrpc: '2.0', method: 'jobs.steal', id: 1 }, -32601],
    ['what every object has', { jsonrpc: '2.0', method: 'constructor', id: 1 }, -32601],
    ['what lies behind a method', { jsonrpc: '2.0', method: 'jobs.list.~orpc', id: 1 }, -32601],
    ['a stream', { jsonrpc: '2.0', method: 'events.subscribe', id: 1 }, -32601],
    ['parameters by position', { jsonrpc: '2.0', method: 'jobs.list', params: [1], id: 1 }, -32602],
    ['wrong parameters', { jsonrpc: '2.0', method: 'jobs.list', params: { limit: 0 }, id: 1 }, -32602],
    ['a bug', { jsonrpc: '2.0', method: 'jobs.retry', params: { ids: ['0'.repeat(32)] }, id: 1 }, -32603]
  ])('%s has its own error code', async (_name, payload, code) => {
    const answer = await call(payload)
    expect(answer).toMatchObject({ jsonrpc: '2.0', error: { code } })
    expect(JSON.stringify(answer)).not.toContain('secret')
  })

  it('our errors include their code', async () => {
    const id = '9'.repeat(32)
    expect(await call({ jsonrpc: '2.0', method: 'jobs.get', params: { id }, id: 1 })).toMatchObject({
      error: { code: -32000, data: { code: 'JOB_NOT_FOUND', status: 404, data: { id } } }
    })
  })

  it('a batch has a response for each call except notifications, and no body if all are notifications', async () => {
    const notification = { jsonrpc: '2.0', method: 'nodes.list' }
    const answers = await call([
      { ...notification, id: 1 },
      notification,
      'x',
      { ...notification, method: 'no', id: 2 }
    ])
    expect(answers.map(({ id }: { id: unknown }) => id)).toEqual([1, null, 2])
    expect(await call([notification, notification])).toBe(204)
    expect(await call(Array.from({ length: 1_001 }, () => notification))).toMatchObject({ error: { code: -32600 } })
  })

  it('a call is not performed if the batch has no room for its response; all others are', async () => {
    const args = { text: 'x'.repeat(1_000_000) }
    const spiders = Array.from({ length: 9 }, (_, index) => `s${index}`)
    const run = { jsonrpc: '2.0', method: 'jobs.run', params: { project: 'shop', spiders, args } }
    const answers = await call([
      { ...run, id: 1 },
      { ...run, id: 2 },
      { ...run, id: 3 },
      { ...run, id: 4 }
    ])
    const codes = answers.map((answer: { error?: { data: { code: string } } }) => answer.error?.data.code)
    expect(codes).toEqual([undefined, ...Array(3).fill('ANSWER_TOO_LARGE')])
  })

  it('a batch with a key is performed once, and each call in it has a key of its own', async () => {
    const { engine, asked } = countingEngine()
    const { ask } = openTestApp({ engine })
    const params = { ids: ['0'.repeat(32)], priority: 1 }
    const payload = [1, 2].map((id) => ({ jsonrpc: '2.0', method: 'jobs.setPriority', params, id }))
    const headers = { ...JSON_TYPE, 'idempotency-key': 'k-1' }
    const batch = () => ask({ method: 'POST', url: '/api/v1/jsonrpc', headers, payload })
    const first = await batch()
    expect((await batch()).body).toBe(first.body)
    expect(asked.map((key) => key!.slice(-2))).toEqual(['/0', '/1'])
  })
})

describe('rate limits', () => {
  it('allow a burst, then the rate per second', async () => {
    const { ask, clock } = openTestApp({ rateLimits: { api: perSecond(2) } })
    const get = async () => {
      const response = await ask({ url: '/api/v1/nodes' })
      return [response.statusCode, response.headers['retry-after'] ?? response.headers['ratelimit-remaining']]
    }
    for (const left of ['7', '6', '5', '4', '3', '2', '1', '0']) expect(await get()).toEqual([200, left])
    expect(await get()).toEqual([429, '1'])
    await clock.advanceBy(500)
    expect([await get(), await get()]).toEqual([
      [200, '0'],
      [429, '1']
    ])
  })

  it('apply per credential, and not to the Scrapyd API', async () => {
    const { ask, askAnonymously, createLoginPath } = openTestApp({ rateLimits: { api: perSecond(1) } })
    const login = await askAnonymously({ url: createLoginPath() })
    const cookie = String(login.headers['set-cookie']).split(';', 1)[0] as string
    for (let time = 0; time < 4; time += 1) await ask({ url: '/api/v1/nodes' })
    expect((await ask({ url: '/api/v1/nodes' })).json()).toMatchObject({ code: 'TOO_MANY_REQUESTS', status: 429 })
    expect((await askAnonymously({ url: '/api/v1/nodes', headers: { cookie } })).statusCode).toBe(200)
    for (let time = 0; time < 10; time += 1) expect((await ask({ url: '/daemonstatus.json' })).statusCode).toBe(200)
  })

  it('count each call of a batch; a batch larger than the burst is accepted on its own', async () => {
    const { ask, clock } = openTestApp({ rateLimits: { api: perSecond(1) } })
    const batch = (count: number) => {
      const payload = Array.from({ length: count }, (_, id) => ({ jsonrpc: '2.0', method: 'nodes.list', id }))
      return ask({ method: 'POST', url: '/api/v1/jsonrpc', headers: JSON_TYPE, payload })
    }
    expect((await batch(3)).statusCode).toBe(200)
    expect((await batch(2)).statusCode).toBe(429)
    await clock.advanceBy(3_000)
    expect((await batch(20)).json()).toHaveLength(20)
    await clock.advanceBy(15_000)
    expect((await batch(1)).statusCode).toBe(429)
  })

  it('can be turned off', async () => {
    const { ask } = openTestApp({ rateLimits: { api: null } })
    const response = await ask(RUN)
    expect([response.statusCode, response.headers['ratelimit-limit']]).toEqual([200, undefined])
  })
})

describe('pages', () => {
  it('/api loads only its own files, which all exist', async () => {
    const { ask } = openTestApp()
    const page = await ask({ url: '/api' })
    const policy = String(page.headers['content-security-policy'])
    expect(policy).toContain("default-src 'none'; script-src 'self'")
    expect(page.body).not.toMatch(/https?:\/\//)
    const files = [...page.body.matchAll(/(?:src|href)="(\/api\/files\/[^"]+)"/g)].map(([, path]) => path!)
    expect(files).toHaveLength(4)
    for (const url of files) expect([url, (await ask({ url })).statusCode]).toEqual([url, 200])
    expect((await ask({ url: '/api/files/..%2Fpackage.json' })).statusCode).toBe(404)
    expect((await ask({ url: '/api/files/constructor' })).statusCode).toBe(404)
  })

  it('without a login, browsers are redirected to the login page and programs get 401', async () => {
    const { askAnonymously } = openTestApp()
    for (const url of ['/api', '/docs', '/docs/http']) {
      const person = await askAnonymously({ url, headers: { accept: 'text/html' } })
      expect([url, person.statusCode, person.headers['location']]).toEqual([url, 303, '/ui/login'])
      expect((await askAnonymously({ url })).statusCode).toBe(401)
    }
  })

  it('/docs lists every page, and every link on every page works', async () => {
    const { ask } = openTestApp({ rateLimits: { api: null } })
    const hrefs = (body: string) => [...body.matchAll(/(?:href|src)="([^"#]*)(#[^"]*)?"/g)]
    const { body: list } = await ask({ url: '/docs' })
    expect(list).toMatch(/>Schedules and chains<\/a><p>When it fires · /)
    const pages = hrefs(list).flatMap(([, path]) => (path!.startsWith('/docs/') ? [path!] : []))
    expect(pages).toEqual(expect.arrayContaining(['/docs/http', '/docs/security', '/docs/errors']))
    const broken: string[] = []
    const seen = new Map<string, ReturnType<typeof ask>>()
    const open = (url: string) => seen.get(url) ?? seen.set(url, ask({ url })).get(url)!
    for (const page of pages.filter((path) => !path.endsWith('.css'))) {
      const { body } = await open(page)
      for (const [, path, anchor] of hrefs(body)) {
        if (path!.startsWith('http')) continue
        const target = await open(path === '' ? page : path!)
        const isThere =
          target.statusCode < 400 && (anchor === undefined || target.body.includes(`id="${anchor.slice(1)}"`))
        if (!isThere) broken.push(`${page}: ${path}${anchor ?? ''}`)
      }
    }
    expect(broken).toEqual([])
  })

  it('/docs shows raw HTML as text and links only to its own pages and the web', () => {
    const shown = renderMarkdown(
      '<script>x</script> [a](javascript:x) [b](../x.md) ![c](https://x/y.png) <b onclick=x>'
    )
    expect(shown).not.toMatch(/<(script|a|img|b)/)
  })

  it('/docs serves only documentation', async () => {
    const { ask } = openTestApp()
    for (const url of ['/docs/..%2Fpackage', '/docs/none', '/docs/images/..%2F..%2Fpackage.json', '/docs/images/x.svg'])
      expect([url, (await ask({ url })).statusCode]).toEqual([url, 404])
  })
})

describe('a malicious body', () => {
  const deep = `{"project":"shop","spiders":["a"],"args":${'['.repeat(100_000)}${']'.repeat(100_000)}}`
  const lost = '{"project":"shop","spiders":["a"],"args":{"__proto__":"x"}}'

  it.each([
    ['/api/v1/jobs', deep, 'nested more than 100 levels'],
    ['/api/v1/jobs', `[${'0,'.repeat(400_000)}0]`, 'more than 300,000 values'],
    ['/api/v1/jobs', `{${Array.from({ length: 2_001 }, (_, at) => `"k${at}":0`).join()}}`, 'more than 2,000 fields'],
    ['/api/v1/jobs', lost, '"__proto__"'],
    ['/api/v1/jsonrpc', `{"jsonrpc":"2.0","id":1,"method":"jobs.run","params":${deep}}`, 'nested more than 100 levels'],
    ['/api/v1/jsonrpc', `{"jsonrpc":"2.0","id":1,"method":"jobs.run","params":${lost}}`, '"__proto__"'],
    ['/api/rpc/jobs/run', `{"json":${deep},"meta":[]}`, 'nested more than 100 levels'],
    ['/api/rpc/jobs/run', `{"json":${lost},"meta":[]}`, '"__proto__"']
  ])('is refused by %s, even with an Idempotency-Key', async (url, payload, words) => {
    const { ask } = openTestApp()
    for (const key of [{}, { 'idempotency-key': 'k-1' }]) {
      const response = await ask({ method: 'POST', url, headers: { ...JSON_TYPE, ...key }, payload })
      expect([response.statusCode, response.body]).toEqual([
        url.endsWith('jsonrpc') ? 200 : 400,
        expect.stringContaining(JSON.stringify(words).slice(1, -1))
      ])
    }
  })
})
