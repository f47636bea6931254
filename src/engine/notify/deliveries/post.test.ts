import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTcpServer, type AddressInfo, type Server } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../runtime/clock.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { createAddressGuard } from './addresses.ts'
import { createPost } from './post.ts'

const LOOPBACK = createAddressGuard(['127.0.0.1'])
const REQUEST = { headers: { 'webhook-id': 'msg_1' }, body: '{"a":"é"}' }

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
  })
  return (server.address() as AddressInfo).port
}

function serve(handle: (request: IncomingMessage, body: string, response: ServerResponse) => void): Promise<number> {
  return listen(
    createServer((request, response) => {
      let body = ''
      request.on('data', (piece: Buffer) => {
        body += piece.toString('utf8')
      })
      request.on('end', () => handle(request, body, response))
    })
  )
}

test('a receiver gets the body and the headers, and its status is the response', async () => {
  let seen: unknown
  const port = await serve((request, body, response) => {
    seen = [request.method, request.url, request.headers['webhook-id'], request.headers['content-type'], body]
    response.writeHead(503, { 'retry-after': '120' }).end('later')
  })
  const post = createPost({ guard: LOOPBACK, clock: systemClock })
  expect(await post({ url: `http://127.0.0.1:${port}/a%20b?c=d`, ...REQUEST })).toEqual({
    kind: 'status',
    status: 503,
    retryAfterSeconds: 120
  })
  expect(seen).toEqual(['POST', '/a%20b?c=d', 'msg_1', 'application/json', REQUEST.body])
})

test('the beginning of a response is read on request', async () => {
  const port = await serve((_request, _body, response) => response.end('é'.repeat(9_000)))
  const post = createPost({ guard: LOOPBACK, clock: systemClock })
  const url = `http://127.0.0.1:${port}/`
  expect(await post({ url, ...REQUEST, readsText: true })).toMatchObject({ status: 200, text: 'é'.repeat(2_048) })
  expect(await post({ url, ...REQUEST })).not.toHaveProperty('text')
})

test('a redirect is not followed', async () => {
  let count = 0
  const port = await serve((_request, _body, response) => {
    count += 1
    response.writeHead(307, { location: '/elsewhere' }).end()
  })
  const post = createPost({ guard: LOOPBACK, clock: systemClock })
  expect(await post({ url: `http://127.0.0.1:${port}/`, ...REQUEST })).toMatchObject({ status: 307 })
  expect(count).toBe(1)
})

test('a name that points to this machine by the second delivery is not connected to (DNS rebinding)', async () => {
  let count = 0
  const port = await serve((_request, _body, response) => {
    count += 1
    response.end()
  })
  const meanings = ['127.0.0.1', '127.0.0.2', '169.254.169.254', '::ffff:127.0.0.2', '10.0.0.1']
  const resolve = ((_host: string, _options: object, callback: (...all: unknown[]) => void) => {
    const address = meanings.shift()!
    callback(null, [{ address, family: address.includes(':') ? 6 : 4 }])
  }) as never
  const post = createPost({ guard: LOOPBACK, clock: systemClock, resolve })
  const url = `http://rebinding.example:${port}/`
  expect(await post({ url, ...REQUEST })).toMatchObject({ status: 200 })
  while (meanings.length > 0) {
    const [meaning] = meanings
    expect(await post({ url, ...REQUEST })).toEqual({ kind: 'forbidden', problem: expect.stringContaining(meaning!) })
  }
  expect(count).toBe(1)
})

test('a name is refused if one of its addresses is forbidden', async () => {
  const resolve = ((_host: string, _options: object, callback: (...all: unknown[]) => void) =>
    callback(null, [
      { address: '127.0.0.1', family: 4 },
      { address: '10.0.0.1', family: 4 }
    ])) as never
  const post = createPost({ guard: LOOPBACK, clock: systemClock, resolve })
  expect(await post({ url: 'http://two.example:9/', ...REQUEST })).toMatchObject({ kind: 'forbidden' })
})

test('a literal address is checked without a lookup, even if the configuration has changed', async () => {
  const post = createPost({ guard: createAddressGuard([]), clock: systemClock })
  for (const url of ['http://127.0.0.1:9/', 'http://[::1]:9/', 'http://localhost:9/']) {
    expect(await post({ url, ...REQUEST })).toMatchObject({ kind: 'forbidden' })
  }
})

test('a receiver that does not exist, hangs up, or does not speak HTTP is reported with an explanation', async () => {
  const post = createPost({ guard: LOOPBACK, clock: systemClock })
  const problemOf = async (port: number) => {
    const answer = await post({ url: `http://127.0.0.1:${port}/`, ...REQUEST })
    return answer.kind === 'failed' ? answer.problem : answer
  }
  const hangingUp = await listen(createTcpServer((socket) => void socket.once('data', () => socket.destroy())))
  const babbling = await listen(
    createTcpServer((socket) => void socket.once('data', () => socket.end('hello\r\n\r\n')))
  )
  const gone = createTcpServer()
  const free = await listen(gone)
  await new Promise((resolve) => gone.close(resolve))
  expect(await problemOf(hangingUp)).toContain('closed the connection')
  expect(await problemOf(babbling)).toMatch(/^the request to .* failed/)
  expect(await problemOf(free)).toContain('nothing listens')
})

test('a receiver that accepts the event and never responds is given up in time', async () => {
  const clock = createFakeClock()
  const { promise: asked, resolve: noteAsked } = Promise.withResolvers<void>()
  const port = await serve(() => noteAsked())
  const answer = createPost({ guard: LOOPBACK, clock })({ url: `http://127.0.0.1:${port}/`, ...REQUEST })
  await asked
  await clock.advanceBy(15_000)
  expect(await answer).toEqual({ kind: 'failed', problem: expect.stringContaining('did not answer within 15 s') })
  expect(clock.timerCount()).toBe(0)
})

test('an endless response is cut off, and its status counts', async () => {
  const port = await serve((_request, _body, response) => {
    response.writeHead(200)
    const write = () => {
      while (response.write('x'.repeat(16_384)));
      response.once('drain', write)
    }
    write()
  })
  const post = createPost({ guard: LOOPBACK, clock: systemClock })
  expect(await post({ url: `http://127.0.0.1:${port}/`, ...REQUEST })).toMatchObject({ status: 200 })
})
