import type { Readable } from 'node:stream'
import { problemOfJsonText } from '../../../shared/json-text.ts'
import { showUnseen } from '../../../shared/unseen.ts'
import { say } from '../../../shared/texts/message.ts'
import { fromProxy, kindOfGateway, NodeError } from '../node-client.ts'
import { failure } from '../node-failure.ts'
import { classifyRefusal } from './refusals.ts'
import { type AnswerHead, type Connection, collectBody } from './connection.ts'

export interface Limit {
  timeoutMs: number
  limitBytes: number
}

export interface AnswerSchema<T> {
  safeParse(answer: Record<string, unknown>): { success: true; data: T } | { success: false }
}

interface JsonRequest<T> extends Limit {
  method: 'GET' | 'POST'
  path: string
  headers?: Record<string, string>
  body?: string | Readable
  schema: AnswerSchema<T>
}

/**
 * One exchange with a JSON endpoint. Checks the status code, JSON, `status` and shape, in this order
 * (scrapyd-protocol.md, 2.1). `delivered` is `no` only if the node itself refused (401, 404 and its own errors), or a
 * proxy refused its password (407).
 */
export async function askJson<T>(
  connection: Connection,
  request: JsonRequest<T>,
  signal?: AbortSignal
): Promise<{ answer: T; head: AnswerHead }> {
  const { label } = connection
  const endpoint = request.path.split('?')[0] ?? ''
  const collected = collectBody(request.limitBytes)
  const head = await connection.send({ ...request, receive: collected.receive }, signal)
  if (head.status !== 200) throw statusError(connection, head, endpoint)
  const text = collected.body().toString('utf8')
  const envelope = parseObject(text)
  if (envelope === null) {
    throw failure('not_scrapyd', say('node_error.not_json', { label, endpoint, excerpt: excerpt(text) }), 'unknown')
  }
  if (envelope.status === 'error') throw refusal(connection, endpoint, envelope.message)
  const parsed = request.schema.safeParse(envelope)
  if (envelope.status !== 'ok' || !parsed.success) {
    const said = say('node_error.other_json', { label, endpoint, excerpt: excerpt(text) })
    throw failure('not_scrapyd', said, 'unknown', (parsed as { error?: unknown }).error)
  }
  return { answer: parsed.data, head }
}

/** `what`: the endpoint, or `log` or `items`. */
export function statusError({ label }: Connection, { status, headers }: AnswerHead, what: string): NodeError {
  if (status === 401) return failure('unauthorized', say('node_error.login_rejected', { label }), 'no')
  if (status === 407) return failure('unreachable', say('node_error.proxy_refuses_login', { label }), 'no')
  if (status === 404) return failure('http', say('node_error.not_found', { label, what }), 'no')
  if (status === 200) return failure('not_scrapyd', say('node_error.web_page', { label, what }), 'unknown')
  if (status >= 300 && status < 400) {
    const target = headers.location === undefined ? null : excerpt(String(headers.location))
    return failure('http', say('node_error.redirects', { label, what, target }), 'unknown')
  }
  const gateway = kindOfGateway(status)
  if (gateway !== null) {
    return fromProxy(failure(gateway, say('node_error.behind_failing_proxy', { label, status }), 'unknown'))
  }
  return failure('http', say('node_error.status', { label, what, status }), 'unknown')
}

function refusal({ label }: Connection, endpoint: string, message: unknown): NodeError {
  // Keeps only the end, which contains the cause of a traceback. Hostile or broken nodes can send text of any length.
  const nodeMessage = (typeof message === 'string' ? message : '').slice(-16_000)
  const lastLine = nodeMessage.trim().split('\n').at(-1) ?? ''
  const said = say('node_error.refused', { label, endpoint, why: showUnseen(lastLine.slice(0, 500)) })
  const kind = typeof message === 'string' ? classifyRefusal(nodeMessage, endpoint) : 'other'
  return new NodeError('refused', said, { delivered: 'no', nodeMessage, refusal: kind })
}

/**
 * The bounds of a response. Not checked for short responses, which are harmless and arrive by the thousands per
 * second.
 */
const ANSWER_BOUNDS = { depth: 100, values: 1_000_000, fields: 10_000 }
const HARMLESS_CHARACTERS = 10_000

function parseObject(text: string): Record<string, unknown> | null {
  if (text.length > HARMLESS_CHARACTERS && problemOfJsonText(text, ANSWER_BOUNDS) !== null) return null
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null
  } catch {
    return null
  }
}

function excerpt(text: string): string {
  const oneLine = text.slice(0, 400).replace(/[\s\p{Cc}]+/gu, ' ')
  const line = showUnseen(oneLine.trim())
  return line.length > 80 ? `${line.slice(0, 80)}…` : line
}
