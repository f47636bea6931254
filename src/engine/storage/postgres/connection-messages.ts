import type { MessagePort } from 'node:worker_threads'

/** Messages between the store's thread, which waits, and the thread that talks to PostgreSQL. */

export type Value = string | number | Uint8Array | null

export interface Query {
  text: string
  values: Value[]
  /** Part of a transaction that another query began: it means nothing on another connection. */
  isInTransaction?: boolean
  /** Its text never comes again: it is not prepared. */
  isOnce?: boolean
}

export type ToConnection =
  | { kind: 'queries'; queries: Query[] }
  /** Answers all queries since the last answer, in their order. */
  | { kind: 'answer' }
  | { kind: 'end' }

export interface PostgresFailure {
  /** SQLSTATE, or the name that the client library or the system has for it. */
  code: string
  message: string
  detail: string | null
  constraint: string | null
}

export type Outcome = { rows: unknown[][]; columns: string[]; changes: number } | { failure: PostgresFailure }

/** How to connect; everything else is the library's business. */
export interface ConnectionOptions {
  url: string
  /** Sent after each connect, before anything else. */
  setUp: string[]
  connectSeconds: number
}

export interface ConnectionData extends ConnectionOptions {
  /** Incremented, and notified, with each answer. */
  answered: Int32Array<SharedArrayBuffer>
  port: MessagePort
}
