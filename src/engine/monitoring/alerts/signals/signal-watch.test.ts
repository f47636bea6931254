import { expect, test } from 'vitest'
import type { AlertWatch } from '../../../../shared/alert-watches.ts'
import type { Problem } from '../../../../shared/contract/index.ts'
import { plain } from '../../../../shared/texts/message.ts'
import { problem } from '../../health/problem.ts'
import type { FleetNode } from '../../../nodes/fleet.ts'
import type { DiskState } from '../../../maintenance/retention/disk.ts'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import { silentLogger } from '../../../runtime/logger.ts'
import { textsOf } from '../episodes.ts'
import type { Signal } from '../signal.ts'
import { SignalWatch, type SignalWatchParts } from './signal-watch.ts'
import { isCore } from '../../../../../scripts/test-length.mjs'

const SYSLOG_AWAY = problem({ id: 'syslog', severity: 'warning', title: plain('Away'), text: plain('Gone') })

function openWatch(watched: AlertWatch[]) {
  const clock = createFakeClock()
  const known = {
    problems: [] as Problem[],
    disk: null as DiskState | null,
    certificateEndsMs: null as number | null,
    others: [] as { engine: string; endsAtMs: number }[]
  }
  const told: { watch: AlertWatch; keys: string[]; isAll: boolean }[] = []
  const signals: Signal[] = []
  const nodes: FleetNode[] = []
  const stuck = new Set<string>()
  let unknown: string[] = []
  const alerts = {
    isWatched: (watch: AlertWatch) => watched.includes(watch),
    rules: () => [],
    receive: (signal: Signal) => {
      told.push({ watch: signal.watch, keys: [signal.key], isAll: false })
      signals.push(signal)
    },
    receiveAll: (watch: AlertWatch, all: Signal[], notKnown: ReadonlySet<string>) => {
      unknown = [...notKnown]
      told.push({ watch, keys: all.map(({ key }) => key), isAll: true })
      signals.push(...all)
    }
  }
  const watch = new SignalWatch({
    clock,
    logger: silentLogger,
    alerts,
    store: {},
    nodes: () => nodes,
    nodeOf: () => undefined,
    stuckSinceMs: (id: string) => (stuck.has(id) ? 1 : null),
    live: () => [],
    findings: () => [],
    figures: () => ({ queued: 0, sampledAtMs: 0 }),
    disk: () => known.disk,
    certificateEndsMs: () => known.certificateEndsMs,
    otherCertificates: async () => known.others,
    problems: () => known.problems,
    waitingOf: () => ({})
  } as unknown as SignalWatchParts)
  return { clock, known, told, signals, nodes, stuck, unknown: () => unknown, watch }
}

test('after a start, a problem that was not found again yet has not ended', async () => {
  const { clock, known, told, watch } = openWatch(['service_problem'])
  await watch.start()
  await clock.advanceBy(1_000)
  expect(told).toEqual([])
  known.problems = [SYSLOG_AWAY]
  watch.lookSoon()
  await clock.advanceBy(1_000)
  expect(told).toEqual([{ watch: 'service_problem', keys: ['syslog'], isAll: false }])
  known.problems = []
  await clock.advanceBy(60_000)
  expect(told.at(-1)).toEqual({ watch: 'service_problem', keys: [], isAll: true })
  await watch.stop()
})

test('a disk that was not measured yet does not count as one with free space', async () => {
  const { clock, known, told, watch } = openWatch(['disk_free'])
  await watch.start()
  await clock.advanceBy(120_000)
  expect(told).toEqual([])
  known.disk = { atMs: 1, totalBytes: 100, freeBytes: 5, fullAtMs: null }
  watch.lookSoon()
  await clock.advanceBy(1_000)
  expect(told).toEqual([{ watch: 'disk_free', keys: ['service'], isAll: true }])
  await watch.stop()
})

test('a problem without a known start begins when it is first seen', async () => {
  const { clock, known, signals, watch } = openWatch(['service_problem'])
  known.problems = [SYSLOG_AWAY]
  await watch.start()
  await clock.advanceBy(500)
  const firstMs = clock.nowMs()
  await clock.advanceBy(120_000)
  expect(signals.length).toBeGreaterThan(5)
  expect(new Set(signals.map(({ sinceMs }) => sinceMs))).toEqual(new Set([firstMs]))
  known.problems = []
  await clock.advanceBy(15_000)
  known.problems = [SYSLOG_AWAY]
  await clock.advanceBy(15_000)
  expect(signals.at(-1)!.sinceMs).toBeGreaterThan(firstMs)
  await watch.stop()
})

test('after a start, a node may still be stuck until the engine has had time to see whether it starts jobs', async () => {
  const { clock, nodes, stuck, signals, unknown, watch } = openWatch(['node_stuck'])
  const aNode = (id: string) =>
    ({ stored: { id, name: id, tags: [] }, status: { health: 'up' } }) as unknown as FleetNode
  nodes.push(aNode('north'), aNode('south'))
  await watch.start()
  await clock.advanceBy(100_000)
  expect([signals, unknown()]).toEqual([[], ['north', 'south']])
  stuck.add('north')
  await clock.advanceBy(15_000)
  expect([signals.map(({ key }) => key), unknown()]).toEqual([['north'], ['south']])
  stuck.clear()
  await clock.advanceBy(15_000)
  expect([signals.length, unknown()]).toEqual([1, ['south']])
  await clock.advanceBy(200_000)
  expect(unknown()).toEqual([])
  await watch.stop()
})

test.skipIf(isCore)(
  'reports for how many whole days the certificate is valid, and a missing one only once the server listens',
  async () => {
    const { clock, known, told, signals, watch } = openWatch(['certificate_days'])
    await watch.start()
    await clock.advanceBy(1_000)
    expect(told).toEqual([])
    known.certificateEndsMs = clock.nowMs() + 2.5 * 86_400_000
    const day = new Date(known.certificateEndsMs).toISOString().slice(0, 10)
    await clock.advanceBy(15_000)
    const subject = 'The certificate of the service'
    expect(signals.at(-1)).toMatchObject({ value: 2 })
    expect(textsOf(signals.at(-1)!)).toMatchObject({ subject, text: `${subject} expires on ${day}` })
    await clock.advanceBy(3 * 86_400_000)
    expect(signals.at(-1)).toMatchObject({ value: -1 })
    expect(textsOf(signals.at(-1)!).text).toBe(`${subject} expired on ${day}`)
    known.certificateEndsMs = null
    await clock.advanceBy(15_000)
    expect(told.at(-1)).toEqual({ watch: 'certificate_days', keys: [], isAll: true })
    known.others = [{ engine: 'two', endsAtMs: clock.nowMs() + 4.5 * 86_400_000 }]
    await clock.advanceBy(75_000)
    expect(signals.at(-1)).toMatchObject({ value: 4, key: 'engine two' })
    expect(textsOf(signals.at(-1)!).subject).toBe('The certificate of the engine two')
    await watch.stop()
  }
)
