import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { describe, expect, test, vi } from 'vitest'
import { aProjectName, aVersionName } from '../../../shared/testing/ids.ts'
import { systemClock } from '../../runtime/clock.ts'
import { anEggToSend } from '../../testing/egg-to-send.ts'
import { answerJson, type Script, startScriptedHttpNode } from '../../testing/scripted-http-node.ts'
import { until } from '../../testing/until.ts'
import type { ClientLimits } from './scrapyd-client.ts'
import { closers, connect, failureOf, RUN, scripted } from './testing/scripted-client.ts'

const V1 = aVersionName('1')

const UNLIMITED = { isVersionAsked: true, secretNames: [], limits: null }
const JOB = {
  project: aProjectName('shop'),
  version: V1,
  spider: 'prices',
  jobid: 'a1',
  settings: {},
  args: {},
  priority: 0,
  ...UNLIMITED
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
      name: 'in words that steer a display is told with them written out',
      script: answerJson({ status: 'error', message: 'abc\u202egpj\u001b[2J' }),
      kind: 'refused',
      delivered: 'no',
      says: /refused schedule\.json: abc⟨U\+202E⟩gpj⟨U\+001B⟩\[2J$/
    },
    {
      name: 'with 401 was not delivered',
      script: (_request, response) => void response.writeHead(401, { 'content-type': 'text/html' }).end('Unauthorized'),
      kind: 'unauthorized',
      delivered: 'no',
      says: /rejected the user name or password/
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
    ...[502, 503, 504, 521].map((status) => ({
      name: `of a proxy, with ${status}, may have been delivered: the node is down`,
      script: ((_request, response) =>
        void response.writeHead(status, { 'content-type': 'text/html' }).end('<html>Gone</html>')) as Script,
      kind: status === 504 ? 'timeout' : 'unreachable',
      delivered: 'unknown',
      says: new RegExp(`^Node eu-1 \\(.*\\) is down \\(the proxy answers ${status}\\)\\. `)
    })),
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
      says: /closed the connection/
    },
    {
      name: 'because the connection breaks within the answer may have been delivered',
      script: (_request, response, socket) => {
        response.writeHead(200, { 'content-length': '100' })
        response.write('{"status": "ok"', () => socket.destroy())
      },
      kind: 'reset',
      delivered: 'unknown',
      says: /closed the connection/
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
      says: /too large a response to schedule\.json/
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
    await until('four requests', () => node.requests.length === 4)
    expect(await failureOf(client.schedule(JOB))).toMatchObject({ kind: 'timeout', delivered: 'no' })
    await client.close()
    for (const each of await Promise.all(busy)) expect(each.kind).toBe('reset')
    expect(node.requests.every((request) => request.path === '/listjobs.json')).toBe(true)
  })

  test('because we gave up waiting may have been delivered, but not if it was not sent yet', async () => {
    const { node, client } = await scripted(() => {})
    const aborting = new AbortController()
    const failure = failureOf(client.schedule(JOB, aborting.signal))
    await until('one request', () => node.requests.length === 1)
    aborting.abort()
    expect(await failure).toMatchObject({ kind: 'aborted', delivered: 'unknown' })
    expect(await failureOf(client.schedule(JOB, aborting.signal))).toMatchObject({ kind: 'aborted', delivered: 'no' })
    expect(node.requests).toHaveLength(1)
  })

  test('because the node accepts connections and never responds ends at its time limit', async () => {
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

describe('a request to a node', () => {
  test('encodes what Scrapyd would split or lose, and always names the version', async () => {
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

  test('is not sent if it would cost the node a slot, an egg or all eggs', async () => {
    const { node, client } = await scripted(answerJson({}))
    const refused = [
      client.schedule({ ...JOB, jobid: '../x' }),
      client.schedule({ ...JOB, jobid: '' }),
      client.schedule({ ...JOB, spider: 'a/b' }),
      client.schedule({ ...JOB, version: aVersionName('') }),
      client.schedule({ ...JOB, args: { _job: 'x' } }),
      client.schedule({ ...JOB, args: { name: 'x' } }),
      client.schedule({ ...JOB, args: { 'a=b': 'x' } }),
      client.schedule({ ...JOB, args: { a: 'x\0y' } }),
      client.schedule({ ...JOB, args: { a: '\ud800' } }),
      client.schedule({ ...JOB, args: { a: 'x'.repeat(140_000) } }),
      client.schedule({ ...JOB, settings: { '': 'x' } }),
      client.deleteVersion(aProjectName(''), V1),
      client.deleteVersion(aProjectName('.'), V1),
      client.deleteVersion(aProjectName('..'), V1),
      client.addVersion(aProjectName('a/b'), V1, anEggToSend(new Uint8Array(1))),
      client.readLog({ ...RUN, jobid: '../../x' }, { offset: 0, limitBytes: 1 })
    ]
    for (const request of refused) expect(await failureOf(request)).toMatchObject({ kind: 'refused', delivered: 'no' })
    expect(node.requests).toEqual([])
  })

  test('sends any jobid that can be a file name unchanged, in the form and in addresses', async () => {
    const { node, client } = await scripted(answerJson({ jobid: 'ü;a b/' }))
    await client.schedule({ ...JOB, jobid: 'ü;a b' })
    expect(new URLSearchParams(node.requests[0]!.body.toString()).get('jobid')).toBe('ü;a b')
    await client.readItems({ ...RUN, jobid: 'ü;a b' }, { offset: 0, limitBytes: 1 }).catch(() => null)
    expect(node.requests[1]!.path).toBe(`/items/${RUN.project}/${RUN.spider}/%C3%BC%3Ba%20b.jl`)
  })

  test('sends credentials as UTF-8, under the base path', async () => {
    const node = await startScriptedHttpNode(answerJson({ projects: [] }))
    closers.push(node.close)
    const client = connect({ url: `${node.url}base/path/`, username: 'ünï', password: 'pä:ss' })
    await client.listProjects()
    expect(node.requests[0]?.path).toBe('/base/path/listprojects.json')
    expect(node.requests[0]?.headers.authorization).toBe(`Basic ${Buffer.from('ünï:pä:ss').toString('base64')}`)
  })

  test('encodes each part of the path of a log', async () => {
    const { node, client } = await scripted((_request, response) => void response.writeHead(404).end())
    const run = { project: aProjectName('a b'), spider: 'ü%?', jobid: 'x#1' }
    expect(await client.readLog(run, { offset: 0, limitBytes: 10 })).toBeNull()
    expect(node.requests[0]).toMatchObject({
      path: '/logs/a%20b/%C3%BC%25%3F/x%231.log',
      headers: { range: 'bytes=0-9' }
    })
  })

  test('reuses connections', async () => {
    const { node, client } = await scripted(answerJson({ pending: 0, running: 0, finished: 0 }))
    for (let time = 0; time < 10; time++) await client.daemonStatus()
    expect(node.requests).toHaveLength(10)
    // Two, because a connection counts as busy until the event loop turn after its response.
    expect(node.connectionCount()).toBeLessThanOrEqual(2)
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

  test('of 1.2 is combined from one response per project', async () => {
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

  test('with an invalid job is rejected as a whole', async () => {
    const { client } = await scripted(answerJson({ ...nothing, running: [running, { ...running, id: null }] }))
    expect(await failureOf(client.listJobs())).toMatchObject({ kind: 'not_scrapyd' })
  })

  test.each([1.5, -1e300, '7'])('with the pid %s is rejected', async (pid) => {
    const { client } = await scripted(answerJson({ ...nothing, running: [{ ...running, pid }] }))
    expect(await failureOf(client.listJobs())).toMatchObject({ kind: 'not_scrapyd' })
  })

  test('without the project of a job is rejected, because the job would look absent', async () => {
    const { client } = await scripted(answerJson({ ...nothing, running: [{ ...running, project: undefined }] }))
    expect(await failureOf(client.listJobs())).toMatchObject({ kind: 'not_scrapyd' })
  })

  test.each([
    ['that says its length', { 'content-length': String(100_000_000) }],
    ['that does not say its length', {}]
  ])('stops reading a response of 100 MB %s at the limit', async (_name, headers) => {
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

describe('endless lists', () => {
  const job = { id: 'a', project: 'p', spider: 's' }

  test('fail with a message that says how many jobs are read at most', async () => {
    const finished = Array.from({ length: 50_001 }, () => job)
    const { client } = await scripted(answerJson({ pending: [], running: [], finished }))
    const failure = await failureOf(client.listJobs())
    expect(failure).toMatchObject({ kind: 'too_large' })
    expect(failure.message).toContain(
      'lists more than 50,000 jobs, which Scrapdeck does not read. Lower finished_to_keep'
    )
  })

  test('are not parsed if they are nested endlessly', async () => {
    const parse = vi.spyOn(JSON, 'parse')
    const { client } = await scripted((_request, response) => void response.end('['.repeat(1_000_000)))
    expect(await failureOf(client.listJobs())).toMatchObject({ kind: 'not_scrapyd' })
    expect(parse).not.toHaveBeenCalled()
    parse.mockRestore()
  })

  test('are not the response of a Scrapyd if a name is impossible', async () => {
    const odd = { ...job, spider: 'x'.repeat(1_001) }
    const { client } = await scripted(answerJson({ pending: [odd], running: [], finished: [] }))
    expect(await failureOf(client.listJobs())).toMatchObject({ kind: 'not_scrapyd' })
  })

  test('of an old node are not read for any number of projects', async () => {
    const requests: string[] = []
    const projects = Array.from({ length: 2_001 }, (_, index) => `p${index}`)
    const { client } = await scripted((request, response, socket) => {
      requests.push(request.path)
      const needsProject = { status: 'error', message: "'project'" }
      return answerJson(request.path.startsWith('/listprojects') ? { projects } : needsProject)(
        request,
        response,
        socket
      )
    })
    expect((await failureOf(client.listJobs())).message).toContain('lists more than 2,000 projects')
    expect(requests).toHaveLength(2)
  })
})

describe('daemonstatus', () => {
  test('says how far the clock of the node is from ours', async () => {
    const { client } = await scripted((request, response, socket) => {
      response.setHeader('date', new Date(Date.now() + 3_600_000).toUTCString())
      return answerJson({ pending: 1, running: 2, finished: 3 })(request, response, socket)
    })
    const { clockOffsetMs, dateSeen, ...status } = await client.daemonStatus()
    expect(status).toEqual({ pending: 1, running: 2, finished: 3, nodeName: 'fake' })
    expect(Math.abs((clockOffsetMs ?? 0) - 3_600_000)).toBeLessThan(700)
    expect(dateSeen!.arrivedAtMs).toBeGreaterThanOrEqual(dateSeen!.askedAtMs)
  })

  test.each([2.5, -1, 1e300])('that counts %d jobs is rejected', async (running) => {
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
  test.each(['pending', 'running', null])('names the signal and reports that the job was %s', async (prevstate) => {
    const { node, client } = await scripted(answerJson({ prevstate }))
    expect(await client.cancel({ project: aProjectName('shop'), jobid: 'a;1', signal: 'KILL' })).toEqual({
      wasState: prevstate
    })
    expect(node.requests[0]?.body.toString()).toBe('project=shop&job=a%3B1&signal=KILL')
  })
})
