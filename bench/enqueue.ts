import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { createRouterClient } from '@orpc/server'
import { createEngine } from '../src/engine/index.ts'
import type { Figure } from './figure.ts'
import { deployNoop, machine } from './support/bench-engine.ts'
import { seedDatabase } from './support/seed-database.ts'
import { progress } from './support/sides.ts'

export const about =
  'jobs.runMany: jobs queued per second, each durable, and how long the event loop stood still meanwhile'

export const run = (): AsyncIterable<Figure> =>
  measure({ queued: [0, 1_000, 100_000, 1_000_000], calls: 20, inFlight: 2, jobsPerCall: 10_000 })

/** Calls through the contract, so many at a time as clients over several connections make them, on a queue that is so long already. */
export async function* measure(options: {
  queued: number[]
  calls: number
  inFlight: number
  jobsPerCall: number
}): AsyncGenerator<Figure> {
  for (const queued of options.queued) {
    const directory = mkdtempSync(join(tmpdir(), 'scrapdeck-bench-enqueue-'))
    try {
      progress(`enqueue: ${queued} jobs are queued already`)
      await seedDatabase(directory, { finished: 0, queued, live: 0 })
      const { jobsPerSecond, cpuUsPerJob, loopP99Ms } = await enqueue(directory, options)
      const { calls, inFlight: in_flight, jobsPerCall: jobs_per_call } = options
      const conditions = {
        queued,
        calls,
        in_flight,
        jobs_per_call,
        through: 'contract',
        synchronous: 'FULL',
        ...machine()
      }
      yield { figure: 'jobs_per_s', value: jobsPerSecond, unit: 'jobs/s', conditions }
      yield { figure: 'cpu_us_per_job', value: cpuUsPerJob, unit: 'µs', conditions }
      yield { figure: 'loop_p99_ms', value: loopP99Ms, unit: 'ms', conditions }
    } finally {
      rmSync(directory, { recursive: true, force: true })
    }
  }
}

async function enqueue(
  dataDirectory: string,
  { calls, inFlight, jobsPerCall }: { calls: number; inFlight: number; jobsPerCall: number }
) {
  const engine = await createEngine({
    dataDirectory,
    host: 'service',
    resourcesDirectory: join(import.meta.dirname, '..', 'resources'),
    scrapdeckVersion: 'bench',
    localSlots: 0
  })
  try {
    const client = createRouterClient(engine.router, { context: {} })
    await deployNoop(client)
    const jobs = Array.from({ length: jobsPerCall }, (_, number) => ({
      project: 'noop',
      version: '1',
      spider: 'noop',
      args: { url: `https://example.com/${number}` }
    }))
    await client.jobs.runMany({ jobs: jobs.slice(0, 1_000) })
    const loop = monitorEventLoopDelay({ resolution: 1 })
    loop.enable()
    const cpu = process.cpuUsage()
    const startedMs = performance.now()
    let made = 0
    const askOneAfterAnother = async () => {
      while (made < calls) {
        made += 1
        await client.jobs.runMany({ jobs })
      }
    }
    await Promise.all(Array.from({ length: inFlight }, askOneAfterAnother))
    const tookMs = performance.now() - startedMs
    const { user, system } = process.cpuUsage(cpu)
    loop.disable()
    return {
      jobsPerSecond: Math.round((calls * jobsPerCall * 1_000) / tookMs),
      cpuUsPerJob: Math.round(((user + system) / (calls * jobsPerCall)) * 10) / 10,
      loopP99Ms: Math.round(loop.percentile(99) / 1e5) / 10
    }
  } finally {
    await engine.stop()
  }
}
