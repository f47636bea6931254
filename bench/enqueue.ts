import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { createRouterClient } from '@orpc/server'
import { createEngine, type Engine } from '../src/engine/index.ts'
import type { PostgresAddress } from '../src/engine/runtime/postgres-address.ts'
import { silentLogger } from '../src/engine/runtime/logger.ts'
import { listen } from '../src/server/listen.ts'
import { compare, type Figure } from './figure.ts'
import { BareDatabase } from './support/bare-database.ts'
import { deployNoop, machine } from './support/bench-engine.ts'
import { seedDatabase } from './support/seed-database.ts'
import { progress } from './support/sides.ts'
import { OWNER } from '../src/engine/access/principal.ts'
import { basicAuthorization } from '../e2e/support/basic-authorization.ts'

export const about =
  'jobs.runMany: jobs queued per second, each durable, and how long the event loop stood still meanwhile'

export const run = (): AsyncIterable<Figure> =>
  measure({ queued: [0, 1_000, 100_000, 1_000_000], calls: 20, inFlight: 2, jobsPerCall: 10_000 })

/** `inFlight`: the number of concurrent calls, like those of clients on several connections. */
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
      for (const through of ['contract', 'http'] as const) {
        const { jobsPerSecond, cpuUsPerJob, loopP99Ms } = await enqueue(directory, through, options)
        const bound = await insertBare(directory, options)
        const { calls, inFlight: in_flight, jobsPerCall: jobs_per_call } = options
        const conditions = { queued, calls, in_flight, jobs_per_call, through, synchronous: 'FULL', ...machine() }
        const rates = { ours: jobsPerSecond, bound, unit: 'jobs/s', boundIs: 'the bare inserts' }
        yield* compare(`${through}_at_${queued}`, { ...rates, wanted: { atLeast: 0.5 } }, conditions)
        yield { figure: 'cpu_us_per_job', value: cpuUsPerJob, unit: 'µs', conditions }
        yield { figure: 'loop_p99_ms', value: loopP99Ms, unit: 'ms', conditions }
      }
    } finally {
      rmSync(directory, { recursive: true, force: true })
    }
  }
}

export interface Load {
  calls: number
  inFlight: number
  jobsPerCall: number
}

export async function enqueue(
  dataDirectory: string,
  through: 'contract' | 'http',
  load: Load,
  postgres?: PostgresAddress
) {
  const engine = await createEngine({
    dataDirectory,
    host: 'service',
    resourcesDirectory: join(import.meta.dirname, '..', 'resources'),
    scrapdeckVersion: 'bench',
    localSlots: 0,
    ...(postgres === undefined ? {} : { postgres })
  })
  try {
    await deployNoop(createRouterClient(await engine.router(), { context: { principal: OWNER, source: 'api' } }))
    const loop = monitorEventLoopDelay({ resolution: 1 })
    loop.enable()
    const cpu = process.cpuUsage()
    const tookMs = await (through === 'contract'
      ? askThroughContract(engine, load)
      : askOverHttp(engine, dataDirectory, load))
    const { user, system } = process.cpuUsage(cpu)
    loop.disable()
    const jobs = load.calls * load.jobsPerCall
    return {
      jobsPerSecond: Math.round((jobs * 1_000) / tookMs),
      cpuUsPerJob: Math.round(((user + system) / jobs) * 10) / 10,
      loopP99Ms: Math.round(loop.percentile(99) / 1e5) / 10
    }
  } finally {
    await engine.stop()
  }
}

/** Inserts the same rows in the same number of transactions with bare statements. Returns jobs per second. */
async function insertBare(directory: string, { calls, jobsPerCall }: Load): Promise<number> {
  const database = await BareDatabase.open(directory)
  const insert = () =>
    database.enqueue(
      Array.from({ length: jobsPerCall }, (_, number) => ({
        id: database.newId(),
        project: 'noop',
        spider: 'noop',
        args: { url: `https://example.com/${number}` }
      }))
    )
  insert()
  const startedMs = performance.now()
  for (let call = 0; call < calls; call += 1) insert()
  const tookMs = performance.now() - startedMs
  database.close()
  return (calls * jobsPerCall * 1_000) / tookMs
}

async function askThroughContract(engine: Engine, { calls, inFlight, jobsPerCall }: Load): Promise<number> {
  const client = createRouterClient(await engine.router(), { context: { principal: OWNER, source: 'api' } })
  const jobs = Array.from({ length: jobsPerCall }, (_, number) => ({
    project: 'noop',
    version: '1',
    spider: 'noop',
    args: { url: `https://example.com/${number}` }
  }))
  await client.jobs.runMany({ jobs })
  const startedMs = performance.now()
  let made = 0
  const askOneAfterAnother = async () => {
    while (made < calls) {
      made += 1
      await client.jobs.runMany({ jobs })
    }
  }
  await Promise.all(Array.from({ length: inFlight }, askOneAfterAnother))
  return performance.now() - startedMs
}

/** Queues like a remote client: through the whole HTTP layer, from another process. */
async function askOverHttp(engine: Engine, dataDirectory: string, load: Load): Promise<number> {
  const service = await listen({
    engine,
    dataDirectory,
    uiDirectory: dataDirectory,
    docsDirectory: dataDirectory,
    bindAddress: '127.0.0.1',
    port: 0,
    allowedHosts: [],
    logger: silentLogger
  })
  try {
    const { username, password } = engine.credentials
    const authorization = basicAuthorization({ username, password })
    const numbers = [load.calls, load.inFlight, load.jobsPerCall].map(String)
    const poster = fork(join(import.meta.dirname, 'support', 'post-jobs.ts'), [
      service.address,
      authorization,
      ...numbers
    ])
    const ended = once(poster, 'exit').then(([code]) => {
      throw new Error(`the client ended with ${code}`)
    })
    const [{ tookMs }] = await Promise.race([once(poster, 'message'), ended])
    ended.catch(() => undefined)
    return tookMs
  } finally {
    await service.stop()
  }
}
