import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { systemClock } from '../../runtime/clock.ts'
import { type Logger, silentLogger } from '../../runtime/logger.ts'
import { answerJson, type Script, startScriptedHttpNode } from '../../testing/scripted-http-node.ts'
import { makeTemporaryDirectory } from '../../testing/temporary-directory.ts'
import { type NodeClient, NodeError } from '../node-client.ts'
import { type ClientLimits, createScrapydClient, type ScrapydClientOptions } from './scrapyd-client.ts'

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

const UNLIMITED = { isVersionAsked: true, secretNames: [], limits: null }
const JOB = {
  project: 'shop',
  version: '1',
  spider: 'prices',
  jobid: 'a1',
  settings: {},
  args: {},
  priority: 0,
  ...UNLIMITED
}
const RUN = { project: 'shop', spider: 'prices', jobid: 'a1' }

function connect(options: Partial<ScrapydClientOptions> & { url: string }): NodeClient {
  const none = { username: null, password: null, caCertificate: null, name: 'eu-1' }
  const client = createScrapydClient({ ...none, clock: systemClock, logger: silentLogger, ...options })
  closers.push(() => client.close())
  return client
}

async function scripted(script: Script, limits: Partial<ClientLimits> = {}) {
  const node = await startScriptedHttpNode(script)
  closers.push(node.close)
  return { node, client: connect({ url: node.url, limits }) }
}

async function failureOf(request: Promise<unknown>): Promise<NodeError> {
  const error = await request.then(
    (value) => new Error(`It did not fail but gave ${JSON.stringify(value)}`),
    (reason) => reason
  )
  if (!(error instanceof NodeError)) throw error
  return error
}

describe('a schedule that fails', () => {
  const cases: {
    name: string
    script: Script
    kind: string
    delivered: string
    says: RegExp
    limits?: Partial<ClientLimits>
  }[] = [
    {
      name: 'because the node refuses it was not delivered',
      script: answerJson({ status: 'error', message: "spider 'prices' not found" }),
      kind: 'refused',
      delivered: 'no',
      says: /Node eu-1 \(.*\) refused schedule\.json: spider 'prices' not found/
    },
    {
      name: 'with 401 was not delivered',
      script: (_request, response) => void response.writeHead(401, { 'content-type': 'text/html' }).end('Unauthorized'),
      kind: 'unauthorized',
      delivered: 'no',
      says: /refused the user name or password/
    },
    {
      name: 'with 404 was not delivered',
      script: (_request, response) => void response.writeHead(404).end('<html>No Such Resource</html>'),
      kind: 'http',
      delivered: 'no',
      says: /404.*base path/
    },
    {
      name: 'with 500 may have been delivered',
      script: (_request, response) => void response.writeHead(500).end('<html>Traceback</html>'),
      kind: 'http',
      delivered: 'unknown',
      says: /status 500/
    },
    {
      name: 'with a redirect is not sent again to where it points',
      script: (_request, response) => void response.writeHead(302, { location: '/elsewhere' }).end(),
      kind: 'http',
      delivered: 'unknown',
      says: /redirects schedule\.json to \/elsewhere/
    },
    {
      name: 'with HTML and 200 may have been delivered',
      script: (_request, response) => void response.end('<html><h1>Log in</h1></html>'),
      kind: 'not_scrapyd',
      delivered: 'unknown',
      says: /not JSON \(<html><h1>Log in/
    },
    {
      name: 'with JSON that breaks off may have been delivered',
      script: (_request, response) => void response.end('{"status": "ok", "jobid": "a'),
      kind: 'not_scrapyd',
      delivered: 'unknown',
      says: /not JSON/
    },
    {
      name: 'with a JSON array may have been delivered',
      script: (_request, response) => void response.end('[1, 2]'),
      kind: 'not_scrapyd',
      delivered: 'unknown',
      says: /not JSON/
    },
    {
      name: 'with another shape may have been delivered',
      script: answerJson({ jobid: 7 }),
      kind: 'not_scrapyd',
      delivered: 'unknown',
      says: /not Scrapyd's/
    },
    {
      name: 'with bytes that are no text may have been delivered',
      script: (_request, response) => void response.end(Buffer.from([0xff, 0x00, 0xfe, 0x7b])),
      kind: 'not_scrapyd',
      delivered: 'unknown',
      says: /not JSON/
    },
    {
      name: 'because the connection breaks before the answer may have been delivered',
      script: (_request, _response, socket) => void socket.destroy(),
      kind: 'reset',
      delivered: 'unknown',
      says: /broke the connection/
    },
    {
      name: 'because the connection breaks within the answer may have been delivered',
      script: (_request, response, socket) => {
        response.writeHead(200, { 'content-length': '100' })
        response.write('{"status": "ok"', () => socket.destroy())
      },
      kind: 'reset',
      delivered: 'unknown',
      says: /broke the connection/
    },
    {
      name: 'because no answer comes may have been delivered',
      script: () => {},
      limits: { scheduleMs: 150 },
      kind: 'timeout',
      delivered: 'unknown',
      says: /did not answer schedule\.json within 0\.15 s/
    },
    {
      name: 'because the answer drips may have been delivered',
      script: (_request, response) => {
        response.writeHead(200)
        const timer = setInterval(() => response.write(' '), 20)
        response.on('close', () => clearInterval(timer))
      },
      limits: { scheduleMs: 150 },
      kind: 'timeout',
      delivered: 'unknown',
      says: /did not answer/
    },
    {
      name: 'because the answer is too large may have been delivered',
      script: (_request, response) => void response.end(Buffer.alloc(2000, ' ')),
      limits: { otherBytes: 1000 },
      kind: 'too_large',
      delivered: 'unknown',
      says: /more than schedule\.json may hold/
    },
    {
      name: 'because the answer is not HTTP may have been delivered',
      script: (_request, _response, socket) => void socket.end('SSH-2.0-OpenSSH_9.2\r\n'),
      kind: 'not_scrapyd',
      delivered: 'unknown',
      says: /not HTTP/
    }
  ]
  test.each(cases)('$name', async ({ script, kind, delivered, says, limits }) => {
    const { node, client } = await scripted(script, limits)
    const error = await failureOf(client.schedule(JOB))
    expect({ kind: error.kind, delivered: error.delivered }).toEqual({ kind, delivered })
    expect(error.message).toMatch(says)
    expect(error.message).toContain(`eu-1 (http://127.0.0.1:${node.port})`)
    expect(node.requests).toHaveLength(1)
  })

  test('because nothing listens was not delivered', async () => {
    const { node, client } = await scripted(answerJson({}))
    await node.close()
    expect(await failureOf(client.schedule(JOB))).toMatchObject({
      kind: 'unreachable',
      delivered: 'no',
      message: expect.stringMatching(/nothing listens on 127\.0\.0\.1:\d+\. Start Scrapyd there/)
    })
  })

  test('because the host does not exist was not delivered', async () => {
    const client = connect({ url: 'http://no-such-host.invalid:6800/' })
    expect(await failureOf(client.schedule(JOB))).toMatchObject({
      kind: 'unreachable',
      delivered: 'no',
      message: expect.stringContaining('no-such-host.invalid does not resolve')
    })
  })

  test('because all connections are busy was not delivered', async () => {
    const { node, client } = await scripted(() => {}, { scheduleMs: 300, listJobsMs: 5000 })
    const busy = Array.from({ length: 4 }, () => failureOf(client.listJobs()))
    await until(() => node.requests.length === 4)
    expect(await failureOf(client.schedule(JOB))).toMatchObject({ kind: 'timeout', delivered: 'no' })
    await client.close()
    for (const each of await Promise.all(busy)) expect(each.kind).toBe('reset')
    expect(node.requests.every((request) => request.path === '/listjobs.json')).toBe(true)
  })

  test('because we gave up waiting may have been delivered; before it was sent it was not', async () => {
    const { node, client } = await scripted(() => {})
    const aborting = new AbortController()
    const failure = failureOf(client.schedule(JOB, aborting.signal))
    await until(() => node.requests.length === 1)
    aborting.abort()
    expect(await failure).toMatchObject({ kind: 'aborted', delivered: 'unknown' })
    expect(await failureOf(client.schedule(JOB, aborting.signal))).toMatchObject({ kind: 'aborted', delivered: 'no' })
    expect(node.requests).toHaveLength(1)
  })

  test('because the node accepts connections and says nothing ends at its time limit', async () => {
    const sockets: Socket[] = []
    const mute = createServer((socket) => void sockets.push(socket)).listen(0, '127.0.0.1')
    await once(mute, 'listening')
    closers.push(async () => {
      for (const socket of sockets) socket.destroy()
      mute.close()
    })
    const url = `http://127.0.0.1:${(mute.address() as AddressInfo).port}/`
    const client = connect({ url, limits: { daemonStatusMs: 150 } })
    expect(await failureOf(client.daemonStatus())).toMatchObject({ kind: 'timeout', delivered: 'unknown' })
  })
})

describe('what is sent', () => {
  test('schedule encodes what Scrapyd would split or lose, and always names the version', async () => {
    const { node, client } = await scripted(answerJson({ jobid: 'a1' }))
    const settings = { A: 'x;y=z', B: '&ü' }
    const args = { category: 'a;b c+d', url: 'http://h/?q=1&r=2' }
    expect(await client.schedule({ ...JOB, settings, args, priority: 2.5 })).toEqual({ jobid: 'a1' })
    const [request] = node.requests
    expect(request).toMatchObject({
      method: 'POST',
      path: '/schedule.json',
      headers: { 'content-type': 'application/x-www-form-urlencoded', 'accept-encoding': 'identity' }
    })
    const body = request?.body.toString() ?? ''
    expect(body).not.toContain(';')
    expect([...new URLSearchParams(body)]).toEqual([
      ['project', 'shop'],
      ['spider', 'prices'],
      ['_version', '1'],
      ['jobid', 'a1'],
      ['priority', '2.5'],
      ['setting', 'A=x;y=z'],
      ['setting', 'B=&ü'],
      ['category', 'a;b c+d'],
      ['url', 'http://h/?q=1&r=2']
    ])
  })

  test('nothing that costs the node a slot, an egg or all eggs is sent', async () => {
    const { node, client } = await scripted(answerJson({}))
    const refused = [
      client.schedule({ ...JOB, jobid: '../x' }),
      client.schedule({ ...JOB, jobid: '' }),
      client.schedule({ ...JOB, spider: 'a/b' }),
      client.schedule({ ...JOB, version: '' }),
      client.schedule({ ...JOB, args: { _job: 'x' } }),
      client.schedule({ ...JOB, args: { name: 'x' } }),
      client.schedule({ ...JOB, args: { 'a=b': 'x' } }),
      client.schedule({ ...JOB, args: { a: 'x\0y' } }),
      client.schedule({ ...JOB, args: { a: '\ud800' } }),
      client.schedule({ ...JOB, args: { a: 'x'.repeat(140_000) } }),
      client.schedule({ ...JOB, settings: { '': 'x' } }),
      client.deleteProject(''),
      client.deleteProject('.'),
      client.deleteVersion('..', '1'),
      client.addVersion('a/b', '1', new Uint8Array(1)),
      client.readLog({ ...RUN, jobid: '../../x' }, { offset: 0, limitBytes: 1 })
    ]
    for (const request of refused) expect(await failureOf(request)).toMatchObject({ kind: 'refused', delivered: 'no' })
    expect(node.requests).toEqual([])
  })

  test('a jobid of any characters that can name a file goes as it is, into the form and into addresses', async () => {
    const { node, client } = await scripted(answerJson({ jobid: 'ü;a b/' }))
    await client.schedule({ ...JOB, jobid: 'ü;a b' })
    expect(new URLSearchParams(node.requests[0]!.body.toString()).get('jobid')).toBe('ü;a b')
    await client.readItems({ ...RUN, jobid: 'ü;a b' }, { offset: 0, limitBytes: 1 }).catch(() => null)
    expect(node.requests[1]!.path).toBe(`/items/${RUN.project}/${RUN.spider}/%C3%BC%3Ba%20b.jl`)
  })

  test('credentials go as UTF-8, under the base path', async () => {
    const node = await startScriptedHttpNode(answerJson({ projects: [] }))
    closers.push(node.close)
    const client = connect({ url: `${node.url}base/path/`, username: 'ünï', password: 'pä:ss' })
    await client.listProjects()
    expect(node.requests[0]?.path).toBe('/base/path/listprojects.json')
    expect(node.requests[0]?.headers.authorization).toBe(`Basic ${Buffer.from('ünï:pä:ss').toString('base64')}`)
  })

  test('a log is asked for with each part of its path encoded', async () => {
    const { node, client } = await scripted((_request, response) => void response.writeHead(404).end())
    const run = { project: 'a b', spider: 'ü%?', jobid: 'x#1' }
    expect(await client.readLog(run, { offset: 0, limitBytes: 10 })).toBeNull()
    expect(node.requests[0]).toMatchObject({
      path: '/logs/a%20b/%C3%BC%25%3F/x%231.log',
      headers: { range: 'bytes=0-9' }
    })
  })

  test('connections are kept and used again', async () => {
    const { node, client } = await scripted(answerJson({ pending: 0, running: 0, finished: 0 }))
    for (let time = 0; time < 10; time++) await client.daemonStatus()
    expect(node.requests).toHaveLength(10)
    // Two, because a connection counts as busy until the turn after its answer.
    expect(node.connectionCount()).toBeLessThanOrEqual(2)
  })
})

describe('an egg', () => {
  const egg = Buffer.from([0x50, 0x4b, 0x05, 0x06, 0x0d, 0x0a, 0x2d, 0x2d, 0xff, 0x00])

  test('is sent byte by byte in a form that Scrapyd reads', async () => {
    const { node, client } = await scripted(answerJson({ project: 'shöp', version: '1.0', spiders: 3, versions: [] }))
    expect(await client.addVersion('shöp', '1.0', egg)).toEqual({ spiders: 3 })
    const { headers, body } = node.requests[1] ?? { headers: {}, body: Buffer.of() }
    const form = await new Response(new Uint8Array(body), {
      headers: { 'content-type': headers['content-type'] ?? '' }
    }).formData()
    expect(form.get('project')).toBe('shöp')
    expect(form.get('version')).toBe('1.0')
    expect(Buffer.from(await (form.get('egg') as File).arrayBuffer())).toEqual(egg)
  })

  /** A node that refuses eggs after it has stored them, beside these versions. */
  const refusing = (versions: unknown) =>
    scripted((request, response, socket) => {
      const message = 'RunnerError: Traceback\nscrapyd.exceptions.BadEggError\n'
      const answer = request.path === '/addversion.json' ? { status: 'error', message } : { versions }
      return answerJson(answer)(request, response, socket)
    })
  const pathsOf = (node: { requests: { path: string }[] }) => node.requests.map(({ path }) => path.split('?')[0])

  test('that the node refuses after storing it is taken back before the error is told', async () => {
    const { node, client } = await refusing(['1_0'])
    const failure = await failureOf(client.addVersion('shop', '1.1', egg))
    expect(failure).toMatchObject({ kind: 'refused', delivered: 'no' })
    expect(failure?.message).toMatch(/BadEggError\. It was taken back from the node\.$/)
    expect(pathsOf(node)).toEqual(['/listversions.json', '/addversion.json', '/delversion.json'])
    expect(node.requests[2]?.body.toString()).toBe('project=shop&version=1.1')
  })

  test('whose name the node had before is not taken back: what others run by that name would go', async () => {
    const { node, client } = await refusing(['1_0'])
    const failure = await failureOf(client.addVersion('shop', '1.0', egg))
    expect(failure?.message).toContain('It now stands where the node had a version 1.0 before: send a mended one.')
    expect(pathsOf(node)).toEqual(['/listversions.json', '/addversion.json'])
  })

  test('is not taken back where it is not known what the node had before', async () => {
    const { node, client } = await refusing('none of your business')
    const failure = await failureOf(client.addVersion('shop', '1.0', egg))
    expect(failure?.message).toContain('Whether the node keeps it is not known: look for version 1.0 there.')
    expect(pathsOf(node)).toEqual(['/listversions.json', '/addversion.json'])
  })

  test('that was never stored is not taken back: an older one of that name would go', async () => {
    const message = 'egg is not a ZIP file (if using curl, use egg=@path not egg=path)'
    const { node, client } = await scripted(answerJson({ status: 'error', message }))
    await failureOf(client.addVersion('shop', '1', egg))
    expect(pathsOf(node)).toEqual(['/listversions.json', '/addversion.json'])
  })

  test('that cannot be taken back is told by its refusal, and the log says so', async () => {
    const warnings: string[] = []
    const logger: Logger = { ...silentLogger, warn: (_facts, text) => void warnings.push(text) }
    const node = await startScriptedHttpNode((request, response, socket) => {
      if (request.path === '/delversion.json') return void socket.destroy()
      if (request.method === 'GET') return answerJson({ versions: [] })(request, response, socket)
      return answerJson({ status: 'error', message: 'Traceback: broken' })(request, response, socket)
    })
    closers.push(node.close)
    const client = connect({ url: node.url, logger })
    expect(await failureOf(client.addVersion('shop', '1', egg))).toMatchObject({ nodeMessage: 'Traceback: broken' })
    expect(warnings).toEqual([expect.stringContaining('could not be taken back')])
  })
})

describe('listjobs', () => {
  const nothing = { pending: [], running: [], finished: [] }
  const running = { id: 'b', project: 'shop', spider: 's', pid: 7, start_time: '2026-11-21 01:00:00' }
  const seen = { project: 'shop', spider: 's', pid: null, startTime: null, endTime: null, exit: null }

  test('of 1.6 is read whole, unknown and missing fields included', async () => {
    const { client } = await scripted(
      answerJson({
        pending: [{ id: 'a', project: 'shop', spider: 's', version: null, settings: {}, args: {}, priority: 3 }],
        running: [{ ...running, log_url: null, items_url: null }],
        finished: [{ id: 'c', project: 'shop', spider: 's', start_time: 'x', end_time: 'y', log_url: '/logs/c' }],
        future: true
      })
    )
    const before = systemClock.monotonicMs()
    const snapshot = await client.listJobs()
    expect(snapshot.begunAtMs).toBeGreaterThanOrEqual(before)
    expect(snapshot).toEqual({
      begunAtMs: snapshot.begunAtMs,
      pending: [{ ...seen, jobid: 'a' }],
      running: [{ ...seen, jobid: 'b', pid: 7, startTime: '2026-11-21 01:00:00' }],
      finished: [{ ...seen, jobid: 'c', startTime: 'x', endTime: 'y' }]
    })
  })

  test('of 1.2 is put together from one answer per project', async () => {
    const { node, client } = await scripted((request, response, socket) => {
      const answers: Record<string, object> = {
        '/listjobs.json': { status: 'error', message: "'project'" },
        '/listprojects.json': { projects: ['shop', 'a&b'] },
        '/listjobs.json?project=shop': { ...nothing, running: [{ id: 'b', spider: 's', pid: 7, start_time: 'x' }] },
        '/listjobs.json?project=a%26b': { ...nothing, pending: [{ id: 'a', spider: 't' }] }
      }
      return answerJson({ ...answers[request.path] })(request, response, socket)
    })
    expect(await client.listJobs()).toMatchObject({
      pending: [{ project: 'a&b', spider: 't', jobid: 'a' }],
      running: [{ project: 'shop', spider: 's', jobid: 'b', pid: 7, startTime: 'x' }],
      finished: []
    })
    expect(node.requests).toHaveLength(4)
  })

  test('with one job that is no job is not believed at all', async () => {
    const { client } = await scripted(answerJson({ ...nothing, running: [running, { ...running, id: null }] }))
    expect(await failureOf(client.listJobs())).toMatchObject({ kind: 'not_scrapyd' })
  })

  test.each([1.5, -1e300, '7'])('with the pid %s is not believed', async (pid) => {
    const { client } = await scripted(answerJson({ ...nothing, running: [{ ...running, pid }] }))
    expect(await failureOf(client.listJobs())).toMatchObject({ kind: 'not_scrapyd' })
  })

  test('without the project of a job is not believed: the job would look absent', async () => {
    const { client } = await scripted(answerJson({ ...nothing, running: [{ ...running, project: undefined }] }))
    expect(await failureOf(client.listJobs())).toMatchObject({ kind: 'not_scrapyd' })
  })

  test.each([
    ['that says its length', { 'content-length': String(100_000_000) }],
    ['that does not say its length', {}]
  ])('an answer of 100 MB %s is given up at the limit', async (_name, headers) => {
    let sentBytes = 0
    const { client } = await scripted(
      (_request, response) => {
        response.writeHead(200, headers)
        const piece = Buffer.alloc(100_000, ' ')
        const send = () => {
          while (!response.destroyed && sentBytes < 100_000_000) {
            sentBytes += piece.length
            if (!response.write(piece)) return void response.once('drain', send)
          }
        }
        send()
      },
      { listJobsBytes: 1_000_000 }
    )
    expect(await failureOf(client.listJobs())).toMatchObject({ kind: 'too_large', delivered: 'unknown' })
    expect(sentBytes).toBeLessThan(20_000_000)
  })
})

describe('daemonstatus', () => {
  test('tells how far the clock of the node is from ours', async () => {
    const { client } = await scripted((request, response, socket) => {
      response.setHeader('date', new Date(Date.now() + 3_600_000).toUTCString())
      return answerJson({ pending: 1, running: 2, finished: 3 })(request, response, socket)
    })
    const { clockOffsetMs, dateSeen, ...status } = await client.daemonStatus()
    expect(status).toEqual({ pending: 1, running: 2, finished: 3, nodeName: 'fake' })
    expect(Math.abs((clockOffsetMs ?? 0) - 3_600_000)).toBeLessThan(700)
    expect(dateSeen!.arrivedAtMs).toBeGreaterThanOrEqual(dateSeen!.askedAtMs)
  })

  test.each([2.5, -1, 1e300])('that counts %d jobs is not believed', async (running) => {
    const { client } = await scripted(answerJson({ pending: 0, running, finished: 0 }))
    expect(await failureOf(client.daemonStatus())).toMatchObject({ kind: 'not_scrapyd' })
  })

  test('without name or Date header is still a status', async () => {
    const { client } = await scripted((_request, response) => {
      response.sendDate = false
      response.end('{"status": "ok", "pending": 0, "running": 0, "finished": 0}')
    })
    expect(await client.daemonStatus()).toMatchObject({ nodeName: null, clockOffsetMs: null })
  })
})

describe('cancel', () => {
  test.each(['pending', 'running', null])('names the signal and tells that the job was %s', async (prevstate) => {
    const { node, client } = await scripted(answerJson({ prevstate }))
    expect(await client.cancel({ project: 'shop', jobid: 'a;1', signal: 'KILL' })).toEqual({ wasState: prevstate })
    expect(node.requests[0]?.body.toString()).toBe('project=shop&job=a%3B1&signal=KILL')
  })
})

describe('a log', () => {
  const log = Buffer.from('0123456789')
  const wholeFile: Script = (_request, response) => void response.end(log)
  const chunkedFile: Script = (_request, response) => {
    for (const byte of log) response.write(Buffer.of(byte))
    response.end()
  }
  const withRanges: Script = (request, response) => {
    const [, from = '0', to = ''] = /^bytes=(\d+)-(\d*)$/.exec(String(request.headers.range)) ?? []
    const first = Number(from)
    if (first >= log.length) return void response.writeHead(416, { 'content-range': `bytes */${log.length}` }).end()
    const piece = log.subarray(first, Number(to) + 1)
    const range = `bytes ${first}-${first + piece.length - 1}/${log.length}`
    response.writeHead(206, { 'content-range': range }).end(piece)
  }
  const servers = { 'with ranges': withRanges, 'without ranges': wholeFile, 'without ranges or length': chunkedFile }

  describe.each(Object.entries(servers))('from a server %s', (_name, script) => {
    test.each([
      [
        { offset: 0, limitBytes: 100 },
        { offset: 0, text: '0123456789' }
      ],
      [
        { offset: 3, limitBytes: 4 },
        { offset: 3, text: '3456' }
      ],
      [
        { offset: 10, limitBytes: 4 },
        { offset: 10, text: '' }
      ],
      [
        { offset: 99, limitBytes: 4 },
        { offset: 10, text: '' }
      ],
      [
        { offset: -3, limitBytes: 100 },
        { offset: 7, text: '789' }
      ],
      [
        { offset: -3, limitBytes: 2 },
        { offset: 7, text: '78' }
      ],
      [
        { offset: -99, limitBytes: 4 },
        { offset: 0, text: '0123' }
      ]
    ])('%o is read', async (wanted, { offset, text }) => {
      const { client } = await scripted(script)
      const range = await client.readLog(RUN, wanted)
      expect({ ...range, bytes: Buffer.from(range?.bytes ?? []).toString() }).toEqual({
        offset,
        sizeBytes: 10,
        bytes: text
      })
    })
  })

  test('that is empty has size 0', async () => {
    const { client } = await scripted((_request, response) => void response.writeHead(416).end())
    const empty = { offset: 0, sizeBytes: 0, bytes: new Uint8Array(0) }
    expect(await client.readLog(RUN, { offset: -10, limitBytes: 10 })).toEqual(empty)
  })

  test('is cut at the limit when the server sends more than was asked', async () => {
    const { client } = await scripted((_request, response) => {
      response.writeHead(206, { 'content-range': 'bytes 0-9/10' }).end(log)
    })
    expect((await client.readLog(RUN, { offset: 0, limitBytes: 3 }))?.bytes).toEqual(new Uint8Array(log.subarray(0, 3)))
  })

  test('is never the page that a proxy sends in its place', async () => {
    const { client } = await scripted((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end('<title>Log in</title>')
    })
    expect((await failureOf(client.readLog(RUN, { offset: 0, limitBytes: 3 }))).kind).toBe('not_scrapyd')
    expect((await failureOf(client.readLog(RUN, { offset: -3, limitBytes: 3 }))).kind).toBe('not_scrapyd')
  })

  test.each([401, 500, 206])('with status %i and no range is an error', async (status) => {
    const { client } = await scripted((_request, response) => void response.writeHead(status).end('x'))
    expect(['http', 'unauthorized']).toContain(
      (await failureOf(client.readLog(RUN, { offset: 0, limitBytes: 3 }))).kind
    )
    expect(['http', 'unauthorized']).toContain(
      (await failureOf(client.readLog(RUN, { offset: -3, limitBytes: 3 }))).kind
    )
  })
})

describe('TLS', () => {
  test('is accepted with the authority given, refused without, before anything is sent', async () => {
    await using directory = await makeTemporaryDirectory()
    const key = join(directory.path, 'key.pem')
    const certificate = join(directory.path, 'certificate.pem')
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
    const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
    execFileSync('openssl', ['req', '-x509', ...curve, '-keyout', key, '-out', certificate, ...subject], {
      stdio: 'ignore'
    })
    let requests = 0
    const server = createTlsServer(
      { key: readFileSync(key), cert: readFileSync(certificate) },
      (_request, response) => {
        requests += 1
        response.end('{"status": "ok", "projects": []}')
      }
    ).listen(0, '127.0.0.1')
    await once(server, 'listening')
    closers.push(async () => server.close())
    const url = `https://localhost:${(server.address() as AddressInfo).port}/`

    expect(await failureOf(connect({ url }).listProjects())).toMatchObject({
      kind: 'unreachable',
      delivered: 'no',
      message: expect.stringContaining('certificate was not accepted')
    })
    expect(requests).toBe(0)
    const caCertificate = readFileSync(certificate, 'utf8')
    expect(await connect({ url, caCertificate }).listProjects()).toEqual([])
    const plain = await scripted(answerJson({}))
    const wrong = connect({ url: plain.node.url.replace('http:', 'https:') })
    expect(await failureOf(wrong.listProjects())).toMatchObject({ kind: 'unreachable', delivered: 'no' })
  })
})

async function until(condition: () => boolean): Promise<void> {
  const limit = Date.now() + 5000
  while (!condition()) {
    if (Date.now() > limit) throw new Error(`Waited 5 s in vain for: ${condition}`)
    await new Promise((resolve) => setImmediate(resolve))
  }
}
