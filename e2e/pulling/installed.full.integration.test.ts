import { execFile, execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import net from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { LOCKED } from '../../scripts/setup/python-environment.mjs'
import { readTestEnvironment } from '../../scripts/setup/test-environment.mjs'
import { isLong } from '../../scripts/test-length.mjs'
import { until } from '../../src/engine/testing/until.ts'
import { PULLING_COMPONENTS, pullingSetup } from '../../src/shared/pulling-setup.ts'
import { basicAuthorization } from '../support/basic-authorization.ts'
import { uploadDemo } from '../support/demo-egg.ts'
import { type RoundRobin, startRoundRobin } from '../support/round-robin.ts'
import { type Scrapyd, startScrapyd } from '../support/scrapyd-fleet.ts'
import { type Service, startService } from '../support/service.ts'
import { PACKAGE_DIRECTORY, untilUp } from './pulling-scrapyd.ts'

const run = promisify(execFile)
const PROXY_CREDENTIALS = { username: 'node', password: 'pass word' }

let directory: string
let service: Service
/** The proxy that terminates TLS for Scrapdeck, like nginx in docs/scaling.md. */
let front: RoundRobin

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'scrapdeck-installed-'))
  makePrivateAuthority(directory)
  const tls = { key: readFileSync(join(directory, 'deck.key')), cert: readFileSync(join(directory, 'deck.pem')) }
  front = await startRoundRobin(() => [service.address], tls)
  service = await startService({ localSlots: 0, arguments: [`--allowed-host=${new URL(front.url).host}`] })
  await uploadDemo(service, '1')
  await installPackage()
}, 180_000)
afterAll(async () => {
  await front?.close()
  await service?.stop()
  rmSync(directory, { recursive: true, force: true, maxRetries: 5 })
})

const inEnvironment = (program: string) => join(directory, 'environment', 'bin', program)

/**
 * Runs `pip install ./node` in a fresh environment. The short form uses Scrapyd and pip of the tests' environment
 * and downloads nothing.
 */
async function installPackage(): Promise<void> {
  const { python } = readTestEnvironment()
  // Copies the sources, because setuptools builds beside them.
  cpSync(PACKAGE_DIRECTORY, join(directory, 'node'), { recursive: true })
  const environment = join(directory, 'environment')
  if (isLong) {
    await run(python, ['-m', 'venv', environment])
    const requirements = resolve(PACKAGE_DIRECTORY, '../requirements-scrapyd.txt')
    await run(inEnvironment('python'), ['-m', 'pip', 'install', ...LOCKED, '-r', requirements])
    await run(inEnvironment('python'), ['-m', 'pip', 'install', './node'], { cwd: directory })
    return
  }
  await run(python, ['-m', 'venv', '--without-pip', environment])
  const [lent, own] = await Promise.all([packagesOf(python), packagesOf(inEnvironment('python'))])
  appendFileSync(join(own, 'lent.pth'), `${lent}\n`)
  const install = ['install', '--no-index', '--no-build-isolation', './node']
  await run(python, ['-m', 'pip', '--python', inEnvironment('python'), ...install], { cwd: directory })
}

async function packagesOf(python: string): Promise<string> {
  return (await run(python, ['-c', 'import sysconfig; print(sysconfig.get_path("purelib"))'])).stdout.trim()
}

function makePrivateAuthority(cwd: string): void {
  const openssl = (...words: string[]) => execFileSync('openssl', words, { cwd, stdio: 'ignore' })
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  openssl('req', '-x509', ...curve, '-days', '2', '-keyout', 'ca.key', '-out', 'ca.pem', '-subj', '/CN=private CA')
  openssl('req', ...curve, '-keyout', 'deck.key', '-out', 'deck.csr', '-subj', '/CN=localhost')
  writeFileSync(join(cwd, 'names'), 'subjectAltName=DNS:localhost\nbasicConstraints=critical,CA:FALSE\n')
  const signed = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-extfile', 'names', '-days', '2']
  openssl('x509', '-req', '-in', 'deck.csr', '-out', 'deck.pem', ...signed)
}

async function startInstalled(name: string, more: Record<string, string>, url = front.url) {
  const { node, token } = await service.client.nodes.addPulling({ name })
  const tokenFile = join(directory, `${name}.token`)
  writeFileSync(tokenFile, `${token}\n`, { mode: 0o600 })
  const { configuration } = pullingSetup({ address: url, token })
  const own = configuration.slice(configuration.indexOf('[scrapdeck]')).replace(/^token_file.*$/m, '')
  const lines = Object.entries({ token_file: tokenFile, ...more }).map(([option, value]) => `${option} = ${value}\n`)
  const scrapyd = await startScrapyd({
    python: inEnvironment('python'),
    forks: 'nothing',
    configuration: PULLING_COMPONENTS,
    otherSections: `\n${own}\n${lines.join('')}`,
    environment: { NO_PROXY: '' }
  })
  onTestFinished(() => scrapyd.stop())
  return { scrapyd, node }
}

const saysWhy = (scrapyd: Scrapyd, why: RegExp) => until(`the log says ${why}`, () => why.test(scrapyd.output()))

it('the package comes from pip, and a private CA is trusted if ca_file names it, also through a proxy with a password', async () => {
  const { stdout } = await run(inEnvironment('python'), ['-c', 'import scrapdeck_node; print(scrapdeck_node.__file__)'])
  expect(stdout).toContain(join(directory, 'environment'))
  const proxy = await startTunnel()
  onTestFinished(() => proxy.close())
  const { username, password } = PROXY_CREDENTIALS
  const { node } = await startInstalled('trusting', {
    ca_file: join(directory, 'ca.pem'),
    proxy: `http://${username}:${encodeURIComponent(password).replaceAll('%', '%%')}@127.0.0.1:${proxy.port}`
  })
  await untilUp(service, node.id)
  const args = { pages: '1', delay: '0' }
  const { jobs } = await service.client.jobs.run({ project: 'demo', version: '1', spiders: ['quotes'], args })
  const ended = await until(
    'the job to end',
    async () => (await service.client.jobs.get({ id: jobs[0]!.id })).job,
    ({ state }) => state === 'ended',
    60_000
  )
  expect(ended.status).toBe('succeeded')
  expect(proxy.tunnels()).toBeGreaterThan(2)
}, 120_000)

it('a certificate is verified unless its CA is known and its name is right, and the log says what to do', async () => {
  const sent = [...front.counts.values()].reduce((sum, count) => sum + count, 0)
  const { scrapyd, node } = await startInstalled('strict', {})
  await saysWhy(scrapyd, /its certificate is rejected: unable to get local issuer.*ca_file in \[scrapdeck\]/)
  const named = front.url.replace('localhost', '127.0.0.1')
  const other = await startInstalled('named', { ca_file: join(directory, 'ca.pem') }, named)
  await saysWhy(other.scrapyd, /its certificate is rejected: .*127\.0\.0\.1/)
  expect(other.scrapyd.output()).not.toContain('name the certificate')
  expect((await service.client.nodes.get({ id: node.id })).health).not.toBe('up')
  expect([...front.counts.values()].reduce((sum, count) => sum + count, 0)).toBe(sent)
}, 120_000)

it('a ca_file without certificates ends the start with the reason', async () => {
  await expect(startInstalled('wrong', { ca_file: join(directory, 'deck.key') })).rejects.toThrow(
    /ca_file of \[scrapdeck\] must name a file with certificates/
  )
}, 60_000)

async function startTunnel() {
  let tunnels = 0
  const sockets = new Set<net.Socket>()
  const server = http.createServer((_request, response) => response.writeHead(405).end())
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
  })
  server.on('connect', (request: http.IncomingMessage, socket: net.Socket) => {
    if (request.headers['proxy-authorization'] !== basicAuthorization(PROXY_CREDENTIALS)) {
      socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n')
      return
    }
    tunnels += 1
    const [host, port] = request.url!.split(':')
    const onward = net.connect(Number(port), host === 'localhost' ? '127.0.0.1' : host!, () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
      socket.pipe(onward).pipe(socket)
    })
    sockets.add(onward)
    onward.on('error', () => socket.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as net.AddressInfo).port,
    tunnels: () => tunnels,
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    }
  }
}
