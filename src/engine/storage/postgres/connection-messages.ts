import type { MessagePort } from 'node:worker_threads'

export type Value = string | number | Uint8Array | null

export interface Query {
  text: string
  values: Value[]
  /** Whether the query belongs to an open transaction and must not run on another connection. */
  isInTransaction?: boolean
  /** Whether the SQL is used only once. It is then not prepared. */
  isOnce?: boolean
}

export type ToConnection = { kind: 'queries'; queries: Query[] } | { kind: 'answer' } | { kind: 'end' }

export interface PostgresFailure {
  /** The SQLSTATE, or the client library's or system's name for the error. */
  code: string
  message: string
  detail: string | null
  constraint: string | null
}

export type Outcome = { rows: unknown[][]; columns: string[]; changes: number } | { failure: PostgresFailure }

export interface ConnectionOptions {
  url: string
  setUp: string[]
  connectSeconds: number
}

export interface ConnectionData extends ConnectionOptions {
  /** Incremented and notified with each response, so that the other thread can wait for it. */
  answered: Int32Array<SharedArrayBuffer>
  port: MessagePort
}
