import { Dicer } from '@fastify/busboy'
import type { FormCollector } from './form-collector.ts'

const MAX_PARTS = 1000
const MAX_HEADER_BYTES = 16 * 1024

type Headers = Record<string, string[] | undefined>

/** The body is malformed. Scrapyd then sends an empty 400 and closes the connection (scrapyd-protocol.md, 1). */
export class MalformedMultipartError extends Error {
  override readonly name = 'MalformedMultipartError'
}

/**
 * Parses multipart/form-data (RFC 7578) as it arrives, to save memory. Skips parts without a name. Rejects with
 * MalformedMultipartError and with the errors of `body` and `collector`.
 */
export async function readMultipart(
  body: AsyncIterable<Buffer> | Iterable<Buffer>,
  contentType: string,
  collector: FormCollector
): Promise<void> {
  const boundary = readParameters(contentType).get('boundary')
  if (boundary === undefined || boundary === '' || boundary.length > 200) {
    throw new MalformedMultipartError('The multipart body has no boundary.')
  }
  // Dicer cuts off headers beyond 80 kB, which is more than we accept anyway.
  const parser = new Dicer({ boundary, maxHeaderPairs: 100 })
  let partCount = 0
  let isInHeaders = false
  let isDrained = true
  let isFinished = false
  let failure: Error | null = null
  let wake = () => {}
  /** A chunk can contain many parts, which are collected one after the other. */
  let collecting = Promise.resolve()
  const fail = (error: Error) => {
    failure ??= error
    wake()
  }
  const malformed = (text: string) => fail(new MalformedMultipartError(`The multipart body ${text}.`))
  parser.on('error', (error: Error) => malformed(`cannot be read: ${error.message}`))
  parser.on('drain', () => {
    isDrained = true
    wake()
  })
  parser.on('finish', () => {
    isFinished = true
    wake()
  })
  parser.on('part', (part) => {
    if (isInHeaders) malformed('has a part without an end of its headers')
    if (++partCount > MAX_PARTS) malformed(`has more than ${MAX_PARTS} parts`)
    isInHeaders = true
    part.on('error', fail)
    part.on('header', (headers: object) => {
      isInHeaders = false
      if (sizeOf(headers as Headers) > MAX_HEADER_BYTES) malformed('has a part with too long headers')
      collecting = collecting.then(() => collect(part, headers as Headers, collector)).catch(fail)
    })
  })
  const until = async (isDone: () => boolean) => {
    while (failure === null && !isDone()) await new Promise<void>((resolve) => (wake = resolve))
    if (failure !== null) throw failure
  }
  try {
    for await (const chunk of body) {
      isDrained = parser.write(chunk)
      // After the end of the form, Dicer emits no more drain events.
      await until(() => isDrained || isFinished)
    }
    parser.end()
    await until(() => isFinished)
    if (isInHeaders) malformed('has a part without an end of its headers')
    if (partCount === 0) malformed('has no part')
    await collecting
    await until(() => true)
  } finally {
    parser.destroy()
  }
}

async function collect(part: AsyncIterable<Buffer>, headers: Headers, collector: FormCollector): Promise<void> {
  const disposition = readParameters(headers['content-disposition']?.[0] ?? '')
  const name = disposition.get('name')
  if (name !== undefined) {
    const type = headers['content-type']?.[0] ?? 'text/plain'
    await collector.begin({ name, fileName: disposition.get('filename') ?? null, type })
  }
  for await (const piece of part) if (name !== undefined) await collector.write(piece)
}

function sizeOf(headers: Headers): number {
  return Object.entries(headers).reduce((sum, [name, values]) => sum + name.length + values!.join().length, 0)
}

/** Reads quoted values as a whole, because a `;` in a file name is not a separator. */
function readParameters(header: string): Map<string, string> {
  const parameters = new Map<string, string>()
  for (const [, name = '', quoted, plain = ''] of header.matchAll(/;\s*([^=;\s"]+)=(?:"((?:[^"\\]|\\.)*)"|([^;]*))/g)) {
    const value = quoted === undefined ? plain.trim() : quoted.replace(/\\(.)/g, '$1')
    if (!parameters.has(name.toLowerCase())) parameters.set(name.toLowerCase(), value)
  }
  return parameters
}
