import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { aScheduleId } from '../../src/shared/testing/ids.ts'
import { ScheduleReads, type SchedulerOutlook } from '../../src/engine/api/commands/schedule-reads.ts'
import { systemClock } from '../../src/engine/runtime/clock.ts'
import { createJobIds } from '../../src/engine/runtime/ids.ts'
import { silentLogger } from '../../src/engine/runtime/logger.ts'
import { systemRandom } from '../../src/engine/runtime/random.ts'
import { openSqliteStore } from '../../src/engine/storage/sqlite/open-sqlite-store.ts'
import { say } from '../../src/shared/texts/message.ts'
import type { NewFiring, StoredSchedule } from '../../src/engine/model/records.ts'
import { aNewJob } from '../../src/engine/testing/builders.ts'
import type { Figure } from '../figure.ts'
import { progress } from './sides.ts'

const DAY_MS = 86_400_000
const ROUNDS = 5
const PAGE = 100
const FIRINGS_EACH = 30

/**
 * Measures reads that cover all schedules, by the engine's own functions on a store in its own thread. The delay of
 * the event loop shows how much this delays other work.
 */
export async function* scheduleViews(
  schedules: StoredSchedule[],
  conditions: Figure['conditions']
): AsyncGenerator<Figure> {
  const directory = mkdtempSync(join(tmpdir(), 'scrapdeck-bench-schedule-views-'))
  try {
    const path = join(directory, 'scrapdeck.sqlite')
    const store = await openSqliteStore({ path, clock: systemClock, logger: silentLogger, onDeath: () => undefined })
    progress(`schedules: views of ${schedules.length}`)
    await Promise.all(schedules.map((schedule) => store.putSchedule(schedule)))
    const { schedules: listed } = await store.pageSchedules({}, { after: null, limit: PAGE })
    for (let round = 1; round <= FIRINGS_EACH; round += 1) await store.fire(listed.map(({ id }) => firingOf(id, round)))
    const reads = new ScheduleReads({
      store,
      clock: systemClock,
      slots: () => 0,
      scheduler: { nextOf: () => null, backfillOf: () => null } as unknown as SchedulerOutlook
    })
    const fromMs = Date.now()
    const delay = monitorEventLoopDelay({ resolution: 1 })
    const views: [figure: string, look: () => Promise<unknown>][] = [
      ['calendar_week_ms', () => reads.calendar({ fromMs, untilMs: fromMs + 7 * DAY_MS, limit: 5_000 })],
      ['load_day_ms', () => reads.load({ fromMs, untilMs: fromMs + DAY_MS })],
      ['list_page_ms', () => reads.list({ limit: PAGE })]
    ]
    for (const [figure, look] of views) {
      const tookMs: number[] = []
      delay.enable()
      for (let round = 0; round < ROUNDS; round += 1) {
        const beganMs = performance.now()
        await look()
        tookMs.push(performance.now() - beganMs)
      }
      delay.disable()
      const value = rounded(tookMs.sort((one, other) => one - other)[Math.floor(ROUNDS / 2)]!)
      yield { figure, value, unit: 'ms', conditions: { ...conditions, rounds: ROUNDS } }
    }
    yield { figure: 'views_loop_p99_ms', value: rounded(delay.percentile(99) / 1e6), unit: 'ms', conditions }
    await store.close()
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

const newJobId = createJobIds(systemClock, systemRandom)

function firingOf(scheduleId: string, round: number): NewFiring {
  const nominalMs = Date.now() - round * DAY_MS
  const told = { origin: 'tick', state: 'fired', reason: 'on_time', message: say('firing.on_time') } as const
  const jobs = [aNewJob({ id: newJobId(), scheduleId, nominalMs })]
  return {
    scheduleId: aScheduleId(scheduleId),
    nominalMs,
    backfillId: null,
    atMs: nominalMs,
    ...told,
    count: 1,
    jobs,
    doneUntilMs: null
  }
}

function rounded(value: number): number {
  return Math.round(value * 1_000) / 1_000
}
