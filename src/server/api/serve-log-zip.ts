import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { LogZipPiece } from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import type { ApiClient } from './serve-log.ts'
import { checkQuery } from './unknown-parts.ts'

export const LOG_ZIP = 'logs.zipFile'

/** The logs of many jobs as one archive: logs.zip for clients that only want the file. It is written as it is sent. */
export async function serveLogZip(
  request: FastifyRequest,
  reply: FastifyReply,
  { client }: { client: ApiClient }
): Promise<FastifyReply> {
  checkQuery(new URL(request.url, 'http://x').searchParams, [], LOG_ZIP)
  const body = (request.body ?? {}) as Record<string, unknown>
  const unknown = Object.keys(body).find((name) => name !== 'jobIds')
  if (unknown !== undefined)
    throw new ScrapdeckError('BAD_INPUT', `${LOG_ZIP} does not know ${JSON.stringify(unknown)}.`)
  // A client that goes away ends it.
  const gone = new AbortController()
  reply.raw.on('close', () => gone.abort())
  const pieces = (await client.logs.zip(body as never, { signal: gone.signal }))[Symbol.asyncIterator]()
  // What is refused is refused before the first byte.
  const first = await pieces.next()
  reply.headers({ 'cache-control': 'no-store', 'content-disposition': 'attachment; filename="logs.zip"' })
  return reply.type('application/zip').send(Readable.from(bytesOf(first, pieces), { objectMode: false }))
}

async function* bytesOf(
  first: IteratorResult<LogZipPiece, unknown>,
  pieces: AsyncIterator<LogZipPiece, unknown>
): AsyncGenerator<Buffer> {
  try {
    for (let next = first; next.done !== true; next = await pieces.next())
      yield Buffer.from(next.value.base64, 'base64')
  } finally {
    await pieces.return?.()
  }
}
