import { EventEmitter } from 'node:events'
import type { Server } from 'node:http'
import { connect, type Socket } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { createFakeClock } from '../engine/testing/fake-clock.ts'
import { Connections } from './connections.ts'
import { openTestService, RIGHT } from './testing/test-app.ts'

/** Uses real sockets, because the tests check when the server closes them. */
async function open(connectionLimits: { total?: number } = {}) {
  const clock = createFakeClock()
  const logged: string[] = []
  const keep = (_facts: object, text: string) => void logged.push(text)
  const logger = { debug: keep, info: keep, warn: keep, error: keep }
  const { engine, port } = await openTestService({ connectionLimits, clock, bindAddress: '0.0.0.0', logger })
  const opened: Socket[] = []
  onTestFinished(() => {
    for (const socket of opened) socket.destroy()
  })
  /** Connects, sends these lines, and waits until the server has accepted or closed the connection. */
  const begin = async (lines: string[] = [], host = '127.0.0.1') => {
    const socket = connect(port, host)
    socket.on('error', () => {})
    opened.push(socket)
    const seen = { text: '', isClosed: false }
    socket.on('data', (data) => {
      seen.text += data.toString('latin1')
    })
    socket.on('close', () => {
      seen.isClosed = true
    })
    await new Promise((resolve) => socket.once('connect', resolve))
    if (lines.length > 0) socket.write(`${lines.join('\r\n')}\r\n\r\n`)
    return { socket, seen }
  }
  const halfLogin = (host?: string) =>
    begin(
      [
        'POST /ui/login HTTP/1.1',
        `Host: 127.0.0.1:${port}`,
        'Content-Type: application/x-www-form-urlencoded',
        'Content-Length: 100'
      ],
      host
    )
  const request = (headers: string[] = [`Authorization: ${RIGHT}`]) =>
    begin(['GET /daemonstatus.json HTTP/1.1', `Host: 127.0.0.1:${port}`, ...headers])
  return { engine, clock, port, logged, begin, halfLogin, request }
}

const openOf = (some: { seen: { isClosed: boolean } }[]) => some.filter(({ seen }) => !seen.isClosed).length

it('an incomplete login is closed after ten seconds, but not an upload with credentials', async () => {
  const { clock, port, logged, halfLogin, begin } = await open()
  const halves = await Promise.all(Array.from({ length: 20 }, () => halfLogin()))
  const upload = await begin([
    'POST /addversion.json HTTP/1.1',
    `Host: 127.0.0.1:${port}`,
    `Authorization: ${RIGHT}`,
    'Content-Length: 1000'
  ])
  await expect.poll(() => clock.timerCount()).toBe(20)
  await clock.advanceBy(9_999)
  expect(openOf(halves)).toBe(20)
  await clock.advanceBy(1)
  await expect.poll(() => openOf(halves)).toBe(0)
  expect(upload.seen.isClosed).toBe(false)
  expect(logged).toEqual([])
})

it('a body whose credentials are rejected is read for ten more seconds, so that the response arrives', async () => {
  const { clock, port, begin } = await open()
  const { seen } = await begin([
    'POST /addversion.json HTTP/1.1',
    `Host: 127.0.0.1:${port}`,
    'Content-Length: 200000000'
  ])
  await expect.poll(() => seen.text).toContain('HTTP/1.1 401 ')
  expect(seen.isClosed).toBe(false)
  await clock.advanceBy(10_000)
  await expect.poll(() => seen.isClosed).toBe(true)
})

it('thousands of incomplete requests block no one: the oldest unauthenticated ones are closed, and clients with credentials stay', async () => {
  const { engine, request, halfLogin } = await open({ total: 20 })
  const poller = await request()
  await expect.poll(() => poller.seen.text).toContain('HTTP/1.1 200 ')
  const halves: Awaited<ReturnType<typeof halfLogin>>[] = []
  for (let count = 0; count < 200; count++) halves.push(await halfLogin())
  await expect.poll(() => openOf(halves)).toBe(19)
  const newcomer = await request()
  await expect.poll(() => newcomer.seen.text).toContain('HTTP/1.1 200 ')
  expect(poller.seen.isClosed).toBe(false)
  engine.scrapyd.listProjects = async () => ['shop']
  poller.socket.write(
    `GET /listprojects.json HTTP/1.1\r\nHost: 127.0.0.1:${poller.socket.remotePort}\r\nAuthorization: ${RIGHT}\r\n\r\n`
  )
  await expect.poll(() => poller.seen.text).toContain('shop')
})

it('if all connections have credentials, a new connection is closed', async () => {
  const { request, begin } = await open({ total: 3 })
  const clients = [await request(), await request(), await request()]
  for (const { seen } of clients) await expect.poll(() => seen.text).toContain('HTTP/1.1 200 ')
  const { seen } = await begin()
  await expect.poll(() => seen.isClosed).toBe(true)
  expect(openOf(clients)).toBe(3)
})

it('one address may open fewer connections than all together, except this machine and trusted proxies', () => {
  const connections = new Connections({ limits: { total: 100, perAddress: 2 }, trustedProxies: ['10.0.0.0/8'] })
  const server = new EventEmitter()
  connections.watch(server as Server)
  const from = (remoteAddress: string) => {
    const socket = Object.assign(new EventEmitter(), { remoteAddress, isClosed: false, destroy: () => {} })
    socket.destroy = () => {
      socket.isClosed = true
      socket.emit('close')
    }
    server.emit('connection', socket)
    return socket
  }
  const closedOf = (sockets: { isClosed: boolean }[]) => sockets.map(({ isClosed }) => isClosed)
  const [known, ...strangers] = ['192.0.2.1', '::ffff:192.0.2.1'].map(from)
  connections.trust(known as unknown as Socket)
  const third = from('192.0.2.1')
  expect(closedOf([known!, ...strangers, third])).toEqual([false, true, false])
  connections.trust(third as unknown as Socket)
  expect(from('192.0.2.1').isClosed).toBe(true)
  known!.destroy()
  expect(from('192.0.2.1').isClosed).toBe(false)
  for (const address of ['127.0.0.1', '::1', '10.1.2.3', '192.0.2.2', '2001:db8::1']) {
    const two = [from(address), from(address)]
    expect([address, ...closedOf(two)]).toEqual([address, false, false])
  }
  const many = ['127.0.0.1', '::1', '10.1.2.3'].flatMap((address) => Array.from({ length: 5 }, () => from(address)))
  expect(closedOf(many)).not.toContain(true)
})

it('incomplete bodies share 256 MB: the oldest one is closed, others are served', async () => {
  const { port, begin, request } = await open()
  const head = (length: number) => [
    'POST /api/v1/jsonrpc HTTP/1.1',
    `Host: 127.0.0.1:${port}`,
    `Authorization: ${RIGHT}`,
    'Content-Type: application/json',
    `Content-Length: ${length}`
  ]
  const whole = 4 * 1024 * 1024
  const small = await begin(head(1_000))
  const halves: Awaited<ReturnType<typeof begin>>[] = []
  for (let count = 0; count < 70; count += 1) halves.push(await begin(head(whole)))
  await expect.poll(() => openOf(halves)).toBeLessThanOrEqual(64)
  expect(openOf(halves)).toBeGreaterThanOrEqual(63)
  expect(openOf(halves.slice(-60))).toBe(60)
  expect(openOf([small])).toBe(0)
  halves.at(-1)!.socket.write(Buffer.alloc(whole, 0x20))
  await expect.poll(() => halves.at(-1)!.seen.text).toContain('HTTP/1.1 ')
  const served = await request()
  await expect.poll(() => served.seen.text).toContain('200 OK')
})
