import { ScrapdeckError } from '../../shared/errors.ts'
import { problemOfJsonText } from '../../shared/json-text.ts'
import { INPUT_BOUNDS, problemOfTree } from '../../shared/tree-bounds.ts'

/** Room for ten thousand jobs with thirty values each. */
const TEXT_BOUNDS = { depth: INPUT_BOUNDS.depth, values: 300_000, fields: 2_000 }

/** JSON whose structure cannot be used: nested too deeply, or with a name that would be lost. */
export class UnusableTreeError extends Error {}

/** Throws BAD_INPUT; its cause is a SyntaxError or an UnusableTreeError. */
export function parseJsonBody(text: string): unknown {
  if (text === '') return undefined
  refuse(problemOfJsonText(text, TEXT_BOUNDS))
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch (error) {
    throw new ScrapdeckError('BAD_INPUT', 'The body of the request is not JSON.', { cause: error })
  }
  refuse(problemOfTree(body, INPUT_BOUNDS))
  return body
}

function refuse(problem: string | null): void {
  if (problem === null) return
  throw new ScrapdeckError('BAD_INPUT', `The body of the request ${problem}.`, {
    cause: new UnusableTreeError(problem)
  })
}
