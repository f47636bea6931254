import { expect, it, onTestFinished } from 'vitest'
import { anAttemptNumber, aJobId, aNodeId, aProjectName } from '../../../shared/testing/ids.ts'
import type { Fleet } from '../../nodes/fleet.ts'
import { silentLogger } from '../../runtime/logger.ts'
import type { RunReading } from '../../model/records.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { ErrorGroups } from './error-groups.ts'
import { type GrowingRun, LogCollector } from './log-collector.ts'

const START_MS = Date.UTC(2026, 10, 2, 12)
const SECOND_MS = 1_000

/** The runs are on one node that keeps its logs. `say` adds a line to the log of a run. */
function collect() {
  const clock = createFakeClock(START_MS)
  const logs = new Map<string, string>()
  const recorded: RunReading[][] = []
  const store = {
    isBroken: false,
    async recordReadings(readings: RunReading[]) {
      if (store.isBroken) throw new Error('the disk is full')
      recorded.push(readings)
    }
  }
  const client = {
    traits: { keepsLogs: true },
    async readLog({ jobid }: { jobid: string }, { offset, limitBytes }: { offset: number; limitBytes: number }) {
      const all = Buffer.from(logs.get(jobid) ?? '')
      return { offset, bytes: all.subarray(offset, offset + limitBytes), sizeBytes: all.length }
    }
  }
  const fleet = { get: () => ({ status: { health: 'up' }, client }) }
  const collector = new LogCollector({
    store,
    clock,
    logger: silentLogger,
    archive: { copies: null as never },
    fleet: fleet as unknown as Fleet,
    runLimitsOf: () => null
  })
  onTestFinished(() => collector.stop())
  const run = (number: number): GrowingRun => ({
    jobId: aJobId(String(number).repeat(32)),
    number: anAttemptNumber(1),
    jobid: `run-${number}`,
    nodeId: aNodeId('local'),
    project: aProjectName('shop'),
    spider: 'prices',
    startedAtMs: START_MS,
    runLimits: null
  })
  return {
    clock,
    collector,
    recorded,
    store,
    run,
    say(number: number, message: string, time = '12:00:05') {
      const line = `2026-11-02 ${time} [prices] ERROR: ${message}\n`
      logs.set(`run-${number}`, (logs.get(`run-${number}`) ?? '') + line)
    }
  }
}

const counts = (readings: readonly RunReading[] = []) =>
  readings.map(({ jobId, figures, errors }) => [jobId[0], figures, errors.map(({ title, count }) => [title, count])])

it('records the errors of all running jobs in one write, every thirty seconds, and only what is new', async () => {
  const { clock, collector, recorded, run, say } = collect()
  collector.follow(run(1))
  collector.follow(run(2))
  collector.follow(run(3))
  say(1, 'no price')
  say(1, 'no price')
  say(2, 'no stock')
  // The last line of a log may still grow.
  for (const number of [1, 2]) say(number, 'the last')
  await clock.advanceBy(10 * SECOND_MS)
  expect(recorded.map(counts)).toEqual([
    [
      ['1', null, [['no price', 2]]],
      ['2', null, [['no stock', 1]]]
    ]
  ])
  for (let time = 0; time < 5; time += 1) {
    say(1, 'no price')
    await clock.advanceBy(3 * SECOND_MS)
  }
  expect(recorded).toHaveLength(1)
  await clock.advanceBy(15 * SECOND_MS)
  expect(counts(recorded[1])).toEqual([['1', null, expect.arrayContaining([['no price', 6]])]])
  await clock.advanceBy(120 * SECOND_MS)
  expect(recorded).toHaveLength(2)
})

it('records again what could not be written', async () => {
  const { clock, collector, recorded, store, run, say } = collect()
  store.isBroken = true
  collector.follow(run(1))
  say(1, 'no price')
  say(1, 'the last')
  await clock.advanceBy(10 * SECOND_MS)
  store.isBroken = false
  await clock.advanceBy(35 * SECOND_MS)
  expect(recorded.map(counts)).toEqual([[['1', null, expect.arrayContaining([['no price', 1]])]]])
})

it('ignores log times in the future', async () => {
  const { clock, collector, recorded, run, say } = collect()
  collector.follow(run(1))
  say(1, 'now')
  say(1, 'far away', '23:59:59')
  say(1, 'the last', '23:59:59')
  await clock.advanceBy(10 * SECOND_MS)
  const [, far] = recorded[0]![0]!.errors
  expect(far!.lastSeenMs).toBeLessThanOrEqual(clock.nowMs())
})

it('notifies clients of recorded errors at most every two seconds', async () => {
  const clock = createFakeClock(START_MS)
  const groups = new ErrorGroups({ store: {} as never, clock })
  let told = 0
  groups.events.on('changed', () => (told += 1))
  for (let run = 0; run < 100; run += 1) {
    groups.noticeRecorded()
    await clock.advanceBy(100)
  }
  await clock.advanceBy(5 * SECOND_MS)
  expect(told).toBe(6)
})
