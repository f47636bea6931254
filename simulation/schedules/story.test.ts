import { expect, it } from 'vitest'
import { isCore, pickLength } from '../../scripts/test-length.mjs'
import { tellStory } from './check.ts'

const LIMIT_MS = 120_000

it.skipIf(isCore).each(pickLength([1], [1, 2, 3]))(
  'every moment, every job and every answer of a chain is what an independent calculation gives, through crashes and clock jumps (story %i)',
  async (seed) => {
    const { problems, fates, crashes, jumps, failedWrites, answers, pausesByFailures } = await tellStory(seed, {
      schedules: 40,
      days: 1
    })
    expect(problems).toEqual([])
    expect(crashes).toBeGreaterThan(0)
    expect(jumps).toBeGreaterThan(0)
    expect(failedWrites).toBeGreaterThan(0)
    expect(answers).toBeGreaterThan(0)
    expect(pausesByFailures).toBeGreaterThan(0)
    expect(fates['fired on_time']).toBeGreaterThan(100)
  },
  LIMIT_MS
)
