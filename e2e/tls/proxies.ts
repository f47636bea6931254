import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http'
import { type RequestOptions, request } from 'node:https'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { basicAuthorization } from '../support/basic-authorization.ts'
import { buildDemoEgg } from '../support/demo-egg.ts'
import { startService, TEST_CREDENTIALS } from '../support/service.ts'
import { readTestEnvironment } from '../../scripts/setup/test-environment.mjs'

const NAME = 'deck.example.org'
const EGG_BYTES = 20_000_000
/** The client's address, which differs from the proxy's (127.0.0.1). */
const CLIENT = '127.0.0.2'

interface Place {
  directory: string
  port: number
  servicePort: string
}

interface Proxy {
  name: string
  /** The language of its code block in docs/security.md. */
  language: string
  /** Returns the documented block, adapted to the ports and files of a test. */
  configure(documented: string, place: Place): string
  command(file: string, place: Place): string[]
}

function replace(textOf: string, pairs: [from: string, to: string][]): string {
  let result = textOf
  for (const [from, to] of pairs) {
    assert.ok(result.includes(from), `docs/security.md no longer has "${from}"`)
    result = result.replaceAll(from, to)
  }
  return result
}

export const PROXIES: readonly Proxy[] = [
  {
    name: 'nginx',
    language: 'nginx',
    configure: (documented, { directory, port, servicePort }) => {
      const server = replace(documented, [
        ['listen 443 ssl', `listen 127.0.0.1:${port} ssl`],
        ['/etc/ssl/deck.pem', join(directory, 'cert.pem')],
        ['/etc/ssl/deck.key', join(directory, 'key.pem')],
        ['127.0.0.1:6800', `127.0.0.1:${servicePort}`]
      ])
      const files = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
        (kind) => `${kind}_temp_path ${join(directory, kind)};`
      )
      return `daemon off; pid ${join(directory, 'pid')}; error_log stderr warn; events {}
http { access_log off; ${files.join(' ')}
${server}
}`
    },
    command: (file) => ['nginx', '-c', file]
  },
  {
    name: 'Caddy',
    language: 'caddyfile',
    configure: (documented, { directory, port, servicePort }) => {
      const site = `${NAME}:${port} {\n\tbind 127.0.0.1\n\ttls ${join(directory, 'cert.pem')} ${join(directory, 'key.pem')}`
      const sites = replace(documented, [
        [`${NAME} {`, site],
        ['127.0.0.1:6800', `127.0.0.1:${servicePort}`]
      ])
      return `{\n\tadmin off\n\tauto_https off\n}\n${sites}`
    },
    command: (file) => ['caddy', 'run', '--adapter', 'caddyfile', '--config', file]
  }
]

export async function tryProxy(proxy: Proxy): Promise<string[]> {
  const directory = mkdtempSync(join(tmpdir(), 'scrapdeck-proxy-'))
  const service = await startService({
    entry: 'out/service/scrapdeck.js',
    localSlots: 1,
    arguments: ['--behind-proxy', '--allowed-host', NAME]
  })
  const port = await freePort()
  const place = { directory, port, servicePort: new URL(service.address).port }
  makeCertificate(directory)
  const file = join(directory, 'proxy.conf')
  writeFileSync(file, proxy.configure(documentedFor(proxy.language), place))
  const [command = '', ...args] = proxy.command(file, place)
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, HOME: directory } })
  let printed = ''
  child.stdout.on('data', (piece) => (printed += piece))
  child.stderr.on('data', (piece) => (printed += piece))
  child.on('error', (error) => (printed += error.message))
  const ca = readFileSync(join(directory, 'cert.pem'))
  const ask = (options: Omit<RequestOptions, 'headers'> & { headers?: OutgoingHttpHeaders }, body?: Buffer | string) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      const trusting = { host: '127.0.0.1', port, ca, servername: NAME, localAddress: CLIENT, agent: false } as const
      const headers = { host: `${NAME}:${port}`, ...options.headers }
      request({ ...trusting, ...options, headers })
        .on('response', resolve)
        .on('error', reject)
        .end(body)
    })
  const authorization = basicAuthorization(TEST_CREDENTIALS)
  try {
    await until('the proxy', async () => (await ask({ path: '/health' }).catch(() => null))?.statusCode === 200)

    const link = new URL(service.loginLink())
    const login = await ask({ path: `${link.pathname}${link.search}` })
    login.resume()
    const cookie = String(login.headers['set-cookie'])
    assert.match(cookie, /HttpOnly/)
    assert.match(cookie, /; Secure/)
    assert.match(String(login.headers['strict-transport-security']), /max-age=31536000/)
    const asUser = await ask({ path: '/daemonstatus.json', headers: { cookie: cookie.split(';', 1)[0] } })
    assert.equal(asUser.resume().statusCode, 200)

    const events = await ask({ path: '/api/v1/events', headers: { authorization } })
    assert.equal(events.statusCode, 200)
    let received = ''
    events.on('data', (piece) => (received += piece))
    await until('the first event', async () => received !== '')
    received = ''
    const began = Date.now()
    const headers = { authorization, 'content-type': 'application/x-www-form-urlencoded', 'user-agent': 'test' }
    await service.client.system.setPaused({ paused: true })
    await until('the change', async () => received.includes('paused'))
    const streamMs = Date.now() - began
    events.destroy()

    const egg = await buildLargeEgg(directory)
    const form = new FormData()
    form.set('project', 'demo')
    form.set('version', 'large')
    form.set('egg', new Blob([new Uint8Array(egg)]), 'demo.egg')
    const multipart = new Response(form)
    const body = Buffer.from(await multipart.arrayBuffer())
    const type = {
      authorization,
      'content-type': multipart.headers.get('content-type')!,
      'content-length': body.length
    }
    const uploaded = await text(await ask({ path: '/addversion.json', method: 'POST', headers: type }, body))
    assert.match(uploaded, /"status": ?"ok"/)

    const wrong = basicAuthorization({ username: 'eve', password: 'wrong' })
    const forged = { ...headers, authorization: wrong, 'x-forwarded-for': '203.0.113.9' }
    assert.equal((await ask({ path: '/daemonstatus.json', headers: forged })).resume().statusCode, 401)
    await until('the address of the client in the log', async () => service.output().includes(CLIENT))
    assert.ok(!service.output().includes('203.0.113.9'), 'a client can name its own address')

    return [
      'login with a Secure cookie and HSTS',
      `a live change after ${streamMs} ms`,
      `an egg of ${Math.round(egg.length / 1e6)} MB`,
      `the client is ${CLIENT}, whatever it says itself`
    ]
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${printed.slice(-2_000)}\n${service.output().slice(-1_000)}`)
  } finally {
    child.kill('SIGTERM')
    await service.stop()
    rmSync(directory, { recursive: true, force: true })
  }
}

function documentedFor(language: string): string {
  const page = readFileSync(join(import.meta.dirname, '../../docs/security.md'), 'utf8')
  const block = new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, 'm').exec(page)?.[1]
  assert.ok(block, `docs/security.md has no block for ${language}`)
  return block
}

function makeCertificate(directory: string): void {
  const paths = ['-keyout', join(directory, 'key.pem'), '-out', join(directory, 'cert.pem')]
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2']
  const names = ['-subj', `/CN=${NAME}`, '-addext', `subjectAltName=DNS:${NAME}`]
  execFileSync('openssl', ['req', '-x509', ...curve, ...names, ...paths], { stdio: 'ignore' })
}

async function buildLargeEgg(directory: string): Promise<Buffer> {
  const path = join(directory, 'large.egg')
  writeFileSync(path, await buildDemoEgg())
  const add = `import os, sys, zipfile; zipfile.ZipFile(sys.argv[1], "a").writestr("demo/filler.bin", os.urandom(${EGG_BYTES}))`
  execFileSync(readTestEnvironment().python, ['-c', add, path])
  return readFileSync(path)
}

async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  for (const limit = Date.now() + 10_000; Date.now() < limit; await sleep(20)) if (await isSo()) return
  throw new Error(`${what} did not come within 10 s`)
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })
}
