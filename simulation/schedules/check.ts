import type { StoredFiring } from '../../src/engine/model/records.ts'
import { expect, type Expectation } from './expected.ts'
import { problemsOfFailures } from './failures.ts'
import { isPausedAt, type Journal, livingSince } from './journal.ts'
import { type Plan, type PlannedSchedule, planStory } from './plan.ts'
import type { RanJob } from './jobs.ts'
import { runStory, type Story } from './story.ts'

export interface Told {
  plan: Plan
  moments: number
  fates: Record<string, number>
  jobs: number
  /** The number of ended jobs to which chains reacted. */
  answers: number
  pausesByFailures: number
  crashes: number
  jumps: number
  failedWrites: number
  problems: string[]
}

const ANSWERED_WITHIN_MS = 1_000

/** Compares every row of every schedule, the end of every job and every reaction of a chain with the calculation. */
export async function tellStory(
  seed: number,
  size: { schedules: number; days: number },
  onDay?: (day: number) => void
): Promise<Told> {
  const plan = planStory(seed, size)
  const story = await runStory(plan, onDay)
  const { journal } = story
  const told: Told = {
    plan,
    moments: 0,
    fates: {},
    jobs: story.jobs.length,
    answers: story.answers.length,
    pausesByFailures: [...journal.pauses.values()].flat().filter(({ by }) => by === 'failures').length,
    crashes: journal.lives.length - 1,
    jumps: journal.walls.length - 1,
    failedWrites: journal.failedWrites,
    problems: []
  }
  const ran = new Map(story.jobs.map((job) => [keyOf(job.of), job]))
  let jobsOfRows = 0
  for (const schedule of plan.schedules) {
    const { stored, rows } = story.schedules.get(schedule.id)!
    jobsOfRows += rows.reduce((sum, { jobIds }) => sum + jobIds.length, 0)
    const expectation = expect(schedule, plan, journal)
    const rest = { journal, failuresInARow: stored.failuresInARow, durationMs: plan.durationMs }
    const problems = [
      ...expectation.problems,
      ...[compareRows(schedule, expectation, rows, { journal, told })].filter((problem) => problem !== null),
      ...[compareEnds(schedule, expectation, ran, plan.durationMs)].filter((problem) => problem !== null),
      ...problemsOfFailures(schedule, expectation, rest)
    ]
    const [first] = problems
    if (first !== undefined) told.problems.push(`${schedule.id}: ${first}. ${JSON.stringify(schedule)}`)
  }
  const jobsOfSchedules = story.jobs.filter(({ of }) => of !== null).length
  if (jobsOfRows !== jobsOfSchedules)
    told.problems.push(`rows name ${jobsOfRows} jobs, but ${jobsOfSchedules} were made`)
  told.problems.push(...compareAnswers(plan, story))
  return told
}

function compareRows(
  schedule: PlannedSchedule,
  { moments }: Expectation,
  rows: StoredFiring[],
  { journal, told }: { journal: Journal; told: Told }
): string | null {
  let at = 0
  for (const row of rows) {
    const covered = moments.slice(at, at + row.count)
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
    return `${is}; it should be ${should || 'nothing'}`
  }
  // A paused schedule writes its rows hourly, so those of the last hour can be missing.
  const missing = moments.slice(at).filter(({ seenMs }) => !isPausedAt(journal, schedule.id, seenMs))
  if (missing.length === 0) return null
  const [first] = missing
  return `${missing.length} moments have no row, first ${first!.state} ${first!.reason} for ${iso(first!.nominalMs)}`
}

/** Compares when and how the jobs ended, which shows when they started and which were cancelled. */
function compareEnds(
  { id }: PlannedSchedule,
  { moments, endOf }: Expectation,
  ran: Map<string, RanJob>,
  durationMs: number
): string | null {
  for (const { nominalMs, jobs } of moments) {
    for (const job of jobs) {
      const is = ran.get(keyOf({ scheduleId: id, nominalMs, index: job.index }))?.ended ?? null
      const should = endOf(job)
      if (should.atMs > durationMs - 1 && is === null) continue
      if (is !== null && Math.abs(is.atMs - should.atMs) < 1 && is.outcome === should.outcome) continue
      const isWords = is === null ? 'has not ended' : `${is.outcome} at ${is.atMs}`
      return `job ${job.index} of ${iso(nominalMs)} ${isWords}; it should have ${should.outcome} at ${should.atMs}`
    }
  }
  return null
}

/** Checks that every end that a chain waits for creates the chain's jobs exactly once, as soon as an engine runs. */
function compareAnswers(plan: Plan, { journal, jobs, answers, firedCounts }: Story): string[] {
  const problems: string[] = []
  const answered = new Map<string, number>()
  for (const { chainId, jobId, jobIds } of answers) {
    const key = `${chainId} ${jobId}`
    answered.set(key, (answered.get(key) ?? 0) + jobIds.length)
  }
  for (const { id, project, spider, on, runs } of plan.chains) {
    const waited = jobs.filter((job) => job.project === project && job.spider === spider && !job.line.includes(id))
    const meant = waited.filter(({ ended }) => ended !== null && (on === 'ended' || ended.outcome === on))
    let count = 0
    for (const job of meant) {
      const key = `${id} ${job.id}`
      const made = answered.get(key) ?? 0
      answered.delete(key)
      if (made > 0) count += 1
      const dueMs = livingSince(journal, job.ended!.atMs, ANSWERED_WITHIN_MS)
      const isDue = dueMs !== null && dueMs <= plan.durationMs
      if (made !== runs.spiders.length && (isDue || made > 0)) {
        problems.push(`chain ${id} made ${made} jobs after ${job.id}, not ${runs.spiders.length}`)
      }
    }
    if (firedCounts.get(id) !== count) problems.push(`chain ${id} tells ${firedCounts.get(id)} answers, not ${count}`)
  }
  for (const key of answered.keys()) problems.push(`nobody waited for what was answered: chain and job ${key}`)
  return problems
}

function keyOf(of: RanJob['of']): string {
  return of === null ? '' : `${of.scheduleId} ${of.nominalMs} ${of.index}`
}

function iso(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 23)
}
