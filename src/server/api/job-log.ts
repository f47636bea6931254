import { nextAttempt } from '../../shared/ids.ts'
import { PassThrough, type Readable } from 'node:stream'
import { createRouterClient } from '@orpc/server'
import type { EngineRouter } from '../../engine/router/router.ts'
import type { Clock } from '../../engine/runtime/clock.ts'
import type { Logger } from '../../engine/runtime/logger.ts'
import { AttemptNumber, type JobId, type LogChunk } from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { toWireError } from '../../shared/wire-errors.ts'
import { createLineReader, type LogLine } from './log-lines.ts'

/**
 * A comment this often keeps proxies from closing a quiet stream; as often it is looked whether the job runs once more.
 */
const HEARTBEAT_MS = 15_000
/** What an EventSource gives back once there is no more: it is then told not to come again. */
export const END_ID = 'end'

export interface Place {
  /** null: the newest, or the first once there is one. */
  attemptNumber: AttemptNumber | null
  offset: number
}

/** `2:4096`: the second run, from there on. Throws BAD_INPUT. */
export function parsePlace(lastEventId: string): Place {
  const match = /^([1-9]\d{0,5}):(\d{1,15})$/.exec(lastEventId)
  if (match === null) {
    throw new ScrapdeckError(
      'BAD_INPUT',
      'Last-Event-ID is not an event of this log. Leave it out to start from the beginning'
    )
  }
  return { attemptNumber: AttemptNumber.parse(Number(match[1])), offset: Number(match[2]) }
}

interface Options {
  router: EngineRouter
  jobId: JobId
  from: Place
  clock: Clock
  logger: Logger
}

/**
 * The log of a job as server-sent events: `log` for each line, with the place where to go on as its id; `attempt` where
 * the job runs once more; `problem` where its node stops responding (come again with the last id); `end` with
 * the outcome. Rejects, before anything is sent, with JOB_NOT_FOUND. A client that disconnects ends its stream.
 */
export async function openJobLog(options: Options): Promise<Readable> {
  const { router, jobId } = options
  await createRouterClient(router, { context: { source: 'api' } }).jobs.status({ id: jobId })
  const stream = new PassThrough()
  // An answer without a byte is not seen to begin. Clients that lose it reconnect after so long.
  stream.write('retry: 2000\n\n')
  const gone = new AbortController()
  stream.on('close', () => gone.abort())
  follow(options, stream, gone.signal).catch((error: unknown) => {
    if (gone.signal.aborted) return
    const wire = toWireError(error)
    if (wire.code === 'INTERNAL') options.logger.error({ err: error, jobId }, 'The log of a job could not be streamed')
    stream.end(eventText('problem', null, { code: wire.code, message: wire.message }))
  })
  return stream
}

async function follow({ router, jobId, from, clock }: Options, stream: PassThrough, gone: AbortSignal): Promise<void> {
  const client = createRouterClient(router, { context: { source: 'api' } })
  let { attemptNumber, offset } = from
  let reader = { number: 0, read: createLineReader() }
  let isOver = false
  while (!isOver) {
    attemptNumber ??= (await newestAttempt()) ?? null
    const superseded = new AbortController()
    const stop = AbortSignal.any([gone, superseded.signal])
    const heart = beat(superseded)
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
    // It runs once more, or ran so in the meantime: what is left of this log, then the next.
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
  const { status, outcome, reason, pages, items, errors, endedAtMs } = await client.jobs.status({ id: jobId })
  stream.end(eventText('end', END_ID, { status, outcome, reason, pages, items, errors, endedAtMs }))

  /** True: the log is complete. */
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
    const lines = reader.read(chunk)
    if (lines.length > 0) await write(lines.map((line) => logEvent(number, line)).join(''))
  }

  async function newestAttempt(): Promise<AttemptNumber | undefined> {
    const { attempts } = await client.jobs.get({ id: jobId })
    return attempts.at(-1)?.number
  }

  function beat(superseded: AbortController) {
    let timer = clock.setTimer(HEARTBEAT_MS, sendHeartbeat)
    function sendHeartbeat(): void {
      timer = clock.setTimer(HEARTBEAT_MS, sendHeartbeat)
      if (!stream.writableNeedDrain) stream.write(': still here\n\n')
      newestAttempt().then(
        (newest) => {
          if (newest !== undefined && attemptNumber !== null && newest > attemptNumber) superseded.abort()
        },
        // The job is gone, or everything stops: the tail itself finds out.
        () => {}
      )
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

/** A run that left no log has nothing left to be read. */
function noLog(error: unknown): null {
  if (error instanceof ScrapdeckError && error.code === 'LOG_NOT_FOUND') return null
  throw error
}

function logEvent(number: number, { nextOffset, ...line }: LogLine): string {
  return eventText('log', `${number}:${nextOffset}`, line)
}

function eventText(event: string, id: string | null, data: unknown): string {
  return `event: ${event}\n${id === null ? '' : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`
}
