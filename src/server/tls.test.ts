import { copyFileSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { join } from 'node:path'
import { connect, type TLSSocket } from 'node:tls'
import { text } from 'node:stream/consumers'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createFakeClock } from '../engine/testing/fake-clock.ts'
import type { Logger } from '../engine/runtime/logger.ts'
import { CertificateFiles } from './certificate-files.ts'
import { makeCertificate } from '../engine/testing/make-certificate.ts'
import { makeTestDirectory, openTestService, RIGHT } from './testing/test-app.ts'

async function openEncrypted(paths: ReturnType<typeof makeCertificate>) {
  const clock = createFakeClock()
  const logged: string[] = []
  const keep = (_facts: object, line: string) => logged.push(line)
  const logger: Logger = { debug: keep, info: keep, warn: keep, error: keep }
  const certificate = await CertificateFiles.open(paths, { clock, logger })
  onTestFinished(() => certificate.stop())
  const dataDirectory = makeTestDirectory()
  const opened = await openTestService({ certificate, dataDirectory, allowedHosts: ['deck.example.org'] })
  return { ...opened, clock, logged, certificate, dataDirectory }
}

function ask(port: number, ca: string, path: string, headers: Record<string, string> = {}) {
  return new Promise<{ status: number; headers: Record<string, unknown>; body: string }>((resolve, reject) => {
    const servername = 'deck.example.org'
    const sent = request({
      host: '127.0.0.1',
      port,
      path,
      ca,
      servername,
      agent: false,
      headers: { host: servername, ...headers }
    })
    sent.on('response', (response) => {
      const { statusCode: status = 0, headers: given } = response
      text(response).then((body) => resolve({ status, headers: given, body }), reject)
    })
    sent.on('error', reject).end()
  })
}

function handshake(port: number, options: { maxVersion?: 'TLSv1.1' | 'TLSv1.2'; ciphers?: string }): Promise<string> {
  return new Promise((resolve) => {
    const socket: TLSSocket = connect({
      port,
      host: '127.0.0.1',
      rejectUnauthorized: false,
      minVersion: 'TLSv1',
      ...options
    })
    socket.on('secureConnect', () => {
      resolve(`${socket.getProtocol()} ${socket.getCipher().name}`)
      socket.destroy()
    })
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(`refused: ${error.code}`))
  })
}

describe('a service with a certificate', () => {
  it('uses HTTPS, tells browsers to stay with it, and marks its cookie', async () => {
    const files = makeCertificate('deck.example.org')
    const { service, port } = await openEncrypted(files)
    expect(service.address).toBe(`https://127.0.0.1:${port}`)
    const answer = await ask(port, files.pem, '/daemonstatus.json', { authorization: RIGHT })
    expect([answer.status, answer.headers['strict-transport-security']]).toEqual([200, 'max-age=31536000'])
    const here = await ask(port, files.pem, '/health', { host: `localhost:${port}` })
    expect([here.status, here.headers['strict-transport-security']]).toEqual([200, undefined])
    const link = new URL(service.createLoginLink())
    const login = await ask(port, files.pem, `${link.pathname}${link.search}`)
    expect(String(login.headers['set-cookie'])).toMatch(
      /^__Host-scrapdeck_session=[\w.-]+; Max-Age=\d+; Path=\/; HttpOnly; Secure; SameSite=Lax$/
    )
    await expect(fetch(`http://127.0.0.1:${port}/health`)).rejects.toThrow()
  })

  it('negotiates nothing older than TLS 1.2, and no cipher without forward secrecy', async () => {
    const { port } = await openEncrypted(makeCertificate('deck.example.org'))
    expect(await handshake(port, {})).toMatch(/^TLSv1\.3 TLS_/)
    expect(await handshake(port, { maxVersion: 'TLSv1.2' })).toMatch(/^TLSv1\.2 ECDHE-ECDSA-/)
    expect(await handshake(port, { maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' })).toMatch(/^refused/)
    for (const ciphers of ['AES128-SHA256', 'ECDHE-ECDSA-AES128-SHA']) {
      expect(await handshake(port, { maxVersion: 'TLSv1.2', ciphers })).toMatch(/^refused/)
    }
  })

  it('trusts a connection after the right password, with TLS as without', async () => {
    const files = makeCertificate('deck.example.org')
    const certificate = await CertificateFiles.open(files, { clock: createFakeClock(), logger: SILENT })
    onTestFinished(() => certificate.stop())
    const options = { certificate, allowedHosts: ['deck.example.org'], connectionLimits: { total: 2 } }
    const { port } = await openTestService(options)
    const stream = new Promise<string>((resolve) => {
      const headers = { host: 'deck.example.org', authorization: RIGHT }
      const sent = request({
        host: '127.0.0.1',
        port,
        path: '/api/v1/events',
        ca: files.pem,
        servername: 'deck.example.org',
        headers
      })
      sent.on('response', (response) => {
        response.on('data', () => {})
        response.on('close', () => resolve('closed'))
        response.on('error', () => {})
        void Promise.all([1, 2, 3, 4].map(() => ask(port, files.pem, '/health').catch(() => null))).then(() =>
          resolve('open')
        )
      })
      sent.end()
      onTestFinished(() => void sent.destroy())
    })
    expect(await stream).toBe('open')
  })

  it('loads a renewed certificate without a restart, and keeps the old one while the files do not match', async () => {
    const [old, renewed] = [makeCertificate('deck.example.org'), makeCertificate('deck.example.org', 9)]
    const { port, clock, logged, dataDirectory, engine } = await openEncrypted(old)
    const daysLeft = () => Math.round((engine.certificate!.endsAtMs - Date.now()) / 86_400_000)
    expect(daysLeft()).toBe(2)
    copyFileSync(renewed.certificate, old.certificate)
    await clock.advanceBy(10_000)
    await expect
      .poll(() => logged)
      .toEqual([expect.stringMatching(/is not the key of .* The former certificate stays in use\.$/)])
    expect((await ask(port, old.pem, '/health')).status).toBe(200)
    copyFileSync(renewed.key, old.key)
    await expect
      .poll(async () => {
        await clock.advanceBy(10_000)
        return (await ask(port, renewed.pem, '/health').catch(() => null))?.status
      })
      .toBe(200)
    await expect(ask(port, old.pem, '/health')).rejects.toThrow()
    expect(daysLeft()).toBe(9)
    expect(readFileSync(join(dataDirectory, 'service.json'), 'utf8')).toContain(renewed.pem.split('\n')[1]!)
    expect(statSync(join(dataDirectory, 'service.json')).mode & 0o777).toBe(0o600)
  })

  it('with a CA for clients, accepts only those with a certificate of it, and this machine through the socket', async () => {
    const [files, ours, others] = [makeCertificate('deck.example.org'), makeCertificate('ann'), makeCertificate('eve')]
    const paths = { ...files, clientAuthority: ours.certificate }
    const certificate = await CertificateFiles.open(paths, { clock: createFakeClock(), logger: SILENT })
    onTestFinished(() => certificate.stop())
    const dataDirectory = makeTestDirectory()
    const unixSocketPath = join(makeTestDirectory(), 's')
    const { port } = await openTestService({ certificate, dataDirectory, unixSocketPath })
    const askAs = (shown: { certificate: string; key: string } | null, authorization: Record<string, string>) =>
      new Promise<unknown>((resolve) => {
        const own = shown === null ? {} : { cert: readFileSync(shown.certificate), key: readFileSync(shown.key) }
        const trusting = { ca: files.pem, checkServerIdentity: () => undefined, agent: false, ...own }
        const sent = request({
          host: '127.0.0.1',
          port,
          path: '/daemonstatus.json',
          ...trusting,
          headers: authorization
        })
        sent.on('response', (response) => resolve(response.resume().statusCode))
        sent.on('error', () => resolve('refused')).end()
      })
    expect(await askAs(null, { authorization: RIGHT })).toBe('refused')
    expect(await askAs(others, { authorization: RIGHT })).toBe('refused')
    expect(await askAs(ours, {})).toBe(401)
    expect(await askAs(ours, { authorization: RIGHT })).toBe(200)
    const { address } = JSON.parse(readFileSync(join(dataDirectory, 'service.json'), 'utf8')) as { address: string }
    expect(address).toBe(`unix:${unixSocketPath}`)
  })

  it.each([
    [
      'a missing file',
      (paths: Paths) => ({ ...paths, key: join(makeTestDirectory(), 'none.pem') }),
      /none\.pem cannot be read \(ENOENT\)/
    ],
    ['a key of another', (paths: Paths) => ({ ...paths, key: makeCertificate('x').key }), /is not the key of/],
    [
      'no authority for clients',
      (paths: Paths) => ({ ...paths, clientAuthority: paths.key }),
      /key\.pem is not in PEM form/
    ],
    ['no PEM', (paths: Paths) => write(paths, 'nothing'), /is not in PEM form/]
  ])('does not start with %s', async (_what, change, problem) => {
    const opening = CertificateFiles.open(change(makeCertificate('deck.example.org')), {
      clock: createFakeClock(),
      logger: SILENT
    })
    await expect(opening).rejects.toMatchObject({
      code: 'CERTIFICATE_UNUSABLE',
      message: expect.stringMatching(problem)
    })
  })
})

type Paths = { certificate: string; key: string }
const SILENT: Logger = { debug() {}, info() {}, warn() {}, error() {} }

function write(paths: Paths, certificate: string): Paths {
  writeFileSync(paths.certificate, certificate)
  return paths
}
