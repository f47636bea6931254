import { createRequire } from 'node:module'
import type { DuckDBConnection, DuckDBValue } from '@duckdb/node-api'
import { ScrapdeckError } from '../../../../shared/errors.ts'
import { sentence } from '../../../../shared/texts/errors/runs.ts'
import { quoteText } from './queries.ts'

type Package = typeof import('@duckdb/node-api')

const MEMORY_LIMIT = '512MB'
const THREADS = '2'
const SPILL_LIMIT = '4GB'

let loading: Promise<Package> | null = null

/** Whether the package and its binary for this platform exist. Does not load them, which would take 0.1 s. */
export function isDuckdbInstalled(): boolean {
  const { resolve } = createRequire(import.meta.url)
  const binary = `@duckdb/node-bindings-${process.platform}-${process.arch}`
  return ['', '-musl'].some((abi) => {
    try {
      return resolve('@duckdb/node-api') !== '' && resolve(`${binary}${abi}/duckdb.node`) !== ''
    } catch {
      return false
    }
  })
}

export function loadDuckdb(): Promise<Package> {
  return (loading ??= import('@duckdb/node-api'))
}

export type Rows = DuckDBValue[][]

export interface LockedDuckdb extends Disposable {
  /** Rejects with ITEMS_FAILED or ITEMS_TOO_LARGE. */
  query(sql: string, values: DuckDBValue[]): Promise<Rows>
}

/**
 * Opens a database that may access only `paths` and spill to `spillDirectory`. It cannot open any other file or
 * address, load an extension or change a setting.
 */
export async function openLockedDuckdb(
  paths: string[],
  spillDirectory: string,
  signal: AbortSignal
): Promise<LockedDuckdb> {
  signal.throwIfAborted()
  const { DuckDBInstance } = await loadDuckdb()
  const instance = await DuckDBInstance.create(':memory:', {
    threads: THREADS,
    memory_limit: MEMORY_LIMIT,
    temp_directory: spillDirectory,
    max_temp_directory_size: SPILL_LIMIT,
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    allow_community_extensions: 'false',
    allow_persistent_secrets: 'false'
  })
  const connection = await instance.connect()
  try {
    await connection.run(`SET allowed_paths = [${paths.map(quoteText).join(', ')}]`)
    await connection.run('SET enable_external_access = false')
    await connection.run('SET lock_configuration = true')
  } catch (error) {
    // A database that could not be locked must not read anything.
    connection.closeSync()
    instance.closeSync()
    throw error
  }
  const interrupt = () => connection.interrupt()
  signal.addEventListener('abort', interrupt)
  return {
    query: (sql, values) => query(connection, sql, values, signal),
    [Symbol.dispose]() {
      signal.removeEventListener('abort', interrupt)
      connection.closeSync()
      instance.closeSync()
    }
  }
}

async function query(
  connection: DuckDBConnection,
  sql: string,
  values: DuckDBValue[],
  signal: AbortSignal
): Promise<Rows> {
  signal.throwIfAborted()
  try {
    return (await connection.runAndReadAll(sql, values)).getRows()
  } catch (error) {
    signal.throwIfAborted()
    throw explain(error as Error)
  }
}

function explain(error: Error): Error {
  const [said = ''] = error.message.split('\n', 1)
  if (/^Out of Memory|max_temp_directory_size|temporary directory/i.test(said)) {
    const text = sentence('runs.duckdb_needs_more', { memoryLimit: MEMORY_LIMIT, spillLimit: SPILL_LIMIT })
    return new ScrapdeckError('ITEMS_TOO_LARGE', text, { cause: error })
  }
  if (/maximum_object_size/.test(error.message)) {
    const text = sentence('runs.line_too_long')
    return new ScrapdeckError('ITEMS_TOO_LARGE', text, { cause: error })
  }
  return new ScrapdeckError('ITEMS_FAILED', sentence('runs.duckdb_failed', { said: said.slice(0, 300) }), {
    cause: error
  })
}
