import { type ErrorCode, isScrapdeckError, ScrapdeckError } from '../../../shared/errors.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { Store } from '../store.ts'

/** What the engine's thread and the store's say to each other. */

/** `fire` and `prepareFirings` are sent in their own form (prepared-firings.ts). */
export type Verb = Exclude<keyof Store, 'onChange' | 'onQueueChange'>

/** All calls of one turn of the event loop. */
export type Calls = [id: number, verb: Verb, args: unknown[]][]

export type Answer = { id: number; value: unknown } | { id: number; error: SentError }

export type FromWorker =
  /** With all that can be asked of it. */
  | { kind: 'opened'; verbs: Verb[] }
  | { kind: 'refused'; error: SentError }
  /** News of the commit come first: who listens knows before who wrote. null: nothing new. */
  | { kind: 'answers'; answers: Answer[]; lanes: string[]; cursor: number | null }
  | { kind: 'log'; level: keyof Logger; facts: object; text: string }

interface SentError {
  isOurs: boolean
  code: string | undefined
  message: string
  stack: string | undefined
  data: Readonly<Record<string, unknown>>
}

/** An error as it can cross to another thread: a class is lost on the way. */
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
