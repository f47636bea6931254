import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/storage.ts'
import type { Sentence } from '../../../shared/texts/sentence.ts'
import type { PostgresFailure } from './connection-messages.ts'

/** An error from PostgreSQL or the connection. `code`: SQLSTATE, or the client library's or system's name for it. */
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

/** begin_write (migrations/0001-baseline.ts) raises this if the transaction's lease is outdated. */
const STALE = 'SD002'

const COMMIT_UNKNOWN = 'COMMIT_UNKNOWN'

export function explainCommitError(error: unknown): unknown {
  if (!(error instanceof PostgresError) || !CONNECTION_LOST.test(error.code)) return error
  return new PostgresError({ code: COMMIT_UNKNOWN, message: error.message, detail: null, constraint: null })
}

/**
 * Turns errors that an operator can fix into a ScrapdeckError; returns others unchanged. `name` is the database's name.
 */
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
  const problem = problemOf(error, name)
  return problem === null ? error : new ScrapdeckError('DATABASE_UNUSABLE', problem, { cause: error })
}

/** Like explainPostgresError, for errors from `postgres` itself. */
export function explainClientError(error: unknown, name: string): unknown {
  const { code, message = '' } = error as { code?: unknown; message?: string }
  if (error instanceof ScrapdeckError || typeof code !== 'string') return error
  return explainPostgresError(new PostgresError({ code, message, detail: null, constraint: null }), name)
}

const CONNECTION_LOST = /^(08|57P|CONNECT|NO_ANSWER$|E[A-Z]+$)/

/**
 * For the SQLSTATE codes, see https://www.postgresql.org/docs/current/errcodes-appendix.html. Other codes are from Node
 * and `postgres`, except NO_ANSWER (connection.ts).
 */
function problemOf({ code, message }: PostgresError, name: string): Sentence | null {
  switch (code) {
    case '28P01':
    case '28000':
      return sentence('storage.postgres_login_refused', { name })
    case '3D000':
      return sentence('storage.postgres_database_missing', { name })
    case '42501':
      return sentence('storage.postgres_right_missing', { name, message })
    case '53100':
    case '53200':
      return sentence('storage.postgres_no_room', { name, message })
    case '53300':
      return sentence('storage.postgres_too_many_connections', { name })
    case '57014':
      return sentence('storage.postgres_statement_cancelled', { name })
    case '25006':
      return sentence('storage.postgres_read_only', { name })
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return sentence('storage.postgres_host_unknown', { name, message })
    case 'ECONNREFUSED':
      return sentence('storage.postgres_not_listening', { name })
    case 'NO_ANSWER':
    case 'CONNECT_TIMEOUT':
      return sentence('storage.postgres_no_response', { name })
  }
  if (CONNECTION_LOST.test(code)) return sentence('storage.postgres_connection_lost', { name, message })
  return null
}
