/**
 * Runs the real ticker, chains, commands and store under a virtual clock: schedules of all kinds, failing jobs, a
 * machine with a jumping clock and a disk that is sometimes full, an engine that is killed, sometimes during
 * writes. Compares every row, the end of every job and every reaction of a chain with a calculation that shares no
 * code with them.
 *
 *   npm run simulate:schedules                        a week with 1,000 schedules
 *   npm run simulate:schedules -- --seed 7 --schedules 100 --days 1 --stories 20
 *   npm run simulate:schedules -- --mutants           plants bugs that must be found (--only WORDS: by name)
 */
import { fork } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { tellStory } from './check.ts'
import type { Found, Hunt } from './hunter.ts'
import { MUTANTS, type ScheduleMutant, STORIES_MAX, STORY_SIZE } from './mutants.ts'

const PROBLEMS_SHOWN = 5
const PROBLEM_SHOWN_LENGTH = 160
const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    stories: { type: 'string', default: '1' },
    schedules: { type: 'string', default: '1000' },
    days: { type: 'string', default: '7' },
    mutants: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    processes: { type: 'string', default: String(availableParallelism()) }
  }
})

if (values.mutants) await huntMutants()
else await tellStories(Number(values.seed), Number(values.stories))

async function tellStories(from: number, count: number): Promise<void> {
  let wrong = 0
  for (let seed = from; seed < from + count; seed += 1) {
    const beganMs = performance.now()
    const secondsGone = () => Math.round((performance.now() - beganMs) / 1_000)
    const told = await tellStory(seed, { schedules: Number(values.schedules), days: Number(values.days) }, (day) => {
      if (count === 1) console.error(`seed ${seed}: day ${day} of ${values.days} is over (${secondsGone()} s)`)
    })
    const { plan, problems } = told
    console.log(
      `seed ${seed}: ${plan.schedules.length} schedules, ${values.days} days from ${new Date(plan.beginsAtMs).toISOString().slice(0, 10)}, ` +
        `${told.crashes} crashes, ${told.jumps} clock jumps, ${told.failedWrites} failed writes: ${told.moments} moments, ${told.jobs} jobs, ${told.answers} answers of chains, ` +
        `${told.pausesByFailures} pauses by failures, ${problems.length} wrong (${secondsGone()} s)`
    )
    if (count === 1) {
      for (const [fate, moments] of Object.entries(told.fates).sort((one, other) => other[1] - one[1])) {
        console.log(`  ${fate.padEnd(22)} ${moments}`)
      }
    }
    for (const problem of problems.slice(0, PROBLEMS_SHOWN)) console.error(`  ${problem}`)
    if (problems.length > 0) wrong += 1
  }
  if (count > 1) console.log(`${count} stories, ${wrong} went wrong`)
  if (wrong > 0) process.exitCode = 1
}

async function huntMutants(): Promise<void> {
  const waiting = MUTANTS.filter(({ name }) => name.includes(values.only))
  const count = waiting.length
  let found = 0
  const work = async () => {
    for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
      const where = await hunt(mutant)
      if (where !== null) found += 1
      console.log(
        where === null
          ? `✗ ${mutant.name}: lived through ${mutant.stories ?? STORIES_MAX} stories`
          : `✓ ${mutant.name}: story ${where.seed}: ${where.problem.slice(0, PROBLEM_SHOWN_LENGTH)}`
      )
    }
  }
  await Promise.all(Array.from({ length: Number(values.processes) }, work))
  console.log(`${found} of ${count} planted bugs were found`)
  if (found < count) process.exitCode = 1
}

function hunt({ name: mutant, stories = STORIES_MAX }: ScheduleMutant): Promise<Found> {
  const asked: Hunt = { mutant, from: Number(values.seed), stories, size: STORY_SIZE }
  return new Promise((resolve, reject) => {
    const child = fork(new URL('hunter.ts', import.meta.url), {
      env: { ...process.env, SIMULATION_HUNT: JSON.stringify(asked) },
      execArgv: ['--no-warnings']
    })
    child.on('message', ({ found }: { found: Found }) => resolve(found))
    child.on('exit', (code) => reject(new Error(`a process of the hunt ended with ${code} and told nothing`)))
  })
}
