import type { Figure } from './figure.ts'
import { FULL, measure as measureLatency, type Size } from './dispatch-latency.ts'
import { startBenchPostgres } from './support/bench-postgres.ts'

export const about = 'the store on PostgreSQL: from a slot seen free to the POST of the next job, while a million wait'

const GOALS: Record<string, number> = { p50_ms: 8, p99_ms: 40 }

export const run = (): Promise<Figure[]> => measure(FULL)

export async function measure(size: Size): Promise<Figure[]> {
  const postgres = await startBenchPostgres()
  try {
    const figures = await measureLatency(size, postgres.address)
    return figures.map((one) => ({
      ...one,
      goal: { atMost: GOALS[one.figure]! },
      conditions: { ...one.conditions, postgres: postgres.version, synchronous: 'on' }
    }))
  } finally {
    await postgres.stop()
  }
}
