import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Comparison, type Figure, round } from './figure.ts'
import { enqueue, type Load } from './enqueue.ts'
import { machine } from './support/bench-engine.ts'
import { insertBare } from './support/bare-postgres.ts'
import { startBenchPostgres } from './support/bench-postgres.ts'

export const about = 'the store on PostgreSQL: jobs queued per second in bulk over HTTP, each durable'

export const run = (): Promise<Figure[]> => measure({ calls: 20, inFlight: 2, jobsPerCall: 10_000 })

export async function measure(load: Load): Promise<Figure[]> {
  const postgres = await startBenchPostgres()
  const directory = mkdtempSync(join(tmpdir(), 'scrapdeck-bench-pg-enqueue-'))
  try {
    const { jobsPerSecond, cpuUsPerJob, loopP99Ms } = await enqueue(directory, 'http', load, postgres.address)
    const { calls, inFlight: in_flight, jobsPerCall: jobs_per_call } = load
    const conditions = { calls, in_flight, jobs_per_call, postgres: postgres.version, synchronous: 'on', ...machine() }
    const bound = insertBare({ address: postgres.address, calls, jobsPerCall: jobs_per_call })
    const comparison: Comparison = {
      ours: jobsPerSecond,
      bound,
      unit: 'jobs/s',
      boundIs: 'copies made within the server',
      wanted: { atLeast: 0.5 }
    }
    return [
      { figure: 'jobs_per_s', value: jobsPerSecond, unit: 'jobs/s', goal: { atLeast: 40_000 }, conditions },
      { figure: 'ratio_bound', value: round(jobsPerSecond / bound), unit: 'times', conditions, comparison },
      { figure: 'cpu_us_per_job', value: cpuUsPerJob, unit: 'µs', conditions },
      { figure: 'loop_p99_ms', value: loopP99Ms, unit: 'ms', conditions }
    ]
  } finally {
    rmSync(directory, { recursive: true, force: true })
    await postgres.stop()
  }
}
