import { ORPCError } from '@orpc/client'
import { NO_FORM_FITS } from './issue-words.ts'
import { ERROR_CODES, type ErrorCode, ScrapdeckError } from './errors.ts'

export type WireError = ORPCError<ErrorCode, Record<string, unknown>>

/** Unknown errors become INTERNAL without their message, which can contain paths and secrets. */
export function toWireError(error: unknown): WireError {
  if (error instanceof ScrapdeckError) return wireError(error.code, error.message, error.data, error)
  if (error instanceof ORPCError && error.status < 500) {
    if (isErrorCode(error.code)) return wireError(error.code, error.message, {}, error)
    const issues = readIssues(error.data)
    return wireError('BAD_INPUT', issues === null ? error.message : describeIssues(issues), {}, error)
  }
  return wireError('INTERNAL', 'Internal error. The log of Scrapdeck has the details.', {}, error)
}

export function fromWireError(error: unknown): ScrapdeckError {
  if (error instanceof ScrapdeckError) return error
  if (!(error instanceof ORPCError)) {
    return new ScrapdeckError('INTERNAL', error instanceof Error ? error.message : String(error), { cause: error })
  }
  if (isErrorCode(error.code)) {
    return new ScrapdeckError(error.code, error.message, { cause: error, data: isRecord(error.data) ? error.data : {} })
  }
  const { code, message } = toWireError(error)
  return new ScrapdeckError(code, message, { cause: error })
}

/**
 * The interceptor of every API (`clientInterceptors` of an oRPC handler). Converts errors of calls and streams to
 * wire errors. `reportUnknown` receives other errors, for logging.
 */
export function createWireErrorInterceptor(reportUnknown: (error: unknown) => void) {
  const translate = (error: unknown): WireError => {
    const wire = toWireError(error)
    if (wire.code === 'INTERNAL') reportUnknown(error)
    return wire
  }
  return async function sendWireErrors<Output>(options: { next(): PromiseLike<Output> }): Promise<Output> {
    try {
      const output = await options.next()
      return isStream(output) ? (translateStream(output, translate) as Output) : output
    } catch (error) {
      throw translate(error)
    }
  }
}

function wireError(
  code: ErrorCode,
  message: string,
  data: Readonly<Record<string, unknown>>,
  cause: unknown
): WireError {
  return new ORPCError(code, { status: ERROR_CODES[code].status, message, data: { ...data }, cause })
}

async function* translateStream(
  stream: AsyncIterable<unknown> & AsyncIterator<unknown>,
  translate: (error: unknown) => WireError
): AsyncGenerator<unknown> {
  try {
    yield* stream
  } catch (error) {
    throw translate(error)
  }
}

function isStream(output: unknown): output is AsyncIterable<unknown> & AsyncIterator<unknown> {
  return isRecord(output) && Symbol.asyncIterator in output && typeof output.next === 'function'
}

interface Issue {
  code?: string
  path?: readonly unknown[]
  message: string
  errors?: Issue[][]
}

function readIssues(data: unknown): Issue[] | null {
  return isRecord(data) && Array.isArray(data.issues) ? (data.issues as Issue[]) : null
}

const PROBLEM_MAX_CHARACTERS = 500

/** Describes the first five issues, such as `spiders.0: must not be empty`, without repeating long input. */
function describeIssues(issues: Issue[]): string {
  const sentences = issues.slice(0, 5).map((issue) => {
    const text = describeIssue(issue)
    return text.length > PROBLEM_MAX_CHARACTERS ? `${text.slice(0, PROBLEM_MAX_CHARACTERS)}…` : text
  })
  return `The request is not valid for this operation. ${sentences.join('; ')}`
}

function describeIssue(issue: Issue): string {
  const path = (issue.path ?? []).map((step) => String(isRecord(step) && 'key' in step ? step.key : step))
  const meant = formsMeant(issue)
  if (meant.length === 1) {
    return meant[0]!.map((inner) => describeIssue({ ...inner, path: [...path, ...(inner.path ?? [])] })).join('; ')
  }
  const [first = issue.message, ...others] = new Set(meant.map((form) => form.map(describeIssue).join(' and ')))
  const message = [first, ...others.map((other) => other.replace(/^must be /, ''))].join(', or ')
  return path.length === 0 ? message : `${path.join('.')}: ${message}`
}

/**
 * Returns the alternatives of a union that are closest to the input. Empty if the issue is not about a union, or if the
 * union has its own message.
 */
function formsMeant({ code, message, errors }: Issue): Issue[][] {
  if (code !== 'invalid_union' || errors === undefined || message !== NO_FORM_FITS) return []
  const isOfWhole = (one: Issue) => !one.path?.length
  const wrongInside = errors.filter((form) => !form.some(isOfWhole))
  const ofItsType = errors.filter((form) => !form.some((one) => isOfWhole(one) && one.code === 'invalid_type'))
  return [wrongInside, ofItsType].find((forms) => forms.length > 0) ?? errors
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERROR_CODES, code)
}

function isRecord(value: unknown): value is Record<PropertyKey, unknown> {
  return typeof value === 'object' && value !== null
}
