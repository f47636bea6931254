import { expect, it } from 'vitest'
import { isLong } from '../../scripts/test-length.mjs'
import { whyNoPostgres } from '../../src/engine/storage/postgres/testing/start-postgres.ts'
import { SHORT_TOGETHER } from './plan.ts'
import { describeTogether } from './report.ts'
import { runTogether } from './together.ts'

it.runIf(isLong && whyNoPostgres() === null)(
  'three engines on one PostgreSQL lose nothing and run nothing twice, while they and it fail (the short form of `npm run chaos -- --engines 3`)',
  { timeout: 500_000 },
  async () => {
    const options = { ...SHORT_TOGETHER, seed: 20_261_127 }
    const result = await runTogether(options)
    console.log(describeTogether(result, options))
    expect(result.complaints).toEqual([])
    expect(result.verdict.acknowledged).toBeGreaterThan(options.jobs * 0.8)
    expect(result.firings).toBeGreaterThan(3)
    expect(result.firstSentMs).toHaveLength(options.engineKills + options.stalls + options.databaseRestarts)
  }
)
