import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'

/**
 * Headers for requests to other servers. They ask for unencoded bodies. Encoded responses are refused unread, so that
 * our decoders never read untrusted bytes: CVE-2026-111497 is an out-of-bounds write in Node's Brotli decoder. `fetch`
 * always offers and decodes `br`, so it is not used outside the browser (oxlint.config.ts).
 */
export const PLAIN_BODIES = { 'accept-encoding': 'identity' }

/** The encoding of the body, shortened for messages. null: the body is unencoded. */
export function unwantedEncoding(encoding: string | string[] | undefined): string | null {
  if (encoding === undefined) return null
  const codings = String(encoding).trim().toLowerCase()
  return codings === '' || codings === 'identity' ? null : codings.slice(0, 40)
}

/** Describes the problem, in words that follow the name of the server. null: the body is unencoded. */
export function encodingProblem(encoding: string | string[] | undefined): string | null {
  const unwanted = unwantedEncoding(encoding)
  return unwanted && `sent a response with the encoding ${JSON.stringify(unwanted)}, which was not requested`
}

/** Discards an encoded body and throws. `server` is the subject of the error message. */
export function requirePlainBody(answer: { headers: IncomingHttpHeaders; body: Readable }, server: string): void {
  const problem = encodingProblem(answer.headers['content-encoding'])
  if (problem === null) return
  discard(answer.body)
  throw new Error(`${server} ${problem}`)
}

export function discard(body: Readable): void {
  body.on('error', () => {}).destroy()
}
