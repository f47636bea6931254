import { type FormValues, parseUrlEncoded, addValue } from '../forms/urlencoded.ts'
import { decodeUtf8, PythonValueError } from './python-text.ts'
import type { IncomingFile } from '../../engine/storage/blobs/incoming-files.ts'
import type { FormPart } from '../forms/form-collector.ts'
import { remember } from '../remember.ts'

const parseQuery = remember((query): FormValues => parseUrlEncoded(Buffer.from(query, 'latin1')))

/**
 * Reads a request's arguments like Scrapyd (scrapyd-protocol.md, 1). On POST, a form's arguments replace the query's
 * arguments of the same name. If several files have one name, the first counts.
 */
export function readArguments(
  query: string,
  form: FormPart[] | null
): { args: FormValues; files: ReadonlyMap<string, IncomingFile> } {
  const args: FormValues = new Map()
  for (const [name, values] of parseQuery(query)) args.set(name, [...values])
  const files = new Map<string, IncomingFile>()
  for (const { name } of form ?? []) args.delete(name)
  for (const { name, value } of form ?? []) {
    if (Buffer.isBuffer(value)) addValue(args, name, value)
    else if (!files.has(name)) files.set(name, value)
  }
  return { args, files }
}

/** An error that Scrapyd itself reports: HTTP 200 with `status: "error"` and this message. */
export class ScrapydAnswerError extends Error {
  override readonly name = 'ScrapydAnswerError'
}

/**
 * The maximum length of jobids and of the names of projects, versions and spiders. Fits a file name on any system,
 * even with `.log`.
 */
export const LONGEST_NAME_BYTES = 200

/**
 * Removes the parameter, so that only spider arguments remain. The first value wins. Rejects values that are too long
 * for a name, because error messages repeat names.
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

export function popBytes(args: FormValues, name: string): Buffer {
  const value = popConverted(args, name, (bytes) => bytes)
  if (value === null) throw new ScrapydAnswerError(`'${name}' parameter is required`)
  return value
}

export function popConverted<Value>(args: FormValues, name: string, convert: (bytes: Buffer) => Value): Value | null {
  const values = popAll(args, name, convert, 1)
  return values[0] ?? null
}

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
