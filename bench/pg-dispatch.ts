import { type Comparison, type Figure, round } from './figure.ts'
import { fillSlots, type Size } from './dispatch.ts'
import { claimBare } from './support/bare-postgres.ts'
import { startBenchPostgres } from './support/bench-postgres.ts'

export const about = 'the store on PostgreSQL: jobs claimed, sent and confirmed per second while a million are queued'

const FULL: Size = { nodes: 1_000, slots: 16, queued: 1_000_000, lanes: 2_000 }

export const run = (): Promise<Figure[]> => measure(FULL)

/** The bound is bare claims of the jobs that the engine left in the queue, in batches and with the same rows. */
export async function measure(size: Size): Promise<Figure[]> {
  const postgres = await startBenchPostgres()
  try {
    const { jobsPerSecond: ours, cpuUsPerJob, conditions: given } = await fillSlots(size, postgres.address)
    const conditions = { ...given, postgres: postgres.version, synchronous: 'on' }
    const left = size.queued - Math.min(size.queued, size.nodes * size.slots)
    const bound = claimBare({ address: postgres.address, jobs: Math.min(left, size.nodes * size.slots) })
    const comparison: Comparison = {
      ours,
      bound,
      unit: 'jobs/s',
      boundIs: 'bare batched claims with the same rows',
      wanted: { atLeast: 0.3 }
    }
    return [
      { figure: 'jobs_per_s', value: ours, unit: 'jobs/s', goal: { atLeast: 3_000 }, conditions },
      { figure: 'ratio_bound', value: round(ours / bound), unit: 'times', conditions, comparison },
      { figure: 'cpu_us_per_job', value: cpuUsPerJob, unit: 'µs', conditions }
    ]
  } finally {
    await postgres.stop()
  }
}
