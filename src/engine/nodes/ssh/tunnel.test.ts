import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { render, say } from '../../../shared/texts/message.ts'
import { silentLogger } from '../../runtime/logger.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { SshFailed, type SshMaster } from './ssh-master.ts'
import type { SshProblem } from './ssh-problem.ts'
import { Tunnel } from './tunnel.ts'

const NOW: SshProblem = { ends: 'by itself', said: say('ssh.nothing_listens', { host: 'bastion', port: '22' }) }
const HAND: SshProblem = { ends: 'by hand', said: say('ssh.key_revoked', { host: 'bastion' }) }
const never = new AbortController().signal

function aTunnel() {
  const clock = createFakeClock()
  const attempts: PromiseWithResolvers<SshMaster>[] = []
  const tunnel = new Tunnel({
    host: { user: null, host: 'bastion', port: null },
    clock,
    random: { next: () => 0 },
    logger: silentLogger,
    start() {
      const attempt = Promise.withResolvers<SshMaster>()
      attempts.push(attempt)
      return attempt.promise
    }
  })
  const settle = () => new Promise((resolve) => setImmediate(resolve))
  return {
    clock,
    tunnel,
    attempts,
    settle,
    async connect() {
      const ended = Promise.withResolvers<SshProblem>()
      const channels = { open: async () => new PassThrough() }
      attempts.at(-1)!.resolve({ channels, ended: ended.promise, stop: async () => ended.resolve(NOW) })
      await settle()
      return async (problem = NOW) => {
        ended.resolve(problem)
        await settle()
      }
    },
    async fail(problem = NOW) {
      attempts.at(-1)!.reject(new SshFailed(problem))
      await settle()
    }
  }
}

test('requests wait for the first attempt, and fail at once after it failed', async () => {
  const { tunnel, fail } = aTunnel()
  const first = tunnel.open('10.0.0.5', 6800, never)
  expect(tunnel.whyWaiting()).toEqual(say('ssh.connecting', { host: 'bastion' }))
  const failed = expect(first).rejects.toThrow(render(NOW.said))
  await fail()
  await failed
  expect(tunnel.whyWaiting()).toBe(null)
  await expect(tunnel.open('10.0.0.5', 6800, never)).rejects.toMatchObject({
    code: 'SSH_DOWN',
    message: render(NOW.said)
  })
})

test('a waiting request ends with its signal', async () => {
  const { tunnel } = aTunnel()
  const signal = new AbortController()
  const waits = expect(tunnel.open('10.0.0.5', 6800, signal.signal)).rejects.toThrow('late')
  signal.abort(new Error('late'))
  await waits
})

test('attempts get less frequent, and requests in between report the newest problem', async () => {
  const { tunnel, clock, attempts, fail } = aTunnel()
  await fail()
  const times: number[] = []
  for (let count = 1; count < 6; count += 1) {
    const before = clock.monotonicMs()
    while (attempts.length === count) await clock.advanceBy(500)
    times.push(clock.monotonicMs() - before)
    expect(tunnel.status().state).toBe('connecting')
    await expect(tunnel.open('x', 1, never)).rejects.toThrow(render(NOW.said))
    await fail()
  }
  expect(times).toEqual([1_000, 2_000, 4_000, 8_000, 16_000])
})

test('a connection that breaks again and again does not reset the wait', async () => {
  const { tunnel, clock, attempts, connect } = aTunnel()
  for (let count = 1; count < 5; count += 1) {
    const breaks = await connect()
    await breaks()
    while (attempts.length === count) await clock.advanceBy(500)
  }
  const breaks = await connect()
  await breaks()
  expect(tunnel.status().retryAtMs! - clock.nowMs()).toBe(16_000)
})

test('a connection that lasted resets the wait', async () => {
  const { tunnel, clock, attempts, connect, fail } = aTunnel()
  await fail()
  while (attempts.length === 1) await clock.advanceBy(500)
  const breaks = await connect()
  await clock.advanceBy(60_000)
  await breaks()
  expect(tunnel.status()).toMatchObject({
    state: 'down',
    problem: render(NOW.said),
    problemCode: 'ssh.nothing_listens',
    problemParams: { host: 'bastion', port: '22' },
    retryAtMs: clock.nowMs() + 1_000
  })
})

test('a problem that only a person can solve is tried rarely, or on request', async () => {
  const { tunnel, clock, attempts, connect, fail } = aTunnel()
  await fail(HAND)
  await clock.advanceBy(29_000)
  expect(attempts.length).toBe(1)
  tunnel.retryNow()
  expect(attempts.length).toBe(2)
  const waits = tunnel.open('x', 1, never)
  await connect()
  await waits
  expect(tunnel.status()).toMatchObject({ state: 'up', problem: null })
  await clock.advanceBy(60_000)
  expect(attempts.length).toBe(2)
})

test('after the computer slept, the first request connects again', async () => {
  const { tunnel, clock, attempts, connect, fail } = aTunnel()
  await fail(HAND)
  clock.jumpWallBy(3_600_000)
  await expect(tunnel.open('x', 1, never)).rejects.toThrow(render(HAND.said))
  expect(attempts.length).toBe(2)
  await connect()
  await tunnel.open('x', 1, never)
})

test('a tunnel is down from when it broke, however many attempts follow', async () => {
  const { tunnel, clock, attempts, connect, fail } = aTunnel()
  const breaks = await connect()
  await clock.advanceBy(60_000)
  await breaks()
  const sinceMs = clock.nowMs()
  while (attempts.length === 1) await clock.advanceBy(500)
  await fail()
  expect(tunnel.status()).toMatchObject({ state: 'down', sinceMs })
})

test('a stopped tunnel does not connect any more, and waiting requests fail', async () => {
  const { tunnel, clock, attempts, fail } = aTunnel()
  await fail()
  await tunnel.stop()
  await clock.advanceBy(3_600_000)
  expect(attempts.length).toBe(1)
  await expect(tunnel.open('x', 1, never)).rejects.toThrow(render(NOW.said))
})
