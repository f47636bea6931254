import type { FormValues } from '../forms/form-values.ts'
import { decodeUtf8, PythonValueError } from './python-text.ts'

/** An application error of Scrapyd: HTTP 200 with `status: "error"` and this message. */
export class ScrapydAnswerError extends Error {
  override readonly name = 'ScrapydAnswerError'
}

/** For names of projects, versions and spiders, and jobids: a file name on any system, `.log` included. */
export const LONGEST_NAME_BYTES = 200

/**
 * Removes the parameter from the arguments; what remains are spider arguments. The first value wins. Longer ones than a
 * name may be are refused: nothing could be called so, and errors repeat names.
 */
export function popRequired(args: FormValues, name: string): string {
  const value = popOptional(args, name)
  if (value === null) throw new ScrapydAnswerError(`'${name}' parameter is required`)
  return value
}

export function popOptional(args: FormValues, name: string): string | null {
  return popConverted(args, name, (bytes) => {
    if (bytes.length > LONGEST_NAME_BYTES) {
      throw new ScrapydAnswerError(`${name} is invalid: it is longer than ${LONGEST_NAME_BYTES} bytes`)
    }
    return decodeUtf8(bytes)
  })
}

/** The raw bytes, for the egg. */
export function popBytes(args: FormValues, name: string): Buffer {
  const value = popConverted(args, name, (bytes) => bytes)
  if (value === null) throw new ScrapydAnswerError(`'${name}' parameter is required`)
  return value
}

export function popConverted<Value>(args: FormValues, name: string, convert: (bytes: Buffer) => Value): Value | null {
  const values = popAll(args, name, convert, 1)
  return values[0] ?? null
}

/** All values, for `setting`. */
export function popAll<Value>(
  args: FormValues,
  name: string,
  convert: (bytes: Buffer) => Value,
  limit = Number.POSITIVE_INFINITY
): Value[] {
  const values = args.get(name) ?? []
  args.delete(name)
  try {
    return values.slice(0, limit).map(convert)
  } catch (error) {
    if (error instanceof PythonValueError) {
      throw new ScrapydAnswerError(`${name} is invalid: ${error.message}`, { cause: error })
    }
    throw error
  }
}
