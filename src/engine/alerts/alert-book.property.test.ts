import fc from 'fast-check'
import { test } from 'vitest'
import { pickLength } from '../../../scripts/test-length.mjs'
import { anAlertStory } from './testing/alert-story.ts'
import { liveThrough } from './testing/live-through.ts'

/** `SCRAPDECK_PROPERTY_RUNS=20000 SCRAPDECK_PROPERTY_SEED=7 npx vitest run …` lives through more stories, or others. */
const RUNS = Number(process.env['SCRAPDECK_PROPERTY_RUNS'] || pickLength(500, 20_000))
const SEED = process.env['SCRAPDECK_PROPERTY_SEED']

test('whatever happens, everybody is told what the rules in README.md say', { timeout: 900_000 }, () => {
  const property = fc.property(anAlertStory(60), (story) => {
    const { problem } = liveThrough(story)
    if (problem !== null) throw new Error(problem)
  })
  fc.assert(property, { numRuns: RUNS, ...(SEED !== undefined && { seed: Number(SEED) }) })
})
