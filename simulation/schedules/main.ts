/**
 * The real ticker and store under a virtual clock: schedules of all kinds, a machine whose clock jumps, an engine that is killed, also while
 * it writes. Every row of every schedule is held against a calculation that shares no code with them.
 *
 *   npm run simulate:schedules                        a week with 1,000 schedules
 *   npm run simulate:schedules -- --seed 7 --schedules 100 --days 1 --stories 20
 */
import { parseArgs } from 'node:util'
import { tellStory } from './check.ts'

const PROBLEMS_SHOWN = 5
const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    stories: { type: 'string', default: '1' },
    schedules: { type: 'string', default: '1000' },
    days: { type: 'string', default: '7' }
  }
})

for (let index = 0; index < Number(values.stories); index += 1) {
  const seed = Number(values.seed) + index
  const beganMs = performance.now()
  const secondsGone = () => Math.round((performance.now() - beganMs) / 1_000)
  const { plan, moments, fates, crashes, jumps, problems } = await tellStory(
    seed,
    { schedules: Number(values.schedules), days: Number(values.days) },
    (day) => console.error(`seed ${seed}: day ${day} of ${values.days} is over (${secondsGone()} s)`)
  )
  const seconds = secondsGone()
  console.log(
    `seed ${seed}: ${plan.schedules.length} schedules, ${values.days} days from ${new Date(plan.beginsAtMs).toISOString().slice(0, 10)}, ` +
      `${crashes} crashes, ${jumps} clock jumps: ${moments} moments, ${problems.length} wrong (${seconds} s)`
  )
  for (const [fate, count] of Object.entries(fates).sort((one, other) => other[1] - one[1])) {
    console.log(`  ${fate.padEnd(22)} ${count}`)
  }
  for (const problem of problems.slice(0, PROBLEMS_SHOWN)) console.error(`  ${problem}`)
  if (problems.length > 0) process.exitCode = 1
}
