import { expect, it } from 'vitest'
import { SHORT_RUN } from './plan.ts'
import { describe } from './report.ts'
import { runChaos } from './run.ts'

const SEED = 20_261_121

it('loses nothing and runs nothing twice unflagged, while the engine, a Scrapyd and their connections fail (the short form of `npm run chaos`)', async () => {
  const options = { ...SHORT_RUN, seed: SEED }
  const result = await runChaos(options)
  console.log(describe(result, options))
  expect(result.complaints).toEqual([])
  const { acknowledged, runs, neverRanButExplained } = result.verdict
  expect(acknowledged).toBeGreaterThan(options.jobs * 0.9)
  expect(runs).toBeGreaterThanOrEqual(acknowledged - neverRanButExplained.length)
  expect(result.engineRecoveries).toHaveLength(options.engineKills)
  expect(result.nodeRecoveries).toHaveLength(options.nodeKills)
}, 240_000)
