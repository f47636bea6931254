import { expect, it } from 'vitest'
import type { ScheduleId } from '../../../../shared/contract/index.ts'
import { aNodeId } from '../../../../shared/testing/ids.ts'
import { plain } from '../../../../shared/texts/message.ts'
import type { FleetNode } from '../../../nodes/fleet.ts'
import { aJob } from '../../../../shared/testing/builders.ts'
import { textsOf } from '../episodes.ts'
import type { Signal } from '../signal.ts'
import { diskSignal, nodeSignals, type SeenProblem, scheduleSignals, serviceSignals } from './state-signals.ts'
import { errorSignals, signalsOfRuns, overdueSignals } from './stored-signals.ts'

const nodes = { nodeOf: () => undefined }
const asSent = (signals: Signal[]) => signals.map((signal) => ({ ...signal, ...textsOf(signal) }))
const aNode = (health: string, problem: string | null = null) =>
  ({
    stored: { id: aNodeId('n1'), name: 'north', tags: ['eu'] },
    status: { health, problem: problem && plain(problem), awaySinceMs: 5_000, lastSeenAtMs: 1_000 }
  }) as unknown as FleetNode

it('a node that has not been polled yet gives no signal', () => {
  expect(nodeSignals([aNode('unknown')])).toEqual({ signals: [], unknown: new Set([aNodeId('n1')]) })
  expect(asSent(nodeSignals([aNode('down', 'connection refused.')]).signals)).toMatchObject([
    {
      value: 1,
      sinceMs: 5_000,
      labels: { nodeTags: ['eu'] },
      subject: 'north',
      text: 'north is down: connection refused',
      code: 'alert.node_away',
      params: { node: 'north', health: 'down', problem: 'connection refused.' }
    }
  ])
  expect(nodeSignals([aNode('up')]).signals).toMatchObject([{ value: 0 }])
})

it('counts the bad runs since the last good one, and gives the reason of the newest', () => {
  const failed = aJob({ state: 'ended', outcome: 'failed', killingLine: 'KeyError: price', items: 2, errors: 1 })
  const good = aJob({ state: 'ended', outcome: 'succeeded', items: 600, errors: 0 })
  expect(signalsOfRuns([], nodes)).toEqual([])
  expect(asSent(signalsOfRuns([failed, failed, good, failed], nodes))).toMatchObject([
    { watch: 'spider_fails', value: 2, text: expect.stringMatching(/failed 2 times in a row: KeyError: price$/) },
    { watch: 'spider_items', value: 2 },
    { watch: 'spider_errors', value: 1 }
  ])
  expect(signalsOfRuns([good, failed], nodes)).toMatchObject([{ watch: 'spider_fails', value: 0 }, {}, {}])
})

it('the number of items of a lost run is unknown', () => {
  const lost = aJob({ state: 'ended', outcome: 'lost', items: 2, errors: 1 })
  expect(signalsOfRuns([lost], nodes)).toMatchObject([{ watch: 'spider_fails', value: 1 }])
  expect(signalsOfRuns([lost], nodes)).toHaveLength(1)
})

it('distinguishes problems of schedules and of the service from those that have a watch of their own', () => {
  const of = { severity: 'error', text: 'why', sinceMs: 7, nodeId: null, project: null, spider: null, mend: null }
  const problems = [
    {
      ...of,
      id: 'schedule-missed:1',
      title: 'Prices missed',
      scheduleId: 'a'.repeat(32) as ScheduleId,
      project: 'shop'
    },
    { ...of, id: 'schedule-name:Prices', title: '2 schedules are called Prices', scheduleId: 'a'.repeat(32) },
    { ...of, id: 'plain-http', title: 'Plain HTTP' },
    { ...of, id: 'node:n1', title: 'north is down', nodeId: 'n1' },
    { ...of, id: 'spider:failed:shop/prices', title: 'shop/prices failed', project: 'shop', spider: 'prices' }
  ] as SeenProblem[]
  expect(scheduleSignals(problems)).toMatchObject([{ key: 'schedule-missed:1', sinceMs: 7 }])
  expect(asSent(serviceSignals(problems))).toMatchObject([{ key: 'plain-http', text: 'Plain HTTP: why' }])
})

it('gives the free space of the disk in tenths of a percent', () => {
  expect(diskSignal({ totalBytes: 1_000, freeBytes: 99, atMs: 1, fullAtMs: null })).toMatchObject({ value: 9.9 })
})

it('reports a new error even if more than a page of older ones was logged after it', async () => {
  const nowMs = 100 * 86_400_000
  const group = { project: 'shop', title: 'KeyError', culprit: 'parse', jobCount: 1, reopenedAtMs: null }
  const old = Array.from({ length: 600 }, (_, at) => ({
    ...group,
    id: at + 2,
    firstSeenMs: 0,
    lastSeenMs: nowMs - at
  }))
  const all = [...old, { ...group, id: 1, firstSeenMs: nowMs - 3_600_000, lastSeenMs: nowMs - 3_600_000 }]
  const store = {
    listErrorGroups: async (_filter: object, { before, limit }: { before: { id: number } | null; limit: number }) => {
      const from = before === null ? 0 : all.findIndex(({ id }) => id === before.id) + 1
      return all.slice(from, from + limit)
    }
  }
  expect(await errorSignals(store as never, nowMs)).toMatchObject([{ key: '1' }])
})

it('counts the time of a spider that never succeeded from the first rule that watches it, whatever rules follow', async () => {
  const rule = { enabled: true, watch: 'spider_overdue', project: 'shop', spider: 'prices' }
  const hours = (count: number) => count * 3_600_000
  const rules = [
    { ...rule, createdAtMs: hours(0) },
    { ...rule, createdAtMs: hours(30) }
  ]
  const store = { listSuccessfulRuns: async () => [] }
  expect(await overdueSignals(store as never, rules as never, hours(31))).toMatchObject([{ value: 31 }])
})
