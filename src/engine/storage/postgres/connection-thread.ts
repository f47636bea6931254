import { workerData } from 'node:worker_threads'
import postgres from 'postgres'
import type { ConnectionData, Outcome, PostgresFailure, Query, ToConnection } from './connection-messages.ts'

// The thread that talks to PostgreSQL while the store's thread waits (connection.ts). It has one connection and
// pipelines queries whose results are not read. If the connection is lost, the next query opens a new one.

const { url, setUp, connectSeconds, answered, port } = workerData as ConnectionData

/** The largest integer that is sent. A query's bound can be larger, but no stored value is. */
const LARGEST = 2 ** 62
const asWhole = (value: number): string => BigInt(Math.ceil(Math.max(-LARGEST, Math.min(LARGEST, value)))).toString()
const asNumber = (text: string): number => Number(text)
/** Returns values as SQLite does: numbers for all numeric types, 0 and 1 for booleans. */
const TYPES = {
  // Numbers from queries can be fractional. Rounding them up does not change `<` and `>=` comparisons with integers.
  int8: { to: 20, from: [20], serialize: asWhole, parse: asNumber },
  numeric: { to: 1700, from: [1700], serialize: String, parse: asNumber },
  flag: { to: 16, from: [16], serialize: String, parse: (text: string) => (text === 't' ? 1 : 0) },
  json: { to: 114, from: [114, 3802], serialize: String, parse: (text: string) => text }
}

/** Options that the types of `postgres` lack. By default, every hundredth query waits for all queries before it. */
const MISSING_IN_TYPES = { max_pipeline: 10_000 }

const client = (onclose: () => void) =>
  postgres(url, {
    max: 1,
    // Never close an idle connection here: only the store knows whether a transaction would be lost.
    idle_timeout: 0,
    max_lifetime: null,
    connect_timeout: connectSeconds,
    fetch_types: false,
    onnotice: () => {},
    onclose,
    types: TYPES,
    connection: { application_name: 'scrapdeck' },
    ...MISSING_IN_TYPES
  })

type Client = ReturnType<typeof client>
interface Session {
  sql: Awaited<ReturnType<Client['reserve']>>
  /** Rejects when the connection is lost, because a query on a lost reserved connection never gets a response. */
  lost: Promise<never>
}

let last: Client | null = null
/** Rejects the pending queries on the newest connection. Call this when the connection is lost. */
let giveUp: (error: unknown) => void = () => {}
let session: Promise<Session> | null = null
/**
 * Whether the connection of a transaction was lost. The transaction's remaining queries must not run on a new
 * connection.
 */
let isTransactionLost = true
let waiting: Promise<Outcome>[] = []

async function connect(): Promise<Session> {
  void last?.end({ timeout: 0 })
  const { promise: lost, reject } = Promise.withResolvers<never>()
  lost.catch(() => {})
  giveUp = reject
  const sql = client(() => {
    reject(Object.assign(new Error('it was closed'), { code: 'CONNECTION_CLOSED' }))
    if (last === sql) forgetSession()
  })
  last = sql
  // Without fetching types, `postgres` never reserves a connection that is not open yet, so open one first.
  await Promise.race([sql.unsafe('SELECT 1'), lost])
  const reserved = await Promise.race([sql.reserve(), lost])
  for (const text of setUp) await Promise.race([reserved.unsafe(text), lost])
  return { sql: reserved, lost }
}

async function perform({ text, values, isOnce = false }: Query, { sql, lost }: Session): Promise<Outcome> {
  const rows = await Promise.race([sql.unsafe(text, values as never[], { prepare: !isOnce }).values(), lost])
  // If a query fails after some of its rows, `postgres` puts an empty entry for each of them before the next query's
  // rows.
  const isWhole = rows.length === 0 || rows[0] !== undefined
  return {
    rows: isWhole ? [...rows] : [...rows].filter((row) => row !== undefined),
    columns: (rows.columns ?? []).map(({ name }) => name),
    changes: rows.count ?? 0
  }
}

function failureOf(error: unknown): PostgresFailure {
  const {
    code = 'UNKNOWN',
    message = String(error),
    detail = null,
    constraint_name = null
  } = error as Record<string, never>
  return { code: String(code), message: String(message), detail, constraint: constraint_name }
}

/**
 * For the SQLSTATE codes, see https://www.postgresql.org/docs/current/errcodes-appendix.html. Other codes are from Node
 * and `postgres`.
 */
const isLost = (code: string): boolean => /^(08|57P|CONNECT|E[A-Z]+$)/.test(code)

async function outcomeOf(query: Query, opening: Promise<Session>): Promise<Outcome> {
  try {
    return await perform(query, await opening)
  } catch (error) {
    const failure = failureOf(error)
    if (isLost(failure.code) && session === opening) forgetSession()
    return { failure }
  }
}

/** Keeps queries in order. While earlier queries wait for a connection, later queries wait too. */
let turn: Promise<unknown> = Promise.resolve()

async function send(queries: Query[]): Promise<void> {
  for (const query of queries) {
    if (query.isInTransaction !== true) isTransactionLost = false
    if (isTransactionLost) waiting.push(Promise.resolve({ failure: LOST }))
    else await sendOne(query)
  }
}

async function sendOne(query: Query): Promise<void> {
  if (session === null) {
    const opening = (session = connect())
    await opening.catch(() => session === opening && forgetSession())
    waiting.push(outcomeOf(query, opening))
  } else waiting.push(outcomeOf(query, session))
}

const LOST: PostgresFailure = {
  code: 'CONNECTION_CLOSED',
  message: 'it was closed in the middle of a transaction',
  detail: null,
  constraint: null
}

function forgetSession(): void {
  session = null
  isTransactionLost = true
}

async function answer(): Promise<void> {
  const outcomes = waiting
  waiting = []
  port.postMessage(await Promise.all(outcomes))
  Atomics.add(answered, 0, 1)
  Atomics.notify(answered, 0)
}

port.on('message', (message: ToConnection) => {
  turn = turn.then(async () => {
    if (message.kind === 'queries') return send(message.queries)
    if (message.kind === 'answer') return answer()
    // Release the reserved connection first, because ending a client waits for it.
    await session?.then(({ sql }) => sql.release()).catch(() => {})
    await last?.end({ timeout: 5 })
    port.close()
  })
})

// `postgres` writes to a closed socket in a later turn of the event loop, where no caller can catch the error.
process.on('uncaughtException', (error) => {
  giveUp(Object.assign(new Error(error.message), { code: 'CONNECTION_CLOSED' }))
  forgetSession()
})
