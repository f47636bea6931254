import type { FormValues } from './form-values.ts'
import { parseMultipart } from './multipart.ts'
import { parseUrlEncoded } from './urlencoded.ts'

/**
 * The arguments of a request as Scrapyd reads them (scrapyd-protocol.md, 1): always the query; on POST also a form,
 * whose names replace those of the query. Other bodies (JSON) are ignored. Throws MalformedMultipartError.
 */
export function readArguments(request: {
  method: string
  query: string
  contentType: string
  body: Buffer | null
}): FormValues {
  const found = parseUrlEncoded(Buffer.from(request.query, 'latin1'))
  if (request.method !== 'POST' || request.body === null || request.body.length === 0) return found
  const mediaType = (request.contentType.split(';', 1)[0] ?? '').trim().toLowerCase()
  const inBody =
    mediaType === 'application/x-www-form-urlencoded'
      ? parseUrlEncoded(request.body)
      : mediaType === 'multipart/form-data'
        ? parseMultipart(request.body, request.contentType)
        : new Map()
  for (const [name, values] of inBody) found.set(name, values)
  return found
}
