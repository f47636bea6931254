import { expect, it } from 'vitest'
import type { NodeHealth, NodeMode } from '../../../shared/contract/index.ts'
import type { FleetNode } from '../../nodes/fleet.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { aProjectName } from '../../../shared/testing/ids.ts'
import { countSlots, FiguresSampler } from './figures.ts'

interface Wish {
  health?: NodeHealth
  mode?: NodeMode
  used?: number
  isStuck?: boolean
}

const slotsOf = (wishes: Wish[]) =>
  countSlots(
    wishes.map(({ health = 'up', mode = 'active', used = 0, isStuck = false }) => {
      const node = { stored: { mode }, status: { health, capacity: { slots: 4 } } } as unknown as FleetNode
      return { ...node, used, isStuck }
    }),
    { usedOn: ({ used }) => used, isStuck: ({ isStuck }) => isStuck }
  )

it('slots count if jobs can use them or are in them; nodes that do not respond have none', () => {
  expect(slotsOf([{ used: 1 }, {}, { health: 'down', used: 3 }])).toEqual({ slotsTotal: 8, slotsUsed: 1 })
})

it('nodes that take no more jobs count only the slots in use, so that no slot looks free that no job can have', () => {
  expect(slotsOf([{ used: 4 }, { mode: 'cordoned', used: 2 }, { mode: 'draining' }])).toEqual({
    slotsTotal: 6,
    slotsUsed: 6
  })
  expect(slotsOf([{ used: 1 }, { isStuck: true }])).toEqual({ slotsTotal: 4, slotsUsed: 1 })
  expect(slotsOf([{ mode: 'cordoned', used: 6 }])).toEqual({ slotsTotal: 4, slotsUsed: 6 })
})

async function openSampler({ ended = 0 } = {}) {
  const clock = createFakeClock()
  const counts: string[] = []
  let isGone = false
  const count = <T>(what: string, projects: readonly string[] | undefined, result: T): Promise<T> => {
    counts.push(`${what} ${projects?.join(' ') ?? 'all'}`)
    return isGone ? Promise.reject(new Error('the store is gone')) : Promise.resolve(result)
  }
  const store = {
    countByState: (of?: { onlyProjects?: string[] }) =>
      count('states', of?.onlyProjects, { queued: of?.onlyProjects?.length ?? 9, starting: 0, running: 0, ended }),
    countEndedSince: (sinceMs: number, of?: { onlyProjects?: string[] }) =>
      count(clock.nowMs() - sinceMs > 60_000 ? 'hour' : 'minute', of?.onlyProjects, {
        succeeded: ended,
        failed: 0,
        cancelled: 0,
        lost: 0
      })
  }
  const sampler = new FiguresSampler({
    store: store as never,
    fleet: { list: () => [] },
    live: { slotsUsedOn: () => 0 },
    clock,
    logger: { error: () => {} } as never,
    sampleLoopP99Ms: () => 0,
    isPaused: () => false,
    isStuck: () => false
  })
  await sampler.start()
  counts.length = 0
  const of = (...names: string[]) => sampler.of(new Set(names.map(aProjectName)))
  const setGone = (value: boolean) => (isGone = value)
  return { clock, of, setGone, countsOf: (projects: string) => counts.filter((one) => one.endsWith(` ${projects}`)) }
}

it('a hundred callers with the same projects cause one count for each sample', async () => {
  const { clock, of, countsOf } = await openSampler()
  const first = await Promise.all(Array.from({ length: 100 }, (_, at) => (at % 2 ? of('a', 'b') : of('b', 'a'))))
  expect(first.map(({ queued }) => queued)).toEqual(Array(100).fill(2))
  expect(countsOf('a b')).toEqual(['states a b', 'hour a b', 'minute a b'])
  await clock.advanceBy(500)
  await of('a', 'b')
  expect(countsOf('a b')).toHaveLength(3)
  await clock.advanceBy(500)
  await of('a', 'b')
  expect(countsOf('a b')).toHaveLength(6)
})

it('the jobs that ended in the last hour are counted only every 15 seconds if they are very many', async () => {
  const { clock, of, countsOf } = await openSampler({ ended: 10_001 })
  for (let second = 0; second < 16; second += 1) {
    expect(await of('a')).toMatchObject({ finishedLastHour: 10_001 })
    await clock.advanceBy(1_000)
  }
  expect(countsOf('a').filter((one) => one.startsWith('hour'))).toHaveLength(2)
  expect(countsOf('a').filter((one) => one.startsWith('minute'))).toHaveLength(16)
})

it('counts are kept for at most 200 sets of projects, and not after a failure', async () => {
  const { of, countsOf, setGone } = await openSampler()
  for (let at = 0; at <= 200; at += 1) await of(`p${at}`)
  await of('p200')
  await of('p0')
  expect([countsOf('p200').length, countsOf('p0').length]).toEqual([3, 6])
  setGone(true)
  await expect(of('late')).rejects.toThrow('gone')
  setGone(false)
  expect(await of('late')).toMatchObject({ queued: 1 })
})
