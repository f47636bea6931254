import { afterEach, beforeEach, expect, it } from 'vitest'
import type { NewFiring, StoredSchedule } from '../../model/records.ts'
import { aNewFiring, aNewJob, aStoredSchedule } from '../../testing/builders.ts'
import { openTemporaryStore, type TemporaryStore } from '../../testing/temporary-store.ts'
import { branded } from '../../../shared/testing/ids.ts'
import { plain } from '../../../shared/texts/message.ts'
import { allScheduleProblems, namesakeProblems, readScheduleTroubles, scheduleProblems } from './schedule-problems.ts'

const NOW_MS = 1_900_000_000_000
let temporary: TemporaryStore

beforeEach(async () => {
  temporary = await openTemporaryStore({ inMemory: true })
})

afterEach(() => temporary.remove())

async function put(over: Parameters<typeof aStoredSchedule>[0] = {}): Promise<StoredSchedule> {
  const schedule = aStoredSchedule(over)
  await temporary.store.putSchedule(schedule)
  return schedule
}

const fire = ({ id: scheduleId }: StoredSchedule, over: Partial<NewFiring>) =>
  temporary.store.fire([aNewFiring({ scheduleId, atMs: NOW_MS - 60_000, ...over })])

async function problems() {
  const found = scheduleProblems(await readScheduleTroubles(temporary.store, NOW_MS), NOW_MS)
  return found.map(({ severity, title, text }) => `${severity}: ${title}: ${text}`)
}

it('the missed times of a schedule in the last day are one problem, which counts all of them', async () => {
  const nightly = await put({ settings: { name: 'nightly' } })
  const missed = { state: 'missed', reason: 'out_of_window' } as const
  await fire(nightly, { ...missed, atMs: NOW_MS - 90_000_000, message: plain('long ago') })
  expect(await problems()).toEqual([])
  await fire(nightly, { ...missed, count: 1_200, message: plain('Missed while the engine was off') })
  await fire(nightly, { ...missed, message: plain('Missed while the machine slept') })
  await fire(nightly, { state: 'skipped', reason: 'overlap' })
  expect(await problems()).toEqual([
    'warning: nightly missed 1,201 runs: in the last 24 hours; most recently: Missed while the machine slept'
  ])
})

it('a schedule that could not create jobs is a problem until it can again, or is paused', async () => {
  const nightly = await put({ settings: { name: 'nightly' } })
  await fire(nightly, { state: 'failed', reason: 'refused', message: plain('shop has no spider "prizes".') })
  expect(await problems()).toEqual(['error: nightly could not create jobs: shop has no spider "prizes"; 1 min ago'])
  await fire(nightly, { jobs: [aNewJob()] })
  expect(await problems()).toEqual([])
})

it('a schedule that the ticker paused after failures is a problem; one that is over, or that a user paused, is not', async () => {
  const paused = (pausedBy: StoredSchedule['pausedBy'], name: string) =>
    put({ paused: true, pausedBy, failuresInARow: 3, settings: { name } })
  await paused('failures', 'a')
  await paused('invalid', 'b')
  await paused('operator', 'c')
  await paused('max_runs', 'd')
  await paused('end', 'e')
  expect(await problems()).toEqual([
    'error: a was paused: its last 3 runs failed; fix the cause, then resume it',
    'error: b was paused: its rules can no longer be read; correct them, then resume it'
  ])
})

it('alerts include each schedule that missed its time, and the overview shows twenty', async () => {
  for (let at = 0; at < 30; at += 1) await fire(await put(), { state: 'missed', reason: 'out_of_window' })
  const found = await readScheduleTroubles(temporary.store, NOW_MS)
  expect(scheduleProblems(found, NOW_MS)).toHaveLength(20)
  expect(allScheduleProblems(found)).toHaveLength(30)
})

it('a schedule that fails each minute does not hide missed or failed firings of others', async () => {
  const [missed, failed, noisy] = [await put(), await put(), await put()]
  await fire(missed, { state: 'missed', reason: 'out_of_window' })
  await fire(failed, { state: 'failed', reason: 'refused' })
  const scheduleId = noisy.id
  const failing = { scheduleId, atMs: NOW_MS - 50_000, state: 'failed', reason: 'refused' } as const
  await temporary.store.fire(
    Array.from({ length: 600 }, (_, at) => aNewFiring({ ...failing, nominalMs: NOW_MS - 60_000 + at }))
  )
  const ids = allScheduleProblems(await readScheduleTroubles(temporary.store, NOW_MS)).map(({ id }) => id)
  expect(ids.toSorted()).toEqual(
    [`schedule-missed:${missed.id}`, `schedule-refused:${failed.id}`, `schedule-refused:${noisy.id}`].toSorted()
  )
})

it('firings from before the jobs of a schedule moved, and chains of two projects, belong to no project', async () => {
  const late = { state: 'missed', reason: 'out_of_window' } as const
  const moved = await put({ movedAtMs: NOW_MS - 50_000 })
  await fire(moved, { ...late, message: plain('of the former project') })
  await fire(moved, { ...late, message: plain('of this project'), atMs: NOW_MS - 40_000 })
  const refused = { state: 'failed', reason: 'refused' } as const
  const [former, failing] = [await put({ movedAtMs: NOW_MS }), await put({ movedAtMs: NOW_MS - 70_000 })]
  for (const schedule of [former, failing]) await fire(schedule, refused)
  const noted = { paused: true, pausedBy: 'failures', pauseNote: 'of the former project' } as const
  const stopped = await put({ ...noted, changedAtMs: 7, movedAtMs: 7 })
  const run = { ...aStoredSchedule().settings.jobs[0]!, spiders: ['b'] }
  const chain = { enabled: true, spider: '*', on: 'ended' as const, run }
  const chains = ['shop', 'news'].map((project) => ({
    id: project,
    createdAtMs: 1,
    firedCount: 0,
    lastFiredAtMs: null,
    problem: plain('of both'),
    settings: { ...chain, name: project, project }
  }))
  const troubles = await readScheduleTroubles(temporary.store, NOW_MS)
  const found = allScheduleProblems({ ...troubles, chains: branded(chains) })
  expect(new Map(found.map(({ id, project }) => [id, project]))).toEqual(
    new Map([
      [`schedule-missed:${moved.id}:former`, null],
      [`schedule-missed:${moved.id}`, 'shop'],
      [`schedule-refused:${former.id}`, null],
      [`schedule-refused:${failing.id}`, 'shop'],
      [`schedule-paused:${stopped.id}`, null],
      ['chain-refused:shop', 'shop'],
      ['chain-refused:news', null]
    ])
  )
})

it('schedules with one name in two projects are a problem of neither', async () => {
  const settings = aStoredSchedule().settings
  const inNews = { ...settings, jobs: [{ ...settings.jobs[0]!, project: 'news' }] }
  const same = [aStoredSchedule({ settings }), aStoredSchedule({ settings: inNews })]
  expect(namesakeProblems(same).map(({ project }) => project)).toEqual([null])
  expect(namesakeProblems([same[0]!, same[0]!]).map(({ project }) => project)).toEqual(['shop'])
})
