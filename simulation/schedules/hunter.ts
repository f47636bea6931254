/** A process with a bug planted in it: tells stories until one goes wrong, and says which. */
import { type Mutation, registerSimulationHooks } from '../world/hooks.ts'

export interface Hunt {
  mutations: readonly Mutation[]
  from: number
  stories: number
  size: { schedules: number; days: number }
}

export type Found = { seed: number; problem: string } | null

const { mutations, from, stories, size } = JSON.parse(process.env['SIMULATION_HUNT']!) as Hunt
process.on('disconnect', () => process.exit())
registerSimulationHooks(mutations)
const { tellStory } = await import('./check.ts')

let found: Found = null
for (let seed = from; seed < from + stories && found === null; seed += 1) {
  const problem = await tellStory(seed, size).then(({ problems }) => problems[0], String)
  if (problem !== undefined) found = { seed, problem }
}
process.send!({ found })
process.disconnect()
