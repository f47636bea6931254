import type { FoundLogLine, LogSearchProgress } from '../../../../shared/contract/index.ts'
import { ScrapdeckError } from '../../../../shared/errors.ts'
import { sentence } from '../../../../shared/texts/errors/runs.ts'
import { ThreadPool } from '../../../runtime/thread-pool.ts'
import { FRAME_RAW_BYTES } from '../archive/frames.ts'
import { createMatcher, type LineQuery } from './line-matcher.ts'
import type { LogFile } from './log-file.ts'
import type { CountOrder, SearchedPart, SearchOrder } from './log-worker.ts'
import type { Clock } from '../../../runtime/clock.ts'
import { threadFile } from '../../../runtime/thread-task.ts'
import { BoundedMap } from '../../../runtime/bounded.ts'

/** The size of one task. Small, so that the first results arrive soon and a cancelled search ends soon. */
const PART_BYTES = 16 * FRAME_RAW_BYTES
/** The time limit for one part. A slower expression would take hours to search a log. */
const PART_TIMEOUT_MS = 20_000
/** The maximum number of parts of a search in the pool. Keeps all threads busy, but delays other requests little. */
const PARTS_AT_ONCE = 4
const INDEXES_KEPT = 64

interface LineIndex {
  /** How far newlines are counted: the size of the log when they were last counted. */
  countedBytes: number
  /** The number of newlines before each multiple of FRAME_RAW_BYTES, and before `countedBytes`. */
  before: number[]
}

export class LogScans {
  readonly #threads: ThreadPool
  /** By key, least recently used first. */
  readonly #indexes = new BoundedMap<string, LineIndex>(INDEXES_KEPT)

  constructor(threads: ThreadPool) {
    this.#threads = threads
  }

  /** Yields the first `mostLines` matches. Rejects with BAD_INPUT for an invalid or slow expression. */
  async *search(
    file: LogFile,
    sizeBytes: number,
    query: LineQuery,
    { mostLines, signal }: { mostLines: number; signal?: AbortSignal | undefined }
  ): AsyncGenerator<LogSearchProgress, void> {
    checkQuery(query)
    const parts: Promise<SearchedPart>[] = []
    const stopping = new AbortController()
    const either = signal === undefined ? stopping.signal : AbortSignal.any([signal, stopping.signal])
    let from = 0
    const beginNext = (): void => {
      const input: SearchOrder = { file, query, from, to: from + PART_BYTES, mostLines, countsLines: true }
      const task = { task: 'search', input, signal: either, timeoutMs: PART_TIMEOUT_MS, tooSlow }
      const part = this.#threads.run<SearchedPart>(task)
      // Prevents an unhandled rejection. Parts are awaited in order, and an earlier one may fail first.
      part.catch(() => {})
      parts.push(part)
      from += PART_BYTES
    }
    try {
      let line = 1
      let matches = 0
      let given = 0
      for (let index = 0; index * PART_BYTES < sizeBytes; index += 1) {
        while (parts.length < PARTS_AT_ONCE && from < sizeBytes) beginNext()
        const part = await parts.shift()!
        if (from < sizeBytes) beginNext()
        const found: FoundLogLine[] = part.found
          .slice(0, mostLines - given)
          .map(({ linesBefore, ...each }) => ({ line: line + linesBefore, ...each }))
        given += found.length
        matches += part.matches
        line += part.newlines
        const searchedBytes = Math.min(sizeBytes, (index + 1) * PART_BYTES)
        yield { state: 'searching', found, matches, searchedBytes, sizeBytes }
      }
      yield { state: 'complete', found: [], matches, searchedBytes: sizeBytes, sizeBytes }
    } finally {
      stopping.abort()
    }
  }

  /**
   * Counts the newlines before each multiple of FRAME_RAW_BYTES. `key` identifies the log and does not change while the
   * log grows.
   */
  async countLines(key: string, file: LogFile, sizeBytes: number, signal?: AbortSignal): Promise<LineIndex> {
    const known = this.#indexes.get(key)
    const isUsable = known !== undefined && known.countedBytes <= sizeBytes
    const from = isUsable ? Math.floor(known.countedBytes / FRAME_RAW_BYTES) * FRAME_RAW_BYTES : 0
    const before = isUsable ? known.before.slice(0, from / FRAME_RAW_BYTES + 1) : [0]
    const parts: Promise<Uint32Array>[] = []
    for (let at = from; at < sizeBytes; at += PART_BYTES) {
      const input: CountOrder = { file, from: at, to: Math.min(sizeBytes, at + PART_BYTES) }
      parts.push(this.#threads.run<Uint32Array>({ task: 'countNewlines', input, signal }))
    }
    for (const counts of await Promise.all(parts)) for (const count of counts) before.push(before.at(-1)! + count)
    const index = { countedBytes: sizeBytes, before }
    this.#indexes.set(key, index)
    return index
  }
}

export function checkQuery(query: LineQuery): void {
  try {
    createMatcher(query)
  } catch (error) {
    throw new ScrapdeckError('BAD_INPUT', sentence('runs.expression_invalid', { error: (error as Error).message }))
  }
}

const tooSlow = () => new ScrapdeckError('BAD_INPUT', sentence('runs.expression_too_slow'))

const MEMORY_MB = 64
const IDLE_MS = 30_000

export function openLogThreads(clock: Clock, threads: number): ThreadPool {
  const file = threadFile(import.meta.url, 'log-worker')
  return new ThreadPool({ file, name: 'scrapdeck-logs', threads, memoryMb: MEMORY_MB, idleMs: IDLE_MS, clock })
}
