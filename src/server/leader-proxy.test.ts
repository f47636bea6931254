import { once } from 'node:events'
import http from 'node:http'
import http2 from 'node:http2'
import https from 'node:https'
import { readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished, describe, expect, it } from 'vitest'
import type { EngineCertificate } from '../engine/index.ts'
import { silentLogger } from '../engine/runtime/logger.ts'
import { createFakeClock } from '../engine/testing/fake-clock.ts'
import { CertificateFiles } from './certificate-files.ts'
import { createLeaderProxy } from './leader-proxy.ts'
import { createTlsServer } from './http2-server.ts'
import { openEngineEndpoint } from './nodes/engine-endpoint.ts'
import { makeCertificate } from '../engine/testing/make-certificate.ts'
import { isCore } from '../../scripts/test-length.mjs'

type Files = ReturnType<typeof makeCertificate>

const SECRET = 'the-secret-of-these-engines'

async function listen(answer: http.RequestListener): Promise<{ server: Server; port: number }> {
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return { server, port: (server.address() as AddressInfo).port }
}

async function openFollower(
  leaderAddress: () => string | null,
  {
    vouchingProxies = [],
    certificate = null,
    leaderCertificate = null,
    own = certificate
  }: {
    vouchingProxies?: string[]
    certificate?: CertificateFiles | null
    leaderCertificate?: string | null
    own?: EngineCertificate | null
  } = {}
) {
  let port = 0
  const membership = {
    secret: SECRET,
    name: 'south',
    leaderAddress,
    leaderCertificate: () => leaderCertificate,
    isConnected: () => true,
    isLeading: () => false,
    change: (limitMs: number) => new Promise<void>((resolve) => setTimeout(resolve, Math.min(20, limitMs)))
  }
  const proxy = createLeaderProxy({
    membership,
    certificate: own,
    bindAddress: '127.0.0.1',
    allowedHosts: [],
    trustedProxies: [],
    vouchingProxies,
    logger: silentLogger,
    port: () => port
  })
  onTestFinished(() => proxy.stop())
  if (certificate === null) {
    ;({ port } = await listen(proxy.handle))
    return `http://127.0.0.1:${port}`
  }
  const server = createTlsServer(certificate, proxy.handle)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => server.closeAllConnections())
  onTestFinished(() => void server.close())
  ;({ port } = server.address() as AddressInfo)
  return `https://127.0.0.1:${port}`
}

const echo: http.RequestListener = (request, response) => {
  const pieces: Buffer[] = []
  request.on('data', (piece: Buffer) => pieces.push(piece))
  request.on('end', () => {
    const body = Buffer.concat(pieces).toString()
    response.setHeader('set-cookie', ['a=1', 'b=2'])
    response.end(JSON.stringify({ method: request.method, url: request.url, headers: request.headers, body }))
  })
}

describe('a follower', () => {
  it('forwards method, path, query, body, cookies and the host that the client requested', async () => {
    const leader = await listen(echo)
    const address = await openFollower(() => `http://127.0.0.1:${leader.port}`)
    const answer = await fetch(`${address}/schedule.json?a=%20b&a=c`, {
      method: 'POST',
      body: 'project=x',
      headers: { authorization: 'Basic eA==' }
    })
    const { headers, ...seen } = (await answer.json()) as { headers: Record<string, string> }
    expect(seen).toEqual({ method: 'POST', url: '/schedule.json?a=%20b&a=c', body: 'project=x' })
    expect(headers).toMatchObject({ host: new URL(address).host, authorization: 'Basic eA==' })
    expect(headers['x-scrapdeck-forwarded']).toBe(`${SECRET} 127.0.0.1`)
    expect(answer.headers.getSetCookie()).toEqual(['a=1', 'b=2'])
  })

  it.each(['//OTHER/x', 'http://OTHER/x', '/\\OTHER/x', '///OTHER/x', '@OTHER/x', 'x:@OTHER/x', '//x@OTHER/x'])(
    'sends requests, with the secret and cookies, only to the leader, whatever host the request line %s names',
    async (form) => {
      const leader = await listen((request, response) => response.end(`the leader ${request.url}`))
      const asked: unknown[] = []
      const other = await listen((request, response) => {
        asked.push(request.headers)
        response.end()
      })
      const { port } = new URL(await openFollower(() => `http://127.0.0.1:${leader.port}`))
      const path = form.replace('OTHER', `127.0.0.1:${other.port}`)
      const [answer] = await once(http.get({ port, path, headers: { cookie: 'a=1' }, agent: false }), 'response')
      const said = await text(answer as http.IncomingMessage)
      expect(said).toMatch(/^(the leader \/.*x)?$/)
      expect(asked).toEqual([])
    }
  )

  it('does not forward the endpoints of engines, through which clients could run any egg', async () => {
    const node = {
      messages: () => import('../engine/nodes/peers/messages.ts'),
      projects: async () => ({ projects: [] })
    }
    const endpoint = await openEngineEndpoint({
      node: node as never,
      name: 'north',
      secret: SECRET,
      logger: silentLogger
    })
    onTestFinished(() => endpoint.stop())
    const leader = await listen((request, response) =>
      endpoint.isFor(request) ? endpoint.handle(request, response) : response.writeHead(404).end()
    )
    const statusOf = async (address: string, path: string, peer: object) => {
      const headers = { 'content-type': 'application/json', 'x-scrapdeck-node': 'north', ...peer }
      return (await fetch(`${address}${path}`, { method: 'POST', body: '{}', headers })).status
    }
    const direct = `http://127.0.0.1:${leader.port}`
    const address = await openFollower(() => direct)
    const path = '/api/engine/v1/projects'
    expect(await statusOf(direct, path, { 'x-scrapdeck-forwarded': `${SECRET} -` })).toBe(200)
    expect(await statusOf(address, path, {})).toBe(404)
    expect(await statusOf(address, path, { 'x-scrapdeck-forwarded': `${SECRET}x -`, 'x-forwarded-for': '-' })).toBe(404)
  })

  it('marks the requests that came from the trusted proxy, whatever their clients claim', async () => {
    const leader = await listen(echo)
    const headers = { 'x-forwarded-for': '127.0.0.1', 'x-scrapdeck-forwarded': `${SECRET}x 127.0.0.1 proxy` }
    const passedBy = async (...proxies: string[]) => {
      const answer = await fetch(
        await openFollower(() => `http://127.0.0.1:${leader.port}`, { vouchingProxies: proxies }),
        { headers }
      )
      return ((await answer.json()) as { headers: Record<string, string> }).headers['x-scrapdeck-forwarded']
    }
    expect(await passedBy('127.0.0.1')).toBe(`${SECRET} 127.0.0.1 proxy`)
    expect(await passedBy('127.0.0.2')).toBe(`${SECRET} 127.0.0.1`)
  })

  it('forwards requests over HTTP/2 as HTTP/1.1, with the requested host', async () => {
    const leader = await listen(echo)
    const parts = { clock: createFakeClock(), logger: silentLogger }
    const files = makeCertificate('localhost')
    const certificate = await CertificateFiles.open(files, parts)
    onTestFinished(() => certificate.stop())
    const address = await openFollower(() => `http://127.0.0.1:${leader.port}`, { certificate })
    const session = http2.connect(address, { ca: files.pem, servername: 'localhost' })
    onTestFinished(() => session.destroy())
    const sent = session.request({ ':method': 'POST', ':path': '/schedule.json?a=%20b', authorization: 'Basic eA==' })
    sent.end('project=x')
    const [given] = (await once(sent, 'response')) as [http2.IncomingHttpHeaders]
    expect([given[':status'], given['set-cookie']]).toEqual([200, ['a=1', 'b=2']])
    const { headers, ...seen } = JSON.parse(await text(sent)) as { headers: Record<string, string> }
    expect(seen).toEqual({ method: 'POST', url: '/schedule.json?a=%20b', body: 'project=x' })
    expect(headers).toMatchObject({ host: `localhost:${new URL(address).port}`, authorization: 'Basic eA==' })
    expect(Object.keys(headers).filter((name) => name.startsWith(':'))).toEqual([])
  })

  it('accepts only the leader whose certificate is in the database, and presents its own on request', async () => {
    const [leaders, others, own] = ['leader', 'other', 'south'].map((name) => makeCertificate(name)) as [
      Files,
      Files,
      Files
    ]
    const context = (files: Files) => ({ cert: readFileSync(files.certificate), key: readFileSync(files.key) })
    const statusOf = async (shown: Files, leaderCertificate: string | null, client: Files | null = null) => {
      const mutual = client === null ? {} : { ca: client.pem, requestCert: true, rejectUnauthorized: true }
      const leader = https.createServer({ ...context(shown), ...mutual }, echo)
      await new Promise<void>((resolve) => leader.listen(0, '127.0.0.1', resolve))
      onTestFinished(() => leader.closeAllConnections())
      onTestFinished(() => void leader.close())
      const { port } = leader.address() as AddressInfo
      const certificate = { own: own.pem, context: context(own) }
      const address = await openFollower(() => `https://127.0.0.1:${port}`, { own: certificate, leaderCertificate })
      return (await fetch(`${address}/jobs`)).status
    }
    expect(await statusOf(leaders, leaders.pem)).toBe(200)
    expect(await statusOf(others, leaders.pem)).toBe(503)
    expect(await statusOf(leaders, null)).toBe(503)
    expect(await statusOf(leaders, leaders.pem, own)).toBe(200)
    expect(await statusOf(leaders, leaders.pem, others)).toBe(503)
  })

  it('passes on an event stream as it arrives, and ends it when its client leaves', async () => {
    const closed = Promise.withResolvers<void>()
    const leader = await listen((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: one\n\n')
      response.on('close', closed.resolve)
    })
    const address = await openFollower(() => `http://127.0.0.1:${leader.port}`)
    const leaving = new AbortController()
    const answer = await fetch(`${address}/api/rpc/events`, { signal: leaving.signal })
    const { value } = await answer.body!.getReader().read()
    expect(Buffer.from(value!).toString()).toBe('data: one\n\n')
    leaving.abort()
    await closed.promise
  })

  it.skipIf(isCore)('reports within a second that no engine leads, in the format of each endpoint', async () => {
    const address = await openFollower(() => null)
    const startedAtMs = performance.now()
    const [endpoint, api] = await Promise.all([fetch(`${address}/daemonstatus.json`), fetch(`${address}/api/v1/jobs`)])
    expect(performance.now() - startedAtMs).toBeLessThan(3_000)
    expect([endpoint.status, endpoint.headers.get('retry-after')]).toEqual([503, '1'])
    expect(await endpoint.json()).toMatchObject({ status: 'error' })
    expect([api.status, await api.json()]).toMatchObject([503, { code: 'NO_LEADER' }])
  })

  it('reports the same if the leader has just stopped', async () => {
    const leader = await listen(echo)
    await new Promise((resolve) => leader.server.close(resolve))
    const address = await openFollower(() => `http://127.0.0.1:${leader.port}`)
    expect(await (await fetch(`${address}/api/v1/jobs`)).json()).toMatchObject({ code: 'NO_LEADER' })
  })

  it('waits for a new leader before it reports that', async () => {
    const leader = await listen(echo)
    let known: string | null = null
    setTimeout(() => (known = `http://127.0.0.1:${leader.port}`), 200)
    const address = await openFollower(() => known)
    expect((await fetch(`${address}/listprojects.json`)).status).toBe(200)
  })

  const statusOf = (address: string, headers: Record<string, string>) =>
    new Promise((resolve, reject) => {
      const { hostname, port } = new URL(address)
      const options = { hostname, port, path: '/daemonstatus.json', headers }
      http.get(options, (response) => resolve(response.resume().statusCode)).on('error', reject)
    })

  it('refuses a foreign host name', async () => {
    const leader = await listen(echo)
    const address = await openFollower(() => `http://127.0.0.1:${leader.port}`)
    expect(await statusOf(address, { host: 'evil.example' })).toBe(403)
  })

  it('tells an engine that mistakes it for the leader that it does not lead', async () => {
    const leader = await listen(echo)
    const address = await openFollower(() => `http://127.0.0.1:${leader.port}`)
    // The other engine forwards the host that its client sent, which this engine need not know.
    const host = 'north.example:6800'
    expect(await statusOf(address, { host, 'x-scrapdeck-forwarded': `${SECRET} 10.0.0.1` })).toBe(503)
    expect(await statusOf(address, { host, 'x-scrapdeck-forwarded': 'guessed 10.0.0.1' })).toBe(403)
  })

  it('does not forward a header with which a client claims to be an engine', async () => {
    const leader = await listen(echo)
    const address = await openFollower(() => `http://127.0.0.1:${leader.port}`)
    const headers = { 'x-scrapdeck-forwarded': 'a guess 10.0.0.1' }
    const seen = (await (await fetch(`${address}/`, { headers })).json()) as { headers: Record<string, string> }
    expect(seen.headers['x-scrapdeck-forwarded']).toBe(`${SECRET} 127.0.0.1`)
  })
})
