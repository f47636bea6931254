import { join } from 'node:path'
import { isScrapdeckError } from '../../src/shared/errors.ts'
import { systemClock } from '../../src/engine/runtime/clock.ts'
import { silentLogger } from '../../src/engine/runtime/logger.ts'
import { parsePostgresAddress, type PostgresAddress } from '../../src/engine/runtime/postgres-address.ts'
import { connectTo } from '../../src/engine/storage/postgres/postgres-driver.ts'
import { startPostgres, whyNoPostgres } from '../../src/engine/storage/postgres/testing/start-postgres.ts'
import type { Store } from '../../src/engine/storage/store.ts'
import { openStoreInWorker } from '../../src/engine/storage/thread/store-thread.ts'
import { BenchProblem } from './bench-problem.ts'

/** Creates a namespace on a new server with PostgreSQL's default settings, or on the server of DATABASE_URL. */
export async function startBenchPostgres() {
  const problem = whyNoPostgres()
  if (problem !== null) throw new BenchProblem(`This needs PostgreSQL: ${problem}. Run npm run setup.`)
  const given = process.env['DATABASE_URL']
  const server = given === undefined ? await startPostgres() : null
  const address = parsePostgresAddress(`${given ?? server!.url}?namespace=bench_${process.pid}`)
  const ask = (texts: string[]): unknown[][] => {
    const connection = connectTo({ ...address, schema: `bench_ask_${process.pid}` })
    try {
      return texts.map((text) => connection.send({ text, values: [] }).result().rows).at(-1)!
    } finally {
      connection.end()
    }
  }
  return {
    address,
    ask,
    version: String(ask([`SELECT current_setting('server_version')`])[0]![0]),
    async stop() {
      if (server === null) ask([`DROP SCHEMA IF EXISTS "${address.schema}" CASCADE`])
      await server?.stop()
    }
  }
}

/** Retries, because the server notices only after a moment that the previous store was closed. */
export async function openBenchStore(directory: string, postgres: PostgresAddress): Promise<Store> {
  for (;;) {
    try {
      const path = join(directory, 'scrapdeck.sqlite')
      return await openStoreInWorker({ path, postgres, clock: systemClock, logger: silentLogger })
    } catch (error) {
      if (!isScrapdeckError(error, 'DATABASE_IN_USE')) throw error
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }
}
