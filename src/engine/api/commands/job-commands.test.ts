import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { DEFAULT_PROJECT_SETTINGS, type JobId, type RunItem } from '../../../shared/contract/index.ts'
import { aJobId, aNodeId, aProjectName } from '../../../shared/testing/ids.ts'
import type { Dispatch } from '../../jobs/dispatch/dispatch.ts'
import type { FleetNode } from '../../nodes/fleet.ts'
import { WaitingReasons } from '../../jobs/queue/waiting-reasons.ts'
import { createJobIds } from '../../runtime/ids.ts'
import { aStoredNode, anAttemptStart, aVersion } from '../../testing/builders.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { createSeededRandom } from '../../testing/seeded-random.ts'
import { openTemporaryStore, type TemporaryStore } from '../../testing/temporary-store.ts'
import { JobCommands } from './job-commands.ts'
import { asSealedText } from '../../runtime/secret-box.ts'
import { isCore } from '../../../../scripts/test-length.mjs'

const ORIGIN = { source: 'api' } as const
const RETRY = { attempts: 3, backoffSeconds: 30, backoffFactor: 2, backoffMaxSeconds: 3_600, on: ['failed' as const] }
let temporary: TemporaryStore
let commands: JobCommands
let told: string[]

beforeEach(async () => {
  const clock = createFakeClock()
  temporary = await openTemporaryStore({ clock, inMemory: true })
  told = []
  const dispatch: Partial<Dispatch> = {
    wake: () => void told.push('wake'),
    cancel: (ids, { force }) => void told.push(`cancel ${ids.length}${force ? ' by force' : ''}`)
  }
  commands = new JobCommands({
    store: temporary.store,
    fleet: { get: (id) => (id === 'n-1' ? ({ stored: aStoredNode({ id, name: 'eu-1' }) } as FleetNode) : undefined) },
    projects: { catalog: { resolve: () => aVersion() }, settingsOf: () => DEFAULT_PROJECT_SETTINGS },
    dispatch: dispatch as Dispatch,
    waiting: new WaitingReasons(),
    secretBox: { seal: async (text) => asSealedText(text), open: async (text) => text },
    clock,
    newJobId: createJobIds(clock, createSeededRandom(1))
  })
})

afterEach(() => temporary.remove())

const item = (over: Partial<RunItem> = {}): RunItem => ({ project: aProjectName('shop'), spider: 'prices', ...over })
const kindsOf = async (id: string) =>
  (await temporary.store.listTimeline(aJobId(id))).map(({ kind, text }) => [kind, text])

describe('many jobs at once', () => {
  it('have ids in the order of the request; a known key returns the earlier job', async () => {
    const dedupe = { key: 'nightly', ttlSeconds: 60 }
    const first = await commands.runMany([item(), item({ dedupe })], ORIGIN)
    expect(first.deduplicated).toBe(0)
    const second = await commands.runMany([item({ dedupe }), item(), item({ dedupe })], ORIGIN)
    expect(second).toEqual({ ids: [first.ids[1], expect.any(String), first.ids[1]], deduplicated: 2 })
    expect(await temporary.store.countByState()).toMatchObject({ queued: 3 })
  })

  it('are all refused if one of them is invalid: nothing is queued', async () => {
    await expect(commands.runMany([item(), item({ nodeId: aNodeId('n-9') })], ORIGIN)).rejects.toThrow('Job 2 of 2')
    const after = [{ jobId: aJobId('f'.repeat(32)), on: 'ended' as const }]
    await expect(commands.runMany([item(), item({ after })], ORIGIN)).rejects.toMatchObject({ code: 'JOB_NOT_FOUND' })
    expect(await temporary.store.countByState()).toMatchObject({ queued: 0 })
  })

  it('of several spiders under one dedupe key are refused as ambiguous', async () => {
    const run = commands.run(
      { project: aProjectName('shop'), spiders: ['a', 'b'], dedupe: { key: 'k', ttlSeconds: 9 } },
      ORIGIN
    )
    await expect(run).rejects.toMatchObject({ code: 'BAD_INPUT' })
  })

  it.skipIf(isCore)('can be cancelled by the thousand, whether they wait or run', async () => {
    const { store } = temporary
    const { ids } = await commands.runMany(
      Array.from({ length: 3_000 }, () => item()),
      ORIGIN
    )
    await store.beginAttempts(ids.slice(0, 1_000).map((id) => anAttemptStart({ id })))
    const beforeMs = process.cpuUsage().user / 1000
    const { asked, alreadyEnded } = await commands.cancel(ids, { force: true })
    expect([asked.length, alreadyEnded]).toEqual([3_000, []])
    expect(told).toContain('cancel 1000 by force')
    expect((await commands.cancel(ids.slice(1_000), { force: false })).alreadyEnded).toHaveLength(2_000)
    // Comparing each job with every other would take seconds.
    expect(process.cpuUsage().user / 1000 - beforeMs).toBeLessThan(2_000)
  })

  it('if one of several jobs to cancel is unknown, the error names it and the others are unchanged', async () => {
    const { ids } = await commands.runMany([item()], ORIGIN)
    const unknown = 'f'.repeat(32)
    await expect(commands.cancel([...ids, ...ids, aJobId(unknown)], { force: false })).rejects.toThrow(unknown)
    expect(await temporary.store.countByState()).toMatchObject({ queued: 1 })
  })
})

describe('queued jobs', () => {
  it('can change their priority, order and place, and their timelines say what changed', async () => {
    const { ids } = await commands.runMany([item(), item(), item()], ORIGIN)
    const [first, second, third] = ids as [JobId, JobId, JobId]
    expect(await commands.setPriority([third], 5)).toEqual([third])
    expect(await commands.moveInQueue([second, first], { before: first })).toEqual([second])
    expect(await commands.setPlacement([first], { nodeId: aNodeId('n-1'), tags: ['eu'] })).toEqual([first])
    expect(await kindsOf(third)).toContainEqual(['changed', 'Priority set to 5'])
    expect(await kindsOf(second)).toContainEqual(['changed', `Moved before ${first}`])
    expect(await kindsOf(first)).toContainEqual(['changed', 'May now run only on eu-1, eu'])
    await expect(commands.setPlacement([first], { nodeId: aNodeId('n-9'), tags: [] })).rejects.toMatchObject({
      code: 'NODE_NOT_FOUND'
    })
  })

  it('are not changed if they are already live or unknown', async () => {
    const { ids } = await commands.runMany([item()], ORIGIN)
    await temporary.store.beginAttempts([anAttemptStart({ id: ids[0]! })])
    told = []
    expect(await commands.setPriority([...ids, aJobId('f'.repeat(32))], 5)).toEqual([])
    expect(told).toEqual([])
  })
})

it('a repeated job keeps its retry policy, overlap rule and user, but none of its waiting conditions', async () => {
  const { ids } = await commands.runMany(
    [item({ retry: RETRY, noOverlap: true, notBeforeMs: 4e12, userId: 'ann' })],
    ORIGIN
  )
  const [again] = await commands.queueCopies(ids)
  expect(again).toMatchObject({
    retry: RETRY,
    noOverlap: true,
    userId: 'ann',
    notBeforeMs: null,
    hold: null,
    source: 'retry'
  })
})
