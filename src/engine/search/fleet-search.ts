import type { FleetLogHit, FleetLogSearchInput, FleetLogSearchProgress } from '../../shared/contract/index.ts'
import { isScrapdeckError, ScrapdeckError } from '../../shared/errors.ts'
import type { LogArchivePort } from '../logs/archive/log-archive.ts'
import { FRAME_RAW_BYTES } from '../logs/archive/frames.ts'
import { createMatcher } from '../logs/scan/line-matcher.ts'
import type { LogFile } from '../logs/scan/log-file.ts'
import type { Clock } from '../runtime/clock.ts'
import type { ThreadPool } from '../runtime/thread-pool.ts'
import type { Candidates } from '../store/log-blocks.ts'
import type { KeptLog, KeptLogFilter, LogKey, LogPage } from '../store/records.ts'
import type { KeptLogReader } from '../store/store.ts'
import { decodeCursor, encodeCursor, type SearchPlace } from './cursor.ts'
import type { LogIndex } from './log-index.ts'
import { createQueryPlan, isEverything } from './query/query-plan.ts'
import { bytesOf, piecesOf } from './scan/pieces.ts'
import type { Piece, ScanOrder, ScannedLog } from './scan/scan-logs.ts'

interface FleetSearchParts {
  store: KeptLogReader
  archive: Pick<LogArchivePort, 'fileOf'>
  index: Pick<LogIndex, 'probe'>
  /** Of search-worker.ts. */
  threads: ThreadPool
  clock: Clock
}

/** Logs that the store looks at at once. */
const PAGE = 2_000
/** One task: the first are small, so that the first lines come soon. */
const FIRST_TASK_BYTES = FRAME_RAW_BYTES
const TASK_BYTES = 16 * FRAME_RAW_BYTES
const TASK_LOGS = 64
/** Enough that no thread waits, and little is lost when the search ends. */
const TASKS_AT_ONCE = 6
/** Of one task: an expression that takes longer would go on for hours. */
const TASK_TIMEOUT_MS = 20_000
const REPORT_EVERY_MS = 200

/** A log to be searched. */
interface Target {
  kept: KeptLog
  file: LogFile
  pieces: Piece[] | null
  bytes: number
}

/** Part of the logs, in order. `results` grows while it is searched. */
interface Task {
  targets: Target[]
  /** Of the page before these, ruled out by the index. */
  ruledOut: LogPage['ruledOut']
  unreadable: number
  results: ScannedLog[]
  isDone: boolean
}

/**
 * Searches the archived logs of all jobs, newest jobs first: the store narrows them by what is known of their runs, the
 * index rules blocks out, and threads read the rest.
 */
export class FleetSearch {
  readonly #parts: FleetSearchParts

  constructor(parts: FleetSearchParts) {
    this.#parts = parts
  }

  /** Rejects with BAD_INPUT for an expression that is not valid or takes too long. */
  async *run(input: FleetLogSearchInput, signal?: AbortSignal): AsyncGenerator<FleetLogSearchProgress, void> {
    checkQuery(input)
    const place = input.cursor === undefined ? null : decodeCursor(input.cursor)
    yield* new OneSearch(this.#parts, input, place).run(signal)
  }
}

class OneSearch {
  readonly #parts: FleetSearchParts
  readonly #input: FleetLogSearchInput
  readonly #stopping = new AbortController()
  readonly #tasks: Task[] = []
  #place: SearchPlace | null
  #producing: 'on' | 'bytes' | 'end' = 'on'
  #failure: { error: unknown } | null = null
  #isOutOfTime = false
  #wake: () => void = () => {}
  readonly #onSlot: (() => void)[] = []
  #scheduledBytes = 0
  #hits = 0
  readonly #counts = { ruledOut: { logs: 0, bytes: 0 }, scanned: { logs: 0, bytes: 0 }, unreadable: 0 }

  constructor(parts: FleetSearchParts, input: FleetLogSearchInput, place: SearchPlace | null) {
    this.#parts = parts
    this.#input = input
    this.#place = place
  }

  async *run(signal?: AbortSignal): AsyncGenerator<FleetLogSearchProgress, void> {
    const { clock } = this.#parts
    signal?.throwIfAborted()
    const timer = clock.setTimer(this.#input.maxSeconds * 1_000, () => {
      this.#isOutOfTime = true
      this.#wake()
    })
    const abort = () => this.#fail(signal?.reason)
    signal?.addEventListener('abort', abort)
    try {
      this.#produce().catch((error: unknown) => this.#fail(error))
      let found: FleetLogHit[] = []
      let reportedAtMs = Number.NEGATIVE_INFINITY
      for (;;) {
        const changed = new Promise<void>((resolve) => (this.#wake = resolve))
        found.push(...this.#takeResults())
        if (this.#failure !== null) throw this.#failure.error
        const stoppedBy = this.#whyStopped()
        if (stoppedBy !== null) return yield this.#report(found, stoppedBy)
        if (found.length > 0 || clock.monotonicMs() - reportedAtMs >= REPORT_EVERY_MS) {
          reportedAtMs = clock.monotonicMs()
          yield this.#report(found, null)
          found = []
          // More may have come meanwhile.
          continue
        }
        await changed
      }
    } finally {
      timer.cancel()
      signal?.removeEventListener('abort', abort)
      this.#stopping.abort()
      this.#offerSlots()
    }
  }

  #whyStopped(): FleetLogSearchProgress['stoppedBy'] {
    if (this.#hits >= this.#input.mostHits) return 'hits'
    if (this.#tasks.length === 0 && this.#producing !== 'on') return this.#producing
    return this.#isOutOfTime ? 'time' : null
  }

  #report(hits: FleetLogHit[], stoppedBy: FleetLogSearchProgress['stoppedBy']): FleetLogSearchProgress {
    const cursor = stoppedBy === null || stoppedBy === 'end' || this.#place === null ? null : encodeCursor(this.#place)
    return { hits, ...structuredClone(this.#counts), stoppedBy, cursor }
  }

  /** What the first tasks have found by now, in order. */
  #takeResults(): FleetLogHit[] {
    const hits: FleetLogHit[] = []
    for (let task = this.#tasks[0]; task !== undefined; task = this.#tasks[0]) {
      for (const result of task.results.splice(0)) {
        const { kept } = task.targets[result.index]!
        const left = this.#input.mostHits - this.#hits
        const taken = result.hits.slice(0, left)
        hits.push(...taken.map((hit) => hitOf(kept, hit)))
        this.#hits += taken.length
        this.#counts.scanned.logs += 1
        this.#counts.scanned.bytes += result.scannedBytes
        if (result.error !== null) this.#counts.unreadable += 1
        const isCut = taken.length === left && (result.hits.length > left || result.endedAt !== null)
        const offset = isCut ? taken.at(-1)!.offset + 1 : null
        this.#place = { jobId: kept.jobId, number: kept.number, offset }
        if (taken.length === left) return hits
      }
      if (!task.isDone) return hits
      this.#counts.ruledOut.logs += task.ruledOut.logs
      this.#counts.ruledOut.bytes += task.ruledOut.bytes
      this.#counts.unreadable += task.unreadable
      this.#tasks.shift()
      this.#offerSlots()
    }
    return hits
  }

  #fail(error: unknown): void {
    this.#failure ??= { error }
    this.#wake()
  }

  /** Creates tasks, as many as are worth having at once. */
  async #produce(): Promise<void> {
    const { store } = this.#parts
    const { signal } = this.#stopping
    const candidates = await this.#findCandidates()
    const filter = filterOf(this.#input)
    const start = this.#place
    // A log in which the search was cut is looked at once more.
    let before: LogKey | null = null
    if (start !== null) {
      const { jobId, number, offset } = start
      before = { jobId, number: offset === null ? number : ((number + 1) as typeof number) }
    }
    let reading = store.pageKeptLogs(filter, { before, limit: PAGE / 4, candidates })
    while (!signal.aborted) {
      const page = await reading
      if (page.next !== null) {
        reading = store.pageKeptLogs(filter, { before: page.next, limit: PAGE, candidates })
        reading.catch(() => {})
      }
      if (!(await this.#search(page, candidates, start))) {
        this.#producing = 'bytes'
        break
      }
      if (page.next !== null) continue
      this.#producing = 'end'
      break
    }
    this.#wake()
  }

  #findCandidates(): Promise<Candidates | null> {
    const term = createQueryPlan(this.#input)
    // Without the index everything is searched, which takes longer and finds the same.
    return isEverything(term)
      ? Promise.resolve(null)
      : this.#parts.index.probe(term, this.#stopping.signal).catch((error: unknown) => {
          if (this.#stopping.signal.aborted || isScrapdeckError(error, 'STOPPING')) throw error
          return null
        })
  }

  /** False: so many bytes were not to be read. */
  async #search(
    { logs, ruledOut }: LogPage,
    candidates: Candidates | null,
    start: SearchPlace | null
  ): Promise<boolean> {
    const { signal } = this.#stopping
    let task = newTask(ruledOut)
    let bytes = 0
    const submit = async () => {
      this.#scan(task)
      task = newTask({ logs: 0, bytes: 0 })
      bytes = 0
      while (this.#tasks.length >= TASKS_AT_ONCE && !signal.aborted) await this.#slot()
    }
    for (let at = 0; at < logs.length && !signal.aborted; at += TASK_LOGS) {
      const some = logs.slice(at, at + TASK_LOGS)
      const kept = new Map((await this.#parts.store.readKeptLogs(some)).map((log) => [keyOf(log), log]))
      for (const log of some) {
        const known = kept.get(keyOf(log))
        if (known === undefined) continue
        const offset = start?.jobId === log.jobId && start.number === log.number ? start.offset : null
        const target = await this.#targetOf(known, piecesOf(log.blocks, candidates, offset), log.blocks?.rawBytes)
        if (target === null) {
          task.unreadable += 1
          continue
        }
        if (this.#scheduledBytes >= this.#input.maxBytes) {
          if (task.targets.length > 0) await submit()
          return false
        }
        task.targets.push(target)
        bytes += target.bytes
        this.#scheduledBytes += target.bytes
        const isFirst = this.#scheduledBytes <= 4 * FIRST_TASK_BYTES
        if (bytes >= (isFirst ? FIRST_TASK_BYTES : TASK_BYTES) || task.targets.length >= TASK_LOGS) await submit()
        if (signal.aborted) return true
      }
    }
    await submit()
    return true
  }

  /** null: it cannot be read. */
  async #targetOf(kept: KeptLog, pieces: Piece[] | null, rawBytes: number | undefined): Promise<Target | null> {
    const size = rawBytes ?? kept.log.sizes?.rawBytes ?? FRAME_RAW_BYTES
    try {
      const file = await this.#parts.archive.fileOf(kept.jobId, kept.number, kept.log)
      return { kept, file, pieces, bytes: pieces === null ? size : bytesOf(pieces, size) }
    } catch {
      return null
    }
  }

  /** Resolves when the first task is over and its lines are taken, or the search is. */
  #slot(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#onSlot.push(resolve)
    return promise
  }

  #offerSlots(): void {
    for (const resolve of this.#onSlot.splice(0)) resolve()
  }

  #scan(task: Task): void {
    const { threads } = this.#parts
    const query = this.#input
    this.#tasks.push(task)
    const finish = () => {
      task.isDone = true
      this.#wake()
    }
    if (task.targets.length === 0) return finish()
    const { text, isRegex, matchesCase, minLevel, sinceMs, untilMs } = query
    const input: ScanOrder = {
      query: { text, isRegex, matchesCase },
      records: { minLevel: minLevel ?? null, sinceMs: sinceMs ?? null, untilMs: untilMs ?? null },
      mostHits: query.mostHits - this.#hits,
      logs: task.targets.map(({ file, pieces, kept: { startedAtMs } }) => ({ file, pieces, startedAtMs }))
    }
    const onPart = (part: ScannedLog) => {
      task.results.push(part)
      this.#wake()
    }
    const options = { signal: this.#stopping.signal, timeoutMs: TASK_TIMEOUT_MS, tooSlow }
    threads
      .run<void, ScannedLog>({ task: 'scan', input, onPart, ...options })
      .then(finish, (error: unknown) => this.#fail(error))
  }
}

const newTask = (ruledOut: LogPage['ruledOut']): Task => ({
  ...{ targets: [], ruledOut, unreadable: 0, results: [], isDone: false }
})

const keyOf = ({ jobId, number }: LogKey): string => `${jobId} ${number}`

function hitOf({ jobId, number, project, spider, nodeId }: KeptLog, hit: ScannedLog['hits'][number]): FleetLogHit {
  return { ...hit, jobId, attemptNumber: number, project, spider, nodeId }
}

function filterOf({ project, spider, nodeId, outcome, sinceMs, untilMs }: FleetLogSearchInput): KeptLogFilter {
  return { project, spider, nodeId, outcome, sinceMs, untilMs }
}

function checkQuery(query: FleetLogSearchInput): void {
  try {
    createMatcher(query)
  } catch (error) {
    throw new ScrapdeckError('BAD_INPUT', `The regular expression is not valid: ${(error as Error).message}`)
  }
}

const tooSlow = () =>
  new ScrapdeckError('BAD_INPUT', 'The regular expression takes too long on these logs. Make it simpler')
