import { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { ZipFile } from 'yazl'
import type { Attempt, AttemptNumber, JobId, LogZipPiece } from '../../../shared/contract/index.ts'
import { keptBytesOfCutLog } from '../../../shared/cut-log.ts'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/runs.ts'
import type { Clock } from '../../runtime/clock.ts'
import { problemOfPathPart } from '../../projects/names.ts'
import type { StoredJob } from '../../model/records.ts'
import type { JobReader } from '../../storage/store.ts'
import type { JobLogs } from './job-logs.ts'
import type { LogRange } from '../../nodes/node-client.ts'

export const ZIP_INDEX = 'INDEX.txt'

/** The maximum number of zips at once. Each reads logs, also from nodes, for as long as its client downloads it. */
const AT_ONCE = 4
/** A client that stalls for this long loses its slot. */
const STALLED_MS = 60_000
const READ_BYTES = 1024 * 1024
const PIECE_BYTES = 512 * 1024

interface LogZipsParts {
  store: Pick<JobReader, 'getJobs' | 'listTimeline'>
  jobLogs: {
    readBytes(
      ...asked: Parameters<JobLogs['readBytes']>
    ): Promise<LogRange & { attempt: Pick<Attempt, 'number'>; mayGrow: boolean }>
  }
  clock: Pick<Clock, 'monotonicMs'>
}

interface Download {
  takenAtMs: number
  end: (error: Error) => void
}

/**
 * PROJECT/SPIDER/JOBID.log contains the log of the job's newest attempt. A log that cannot be read completely becomes a
 * line in the index instead of an error.
 */
export class LogZips {
  readonly #parts: LogZipsParts
  readonly #open = new Set<Download>()

  constructor(parts: LogZipsParts) {
    this.#parts = parts
  }

  /** Continues reading only when the consumer takes the next piece. Rejects with TOO_MANY_REQUESTS. */
  async *zip(jobIds: readonly JobId[], signal?: AbortSignal): AsyncGenerator<LogZipPiece, void> {
    const { clock } = this.#parts
    this.#makeRoom()
    const ended = new AbortController()
    const zip = new ZipFile()
    const output = zip.outputStream as Readable
    const progress = { logs: 0 }
    const stop = signal === undefined ? ended.signal : AbortSignal.any([ended.signal, signal])
    const work = this.#fill(zip, jobIds, progress, stop)
    work.catch((error: Error) => output.destroy(error))
    const end = (error: Error) => {
      output.destroy(error)
      ended.abort(error)
    }
    const download: Download = { takenAtMs: clock.monotonicMs(), end }
    this.#open.add(download)
    try {
      for await (const bytes of inPieces(output)) {
        yield { base64: bytes.toString('base64'), logs: progress.logs }
        download.takenAtMs = clock.monotonicMs()
      }
    } finally {
      this.#open.delete(download)
      ended.abort()
      output.destroy()
    }
  }

  #makeRoom(): void {
    if (this.#open.size < AT_ONCE) return
    const [oldest] = [...this.#open].sort((one, other) => one.takenAtMs - other.takenAtMs)
    const tooMany = (what: string) => new ScrapdeckError('TOO_MANY_REQUESTS', sentence('runs.search_busy', { what }))
    if (this.#parts.clock.monotonicMs() - oldest!.takenAtMs < STALLED_MS)
      throw tooMany(`${AT_ONCE} archives of logs are being downloaded`)
    this.#open.delete(oldest!)
    oldest!.end(tooMany('Nothing of this archive was taken for a minute, and others were waiting'))
  }

  /** Adds each log only after the consumer has read the previous one. */
  async #fill(zip: ZipFile, jobIds: readonly JobId[], progress: { logs: number }, signal: AbortSignal): Promise<void> {
    const jobs = new Map((await this.#parts.store.getJobs([...new Set(jobIds)])).map((job) => [job.id, job]))
    const names = new Set<string>()
    const index: string[] = []
    for (const id of new Set(jobIds)) {
      signal.throwIfAborted()
      const job = jobs.get(id)
      const name = job === undefined ? '-' : nameOf(job, names)
      names.add(name)
      const problem = job === undefined ? 'missing: there is no such job' : await this.#add(zip, job, name, signal)
      index.push([id, name, problem ?? 'complete'].join('\t'))
      progress.logs += 1
    }
    zip.addBuffer(Buffer.from(`job\tfile\tlog\n${index.join('\n')}\n`), ZIP_INDEX)
    zip.end()
  }

  async #whyCut({ id, outcome }: StoredJob, number: AttemptNumber): Promise<string | null> {
    const timeline = await this.#parts.store.listTimeline(id)
    if (keptBytesOfCutLog(timeline, number) !== null) return 'as far as it was copied from its node'
    return outcome === 'lost' ? 'it may be cut: the run was lost' : null
  }

  async #add(zip: ZipFile, job: StoredJob, name: string, signal: AbortSignal): Promise<string | null> {
    let problem: string | null = null
    /** Fixed at the first read, because the job may be retried during the download. */
    let number: AttemptNumber | undefined
    const read = (offset: number, limitBytes: number) =>
      this.#parts.jobLogs.readBytes(job.id, number, { offset, limitBytes }, signal)
    try {
      const { sizeBytes, mayGrow, attempt } = await read(0, 1)
      number = attempt.number
      const stream = Readable.from(piecesOf(sizeBytes), { objectMode: false })
      signal.addEventListener('abort', () => stream.destroy(), { once: true })
      zip.addReadStream(stream, name, { mtime: new Date(job.endedAtMs ?? job.queuedAtMs) })
      await finished(stream, { signal })
      return (
        problem ?? (mayGrow ? `as of ${sizeBytes} bytes; the job is still running` : await this.#whyCut(job, number))
      )
    } catch (error) {
      signal.throwIfAborted()
      return `missing: ${wordsOf(error)}`
    }

    /** Never fails, because an incomplete entry would make the whole zip unreadable. */
    async function* piecesOf(sizeBytes: number): AsyncGenerator<Uint8Array> {
      for (let offset = 0; offset < sizeBytes; ) {
        const piece = await read(offset, Math.min(READ_BYTES, sizeBytes - offset)).catch((error: unknown) => {
          problem = `cut off after ${offset} of ${sizeBytes} bytes: ${wordsOf(error)}`
          return null
        })
        if (piece === null) return
        if (piece.bytes.length === 0) {
          problem = `cut off after ${offset} of ${sizeBytes} bytes: the log became shorter`
          return
        }
        yield piece.bytes
        offset += piece.bytes.length
      }
    }
  }
}

/** If two jobs share a jobid, the second is named by its id. */
function nameOf({ id, project, spider, jobid }: StoredJob, taken: ReadonlySet<string>): string {
  const folder = `${partOf(project)}/${partOf(spider)}`
  const name = `${folder}/${problemOfPathPart(jobid) === null ? jobid : id}.log`
  return taken.has(name) ? `${folder}/${id}.log` : name
}

const partOf = (name: string): string => (problemOfPathPart(name) === null ? name : name.replace(/[^\w-]/g, '_'))

function wordsOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replace(/\s+/g, ' ').slice(0, 500)
}

async function* inPieces(stream: Readable): AsyncGenerator<Buffer> {
  let chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes < PIECE_BYTES) continue
    yield Buffer.concat(chunks)
    chunks = []
    bytes = 0
  }
  if (bytes > 0) yield Buffer.concat(chunks)
}
