/** A process with a planted bug. It runs stories until one fails, and reports the failed story. */
import { registerSimulationHooks } from '../world/hooks.ts'
import { plant } from '../world/mutations.ts'
import { MUTANTS } from './mutants.ts'

export interface Hunt {
  mutant: string
  from: number
  stories: number
  size: { schedules: number; days: number }
}

export type Found = { seed: number; problem: string } | null

const { mutant, from, stories, size } = JSON.parse(process.env['SIMULATION_HUNT']!) as Hunt
process.on('disconnect', () => process.exit())
registerSimulationHooks()
await plant(MUTANTS.find(({ name }) => name === mutant)!.mutations)
const { tellStory } = await import('./check.ts')

let found: Found = null
for (let seed = from; seed < from + stories && found === null; seed += 1) {
  const problem = await tellStory(seed, size).then(({ problems }) => problems[0], String)
  if (problem !== undefined) found = { seed, problem }
}
process.send!({ found })
process.disconnect()
