import { nextAttempt } from '../../shared/ids.ts'
import { PassThrough, type Readable } from 'node:stream'
import type { RouterClient } from '@orpc/server'
import type { EngineRouter } from '../../engine/api/router/router.ts'
import type { Clock } from '../../engine/runtime/clock.ts'
import type { Logger } from '../../engine/runtime/logger.ts'
import { AttemptNumber, type JobId, type LogChunk } from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/server.ts'
import { toWireError } from '../../shared/wire-errors.ts'
import { GrowingFormat, parseRecordHead, type RecordLevel } from '../../shared/log-record.ts'

interface LogLine {
  /**
   * The time as the log states it, without a zone, because logs rarely include one. null: before the first record, or
   * no valid time.
   */
  time: string | null
  level: RecordLevel | null
  logger: string | null
  message: string
  /** Whether the line continues the record above it (a traceback or printed text) and shares its time and level. */
  continued: boolean
  nextOffset: number
}

/**
 * The maximum length of a line. Longer lines are split, because a spider that never ends a line could otherwise use
 * any amount of memory.
 */
const MAX_LINE_CHARACTERS = 262_144

/**
 * Assembles lines from the consecutive pieces of a log. For the last piece, also returns the text after the last line
 * break.
 */
export function createLineReader(): (chunk: LogChunk) => LogLine[] {
  let pending = ''
  let expected: number | null = null
  const format = new GrowingFormat()
  let head: Pick<LogLine, 'time' | 'level' | 'logger'> = { time: null, level: null, logger: null }

  return (chunk) => {
    // The log restarted or a piece is missing, so the pending text is not the start of this line.
    if (expected !== null && chunk.offset !== expected) pending = ''
    expected = chunk.nextOffset
    format.read(chunk)
    // If invalid UTF-8 was replaced, the length in bytes is unknown, so clients resume at the start of the piece.
    const isExact = Buffer.byteLength(chunk.text) === chunk.nextOffset - chunk.offset
    const lines: LogLine[] = []
    let at = 0
    let offset = chunk.offset
    for (;;) {
      const newlineAt = chunk.text.indexOf('\n', at)
      if (newlineAt === -1) break
      const piece = chunk.text.slice(at, newlineAt + 1)
      at = newlineAt + 1
      offset = at === chunk.text.length ? chunk.nextOffset : isExact ? offset + Buffer.byteLength(piece) : offset
      lines.push(read(pending + piece.slice(0, -1), offset))
      pending = ''
    }
    pending += chunk.text.slice(at)
    if (pending !== '' && (chunk.complete || pending.length > MAX_LINE_CHARACTERS)) {
      lines.push(read(pending, chunk.nextOffset))
      pending = ''
    }
    return lines
  }

  function read(line: string, nextOffset: number): LogLine {
    const text = line.endsWith('\r') ? line.slice(0, -1) : line
    const record = parseRecordHead(text, format.current)
    if (record === null) return { ...head, message: text, continued: true, nextOffset }
    const { date, time, fraction, logger, level, messageAt, message = text.slice(messageAt) } = record
    head = { time: time === '' ? null : `${date}T${time}${fraction && `.${fraction}`}`, level, logger: logger || null }
    return { ...head, message, continued: false, nextOffset }
  }
}

/** How often to check for a newer attempt and to send a comment, which keeps proxies from closing a quiet stream. */
const HEARTBEAT_MS = 15_000
/**
 * Collected text is written to the stream when it reaches this length. Longer pieces would make the process take memory
 * that the allocator does not return to the system.
 */
const WRITE_CHARACTERS = 32_768
/** The id of the `end` event. An EventSource that reconnects with it gets a 204, which makes it stop reconnecting. */
export const END_ID = 'end'

export interface Place {
  /** null: the newest attempt, or the first if the job has none yet. */
  attemptNumber: AttemptNumber | null
  offset: number
}

/** Parses `2:4096`: the second attempt, starting at byte offset 4096. Throws BAD_INPUT. */
export function parsePlace(lastEventId: string): Place {
  const match = /^([1-9]\d{0,5}):(\d{1,15})$/.exec(lastEventId)
  if (match === null) {
    throw new ScrapdeckError('BAD_INPUT', sentence('server.last_event_id_unknown'))
  }
  return { attemptNumber: AttemptNumber.parse(Number(match[1])), offset: Number(match[2]) }
}

export interface LogEvents {
  log(line: Omit<LogLine, 'nextOffset'>): object
  end(client: RouterClient<EngineRouter>, jobId: JobId): Promise<object>
}

export interface LogOptions {
  client: RouterClient<EngineRouter>
  job: (gone: AbortSignal) => Promise<JobId>
  events: LogEvents
  from: Place
  clock: Clock
  logger: Logger
}

/**
 * Returns the log of a job as server-sent events: `log` for each line, with the position after the line as id;
 * `attempt` when the job runs again; `problem` when the node stops responding (clients reconnect with the last id);
 * `end` with the outcome.
 */
export function openJobLog(options: LogOptions): Readable {
  const stream = new PassThrough()
  // Send the response headers immediately. `retry` is how long clients wait before they reconnect.
  stream.write('retry: 2000\n\n')
  const gone = new AbortController()
  stream.on('close', () => gone.abort())
  follow(options, stream, gone.signal).catch((error: unknown) => {
    if (gone.signal.aborted) return
    const wire = toWireError(error)
    if (wire.code === 'INTERNAL') options.logger.error({ err: error }, 'The log of a job could not be streamed')
    stream.end(eventText('problem', null, { code: wire.code, message: wire.message }))
  })
  return stream
}

async function follow(
  { client, job, events, from, clock }: LogOptions,
  stream: PassThrough,
  gone: AbortSignal
): Promise<void> {
  const jobId = await waitForJob()
  let { attemptNumber, offset } = from
  let reader = { number: 0, read: createLineReader() }
  let isOver = false
  while (!isOver) {
    attemptNumber ??= (await newestAttempt()) ?? null
    const superseded = new AbortController()
    const stop = AbortSignal.any([gone, superseded.signal])
    const heart = beat(() => watchAttempts(superseded))
    try {
      const wanted = { jobId, offset, ...(attemptNumber === null ? {} : { attemptNumber }) }
      isOver = await copy(await client.logs.tail(wanted, { signal: stop }))
    } finally {
      heart.stop()
    }
    if (gone.aborted) return
    const newest = (await newestAttempt()) ?? nextAttempt(0)
    if (isOver && newest <= (attemptNumber ?? newest)) break
    isOver = false
    if (newest <= (attemptNumber ?? newest)) continue
    // The job has a newer attempt, so send the rest of this log, then continue with the next attempt.
    const left = attemptNumber ?? newest
    for (let more = left < newest; more; ) {
      const chunk = await client.logs
        .read({ jobId, attemptNumber: left, offset, limitBytes: 262_144 }, { signal: gone })
        .catch(noLog)
      if (chunk !== null) await send(left, chunk)
      more = chunk !== null && chunk.nextOffset > chunk.offset && chunk.nextOffset < chunk.sizeBytes
    }
    attemptNumber = left < newest ? nextAttempt(left) : newest
    offset = 0
    await write(eventText('attempt', `${attemptNumber}:0`, { attempt: attemptNumber }))
  }
  stream.end(eventText('end', END_ID, await events.end(client, jobId)))

  async function waitForJob(): Promise<JobId> {
    const keepAlive = beat(() => {})
    try {
      return await job(gone)
    } finally {
      keepAlive.stop()
    }
  }

  /** Returns true if the log is complete. */
  async function copy(chunks: AsyncIterable<LogChunk>): Promise<boolean> {
    for await (const chunk of chunks) {
      attemptNumber ??= (await newestAttempt()) ?? null
      await send(attemptNumber ?? 1, chunk)
      if (chunk.complete) return true
    }
    return false
  }

  async function send(number: number, chunk: LogChunk): Promise<void> {
    if (number !== reader.number) reader = { number, read: createLineReader() }
    offset = chunk.nextOffset
    let text = ''
    for (const { nextOffset, ...line } of reader.read(chunk)) {
      text += eventText('log', `${number}:${nextOffset}`, events.log(line))
      if (text.length < WRITE_CHARACTERS) continue
      await write(text)
      text = ''
    }
    if (text !== '') await write(text)
  }

  async function newestAttempt(): Promise<AttemptNumber | undefined> {
    const { attempts } = await client.jobs.get({ id: jobId })
    return attempts.at(-1)?.number
  }

  function watchAttempts(superseded: AbortController): void {
    newestAttempt().then(
      (newest) => {
        if (newest !== undefined && attemptNumber !== null && newest > attemptNumber) superseded.abort()
      },
      // Ignore errors here. Reading the log reports that the job was deleted or the engine is stopping.
      () => {}
    )
  }

  function beat(also: () => void) {
    let timer = clock.setTimer(HEARTBEAT_MS, sendHeartbeat)
    function sendHeartbeat(): void {
      timer = clock.setTimer(HEARTBEAT_MS, sendHeartbeat)
      if (!stream.writableNeedDrain) stream.write(': still here\n\n')
      also()
    }
    return { stop: () => timer.cancel() }
  }

  async function write(text: string): Promise<void> {
    if (stream.write(text) || gone.aborted) return
    await new Promise<void>((resolve) => {
      const done = () => {
        stream.off('drain', done)
        gone.removeEventListener('abort', done)
        resolve()
      }
      stream.once('drain', done)
      gone.addEventListener('abort', done, { once: true })
    })
  }
}

function noLog(error: unknown): null {
  if (error instanceof ScrapdeckError && error.code === 'LOG_NOT_FOUND') return null
  throw error
}

function eventText(event: string, id: string | null, data: unknown): string {
  return `event: ${event}\n${id === null ? '' : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`
}
