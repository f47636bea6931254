import { describe, expect, onTestFinished, test } from 'vitest'
import type { Attempt } from '../../../shared/contract/index.ts'
import { aJobId, anAttemptNumber } from '../../../shared/testing/ids.ts'
import { type Message, render } from '../../../shared/texts/message.ts'
import { unpackSmallLog } from '../logs/archive/small-log.ts'
import { cutBytes, type WantedBytes } from '../../runtime/byte-window.ts'
import type { Fleet } from '../../nodes/fleet.ts'
import { silentLogger } from '../../runtime/logger.ts'
import type { ArchivedLog } from '../../model/records.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { FakeNode } from '../../testing/fake-node.ts'
import { createMemoryArchive } from '../../testing/memory-archive.ts'
import { advanceUntil } from '../../testing/until.ts'
import { sweepLeftCopies } from './left-copies.ts'

const FIRST = anAttemptNumber(1)

function world() {
  const clock = createFakeClock()
  const archive = createMemoryArchive({} as never)
  const node = new FakeNode(clock, { slots: 1 })
  const status = { health: 'up', lastSeenAtMs: null as number | null }
  const attempts = new Map<string, Attempt>()
  const kept = new Map<string, string>()
  const store = {
    listAttempts: async (jobId: string) => [attempts.get(jobId)].filter((one) => one !== undefined),
    findArchivedLog: async (jobId: string) => {
      const text = kept.get(jobId)
      return text === undefined ? null : { packed: null, sizes: { rawBytes: text.length, storedBytes: 1 } }
    },
    markLogArchived: async (jobId: string, _number: number, { packed }: ArchivedLog) => {
      kept.set(jobId, unpackSmallLog(packed!).toString())
    }
  }
  const world = { hasNode: true }
  const stored = { name: 'eu-1' }
  const fleet = { get: () => (world.hasNode ? { stored, status, client: node } : undefined) } as unknown as Fleet
  const noted: string[] = []
  const record = async (_attempt: Attempt, { message }: { message: Message }) => void noted.push(render(message))
  const parts = { store, archive, fleet, record, clock, logger: silentLogger }
  const left = sweepLeftCopies({ ...parts, mostBytes: 1_000 })
  onTestFinished(() => left.stop())
  const idOf = (name: string) => aJobId(name.padStart(32, '0'))
  return {
    clock,
    node,
    status,
    attempts,
    idOf,
    kept,
    noted,
    world,
    async copied(name: string, text: string, over: Partial<Attempt> | null) {
      const jobId = idOf(name)
      await archive.copies.advance(jobId, FIRST, async (range: WantedBytes) => cutBytes(Buffer.from(text), range))
      const attempt = { jobId, number: FIRST, jobid: name, state: 'ended', logArchived: false, logDeletedAtMs: null }
      if (over !== null)
        attempts.set(jobId, { ...attempt, endedAtMs: clock.nowMs() - 3_600_000, ...over } as unknown as Attempt)
    },
    async sweep() {
      let archived: number | null = null
      void left.run().then((count) => (archived = count))
      await advanceUntil(clock, () => archived !== null)
      return archived
    },
    keptOf: (name: string) => kept.get(idOf(name)),
    leftOf: async (name: string) =>
      (await archive.copies.readIfAny(idOf(name), FIRST, { offset: 0, limitBytes: 9 })) !== null
  }
}

describe('the copied part of a log', () => {
  test('is archived when its run was lost some time ago; what runs, or may be found again, waits', async () => {
    const { copied, sweep, keptOf, leftOf, clock } = world()
    await copied('a', 'until the node died\n', {})
    await copied('b', 'still running\n', { state: 'running', endedAtMs: null })
    await copied('c', 'just lost\n', { endedAtMs: clock.nowMs() - 60_000 })
    expect(await sweep()).toBe(1)
    expect([keptOf('a'), await leftOf('a')]).toEqual(['until the node died\n', false])
    expect([keptOf('b'), keptOf('c'), await leftOf('b'), await leftOf('c')]).toEqual([undefined, undefined, true, true])
    await clock.advanceBy(600_000)
    expect([await sweep(), keptOf('c')]).toEqual([1, 'just lost\n'])
  })

  test('waits a day for a node that this engine has never seen, however long ago the run was lost', async () => {
    const { copied, sweep, keptOf, clock, status } = world()
    status.health = 'down'
    await copied('a', 'lost before a restart\n', { endedAtMs: clock.nowMs() - 7 * 24 * 3_600_000 })
    expect([await sweep(), keptOf('a')]).toEqual([0, undefined])
    await clock.advanceBy(24 * 3_600_000)
    expect([await sweep(), keptOf('a')]).toEqual([1, 'lost before a restart\n'])
  })

  test('waits a day for a node that is silent, and not for one that was removed', async () => {
    const { copied, sweep, keptOf, clock, status, noted, world: here } = world()
    status.health = 'down'
    await copied('a', 'first\n', {})
    expect([await sweep(), keptOf('a')]).toEqual([0, undefined])
    await clock.advanceBy(24 * 3_600_000)
    expect([await sweep(), keptOf('a')]).toEqual([1, 'first\n'])
    await copied('b', 'removed\n', {})
    here.hasNode = false
    expect([await sweep(), keptOf('b')]).toEqual([1, 'removed\n'])
    expect(noted).toEqual([
      'Only the copied part of the log is kept (6 B): eu-1 does not respond',
      'Only the copied part of the log is kept (8 B): its node was removed'
    ])
  })

  test('is not mistaken for the whole log while its node still has more, or fails to return it, however late', async () => {
    const { copied, sweep, keptOf, leftOf, clock, node, status, noted } = world()
    const log = 'x'.repeat(2_500)
    await copied('a', log.slice(0, 10), {})
    await clock.advanceBy(10 * 24 * 3_600_000)
    node.logs.set('a', log)
    Object.assign(status, { health: 'down', lastSeenAtMs: clock.nowMs() })
    expect(await sweep()).toBe(0)
    status.health = 'up'
    node.isDown = true
    expect([await sweep(), await leftOf('a')]).toEqual([0, true])
    node.isDown = false
    for (let step = 0; step < 3; step += 1) expect([await sweep(), keptOf('a')]).toEqual([0, undefined])
    expect([await sweep(), keptOf('a')]).toEqual([1, log])
    expect(noted).toEqual([])
  })

  test('is completed if its node is back and has more; a shorter log there does not replace it', async () => {
    const { copied, sweep, keptOf, node } = world()
    await copied('a', 'first\n', {})
    node.logs.set('a', 'first\nsecond\n')
    await copied('b', 'a long log\n', {})
    node.logs.set('b', 'short\n')
    await copied('c', 'gone there\n', {})
    expect(await sweep()).toBe(2)
    expect(keptOf('a')).toBeUndefined()
    expect(await sweep()).toBe(1)
    expect([keptOf('a'), keptOf('b'), keptOf('c')]).toEqual(['first\nsecond\n', 'a long log\n', 'gone there\n'])
  })

  test('of a run that was found again is archived once more if it is longer; one found again meanwhile stays', async () => {
    const { copied, sweep, keptOf, leftOf, kept, idOf, attempts, node } = world()
    kept.set(idOf('a'), 'first\n')
    await copied('a', 'first\nsecond\n', { logArchived: true })
    expect([await sweep(), keptOf('a')]).toEqual([1, 'first\nsecond\n'])
    await copied('b', 'lost\n', {})
    const { readLog } = node
    node.readLog = async (...asked) => {
      attempts.get(idOf('b'))!.state = 'running'
      return readLog.apply(node, asked)
    }
    expect([await sweep(), keptOf('b'), await leftOf('b')]).toEqual([0, undefined, true])
  })

  test('is deleted when its log is archived, was deleted by retention, or its job is gone', async () => {
    const { copied, sweep, keptOf, leftOf, kept, idOf } = world()
    kept.set(idOf('a'), 'archived\n')
    await copied('a', 'archived\n', { logArchived: true })
    await copied('b', 'deleted\n', { logDeletedAtMs: 1 })
    await copied('c', 'of no job\n', null)
    await sweep()
    expect([keptOf('a'), keptOf('b'), keptOf('c')]).toEqual(['archived\n', undefined, undefined])
    for (const name of ['a', 'b', 'c']) expect(await leftOf(name)).toBe(false)
  })
})
