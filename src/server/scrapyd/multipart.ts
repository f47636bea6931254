import { addValue, type FormValues } from './form-values.ts'

const CRLF = Buffer.from('\r\n')
const HEADERS_END = Buffer.from('\r\n\r\n')
const MAX_PARTS = 1000
const MAX_HEADER_BYTES = 16 * 1024

/** Scrapyd answers such a body with an empty 400 and closes the connection (scrapyd-protocol.md, 1). */
export class MalformedMultipartError extends Error {
  override readonly name = 'MalformedMultipartError'
}

/**
 * Parses multipart/form-data (RFC 7578) in memory: values are views into the body, so a 200 MB egg is never copied.
 * Only the field name counts, as in Scrapyd: `filename` and the parts' own types are ignored.
 */
export function parseMultipart(body: Buffer, contentType: string): FormValues {
  const boundary = readParameters(contentType).get('boundary')
  if (boundary === undefined || boundary === '' || boundary.length > 200) {
    throw new MalformedMultipartError('The multipart body has no boundary.')
  }
  const delimiter = Buffer.from(`\r\n--${boundary}`, 'latin1')
  const found: FormValues = new Map()
  // The first delimiter can be at the very start, without the leading line end that all others have.
  let position = body.indexOf(delimiter.subarray(2)) === 0 ? delimiter.length - 2 : afterNext(body, delimiter, 0)
  if (isFinalDelimiter(body, position)) throw new MalformedMultipartError('The multipart body has no part.')
  for (let parts = 0; !isFinalDelimiter(body, position); parts++) {
    if (parts === MAX_PARTS) throw new MalformedMultipartError(`The multipart body has more than ${MAX_PARTS} parts.`)
    const headersStart = afterNext(body, CRLF, position)
    // A part without headers starts with its empty line.
    const headersEnd = body.indexOf(HEADERS_END, headersStart - CRLF.length)
    if (headersEnd === -1 || headersEnd - headersStart > MAX_HEADER_BYTES) {
      throw new MalformedMultipartError('A part of the multipart body has no end of its headers.')
    }
    const valueStart = headersEnd + HEADERS_END.length
    const valueEnd = body.indexOf(delimiter, valueStart - CRLF.length)
    if (valueEnd === -1) throw new MalformedMultipartError('The multipart body ends in the middle of a part.')
    const name = readName(body.subarray(headersStart, Math.max(headersStart, headersEnd)).toString('latin1'))
    if (name !== null) addValue(found, name, body.subarray(valueStart, Math.max(valueStart, valueEnd)))
    position = valueEnd + delimiter.length
  }
  return found
}

function afterNext(body: Buffer, wanted: Buffer, from: number): number {
  const index = body.indexOf(wanted, from)
  if (index === -1) throw new MalformedMultipartError('The multipart body does not hold its boundary.')
  return index + wanted.length
}

function isFinalDelimiter(body: Buffer, position: number): boolean {
  return body[position] === 0x2d && body[position + 1] === 0x2d
}

function readName(headers: string): string | null {
  const disposition = headers.split('\r\n').find((line) => /^content-disposition:/i.test(line))
  return disposition === undefined ? null : (readParameters(disposition).get('name') ?? null)
}

/** Parameters of a header value. Quoted values are read whole, so a `;` inside a file name is not a separator. */
function readParameters(header: string): Map<string, string> {
  const parameters = new Map<string, string>()
  for (const [, name = '', quoted, plain = ''] of header.matchAll(/;\s*([^=;\s"]+)=(?:"((?:[^"\\]|\\.)*)"|([^;]*))/g)) {
    const value = quoted === undefined ? plain.trim() : quoted.replace(/\\(.)/g, '$1')
    if (!parameters.has(name.toLowerCase())) parameters.set(name.toLowerCase(), value)
  }
  return parameters
}
