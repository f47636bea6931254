import { type ErrorCode, ScrapdeckError } from '../../shared/errors.ts'
import { asSentence, type Message } from '../../shared/texts/message.ts'
import { NodeError, type NodeErrorKind } from './node-client.ts'

const CODES: Record<NodeErrorKind, ErrorCode> = {
  unreachable: 'NODE_UNREACHABLE',
  timeout: 'NODE_UNREACHABLE',
  reset: 'NODE_UNREACHABLE',
  aborted: 'NODE_UNREACHABLE',
  unauthorized: 'NODE_UNAUTHORIZED',
  forbidden: 'NODE_FORBIDDEN',
  http: 'NODE_ANSWER_INVALID',
  not_scrapyd: 'NODE_ANSWER_INVALID',
  too_large: 'NODE_ANSWER_INVALID',
  refused: 'NODE_REFUSED'
}

/** A NodeError without a message from the node itself. `delivered`: see NodeError. */
export const failure = (kind: NodeErrorKind, said: Message, delivered: 'no' | 'unknown', cause?: unknown): NodeError =>
  new NodeError(kind, said, { delivered, cause })

/** Converts a NodeError for clients. Other errors pass unchanged. */
export function toClientError(error: unknown): unknown {
  if (!(error instanceof NodeError)) return error
  // Scrapdeck itself refused before it contacted the node, so we keep the code of its error.
  const code = error.cause instanceof ScrapdeckError ? error.cause.code : CODES[error.kind]
  return new ScrapdeckError(code, asSentence(error.said), { cause: error })
}
