import { DEFAULT_PROJECT_SETTINGS } from '../src/shared/contract/index.ts'
import { aScheduleId } from '../src/shared/testing/ids.ts'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { prepareJobs, requireSpiders } from '../src/engine/api/commands/prepare-jobs.ts'
import { systemClock } from '../src/engine/runtime/clock.ts'
import { createJobIds } from '../src/engine/runtime/ids.ts'
import { silentLogger } from '../src/engine/runtime/logger.ts'
import { systemRandom } from '../src/engine/runtime/random.ts'
import { asSealedText } from '../src/engine/runtime/secret-box.ts'
import { Scheduler } from '../src/engine/schedules/scheduler.ts'
import { openSqliteStore } from '../src/engine/storage/sqlite/open-sqlite-store.ts'
import type { NewFiring } from '../src/engine/model/records.ts'
import type { Store } from '../src/engine/storage/store.ts'
import { occurrencesOf } from '../src/shared/calendar/index.ts'
import { ScheduleSettings } from '../src/shared/contract/index.ts'
import { compare, type Figure } from './figure.ts'
import { BareDatabase } from './support/bare-database.ts'
import { machine } from './support/bench-engine.ts'
import { scheduleViews } from './support/schedule-views.ts'
import { progress } from './support/sides.ts'

export const about =
  'schedules: how late 1,000 of 10,000 are that fire in one second, what an idle ticker costs, ten next runs, views of all'

export const run = (): AsyncIterable<Figure> => measure({ schedules: 10_000, atOnce: 1_000, rounds: 5, idleMs: 30_000 })

interface Load {
  schedules: number
  atOnce: number
  rounds: number
  idleMs: number
}

const ROUND_MS = 4_000
/** The time to write the schedules of a round. All must be stored before the first one is due. */
const WRITING_MS = { least: 1_000, each: 9 }
const WARM_ROUNDS = 1
const ZONES = ['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kolkata', 'Australia/Lord_Howe']

/**
 * Uses the real ticker, job validation and store (in its own thread, every commit synced), but dispatches no jobs.
 */
export async function* measure(load: Load): AsyncGenerator<Figure> {
  const conditions = { schedules: load.schedules, synchronous: 'FULL', ...machine() }
  const settings = Array.from({ length: load.schedules }, (_, index) => settingsOf(index))
  yield { figure: 'next10_p99_ms', value: next10(settings), unit: 'ms', conditions }
  yield* scheduleViews(
    settings.map((one, index) => stored(index, one)),
    conditions
  )
  const directory = mkdtempSync(join(tmpdir(), 'scrapdeck-bench-schedules-'))
  try {
    const store = await openSqliteStore({
      path: join(directory, 'scrapdeck.sqlite'),
      clock: systemClock,
      logger: silentLogger,
      onDeath: () => undefined
    })
    progress(`schedules: ${load.schedules} are written`)
    await Promise.all(settings.map((one, index) => store.putSchedule(stored(index, one))))
    const idle = await idleShare(store, load)
    yield { figure: 'idle_core_share', value: idle, unit: 'cores', conditions: { ...conditions, idle_ms: load.idleMs } }
    const { p50Ms, p99Ms } = await lateness(store, load, settings)
    const burst = { ...conditions, at_once: load.atOnce, rounds: load.rounds, warm_rounds: WARM_ROUNDS }
    yield { figure: 'firing_p50_ms', value: p50Ms, unit: 'ms', conditions: burst }
    await store.close()
    const bound = percentile(await fireBare(directory, load), 0.99)
    const boundIs = 'the bare transaction with the same rows'
    yield* compare('firing_p99', { ours: p99Ms, bound, unit: 'ms', boundIs, wanted: { atMost: 2.5 } }, burst)
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

function settingsOf(index: number): ScheduleSettings {
  const [minute, hour] = [index % 60, Math.floor(index / 60) % 24]
  const days = ['*', '1-5', '1,3,5', '0', '*'][index % 5]
  const expressions = [`${minute} ${hour} * * ${days}`, `${minute} ${hour} L * *`, `${minute} ${hour} * * 5#2`]
  return ScheduleSettings.parse({
    name: `schedule ${index}`,
    zone: ZONES[index % ZONES.length],
    rules: [{ kind: 'cron', expression: index % 10 === 9 ? expressions[1 + (index % 2)] : expressions[0] }],
    overlap: 'allow',
    jobs: [{ project: 'noop', spiders: ['noop'] }]
  })
}

function stored(index: number, settings: ScheduleSettings) {
  const nowMs = Date.now()
  const times = { createdAtMs: nowMs, changedAtMs: nowMs, movedAtMs: 0, doneUntilMs: nowMs }
  const state = { paused: false, pauseNote: null, pausedBy: null, runCount: 0, failuresInARow: 0, crawl: null }
  return { id: aScheduleId(index.toString(16).padStart(32, '0')), revision: 1, settings, ...times, ...state }
}

function next10(settings: ScheduleSettings[]): number {
  const afterMs = Date.now()
  const tookMs = settings.map((one) => {
    const beganMs = performance.now()
    occurrencesOf(one, { afterMs, limit: 10 })
    return performance.now() - beganMs
  })
  return percentile(tookMs, 0.99)
}

async function idleShare(store: Store, { idleMs }: Load): Promise<number> {
  const scheduler = open(store)
  await scheduler.start()
  const cpu = process.cpuUsage()
  await sleep(idleMs)
  const { user, system } = process.cpuUsage(cpu)
  await scheduler.stop()
  return Math.round(((user + system) / idleMs) * 1_000) / 1_000_000
}

/** Measures the time from the nominal time until the job is on disk. The first round is an unmeasured warm-up. */
async function lateness(store: Store, { atOnce, rounds }: Load, settings: ScheduleSettings[]) {
  const warmMs = Math.ceil((Date.now() + WRITING_MS.least + atOnce * WRITING_MS.each) / 1_000) * 1_000
  const firstMs = warmMs + ROUND_MS * WARM_ROUNDS
  const rules = [{ kind: 'interval' as const, everySeconds: ROUND_MS / 1_000, anchorMs: warmMs }]
  for (let index = 0; index < atOnce; index += 1) {
    const changed = stored(index, { ...settings[index]!, rules, endMs: firstMs + ROUND_MS * (rounds - 1) })
    await store.putSchedule({ ...changed, revision: 2 })
  }
  const lateMs: number[] = []
  const scheduler = open(store, (firings) => {
    const nowMs = performance.timeOrigin + performance.now()
    for (const { nominalMs } of firings) if (nominalMs >= firstMs) lateMs.push(nowMs - nominalMs)
  })
  await scheduler.start()
  const untilMs = Date.now() + 30_000 + ROUND_MS * (WARM_ROUNDS + rounds)
  while (lateMs.length < atOnce * rounds && Date.now() < untilMs) await sleep(100)
  await scheduler.stop()
  if (lateMs.length < atOnce * rounds) throw new Error(`only ${lateMs.length} of ${atOnce * rounds} moments have fired`)
  return { p50Ms: percentile(lateMs, 0.5), p99Ms: percentile(lateMs, 0.99) }
}

/** Writes the same rows in one bare transaction per round. Returns how long each firing took. */
async function fireBare(directory: string, { atOnce, rounds, schedules }: Load): Promise<number[]> {
  const database = await BareDatabase.open(directory)
  const ids = Array.from({ length: schedules }, (_, index) => stored(index, settingsOf(index)).id)
  const nominalMs = Math.ceil(Date.now() / 1_000) * 1_000 + 3_600_000
  const tookMs: number[] = []
  for (let round = 0; round < rounds + WARM_ROUNDS; round += 1) {
    const startedMs = performance.now()
    database.fire(ids.slice(0, atOnce), nominalMs + round * ROUND_MS)
    const roundMs = performance.now() - startedMs
    if (round >= WARM_ROUNDS) tookMs.push(...Array.from({ length: atOnce }, () => roundMs))
    await sleep(200)
  }
  database.close()
  return tookMs
}

function open(store: Store, onWritten: (firings: NewFiring[]) => void = () => undefined): Scheduler {
  const preparing = {
    fleet: { get: () => undefined },
    projects: {
      catalog: { resolve: () => ({ version: '1' }) as never },
      settingsOf: () => DEFAULT_PROJECT_SETTINGS
    },
    secretBox: { seal: async (text: string) => asSealedText(text), open: async (text: string) => text },
    clock: systemClock,
    newJobId: createJobIds(systemClock, systemRandom)
  }
  return new Scheduler({
    store: new Proxy(store, {
      get(target, name) {
        if (name !== 'fire') return Reflect.get(target, name)
        return async (firings: NewFiring[]) => {
          const written = await target.fire(firings)
          onWritten(firings)
          return written
        }
      }
    }),
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger,
    prepare: (items, origin) => prepareJobs(items, origin, preparing),
    requireSpiders: (template) => requireSpiders(template, preparing.projects.catalog),
    openTemplate: async (template) => template,
    onJobs: nothing,
    onFired: nothing,
    onPaused: nothing,
    cancel: async () => undefined
  })
}

function nothing(): void {}

function percentile(values: number[], share: number): number {
  const sorted = [...values].sort((one, other) => one - other)
  return Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]! * 1_000) / 1_000
}

function sleep(durationMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, durationMs))
}
