import { execFile } from 'node:child_process'
import { type ClientHttp2Session, connect, constants } from 'node:http2'
import { once } from 'node:events'
import { promisify } from 'node:util'
import { text } from 'node:stream/consumers'
import { expect, it, onTestFinished } from 'vitest'
import { silentLogger } from '../engine/runtime/logger.ts'
import { createFakeClock } from '../engine/testing/fake-clock.ts'
import { CertificateFiles } from './certificate-files.ts'
import type { ListenOptions } from './listen.ts'
import { makeCertificate } from '../engine/testing/make-certificate.ts'
import { openTestService, RIGHT } from './testing/test-app.ts'

const HOST = 'deck.example.org'

async function open(changes: Partial<ListenOptions> = {}) {
  const files = makeCertificate(HOST)
  const certificate = await CertificateFiles.open(files, { clock: createFakeClock(), logger: silentLogger })
  onTestFinished(() => certificate.stop())
  const opened = await openTestService({ certificate, allowedHosts: [HOST], ...changes })
  const session = connect(`https://127.0.0.1:${opened.port}`, { ca: files.pem, servername: HOST })
  session.on('error', () => {})
  onTestFinished(() => session.destroy())
  await once(session, 'remoteSettings')
  return { ...opened, files, session }
}

async function ask(session: ClientHttp2Session, headers: Record<string, string>, body?: string | Buffer) {
  const stream = session.request({ ':authority': HOST, ...headers })
  stream.end(body)
  const [answer] = (await once(stream, 'response')) as [Record<string, unknown>]
  return { status: answer[':status'], headers: answer, body: await text(stream) }
}

const AS_US = { authorization: RIGHT }

it('HTTP/2 serves pages, the Scrapyd API, the contract and its errors, with the same headers', async () => {
  const { session } = await open()
  const status = await ask(session, { ':path': '/daemonstatus.json', ...AS_US })
  expect([status.status, status.headers['strict-transport-security']]).toEqual([200, 'max-age=31536000'])
  expect(JSON.parse(status.body)).toMatchObject({ status: 'ok' })
  expect((await ask(session, { ':path': '/api/v1/nodes', ...AS_US })).status).toBe(200)
  expect((await ask(session, { ':path': '/daemonstatus.json' })).status).toBe(401)
  expect((await ask(session, { ':path': '/health', ':authority': 'evil.example' })).status).toBe(403)
  const evil = { ':path': '/daemonstatus.json', origin: 'https://evil.example', ...AS_US }
  expect((await ask(session, evil)).status).toBe(403)
  const form = { ':method': 'POST', ':path': '/schedule.json', 'content-type': 'application/x-www-form-urlencoded' }
  expect((await ask(session, { ...form, ...AS_US }, 'project=none&spider=none')).body).toContain('"status"')
})

it('HTTP/2 accepts an upload, streams events beside other requests, and both end with the service', async () => {
  const { session, service } = await open()
  const events = session.request({ ':path': '/api/v1/events', ':authority': HOST, ...AS_US })
  await once(events, 'response')
  await once(events, 'data')
  const form = new FormData()
  form.set('project', 'shop')
  form.set('version', '1')
  form.set('egg', new Blob([Buffer.alloc(3_000_000, 'x')]), 'shop.egg')
  const multipart = new Response(form)
  const type = { 'content-type': multipart.headers.get('content-type')! }
  const body = Buffer.from(await multipart.arrayBuffer())
  const uploaded = await ask(session, { ':method': 'POST', ':path': '/addversion.json', ...type, ...AS_US }, body)
  expect([uploaded.status, uploaded.body]).toEqual([200, expect.stringContaining('"status"')])
  const ended = once(events, 'close')
  events.on('error', () => {})
  await service.stop()
  await ended
})

it('HTTP/2 serves many requests of one connection side by side, and at most a hundred at once', async () => {
  const { session } = await open()
  expect(session.remoteSettings.maxConcurrentStreams).toBe(100)
  const asked = Array.from({ length: 100 }, () => ask(session, { ':path': '/daemonstatus.json', ...AS_US }))
  expect((await Promise.all(asked)).every(({ status }) => status === 200)).toBe(true)
})

it('a connection that resets its requests too fast is closed, and others continue', async () => {
  const { session, port, files } = await open()
  const gone = once(session, 'close')
  for (let turn = 0; turn < 100 && !session.destroyed; turn += 1) {
    for (let count = 0; count < 50 && !session.destroyed; count += 1) {
      const stream = session.request({ ':path': '/health', ':authority': HOST })
      stream.on('error', () => {})
      stream.close(constants.NGHTTP2_CANCEL)
    }
    await new Promise((wake) => setTimeout(wake, 2))
  }
  await gone
  const other = connect(`https://127.0.0.1:${port}`, { ca: files.pem, servername: HOST })
  onTestFinished(() => other.destroy())
  // Send credentials, because the reset requests may have used up this address's limit for anonymous requests.
  expect((await ask(other, { ':path': '/daemonstatus.json', ...AS_US })).status).toBe(200)
})

it('headers that are too long are refused, and a connection of an unauthenticated client with too many requests is closed', async () => {
  const { session } = await open({ rateLimits: { open: { requests: 1, windowSeconds: 60, burst: 3 } } })
  const long = session.request({ ':path': '/health', ':authority': HOST, 'x-long': 'x'.repeat(40_000) })
  await expect(once(long, 'response')).rejects.toThrow()
  const statuses: unknown[] = []
  const gone = once(session, 'close')
  for (let count = 0; count < 10 && !session.closed; count += 1)
    statuses.push((await ask(session, { ':path': '/health/live' }).catch(() => ({ status: 'gone' }))).status)
  expect(statuses).toContain(429)
  await gone
})

it('curl negotiates HTTP/2, and HTTP/1.1 works beside it', async () => {
  const { port, files } = await open()
  const curl = async (version: string) => {
    const resolve = `${HOST}:${port}:127.0.0.1`
    const args = ['-sS', '--max-time', '10', version, '--cacert', files.certificate, '--resolve', resolve]
    const url = `https://${HOST}:${port}/health/live`
    return (await promisify(execFile)('curl', [...args, '-o', '/dev/null', '-w', '%{http_version} %{http_code}', url]))
      .stdout
  }
  expect(await curl('--http2')).toBe('2 200')
  expect(await curl('--http1.1')).toBe('1.1 200')
})
