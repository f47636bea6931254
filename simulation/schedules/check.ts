import type { StoredFiring } from '../../src/engine/store/store.ts'
import { expect } from './expected.ts'
import { type Plan, planStory } from './plan.ts'
import { type Journal, runStory } from './story.ts'

export interface Told {
  plan: Plan
  moments: number
  /** By state and reason. */
  fates: Record<string, number>
  crashes: number
  jumps: number
  problems: string[]
}

/** The longest that an engine may not notice that the clock was set ahead. */
const NOTICE_MAX_MS = 30_000

/** Runs one story and holds every row of every schedule against the calculation. */
export async function tellStory(
  seed: number,
  size: { schedules: number; days: number },
  onDay?: (day: number) => void
): Promise<Told> {
  const plan = planStory(seed, size)
  const { journal, rows, jobs } = await runStory(plan, onDay)
  const told: Told = {
    plan,
    moments: 0,
    fates: {},
    crashes: journal.lives.length - 1,
    jumps: journal.walls.length - 1,
    problems: []
  }
  for (const [jumpMs, noticedMs] of journal.notices) {
    if (noticedMs - jumpMs > NOTICE_MAX_MS) told.problems.push(`a jump at ${jumpMs} was noticed only at ${noticedMs}`)
  }
  let jobsOfRows = 0
  for (const schedule of plan.schedules) {
    const written = rows.get(schedule.id)!
    jobsOfRows += written.reduce((sum, { jobIds }) => sum + jobIds.length, 0)
    const problem = compare(schedule, plan, journal, written, told)
    if (problem !== null) told.problems.push(`${schedule.id}: ${problem}`)
  }
  if (jobsOfRows !== jobs) told.problems.push(`rows name ${jobsOfRows} jobs, but ${jobs} were made`)
  return told
}

function compare(
  schedule: Plan['schedules'][number],
  plan: Plan,
  journal: Journal,
  rows: StoredFiring[],
  told: Told
): string | null {
  const expected = expect(schedule, plan, journal)
  let at = 0
  for (const row of rows) {
    const covered = expected.slice(at, at + row.count)
    at += row.count
    told.moments += row.count
    const fate = `${row.state} ${row.reason}`
    told.fates[fate] = (told.fates[fate] ?? 0) + row.count
    const is = `${fate} ×${row.count} for ${iso(row.nominalMs)} at ${iso(row.atMs)} with ${row.jobIds.length} jobs`
    const last = covered.at(-1)
    const isLikeAll =
      covered.length === row.count && covered.every(({ state, reason }) => `${state} ${reason}` === fate)
    const isInTime = row.state !== 'fired' || row.atMs === last?.atMs
    const jobs = row.state === 'fired' ? schedule.jobs : 0
    if (isLikeAll && isInTime && last?.nominalMs === row.nominalMs && row.jobIds.length === jobs) continue
    const should = covered
      .map((one) => `${one.state} ${one.reason} for ${iso(one.nominalMs)} at ${iso(one.atMs)}`)
      .join(', ')
    return `${is}; it should be ${should || 'nothing'}. ${JSON.stringify(schedule)}`
  }
  // A schedule that is paused writes its rows by the hour: those of the last one may be outstanding.
  const missing = expected.slice(at).filter(({ reason }) => reason !== 'paused' && reason !== 'gap')
  if (missing.length === 0) return null
  const [first] = missing
  return `${missing.length} moments have no row, first ${first!.state} ${first!.reason} for ${iso(first!.nominalMs)}. ${JSON.stringify(schedule)}`
}

function iso(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 23)
}
