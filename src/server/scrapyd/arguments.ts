import { MAX_ENCODED_EGG_BYTES } from '../limits.ts'
import type { FormValues } from './form-values.ts'
import { parseMultipart } from './multipart.ts'
import { ScrapydAnswerError } from './parameters.ts'
import { parseUrlEncoded } from './urlencoded.ts'

/**
 * The arguments of a request as Scrapyd reads them (scrapyd-protocol.md, 1): always the query; on POST also a form,
 * whose names replace those of the query. Other bodies (JSON) are ignored. Throws MalformedMultipartError, and
 * ScrapydAnswerError for what is larger than a form may be.
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
      ? parseUrlEncoded(ofBoundedSize(request.body))
      : mediaType === 'multipart/form-data'
        ? parseMultipart(request.body, request.contentType)
        : new Map()
  for (const [name, values] of inBody) found.set(name, values)
  return found
}

function ofBoundedSize(body: Buffer): Buffer {
  if (body.length <= MAX_ENCODED_EGG_BYTES) return body
  throw new ScrapydAnswerError(
    `The form is larger than ${MAX_ENCODED_EGG_BYTES / 1024 / 1024} MB: send a large egg as multipart/form-data`
  )
}
