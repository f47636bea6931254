import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, request as forward, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, connect as connectTcp, type Socket } from 'node:net'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { silentLogger } from '../../runtime/logger.ts'
import { systemClock } from '../../runtime/clock.ts'
import { answerJson, startScriptedHttpNode } from '../../testing/scripted-http-node.ts'
import { makeTemporaryDirectory } from '../../testing/temporary-directory.ts'
import type { NodeClient } from '../node-client.ts'
import { checkCertificates } from './certificates.ts'
import { createConnection } from './connection.ts'
import type { NodeAddressParts } from './transport.ts'
import type { Environment } from './proxy.ts'
import { createScrapydClient } from './scrapyd-client.ts'

/** A private CA, a server certificate for localhost and a client certificate. `other` is from an unknown CA. */
interface Papers {
  ca: string
  server: { cert: string; key: string }
  client: { cert: string; key: string }
  other: { cert: string; key: string }
}

let papers: Papers
let directory: Awaited<ReturnType<typeof makeTemporaryDirectory>>
const closers: (() => Promise<unknown> | void)[] = []

beforeAll(async () => {
  directory = await makeTemporaryDirectory()
  const at = (name: string) => join(directory.path, name)
  const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'ignore' })
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  const make = (name: string, ...issuer: string[]) => {
    const names = ['-subj', `/CN=${name}`, '-addext', 'subjectAltName=DNS:localhost']
    openssl(
      'req',
      '-x509',
      ...curve,
      '-days',
      '2',
      '-keyout',
      at(`${name}.key`),
      '-out',
      at(`${name}.pem`),
      ...names,
      ...issuer
    )
    return { cert: readFileSync(at(`${name}.pem`), 'utf8'), key: readFileSync(at(`${name}.key`), 'utf8') }
  }
  const byAuthority = [
    '-CA',
    at('authority.pem'),
    '-CAkey',
    at('authority.key'),
    '-addext',
    'basicConstraints=critical,CA:FALSE'
  ]
  papers = {
    ca: make('authority').cert,
    server: make('server', ...byAuthority),
    client: make('client', ...byAuthority),
    other: make('other')
  }
})

afterAll(() => directory[Symbol.asyncDispose]())

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

async function listen(server: Server): Promise<number> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => sockets.add(socket))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closers.push(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return (server.address() as AddressInfo).port
}

const STATUS = '{"status": "ok", "pending": 0, "running": 1, "finished": 2}'

async function startTlsNode(options: { asksForCertificate?: boolean } = {}) {
  let requests = 0
  const { asksForCertificate = false } = options
  const { cert, key } = papers.server
  const tls = { cert, key, ca: papers.ca, requestCert: asksForCertificate, rejectUnauthorized: asksForCertificate }
  const port = await listen(
    createTlsServer(tls, (_request, response) => {
      requests += 1
      response.end(STATUS)
    })
  )
  return { url: `https://localhost:${port}/`, requestCount: () => requests }
}

/** An HTTP proxy that forwards, opens tunnels and records requests. Only it can resolve `names`. */
async function startProxy(options: { names?: Record<string, number>; password?: string } = {}) {
  const asked: string[] = []
  const isAllowed = (given: string | undefined) =>
    options.password === undefined || given === `Basic ${Buffer.from(`proxy:${options.password}`).toString('base64')}`
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`)
    if (!isAllowed(request.headers['proxy-authorization'])) return void response.writeHead(407).end()
    const url = new URL(request.url!)
    const port = options.names?.[url.host] ?? url.port
    const { host } = request.headers
    const onward = forward({ host: '127.0.0.1', port, method: request.method, path: url.pathname, headers: { host } })
    onward.on('response', (answer) => {
      response.writeHead(answer.statusCode!, answer.headers)
      answer.pipe(response)
    })
    onward.on('error', () => response.writeHead(502).end())
    request.pipe(onward)
  })
  server.on('connect', (request, socket: Socket) => {
    asked.push(`CONNECT ${request.url}`)
    if (!isAllowed(request.headers['proxy-authorization'])) return void socket.end('HTTP/1.1 407 Who are you\r\n\r\n')
    const port = options.names?.[request.url!] ?? Number(request.url!.split(':').at(-1))
    const onward = connectTcp(port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connected\r\n\r\n')
      onward.pipe(socket).pipe(onward)
    })
    onward.on('error', () => socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n'))
    socket.on('error', () => onward.destroy())
    socket.on('close', () => onward.destroy())
  })
  const port = await listen(server)
  return { port, asked, url: `http://127.0.0.1:${port}` }
}

function connect(address: Partial<NodeAddressParts> & { url: string }, environment: Environment = {}): NodeClient {
  const client = createScrapydClient({
    username: null,
    password: null,
    caCertificate: null,
    name: 'eu-1',
    clock: systemClock,
    logger: silentLogger,
    ...address,
    connect: (options) => createConnection({ ...options, environment })
  })
  closers.push(() => client.close())
  return client
}

const look = (client: NodeClient) => client.daemonStatus().then(({ finished }) => finished)
const failure = (client: NodeClient) => client.daemonStatus().catch((error: unknown) => error)

describe('a node behind TLS', () => {
  test('with a private CA is reached when that CA is given', async () => {
    const node = await startTlsNode()
    expect(await look(connect({ url: node.url, caCertificate: papers.ca }))).toBe(2)
    expect(await failure(connect({ url: node.url, caCertificate: papers.other.cert }))).toMatchObject({
      kind: 'unreachable',
      message: expect.stringContaining('certificate was rejected')
    })
    expect(node.requestCount()).toBe(1)
  })

  test('that requests a client certificate gets ours, and the error says so if none of ours is known to it', async () => {
    const node = await startTlsNode({ asksForCertificate: true })
    const address = { url: node.url, caCertificate: papers.ca }
    const { client, other } = papers
    expect(await look(connect({ ...address, clientCertificate: client.cert, clientKey: client.key }))).toBe(2)
    const unknown = connect({ ...address, clientCertificate: other.cert, clientKey: other.key })
    for (const refused of [connect(address), unknown]) {
      // The server sends a reason or closes the connection. Either can arrive first.
      expect(await failure(refused)).toMatchObject({
        message: expect.stringMatching(/client certificate/)
      })
    }
    expect(node.requestCount()).toBe(1)
  })
})

describe('certificates', () => {
  test.each([
    ['a certificate without its key', () => ({ clientCertificate: papers.client.cert }), /key is missing/],
    ['a key without its certificate', () => ({ clientKey: papers.client.key }), /certificate is missing/],
    [
      'a key of another',
      () => ({ clientCertificate: papers.client.cert, clientKey: papers.other.key }),
      /does not match/
    ],
    [
      'no key at all',
      () => ({ clientCertificate: papers.client.cert, clientKey: 'secret' }),
      /not a private key in PEM/
    ],
    ['no certificate at all', () => ({ clientCertificate: 'x', clientKey: papers.client.key }), /not in PEM form/],
    [
      'an authority that is none',
      () => ({ caCertificate: '-----BEGIN CERTIFICATE-----\nAA\n-----END CERTIFICATE-----' }),
      /CA certificate is not in PEM/
    ]
  ])('that are invalid are refused with an explanation: %s', (_name, given, words) => {
    const none = { caCertificate: null, clientCertificate: null, clientKey: null }
    expect(() => checkCertificates({ ...none, ...given() })).toThrow(words)
  })

  test('that are valid are accepted, even with a chain in the same text', () => {
    const { ca, client } = papers
    checkCertificates({ caCertificate: ca, clientCertificate: `${client.cert}${ca}`, clientKey: client.key })
  })
})

describe('a node behind a proxy', () => {
  test('is requested through the proxy with its whole address, and under its own name', async () => {
    const node = await startScriptedHttpNode(answerJson({ pending: 0, running: 1, finished: 2 }))
    closers.push(() => node.close())
    const proxy = await startProxy({ names: { 'eu-1.inside:6800': node.port } })
    const client = connect({ url: 'http://eu-1.inside:6800/base/', proxyUrl: proxy.url })
    expect([await look(client), await look(client)]).toEqual([2, 2])
    expect(proxy.asked).toEqual(Array(2).fill('GET http://eu-1.inside:6800/base/daemonstatus.json'))
    expect(node.requests[0]).toMatchObject({ path: '/base/daemonstatus.json', headers: { host: 'eu-1.inside:6800' } })
  })

  test('and TLS is requested through a tunnel, in which the proxy reads nothing', async () => {
    const node = await startTlsNode({ asksForCertificate: true })
    const proxy = await startProxy()
    const { cert: clientCertificate, key: clientKey } = papers.client
    const address = { url: node.url, caCertificate: papers.ca, clientCertificate, clientKey }
    const client = connect({ ...address, proxyUrl: proxy.url })
    expect([await look(client), await look(client)]).toEqual([2, 2])
    expect(proxy.asked).toEqual([`CONNECT ${new URL(node.url).host}`])
  })

  test('that asks for a password gets the proxy password, which the node never sees', async () => {
    const node = await startScriptedHttpNode(answerJson({ pending: 0, running: 1, finished: 2 }))
    closers.push(() => node.close())
    const tls = await startTlsNode()
    const proxy = await startProxy({ password: 'p@ss', names: { 'eu-1.inside:6800': node.port } })
    const withPassword = proxy.url.replace('http://', 'http://proxy:p%40ss@')
    const url = 'http://eu-1.inside:6800/'
    const secure = { url: tls.url, caCertificate: papers.ca }
    expect(await look(connect({ url, proxyUrl: withPassword }))).toBe(2)
    expect(await look(connect({ ...secure, proxyUrl: withPassword }))).toBe(2)
    expect(node.requests[0]!.headers).not.toHaveProperty('proxy-authorization')
    const refusal = { kind: 'unreachable', delivered: 'no', message: expect.stringContaining('407') }
    expect(await failure(connect({ url, proxyUrl: proxy.url }))).toMatchObject(refusal)
    expect(await failure(connect({ ...secure, proxyUrl: proxy.url }))).toMatchObject(refusal)
  })

  test('is down if the proxy is, and the message names the proxy', async () => {
    const proxyUrl = 'http://127.0.0.1:1/'
    for (const url of ['http://eu-1.inside:6800/', 'https://eu-1.inside/']) {
      expect(await failure(connect({ url, proxyUrl }))).toMatchObject({
        kind: 'unreachable',
        delivered: 'no',
        message: expect.stringContaining('nothing listens on its proxy 127.0.0.1:1')
      })
    }
  })

  test('that the proxy cannot reach counts as unreachable', async () => {
    const proxy = await startProxy({ names: { 'eu-1.inside:443': 1 } })
    expect(await failure(connect({ url: 'https://eu-1.inside/', proxyUrl: proxy.url }))).toMatchObject({
      kind: 'unreachable',
      delivered: 'no',
      message: expect.stringContaining('could not connect to eu-1.inside')
    })
  })

  test('is down, with the reason, if HTTP_PROXY is invalid: the engine must start all the same', async () => {
    const error = await failure(
      connect({ url: 'http://eu-1.inside:6800/' }, { HTTP_PROXY: 'socks5://deck:hush@proxy:1080' })
    )
    const words = expect.stringContaining('HTTP_PROXY or HTTPS_PROXY cannot be used: Only http and https proxies')
    expect(error).toMatchObject({ kind: 'unreachable', delivered: 'no', message: words })
    expect(String(error)).not.toContain('hush')
  })

  test('uses HTTP_PROXY unless it has a setting of its own', async () => {
    const node = await startScriptedHttpNode(answerJson({ pending: 0, running: 1, finished: 2 }))
    closers.push(() => node.close())
    const proxy = await startProxy({ names: { 'eu-1.inside:6800': node.port } })
    const environment = { HTTP_PROXY: proxy.url }
    expect(await look(connect({ url: 'http://eu-1.inside:6800/' }, environment))).toBe(2)
    expect(await look(connect({ url: node.url }, environment))).toBe(2)
    expect(proxy.asked).toHaveLength(1)
    expect(await failure(connect({ url: 'http://eu-1.invalid:6800/', proxyUrl: 'direct' }, environment))).toMatchObject(
      {
        message: expect.stringContaining('does not resolve')
      }
    )
  })
})
