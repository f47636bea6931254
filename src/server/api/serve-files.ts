import type { RouterClient } from '@orpc/server'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { EngineRouter } from '../../engine/api/router/router.ts'
import type { Clock } from '../../engine/runtime/clock.ts'
import type { Logger } from '../../engine/runtime/logger.ts'
import {
  type JobId,
  type ScheduleId,
  type LogZipPiece,
  type ExportProgress,
  ItemsFormat
} from '../../shared/contract/index.ts'
import { noFields } from './fields.ts'
import { END_ID, type LogEvents, openJobLog, parsePlace } from './job-log.ts'
import { checkQuery } from './unknown-parts.ts'
import { Readable } from 'node:stream'
import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/server.ts'

const ITEMS_EXPORT = 'jobs.itemsExport'

const TYPES: Record<ItemsFormat, string> = {
  jsonl: 'application/x-ndjson; charset=utf-8',
  json: 'application/json; charset=utf-8',
  csv: 'text/csv; charset=utf-8',
  parquet: 'application/vnd.apache.parquet'
}

export async function serveItemsExport(
  request: FastifyRequest,
  reply: FastifyReply,
  { client }: { client: ApiClient }
): Promise<FastifyReply> {
  const { id } = request.params as { id: string }
  const query = new URL(request.url, 'http://x').searchParams
  checkQuery(query, ['format', 'attemptNumber'], ITEMS_EXPORT)
  const format = readFormat(query)
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
  throw new ScrapdeckError('BAD_INPUT', sentence('server.format_unknown', { formats: ItemsFormat.options }))
}

async function lastOf(progress: AsyncIterable<ExportProgress>): Promise<NonNullable<ExportProgress['file']>> {
  for await (const { file } of progress) if (file !== null) return file
  throw new ScrapdeckError('ITEMS_FAILED', sentence('server.export_without_file'))
}

async function* piecesOf(client: ApiClient, id: string): AsyncGenerator<Buffer> {
  for (let offset: number | null = 0; offset !== null; ) {
    const piece: Awaited<ReturnType<ApiClient['items']['readExport']>> = await client.items.readExport({ id, offset })
    yield Buffer.from(piece.base64, 'base64')
    offset = piece.nextOffset
  }
}

const LOG_ZIP = 'logs.zipFile'

/** Sends the logs of many jobs as one zip archive, which is written while it is sent. */
export async function serveLogZip(
  request: FastifyRequest,
  reply: FastifyReply,
  { client }: { client: ApiClient }
): Promise<FastifyReply> {
  checkQuery(new URL(request.url, 'http://x').searchParams, [], LOG_ZIP)
  const body = (request.body ?? {}) as Record<string, unknown>
  const unknown = Object.keys(body).find((name) => name !== 'jobIds')
  if (unknown !== undefined)
    throw new ScrapdeckError('BAD_INPUT', sentence('server.unknown_parameter', { operation: LOG_ZIP, unknown }))
  const gone = new AbortController()
  reply.raw.on('close', () => gone.abort())
  const pieces = (await client.logs.zip(body as never, { signal: gone.signal }))[Symbol.asyncIterator]()
  // Wait for the first piece, because an error response can only be sent before the download starts.
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

export type ApiClient = RouterClient<EngineRouter>

/** Rejects if the id is unknown. The returned function resolves as soon as there is a job to follow. */
export type FindJob = (client: ApiClient, id: string, clock: Clock) => Promise<(gone: AbortSignal) => Promise<JobId>>

export interface LogRoute {
  operation: string
  find: FindJob
  events: LogEvents
}

interface LogSource {
  client: ApiClient
  clock: Clock
  logger: Logger
}

export async function serveLog(
  request: FastifyRequest,
  reply: FastifyReply,
  route: LogRoute & LogSource
): Promise<FastifyReply> {
  const lastEventId = request.headers['last-event-id']
  const { id } = request.params as { id: string }
  if (Object.hasOwn(request.query as object, 'fields')) throw noFields()
  checkQuery(new URL(request.url, 'http://x').searchParams, [], route.operation)
  if (lastEventId === END_ID) return reply.code(204).send()
  const from = typeof lastEventId === 'string' ? parsePlace(lastEventId) : { attemptNumber: null, offset: 0 }
  const stream = openJobLog({ ...route, from, job: await route.find(route.client, id, route.clock) })
  // `no-transform` and `x-accel-buffering`: proxies must forward each line immediately.
  reply.headers({ 'cache-control': 'no-store, no-transform', 'x-accel-buffering': 'no' })
  return reply.type('text/event-stream; charset=utf-8').send(stream)
}

export const API_EVENTS: LogEvents = {
  log: (line) => line,
  async end(client, id) {
    const { status, outcome, reason, pages, items, errors, endedAtMs } = await client.jobs.status({ id })
    return { status, outcome, reason, pages, items, errors, endedAtMs }
  }
}

export const findJob: FindJob = async (client, id) => {
  await client.jobs.status({ id })
  return async () => id as JobId
}

/** A schedule without a job is checked again when its first job is due, but within these bounds. */
const CHECK_AFTER_MS = { min: 1_000, max: 15_000 }

/** Returns the newest job of a schedule. If there is none yet, waits for the first. */
export const findJobOfSchedule: FindJob = async (client, id, clock) => {
  await client.schedules.get({ id })
  return async (gone) => {
    for (;;) {
      const newest = await newestJobOf(client, id as ScheduleId)
      if (newest !== null) return newest
      // Rejects if the schedule was removed.
      const { nextAtMs } = await client.schedules.get({ id })
      const waitMs = nextAtMs === null ? CHECK_AFTER_MS.max : nextAtMs - clock.nowMs()
      await pause(Math.min(CHECK_AFTER_MS.max, Math.max(CHECK_AFTER_MS.min, waitMs)), clock, gone)
      gone.throwIfAborted()
    }
  }
}

export async function newestJobOf(client: ApiClient, scheduleId: ScheduleId): Promise<JobId | null> {
  const { jobs } = await client.jobs.list({ scheduleId, limit: 1 })
  return jobs[0]?.id ?? null
}

function pause(waitMs: number, clock: Clock, gone: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = clock.setTimer(waitMs, done)
    gone.addEventListener('abort', done, { once: true })
    function done(): void {
      timer.cancel()
      gone.removeEventListener('abort', done)
      resolve()
    }
  })
}
