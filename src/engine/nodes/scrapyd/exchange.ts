import type { Readable } from 'node:stream'
import { problemOfJsonText } from '../../../shared/json-text.ts'
import { showUnseen } from '../../../shared/unseen.ts'
import { fromProxy, kindOfGateway, NodeError } from '../node-client.ts'
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
 * (scrapyd-protocol.md, 2.1). `delivered` is `no` only if the node itself refused: 401, 404 and its own errors.
 */
export async function askJson<T>(
  connection: Connection,
  request: JsonRequest<T>,
  signal?: AbortSignal
): Promise<{ answer: T; head: AnswerHead }> {
  const endpoint = request.path.split('?')[0] ?? ''
  const collected = collectBody(request.limitBytes)
  const head = await connection.send({ ...request, receive: collected.receive }, signal)
  if (head.status !== 200) throw statusError(connection, head, endpoint)
  const text = collected.body().toString('utf8')
  const envelope = parseObject(text)
  if (envelope === null) {
    const problem = `answered ${endpoint} with something that is not JSON (${excerpt(text)})`
    const hint = 'Is this a Scrapyd, with debug = off and no login page in front of it?'
    throw connection.fail('not_scrapyd', `${problem}. ${hint}`, 'unknown')
  }
  if (envelope.status === 'error') throw refusal(connection, endpoint, envelope.message)
  const parsed = request.schema.safeParse(envelope)
  if (envelope.status !== 'ok' || !parsed.success) {
    const problem = `answered ${endpoint} with JSON that is not Scrapyd's (${excerpt(text)}). Check the address.`
    throw connection.fail('not_scrapyd', problem, 'unknown', (parsed as { error?: unknown }).error)
  }
  return { answer: parsed.data, head }
}

export function statusError({ fail }: Connection, head: AnswerHead, what: string): NodeError {
  const { status } = head
  if (status === 401) {
    return fail('unauthorized', 'rejected the user name or password. Correct them in the settings of the node.', 'no')
  }
  if (status === 407) {
    const problem = 'cannot be reached: its proxy refuses its user name or password (407)'
    return fail('unreachable', `${problem}. Correct them in the proxy of the node.`, 'no')
  }
  if (status === 404) return fail('http', `has no ${what} (404). Check the address and its base path.`, 'no')
  if (status === 200) {
    return fail('not_scrapyd', `answered ${what} with a web page. Is there a login page in front of it?`, 'unknown')
  }
  if (status >= 300 && status < 400) {
    const target = excerpt(String(head.headers.location ?? 'nowhere'))
    return fail('http', `redirects ${what} to ${target}. Use that address instead.`, 'unknown')
  }
  const gateway = kindOfGateway(status)
  if (gateway !== null) {
    const advice = 'Check that Scrapyd runs there, or see the log of the proxy.'
    return fromProxy(fail(gateway, `is down (the proxy answers ${status}). ${advice}`, 'unknown'))
  }
  const hint = status === 400 ? ' nginx returns this when it requires a client certificate.' : ''
  return fail('http', `answered ${what} with status ${status}. See the log of the node or its proxy.${hint}`, 'unknown')
}

function refusal(connection: Connection, endpoint: string, message: unknown): NodeError {
  // The end of a traceback contains the cause. Hostile or broken nodes can send anything.
  const nodeMessage = (typeof message === 'string' ? message : '').slice(-16_000)
  const lastLine = nodeMessage.trim().split('\n').at(-1) ?? ''
  const text = `Node ${connection.label} refused ${endpoint}: ${showUnseen(lastLine.slice(0, 500)) || 'no reason given'}`
  const kind = typeof message === 'string' ? classifyRefusal(nodeMessage, endpoint) : 'other'
  return new NodeError('refused', text, { delivered: 'no', nodeMessage, refusal: kind })
}

/** Skipped for short responses, because they are harmless and thousands arrive per second. */
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
  return line.length > 80 ? `${line.slice(0, 80)}…` : line || 'empty'
}
