import { expect, test } from 'vitest'
import { silentLogger } from '../runtime/logger.ts'
import { aStoredNode } from '../testing/builders.ts'
import { createFakeClock, type FakeClock } from '../testing/fake-clock.ts'
import { FakeNode } from '../testing/fake-node.ts'
import { createSeededRandom } from '../testing/seeded-random.ts'
import { Fleet } from './fleet.ts'
import { plain } from '../../shared/texts/message.ts'
import { NodeError } from './node-client.ts'
import { isCore } from '../../../scripts/test-length.mjs'

type DaemonStatus = FakeNode['daemonStatus']

/** `ask` computes the response of the named node. `answer` returns the normal response. */
function openFleet(clock: FakeClock, ask: (name: string, answer: DaemonStatus) => ReturnType<DaemonStatus>): Fleet {
  return new Fleet({
    clock,
    random: createSeededRandom(1),
    logger: silentLogger,
    async createClient({ name }) {
      const node = new FakeNode(clock, { slots: 2 })
      const answer = node.daemonStatus.bind(node)
      node.daemonStatus = () => ask(name, answer)
      return node
    }
  })
}

test('among nodes that accept connections but never respond, some hundred are polled at once; others are not delayed', async () => {
  const clock = createFakeClock()
  let [asked, answered] = [0, 0]
  const fleet = openFleet(clock, (name, answer) => {
    if (name === 'good') {
      answered += 1
      return answer()
    }
    asked += 1
    return new Promise(() => {})
  })
  await fleet.add(aStoredNode({ id: 'good', name: 'good' }))
  await clock.advanceBy(0)
  for (let index = 0; index < 1_000; index += 1) await fleet.add(aStoredNode({ id: `n${index}`, name: 'silent' }))
  await clock.advanceBy(20_000)
  expect(asked).toBeGreaterThan(100)
  expect(asked).toBeLessThanOrEqual(256)
  expect(answered).toBeGreaterThan(3)
  // Removing a node waits neither for its response nor for its turn.
  for (const { stored } of fleet.list()) if (stored.id !== 'good') await fleet.remove(stored.id)
  await fleet.stop()
})

const TIME_LIMIT_MS = 5_000

/**
 * Starts nodes that time out while `isSilent` is true. `asked` counts the concurrent polls of nodes that have failed
 * before.
 */
async function startFleet(names: string[], isSilent: (name: string) => boolean) {
  const clock = createFakeClock()
  const room = { answers: new Map<string, number>(), failed: new Set<string>(), asked: 0, mostAsked: 0 }
  const fleet = openFleet(clock, async (name, answer) => {
    const counted = room.failed.has(name) ? 1 : 0
    room.asked += counted
    room.mostAsked = Math.max(room.mostAsked, room.asked)
    if (isSilent(name)) await new Promise<void>((resolve) => void clock.setTimer(TIME_LIMIT_MS, resolve))
    room.asked -= counted
    if (isSilent(name)) {
      room.failed.add(name)
      throw new NodeError('timeout', plain('no answer in time'), { delivered: 'unknown' })
    }
    room.answers.set(name, (room.answers.get(name) ?? 0) + 1)
    return answer()
  })
  for (const name of names) await fleet.add(aStoredNode({ id: name, name }))
  const stop = async () => {
    const stopped = fleet.stop()
    await clock.advanceBy(TIME_LIMIT_MS)
    await stopped
  }
  return Object.assign(room, { clock, fleet, [Symbol.asyncDispose]: stop })
}

test.skipIf(isCore)(
  'a node that fails one poll is polled again at once, however many others do not respond',
  async () => {
    let isGoodSilent = false
    const dead = Array.from({ length: 1_500 }, (_, index) => `dead-${index}`)
    await using t = await startFleet(['good', ...dead], (name) => (name === 'good' ? isGoodSilent : true))
    await t.clock.advanceBy(60_000)
    const answersOfGood = () => t.answers.get('good') ?? 0
    expect(answersOfGood()).toBeGreaterThan(8)
    isGoodSilent = true
    while (!t.failed.has('good')) await t.clock.advanceBy(500)
    isGoodSilent = false
    const before = answersOfGood()
    await t.clock.advanceBy(2_000)
    expect(answersOfGood()).toBeGreaterThan(before)
  }
)

test('a node that fails a single poll is not away; one that fails two is, since the first', async () => {
  let isSilent = false
  await using t = await startFleet(['good'], () => isSilent)
  await t.clock.advanceBy(20_000)
  isSilent = true
  while (!t.failed.has('good')) await t.clock.advanceBy(500)
  isSilent = false
  expect(t.fleet.list()[0]!.status).toMatchObject({ health: 'up', unreachableSinceMs: null })
  await t.clock.advanceBy(20_000)
  expect(t.fleet.list()[0]!.status).toMatchObject({ health: 'up', unreachableSinceMs: null })
  isSilent = true
  t.failed.clear()
  while (!t.failed.has('good')) await t.clock.advanceBy(500)
  const firstAtMs = t.clock.nowMs()
  await t.clock.advanceBy(60_000)
  const away = t.fleet.list()[0]!.status
  expect(away.health).toBe('down')
  expect(Math.abs(away.unreachableSinceMs! - firstAtMs)).toBeLessThan(1_000)
})

test('new settings of an unreachable node do not hide for how long it has not responded', async () => {
  await using t = await startFleet(['good'], () => true)
  await t.clock.advanceBy(60_000)
  const { stored, status: before } = t.fleet.list()[0]!
  expect(before.health).toBe('down')
  await t.fleet.add({ ...stored, username: 'other' })
  await t.clock.advanceBy(60_000)
  const { unreachableSinceMs, awaySinceMs } = t.fleet.list()[0]!.status
  expect({ unreachableSinceMs, awaySinceMs }).toEqual({
    unreachableSinceMs: before.unreachableSinceMs,
    awaySinceMs: before.awaySinceMs
  })
})

test.skipIf(isCore)(
  'when a whole fleet stops answering, at most some hundred nodes are polled at once after their first failure',
  async () => {
    let isSilent = false
    const names = Array.from({ length: 700 }, (_, index) => `n${index}`)
    await using t = await startFleet(names, () => isSilent)
    await t.clock.advanceBy(20_000)
    expect(t.answers.size).toBe(700)
    isSilent = true
    await t.clock.advanceBy(60_000)
    expect(t.mostAsked).toBeGreaterThan(200)
    expect(t.mostAsked).toBeLessThanOrEqual(512)
    expect(t.fleet.list().every(({ status }) => status.health === 'down')).toBe(true)
  }
)

test('nodes behind an SSH host are polled as soon as it is connected, and its state is published', async () => {
  const clock = createFakeClock()
  const listeners = new Set<() => void>()
  const tunnel = { host: 'bastion', state: 'up' as 'up' | 'down', sinceMs: 0, problem: null, retryAtMs: null }
  let asked = 0
  const fleet = new Fleet({
    clock,
    random: createSeededRandom(1),
    logger: silentLogger,
    async createClient() {
      const node = new FakeNode(clock, { slots: 2 })
      node.daemonStatus = async () => {
        asked += 1
        throw new NodeError('unreachable', plain('no connection'), { delivered: 'no' })
      }
      const watch = (listener: () => void) => (listeners.add(listener), () => void listeners.delete(listener))
      return Object.assign(node, { tunnel: { status: () => tunnel, watch } })
    }
  })
  await fleet.add(aStoredNode({ id: 'behind' }))
  await clock.advanceBy(60_000)
  const before = asked
  let published = 0
  fleet.events.on('changed', () => (published += 1))
  tunnel.state = 'down'
  for (const tell of listeners) tell()
  await clock.advanceBy(0)
  expect([asked - before, published]).toEqual([0, 1])
  tunnel.state = 'up'
  for (const tell of listeners) tell()
  await clock.advanceBy(0)
  expect(asked - before).toBe(1)
  await fleet.add(aStoredNode({ id: 'behind' }))
  expect(listeners.size).toBe(1)
  await fleet.stop()
})

test('a Scrapyd that has restarted, perhaps with another max_proc, is learned again; one that was unreachable is not', async () => {
  const clock = createFakeClock()
  let isAway = false
  let counters = { running: 3, pending: 0, finished: 5 }
  const fleet = openFleet(clock, async (_name, answer) => {
    if (isAway) throw new NodeError('unreachable', plain('nothing listens'), { delivered: 'no' })
    return { ...(await answer()), ...counters }
  })
  await fleet.add(aStoredNode({ id: 'n1', slots: null }))
  const slotsAfter = async (seen: Partial<typeof counters>) => {
    counters = { ...counters, ...seen }
    await clock.advanceBy(10_000)
    return fleet.list()[0]?.status.capacity
  }
  expect(await slotsAfter({})).toMatchObject({ slots: 3, isTrying: true })
  isAway = true
  expect(await slotsAfter({ running: 0, finished: 8 })).toMatchObject({ slots: 3 })
  isAway = false
  expect(await slotsAfter({})).toMatchObject({ slots: 3, isTrying: true })
  // The node keeps its queue after a restart, but lists only the runs since then.
  expect(await slotsAfter({ pending: 1, finished: 0 })).toMatchObject({ slots: 1, isTrying: false, source: 'default' })
  expect(await slotsAfter({ running: 1, pending: 0 })).toMatchObject({ slots: 1, isTrying: true })
  await fleet.stop()
})
