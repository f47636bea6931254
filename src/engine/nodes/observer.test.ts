import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { aProjectName, aVersionName } from '../../shared/testing/ids.ts'
import { silentLogger } from '../runtime/logger.ts'
import { createFakeClock, type FakeClock } from '../testing/fake-clock.ts'
import { FakeNode } from '../testing/fake-node.ts'
import { createSeededRandom } from '../testing/seeded-random.ts'
import { plain } from '../../shared/texts/message.ts'
import { NodeError } from './node-client.ts'
import { Observer } from './observer.ts'

let clock: FakeClock
let node: FakeNode
let observer: Observer
let isBusy: boolean
let wantsSnapshot: boolean
const seen = { statuses: 0, snapshots: 0, failures: [] as number[] }
let isDiskFull: boolean

beforeEach(async () => {
  clock = createFakeClock()
  node = new FakeNode(clock, { slots: 2 })
  isBusy = false
  isDiskFull = false
  wantsSnapshot = false
  Object.assign(seen, { statuses: 0, snapshots: 0, failures: [] })
  observer = new Observer({
    client: node,
    clock,
    random: createSeededRandom(7),
    logger: silentLogger,
    isBusy: () => isBusy,
    wantsSnapshot: () => wantsSnapshot,
    onStatus: () => void (seen.statuses += 1),
    async onSnapshot() {
      seen.snapshots += 1
      if (isDiskFull) throw new Error('SQLITE_FULL')
    },
    onFailure: (_error, failures) => void seen.failures.push(failures)
  })
  await clock.advanceBy(0)
})

afterEach(async () => {
  await observer.stop()
  expect(clock.timerCount()).toBe(0)
})

const startJob = (jobid: string) =>
  node.schedule({
    project: aProjectName('shop'),
    version: aVersionName('1'),
    spider: 's',
    jobid,
    settings: {},
    args: {},
    priority: 0
  })

describe('watching a node', () => {
  it('polls every five seconds while idle and every second while busy', async () => {
    await clock.advanceBy(30_000)
    expect(seen.statuses).toBeGreaterThanOrEqual(6)
    expect(seen.statuses).toBeLessThanOrEqual(8)
    isBusy = true
    await clock.advanceBy(6_000)
    const before = seen.statuses
    await clock.advanceBy(20_000)
    expect(seen.statuses - before).toBeGreaterThanOrEqual(18)
  })

  it('asks for the job lists only when the counters changed or something is unresolved', async () => {
    await clock.advanceBy(30_000)
    expect(seen.snapshots).toBe(1)
    await startJob('a')
    await clock.advanceBy(10_000)
    expect(seen.snapshots).toBe(2)
    wantsSnapshot = true
    await clock.advanceBy(12_000)
    expect(seen.snapshots).toBeGreaterThanOrEqual(4)
  })

  it('polls at once when triggered', async () => {
    const before = seen.statuses
    observer.poke()
    observer.poke()
    await clock.advanceBy(0)
    expect(seen.statuses).toBe(before + 1)
  })

  it('backs off from a node that is down, and notices within fifteen seconds that it is back', async () => {
    node.isDown = true
    await clock.advanceBy(300_000)
    expect(seen.failures.length).toBeLessThan(40)
    node.isDown = false
    const before = seen.statuses
    await clock.advanceBy(17_000)
    expect(seen.statuses).toBeGreaterThan(before)
  })

  it('notices within three seconds of a busy node going down', async () => {
    isBusy = true
    await clock.advanceBy(6_000)
    node.isDown = true
    await clock.advanceBy(3_000)
    expect(seen.failures).toContain(2)
  })

  it('a failed write of ours does not count against the node, and is repeated', async () => {
    isDiskFull = true
    await startJob('a')
    await clock.advanceBy(30_000)
    expect(seen.failures).toEqual([])
    const { snapshots } = seen
    expect(snapshots).toBeGreaterThan(4)
    isDiskFull = false
    await clock.advanceBy(30_000)
    expect(seen.snapshots).toBe(snapshots + 1)
  })

  it('stops at once, even in the middle of a poll', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const status = node.daemonStatus.bind(node)
    node.daemonStatus = async () => {
      await promise
      return status()
    }
    observer.poke()
    await clock.advanceBy(0)
    const stopped = observer.stop()
    resolve()
    await stopped
  })

  it('waits for its turn until the node has responded, again after a failure, and stops without it', async () => {
    await observer.stop()
    const waiting: (() => void)[] = []
    observer = new Observer({
      client: node,
      clock,
      random: createSeededRandom(7),
      logger: silentLogger,
      inTurn: async (ask) => {
        await new Promise<void>((resolve) => waiting.push(resolve))
        return ask()
      },
      isBusy: () => true,
      wantsSnapshot: () => false,
      onStatus: () => void (seen.statuses += 1),
      onSnapshot: async () => {},
      onFailure: (_error, failures) => void seen.failures.push(failures)
    })
    const before = seen.statuses
    await clock.advanceBy(30_000)
    expect(seen.statuses).toBe(before)
    waiting.shift()!()
    await clock.advanceBy(10_000)
    expect(seen.statuses).toBeGreaterThan(before + 8)
    node.isDown = true
    await clock.advanceBy(30_000)
    expect(seen.failures).toEqual([1])
    expect(waiting).toHaveLength(1)
    node.isDown = false
    const stopped = seen.statuses
    await observer.stop()
    waiting.shift()!()
    await clock.advanceBy(0)
    expect(seen.statuses).toBe(stopped)
  })

  it('does not count a time-out against a node that a long call keeps busy', async () => {
    let finish = () => {}
    void observer.duringLongCall(new Promise<void>((resolve) => (finish = resolve)))
    node.daemonStatus = async () => {
      throw new NodeError('timeout', plain('no answer in time'), { delivered: 'unknown' })
    }
    await clock.advanceBy(60_000)
    expect(seen.failures).toEqual([])
    finish()
    await clock.advanceBy(12_000)
    expect(seen.failures).toContain(2)
  })
})
