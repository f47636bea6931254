import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/server.ts'
import { problemOfJsonText } from '../../shared/json-text.ts'
import { INPUT_BOUNDS, problemOfTree } from '../../shared/tree-bounds.ts'
import { giveWay } from './long-lists.ts'
import type { Sentence } from '../../shared/texts/sentence.ts'

/**
 * The maximum depth of JSON and the maximum numbers of values and property names. Enough for ten thousand jobs with
 * thirty values each.
 */
const TEXT_BOUNDS = { depth: INPUT_BOUNDS.depth, values: 300_000, fields: 2_000 }

/**
 * The maximum length of JSON that is parsed in one turn of the event loop. Longer JSON is parsed in steps of a few
 * milliseconds, each in its own turn.
 */
const LONG_TEXT_CHARACTERS = 100_000

/** The JSON is nested too deeply or has a property name that a JavaScript object would lose. */
export class UnusableTreeError extends Error {}

/** Rejects with BAD_INPUT, whose cause is a SyntaxError or an UnusableTreeError. */
export async function parseJsonBody(text: string): Promise<unknown> {
  if (text === '') return undefined
  const isLong = text.length > LONG_TEXT_CHARACTERS
  if (isLong) await giveWay()
  refuse(problemOfJsonText(text, TEXT_BOUNDS))
  if (isLong) await giveWay()
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch (error) {
    throw new ScrapdeckError('BAD_INPUT', sentence('server.body_not_json'), { cause: error })
  }
  if (isLong) await giveWay()
  refuse(problemOfTree(body, INPUT_BOUNDS))
  if (isLong) await giveWay()
  return body
}

/** Replaces Fastify's own parsers. For other body types, add parsers afterwards. */
export function acceptOnlyJson(app: FastifyInstance, bodyLimit: number): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'string', bodyLimit },
    (_request: FastifyRequest, body: string) => parseJsonBody(body)
  )
}

function refuse(problem: Sentence | null): void {
  if (problem === null) return
  throw new ScrapdeckError('BAD_INPUT', sentence('server.body_not_usable', { problem }), {
    cause: new UnusableTreeError(problem.text)
  })
}
