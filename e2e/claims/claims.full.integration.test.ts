import { expect, it } from 'vitest'
import { whyNoPostgres } from '../../src/engine/storage/postgres/testing/start-postgres.ts'
import { SHORT } from './plan.ts'
import { describeClaims } from './report.ts'
import { runClaims } from './run.ts'

it.skipIf(whyNoPostgres() !== null)(
  'nodes that pull run each job once although the leader of two engines is killed; identical orders create one job, and schedules fire once (the short form of `npm run claims`)',
  { timeout: 240_000 },
  async () => {
    const result = await runClaims(SHORT)
    console.log(describeClaims(result, SHORT))
    expect(result.complaints).toEqual([])
    expect(result.jobs).toMatchObject({ runs: SHORT.jobs, nodesUsed: SHORT.nodes, mostAtOnce: SHORT.slotsPerNode })
    expect(result.strikes).toMatchObject([{ strike: 'kill', heldClaims: SHORT.nodes * SHORT.slotsPerNode }])
    expect(result.orders.map(({ jobs }) => jobs)).toEqual([1, 1])
    expect(result.firings.runs).toBe(result.firings.firings)
    for (const requests of result.requestsPerEngine) expect(requests).toBeGreaterThan(SHORT.jobs)
  }
)
