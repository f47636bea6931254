import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type ExportProgress, ItemsFormat } from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import type { ApiClient } from './serve-log.ts'
import { checkQuery } from './unknown-parts.ts'

export const ITEMS_EXPORT = 'jobs.itemsExport'

const TYPES: Record<ItemsFormat, string> = {
  jsonl: 'application/x-ndjson; charset=utf-8',
  json: 'application/json; charset=utf-8',
  csv: 'text/csv; charset=utf-8',
  parquet: 'application/vnd.apache.parquet'
}

/** All items of a job as one file: items.export and items.readExport for clients that only want the file. */
export async function serveItemsExport(
  request: FastifyRequest,
  reply: FastifyReply,
  { client }: { client: ApiClient }
): Promise<FastifyReply> {
  const { id } = request.params as { id: string }
  const query = new URL(request.url, 'http://x').searchParams
  checkQuery(query, ['format', 'attemptNumber'], ITEMS_EXPORT)
  const format = readFormat(query)
  // A client that goes away ends the export.
  const gone = new AbortController()
  reply.raw.on('close', () => gone.abort())
  const attemptNumber = query.get('attemptNumber') ?? undefined
  const progress = await client.items.export({ jobId: id, attemptNumber, format } as never, { signal: gone.signal })
  const file = await lastOf(progress)
  reply.headers({
    'cache-control': 'no-store',
    'content-disposition': `attachment; filename="${file.name}"`,
    'content-length': file.sizeBytes
  })
  return reply.type(TYPES[format]).send(Readable.from(piecesOf(client, file.id), { objectMode: false }))
}

function readFormat(query: URLSearchParams): ItemsFormat {
  const parsed = ItemsFormat.safeParse(query.get('format') ?? 'jsonl')
  if (parsed.success) return parsed.data
  throw new ScrapdeckError('BAD_INPUT', `"format" is one of ${ItemsFormat.options.join(', ')}.`)
}

async function lastOf(progress: AsyncIterable<ExportProgress>): Promise<NonNullable<ExportProgress['file']>> {
  for await (const { file } of progress) if (file !== null) return file
  throw new ScrapdeckError('ITEMS_FAILED', 'The export ended without a file. Repeat the request.')
}

async function* piecesOf(client: ApiClient, id: string): AsyncGenerator<Buffer> {
  for (let offset: number | null = 0; offset !== null; ) {
    const piece: Awaited<ReturnType<ApiClient['items']['readExport']>> = await client.items.readExport({ id, offset })
    yield Buffer.from(piece.base64, 'base64')
    offset = piece.nextOffset
  }
}
