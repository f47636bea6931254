import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { silentLogger } from '../../runtime/logger.ts'
import { createFakeClock, settle } from '../../testing/fake-clock.ts'
import { createSeededRandom } from '../../testing/seeded-random.ts'
import { SshTunnels } from './ssh-tunnels.ts'
import type { SshProblem } from './ssh-problem.ts'

const aHost = (host: string, user: string | null = null) => ({ user, host, port: null })
const never = new AbortController().signal

function open({ isHeld = false } = {}) {
  const clock = createFakeClock()
  const started: string[] = []
  const running = new Set<string>()
  const held: (() => void)[] = []
  const tunnels = new SshTunnels({
    program: 'ssh',
    clock,
    random: createSeededRandom(1),
    logger: silentLogger,
    async startMaster({ host: { host, user } }) {
      const name = `${user ?? ''}@${host}`
      started.push(name)
      if (isHeld) await new Promise<void>((resolve) => held.push(resolve))
      running.add(name)
      const ended = Promise.withResolvers<SshProblem>()
      const stop = async () => void running.delete(name)
      return { channels: { open: async () => new PassThrough() }, ended: ended.promise, stop }
    }
  })
  return { tunnels, clock, started, running, held }
}

test('all nodes behind a host share its connection; another user or name gets another one', async () => {
  const { tunnels, started, running } = open()
  const uses = ['a', 'a', 'b'].map((host) => tunnels.use(aHost(host)))
  tunnels.use(aHost('a', 'ops'))
  await Promise.all(uses.map((use) => use.open('x', 1, never)))
  expect(started).toEqual(['@a', '@b', 'ops@a'])
  await tunnels.stop()
  expect(running.size).toBe(0)
})

test('an unused connection ends after a while, unless it is used again', async () => {
  const { tunnels, clock, started, running } = open()
  const probe = tunnels.use(aHost('a'))
  await settle()
  probe.release()
  probe.release()
  await clock.advanceBy(5_000)
  const node = tunnels.use(aHost('a'))
  await clock.advanceBy(60_000)
  expect([started.length, running.size]).toEqual([1, 1])
  node.release()
  await clock.advanceBy(60_000)
  expect(running.size).toBe(0)
  tunnels.use(aHost('a'))
  await settle()
  expect([started.length, running.size]).toEqual([2, 1])
  await tunnels.stop()
  expect(clock.timerCount()).toBe(0)
})

test('only a few connections log in at once', async () => {
  const { tunnels, started, held } = open({ isHeld: true })
  for (let index = 0; index < 40; index += 1) tunnels.use(aHost(`h${index}`))
  await settle()
  expect(started.length).toBe(16)
  while (held.length > 0) {
    held.shift()!()
    await settle()
  }
  expect(started.length).toBe(40)
  await tunnels.stop()
})

test('hosts beyond the limit, or after the stop, are refused with an explanation', async () => {
  const { tunnels } = open()
  for (let index = 0; index < 500; index += 1) tunnels.use(aHost(`h${index}`))
  const beyond = tunnels.use(aHost('one-more'))
  await expect(beyond.open('x', 1, never)).rejects.toThrow('500 SSH hosts are in use')
  expect(beyond.status()).toMatchObject({ state: 'down', host: 'one-more' })
  await tunnels.stop()
  await expect(tunnels.use(aHost('late')).open('x', 1, never)).rejects.toThrow('stopping')
})

test('leaves nothing behind if it is stopped while it connects', async () => {
  const { tunnels, running, held, clock } = open({ isHeld: true })
  tunnels.use(aHost('a'))
  await settle()
  const stopped = tunnels.stop()
  held.forEach((go) => go())
  await stopped
  expect([running.size, clock.timerCount()]).toEqual([0, 0])
})
