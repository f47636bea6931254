import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/storage.ts'
import type { PostgresFailure } from './connection-messages.ts'

/** An error of PostgreSQL or the connection. `code`: SQLSTATE, or the client library's or system's name for it. */
export class PostgresError extends Error {
  readonly code: string
  readonly constraint: string | null

  constructor({ code, message, detail, constraint }: PostgresFailure) {
    super(detail === null ? message : `${message} (${detail})`)
    this.name = 'PostgresError'
    this.code = code
    this.constraint = constraint
  }
}

/** Our own statement (postgres-driver.ts) raises this if another engine uses the namespace. */
export const IN_USE = 'SD001'

/** begin_write (migrations/0001-baseline.ts) raises this if the transaction's lease is over. */
const STALE = 'SD002'

const COMMIT_UNKNOWN = 'COMMIT_UNKNOWN'

export function explainCommitError(error: unknown): unknown {
  if (!(error instanceof PostgresError) || !CONNECTION_LOST.test(error.code)) return error
  return new PostgresError({ code: COMMIT_UNKNOWN, message: error.message, detail: null, constraint: null })
}

/** Turns errors that an operator can fix into a ScrapdeckError; returns others unchanged. `name`: the database's. */
export function explainPostgresError(error: unknown, name: string): unknown {
  if (!(error instanceof PostgresError)) return error
  if (error.code === IN_USE) {
    const text = sentence('storage.namespace_taken', { name })
    return new ScrapdeckError('DATABASE_IN_USE', text, { cause: error })
  }
  if (error.code === STALE) {
    const text = sentence('storage.not_leader')
    return new ScrapdeckError('NOT_LEADER', text, { cause: error })
  }
  if (error.code === COMMIT_UNKNOWN) {
    const text = sentence('storage.change_unknown', { name, error: error.message })
    return new ScrapdeckError('DATABASE_UNUSABLE', text, { cause: error, data: { commit: 'unknown' } })
  }
  const problem = problemOf(error)
  if (problem === null) return error
  return new ScrapdeckError('DATABASE_UNUSABLE', `${name}: ${problem}`, { cause: error })
}

/** Like explainPostgresError, for errors of `postgres` itself, in a thread that does not block. */
export function explainClientError(error: unknown, name: string): unknown {
  const { code, message = '' } = error as { code?: unknown; message?: string }
  if (error instanceof ScrapdeckError || typeof code !== 'string') return error
  return explainPostgresError(new PostgresError({ code, message, detail: null, constraint: null }), name)
}

const CONNECTION_LOST = /^(08|57P|CONNECT|NO_ANSWER$|E[A-Z]+$)/

/** https://www.postgresql.org/docs/current/errcodes-appendix.html, and names that Node and `postgres` use. */
function problemOf({ code, message }: PostgresError): string | null {
  switch (code) {
    case '28P01':
    case '28000':
      return 'it refused the user name or the password. Check them in the address of the database, or in the password file.'
    case '3D000':
      return 'there is no such database. Create it (CREATE DATABASE), or correct the address.'
    case '42501':
      return `the user lacks a right (${message}). Grant it CREATE and CONNECT on the database, and let it own its schema.`
    case '53100':
    case '53200':
      return `it has no room left (${message}). Free disk space or memory on the database server.`
    case '53300':
      return 'it accepts no more connections. Raise max_connections, or end other clients.'
    case '57014':
      return 'a statement took too long and was cancelled. Look for locks and load on the database server.'
    case '25006':
      return 'it is read-only: a replica, or set to read-only. Connect to the primary.'
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `its host name is unknown (${message}). Correct the address, or check DNS.`
    case 'ECONNREFUSED':
      return 'nothing listens there. Start PostgreSQL, or correct host and port.'
    case 'NO_ANSWER':
    case 'CONNECT_TIMEOUT':
      return 'it does not answer. Check the network and the load of the database server.'
  }
  if (CONNECTION_LOST.test(code)) return `the connection was lost (${message}). Scrapdeck connects again by itself.`
  return null
}
