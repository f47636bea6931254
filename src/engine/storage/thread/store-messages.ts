import { type ErrorCode, isScrapdeckError, ScrapdeckError } from '../../../shared/errors.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { PostgresAddress } from '../../runtime/postgres-address.ts'
import type { NewAuditEntry } from '../../model/records.ts'
import type { Store } from '../store.ts'

/** Returns lists of jobs as rows, so that the store's thread sends them without converting them to jobs. */
export interface RowStore extends Store {
  getJobRows(...args: Parameters<Store['getJobs']>): Promise<SentRows>
  listJobRows(...args: Parameters<Store['listJobs']>): Promise<SentRows>
}

export type Verb = Exclude<keyof RowStore, 'onChange' | 'onQueueChange' | 'withAudit'>

/** The first message to a thread. With PostgreSQL, only the lock beside `path` is used. */
export interface ToOpen {
  path: string
  postgres: PostgresAddress | null
}

/** All calls of one turn of the event loop. `audit`: an entry to be written with the call. */
export type Calls = [id: number, verb: Verb, args: unknown[], audit?: NewAuditEntry][]

export type Answer = { id: number; value: unknown } | { id: number; error: SentError }

export type FromWorker =
  | { kind: 'opened'; verbs: Verb[] }
  | { kind: 'refused'; error: SentError }
  /** Contains the news of the commit, so that listeners get it before writers get their results. null: no news. */
  | { kind: 'answers'; answers: Answer[]; lanes: string[]; cursor: number | null }
  | { kind: 'log'; level: keyof Logger; facts: object; text: string }

export interface SentError {
  isOurs: boolean
  code: string | undefined
  message: string
  stack: string | undefined
  data: Readonly<Record<string, unknown>>
}

/** Converts an error for another thread, which would otherwise receive it without its class. */
export function sendError(error: unknown): SentError {
  if (isScrapdeckError(error)) {
    const { code, message, stack, data } = error
    return { isOurs: true, code, message, stack, data }
  }
  const { message, stack } = error instanceof Error ? error : new Error(String(error))
  const code = error instanceof Error && 'code' in error ? String(error.code) : undefined
  return { isOurs: false, code, message, stack, data: {} }
}

export function receiveError({ isOurs, code, message, stack, data }: SentError): Error {
  const error = isOurs ? new ScrapdeckError(code as ErrorCode, message, { data }) : new Error(message)
  if (!isOurs && code !== undefined) Object.assign(error, { code })
  if (stack !== undefined) error.stack = stack
  return error
}

/** Rows for another thread. Values that are identical in all rows are sent only once. */
export interface SentRows {
  same: unknown[]
  /** The indexes of the columns whose values differ. `rows` has only these columns. */
  varying: number[]
  rows: unknown[][]
}

/** Accepts strings, numbers and nulls. In a page of jobs, most columns have a single value. */
export function sendRows(rows: readonly (readonly unknown[])[]): SentRows {
  const same = [...(rows[0] ?? [])]
  const varying = [...same.keys()].filter((column) => rows.some((row) => row[column] !== same[column]))
  // Push each value, because arrays with holes are sent like objects, with an index for each value.
  const sent: unknown[][] = []
  for (const row of rows) {
    const values: unknown[] = []
    for (const column of varying) values.push(row[column])
    sent.push(values)
  }
  return { same, varying, rows: sent }
}

export function receiveRows({ same, varying, rows }: SentRows): unknown[][] {
  return rows.map((values) => {
    const row = [...same]
    for (let index = 0; index < varying.length; index += 1) row[varying[index]!] = values[index]
    return row
  })
}
