import { isScrapdeckError } from '../../shared/errors.ts'
import { UnusableTreeError } from './json-body.ts'

/** Codes defined by JSON-RPC 2.0. All other errors have the code -32000 and our own code in `data`. */
const PARSE_ERROR = -32700
export const INVALID_REQUEST = -32600
export const METHOD_NOT_FOUND = -32601
export const INVALID_PARAMS = -32602
export const INTERNAL_ERROR = -32603
export const SERVER_ERROR = -32000

export const MAX_BATCH = 1_000

/** The number of requests that a body counts as: one per call. A batch that is rejected as a whole counts as one. */
export const costOfCalls = (body: unknown): number =>
  Array.isArray(body) && body.length <= MAX_BATCH ? Math.max(1, body.length) : 1

/** null if the id of the request is unknown. */
export type JsonRpcId = string | number | null
export type JsonRpcAnswer = { jsonrpc: '2.0'; id: JsonRpcId } & (
  | { result: unknown }
  | { error: { code: number; message: string; data?: unknown } }
)

export function failure(id: JsonRpcId, code: number, message: string, data?: unknown): JsonRpcAnswer {
  return { jsonrpc: '2.0', id, error: data === undefined ? { code, message } : { code, message, data } }
}

/** The response to a body that cannot be read (json-body.ts), or null for other errors. */
export function answerToUnusableBody(error: unknown): JsonRpcAnswer | null {
  if (!isScrapdeckError(error)) return null
  if (error.cause instanceof SyntaxError) return failure(null, PARSE_ERROR, error.message)
  return error.cause instanceof UnusableTreeError ? failure(null, INVALID_REQUEST, error.message) : null
}
