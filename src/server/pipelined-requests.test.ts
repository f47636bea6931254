import { connect } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import type { RateLimits } from './limits.ts'
import { countTurns } from './testing/count-turns.ts'
import { openTestService, RIGHT } from './testing/test-app.ts'

const LIST_PROJECTS = '/listprojects.json'

/** Uses real sockets, because the tests check how Node handles a packet that contains many requests. */
async function open(rateLimits?: Partial<RateLimits>) {
  const { engine, port } = await openTestService({ ...(rateLimits !== undefined && { rateLimits }) })
  /** Sends this many requests together. `next` waits until this many responses have arrived. */
  const send = (count: number, { path = LIST_PROJECTS, authorization = RIGHT as string | null } = {}) => {
    const socket = connect(port, '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    const seen = { text: '', isClosed: false }
    socket.setEncoding('latin1')
    socket.on('data', (data) => (seen.text += String(data)))
    socket.on('error', () => {})
    socket.on('close', () => (seen.isClosed = true))
    const credentials = authorization === null ? '' : `Authorization: ${authorization}\r\n`
    socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n${credentials}\r\n`.repeat(count))
    return { socket, seen, codes: () => [...seen.text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, code]) => Number(code)) }
  }
  return { engine, send }
}

it('pipelined requests are all answered in order, in separate turns of the event loop', async () => {
  const { engine, send } = await open()
  let now = 0
  let mostAtOnce = 0
  const turns = new Set<number>()
  const turn = countTurns()
  engine.scrapyd.listProjects = async () => {
    now += 1
    mostAtOnce = Math.max(mostAtOnce, now)
    turns.add(turn())
    await null
    now -= 1
    return ['shop']
  }
  const { codes, seen } = send(50)
  await expect.poll(codes).toEqual(Array.from({ length: 50 }, () => 200))
  expect([mostAtOnce, turns.size, seen.isClosed]).toEqual([1, 50, false])
})

it('a connection with too many waiting requests is closed after their responses, and the rest is dropped', async () => {
  const { engine, send } = await open()
  let handled = 0
  engine.scrapyd.listProjects = async () => {
    handled += 1
    return []
  }
  const { codes, seen } = send(20_000)
  await expect.poll(() => seen.isClosed, { timeout: 10_000 }).toBe(true)
  expect([handled, codes().at(-1)]).toEqual([65, 429])
  expect(seen.text).toContain('send at most 64 ahead')
})

it('an unauthenticated client over the limit gets a 429, and its other pipelined requests are dropped with the connection', async () => {
  const { send } = await open({ open: { requests: 1, windowSeconds: 10, burst: 3 } })
  const { codes, seen } = send(30, { authorization: null })
  await expect.poll(() => seen.isClosed).toBe(true)
  expect(codes()).toEqual([401, 401, 401, 429])
})

it('a request behind a slow one is handled after it, unless the client has disconnected', async () => {
  const { engine, send } = await open()
  const asked: (() => void)[] = []
  engine.scrapyd.listProjects = () => new Promise((resolve) => asked.push(() => resolve(['shop'])))
  const { codes } = send(2)
  await expect.poll(() => asked.length).toBe(1)
  asked[0]!()
  await expect.poll(() => asked.length).toBe(2)
  asked[1]!()
  await expect.poll(codes).toEqual([200, 200])
  const left = send(2)
  await expect.poll(() => asked.length).toBe(3)
  left.socket.destroy()
  await expect.poll(() => left.seen.isClosed).toBe(true)
  asked[2]!()
  const patient = send(1)
  await expect.poll(() => asked.length).toBe(4)
  asked[3]!()
  await expect.poll(patient.codes).toEqual([200])
  expect(asked.length).toBe(4)
})
