import type { MessagePort } from 'node:worker_threads'

/** Messages between the store's thread, which waits, and the thread that talks to PostgreSQL. */

export type Value = string | number | Uint8Array | null

export interface Query {
  text: string
  values: Value[]
  /** Belongs to a transaction that another query began: meaningless on another connection. */
  isInTransaction?: boolean
  /** This text is not repeated, so it is not prepared. */
  isOnce?: boolean
}

export type ToConnection =
  | { kind: 'queries'; queries: Query[] }
  /** Asks for the responses to all queries since the last answer, in order. */
  | { kind: 'answer' }
  | { kind: 'end' }

export interface PostgresFailure {
  /** The SQLSTATE, or the name that the client library or the system uses. */
  code: string
  message: string
  detail: string | null
  constraint: string | null
}

export type Outcome = { rows: unknown[][]; columns: string[]; changes: number } | { failure: PostgresFailure }

export interface ConnectionOptions {
  url: string
  /** Sent after each connect, before anything else. */
  setUp: string[]
  connectSeconds: number
}

export interface ConnectionData extends ConnectionOptions {
  /** Incremented and notified with each answer. */
  answered: Int32Array<SharedArrayBuffer>
  port: MessagePort
}
