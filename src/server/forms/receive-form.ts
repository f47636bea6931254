import { finished, type Readable } from 'node:stream'
import { errorCodes, type FastifyInstance, type FastifyRequest } from 'fastify'
import type { IncomingFiles } from '../../engine/storage/blobs/incoming-files.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/server.ts'
import { FormCollector, type FormPart, isFilePart, type PartHead, releaseFiles } from './form-collector.ts'
import { readMultipart, MalformedMultipartError } from './multipart.ts'
import { UrlEncodedParser, parseUrlEncoded } from './urlencoded.ts'
import { MAX_UPLOAD_BYTES } from '../limits.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The form in the request's body. null if there is none or it was not read. */
    form: FormPart[] | null
  }
}

interface Options {
  incoming: Pick<IncomingFiles, 'begin'>
  /** Whether to parse the body. Otherwise, the body is read and discarded. */
  isWanted: boolean
  /** Whether to store a part on disk. Other parts stay in memory. */
  isFile: (head: PartHead) => boolean
  limitBytes: number
}

/** Adds `form` to requests of this scope. Releases its files when the response is sent or the client disconnects. */
export function addForms(app: FastifyInstance): void {
  app.decorateRequest('form', null)
  app.addHook('preValidation', (request, reply, done) => {
    const { form } = request
    if (form?.some(isFilePart)) finished(reply.raw, () => void releaseFiles(form))
    done()
  })
}

/**
 * Reads a form as it arrives. Rejects with REQUEST_TOO_LARGE, MalformedMultipartError, Fastify's error for a body over
 * the limit, and with BAD_INPUT if the client disconnects.
 */
export async function receiveForm(request: FastifyRequest, body: Readable, options: Options): Promise<void> {
  const { incoming, isWanted, isFile, limitBytes } = options
  const collector = new FormCollector(incoming, isFile)
  try {
    const lengthBytes = Number(request.headers['content-length'] ?? Number.NaN)
    if (lengthBytes > limitBytes) throw tooLarge()
    const contentType = request.headers['content-type'] ?? ''
    const pieces = lengthBytes <= SMALL_BYTES ? await atOnce(body) : await begin(withinLimit(body, limitBytes))
    if (pieces !== null) await read(pieces, isWanted ? contentType : '', collector)
    const parts = await collector.end()
    request.form = pieces === null ? null : parts
  } catch (error) {
    await collector.abort()
    if (body.errored === null) throw error
    throw endedEarly(error)
  }
}

/** null if the body is empty, which is valid for every content type. */
type Pieces = AsyncIterable<Buffer> | Iterable<Buffer> | null

/**
 * The maximum size of a form that is read as a whole. Most forms are small, and reading them as a stream would take
 * longer than the rest of the request.
 */
const SMALL_BYTES = 65_536

function atOnce(body: Readable): Promise<Pieces> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = []
    body
      .on('data', (piece: Buffer) => pieces.push(piece))
      .once('end', () => resolve(pieces.length === 0 ? null : pieces))
      .once('error', reject)
      .once('close', () => body.readableEnded || reject(endedEarly(body.errored)))
  })
}

async function begin(body: AsyncIterator<Buffer>): Promise<Pieces> {
  const first = await body.next()
  if (first.done === true) return null
  return (async function* whole() {
    yield first.value
    yield* { [Symbol.asyncIterator]: () => body }
  })()
}

async function read(pieces: NonNullable<Pieces>, contentType: string, collector: FormCollector): Promise<void> {
  switch ((contentType.split(';', 1)[0] ?? '').trim().toLowerCase()) {
    case 'multipart/form-data':
      return readMultipart(pieces, contentType, collector)
    case 'application/x-www-form-urlencoded':
      return readUrlEncoded(pieces, collector)
    default:
      for await (const _ of pieces);
  }
}

async function readUrlEncoded(body: NonNullable<Pieces>, collector: FormCollector): Promise<void> {
  const parser = new UrlEncodedParser()
  const collect = async (events: ReturnType<typeof parser.push>) => {
    for (const event of events) {
      const step =
        'bytes' in event
          ? collector.write(event.bytes)
          : collector.begin({ name: event.name, fileName: null, type: 'text/plain' })
      // Without this condition, awaiting each value of a small form would take longer than parsing it.
      if (step !== undefined) await step
    }
  }
  if (Array.isArray(body)) for (const piece of body) await collect(parser.push(piece))
  else for await (const piece of body) await collect(parser.push(piece))
  await collect(parser.end())
}

/** Keeps the connection open if reading stops early, because the error response must still be sent. */
async function* withinLimit(body: Readable, limitBytes: number): AsyncGenerator<Buffer> {
  let receivedBytes = 0
  for await (const piece of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    receivedBytes += piece.length
    if (receivedBytes > limitBytes) throw tooLarge()
    yield piece
  }
}

const endedEarly = (cause: unknown) => new ScrapdeckError('BAD_INPUT', sentence('server.body_cut_off'), { cause })

const tooLarge = () => new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE()

/** Reads a urlencoded form that was received as bytes. Returns empty strings for missing names. */
export function fieldsOf(request: FastifyRequest): (name: string) => string {
  const fields = parseUrlEncoded((request.body as Buffer | undefined) ?? Buffer.alloc(0))
  return (name) => fields.get(name)?.[0]?.toString('utf8') ?? ''
}

/** Passes forms to oRPC as `FormData` in `body`, with their files on disk. */
export function parseContractForms(app: FastifyInstance, incoming: Pick<IncomingFiles, 'begin' | 'toFile'>): void {
  addForms(app)
  app.addContentTypeParser('multipart/form-data', async (request: FastifyRequest, body: Readable) => {
    try {
      const isFile = ({ fileName }: PartHead) => fileName !== null
      await receiveForm(request, body, { incoming, isWanted: true, isFile, limitBytes: MAX_UPLOAD_BYTES })
    } catch (error) {
      if (!(error instanceof MalformedMultipartError)) throw error
      throw new ScrapdeckError('BAD_INPUT', sentence('server.body_not_form'), { cause: error })
    }
    try {
      return await formDataOf(request.form ?? [], incoming)
    } catch (error) {
      // After an error here, the hook that releases the files does not run.
      await releaseFiles(request.form ?? [])
      throw error
    }
  })
}

async function formDataOf(form: FormPart[], incoming: Pick<IncomingFiles, 'toFile'>): Promise<FormData> {
  const data = new FormData()
  for (const { name, fileName, type, value } of form) {
    const part = Buffer.isBuffer(value)
      ? new TextDecoder().decode(value)
      : await incoming.toFile(value, unescapeName(fileName!), type)
    data.append(unescapeName(name), part as File)
  }
  return data
}

/** Browsers send UTF-8 and escape only these characters (https://html.spec.whatwg.org, multipart/form-data). */
function unescapeName(latin1: string): string {
  const escaped: Record<string, string> = { '%22': '"', '%0D': '\r', '%0A': '\n' }
  return Buffer.from(latin1, 'latin1')
    .toString('utf8')
    .replace(/%22|%0D|%0A/gi, (found) => escaped[found.toUpperCase()]!)
}
