import { expect, it } from 'vitest'
import { describeResult, runAttacks, SHORT_RUN } from './run.ts'

const SEED = 20_261_122

it('withstands what hostile clients and nodes send to each endpoint (the short form of `npm run attack`)', async () => {
  const result = await runAttacks({ ...SHORT_RUN, seed: SEED })
  console.log(describeResult(result))
  expect(result.outcomes.filter(({ complaints }) => complaints.length > 0)).toEqual([])
}, 240_000)
