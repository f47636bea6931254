import { ScrapdeckError } from '../../shared/errors.ts'
import { INPUT_BOUNDS, problemOfTree } from '../../shared/tree-bounds.ts'

/** JSON whose structure cannot be used: nested too deeply, or with a name that would be lost. */
export class UnusableTreeError extends Error {}

/** Throws BAD_INPUT; its cause is a SyntaxError or an UnusableTreeError. */
export function parseJsonBody(text: string): unknown {
  if (text === '') return undefined
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch (error) {
    throw new ScrapdeckError('BAD_INPUT', 'The body of the request is not JSON.', { cause: error })
  }
  const problem = problemOfTree(body, INPUT_BOUNDS)
  if (problem === null) return body
  throw new ScrapdeckError('BAD_INPUT', `The body of the request ${problem}.`, {
    cause: new UnusableTreeError(problem)
  })
}
