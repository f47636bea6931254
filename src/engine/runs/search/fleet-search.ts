import type {
  FleetLogHit,
  FleetLogSearchInput,
  FleetLogSearchProgress,
  AttemptNumber,
  JobId
} from '../../../shared/contract/index.ts'
import { isScrapdeckError, ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/runs.ts'
import type { LogArchivePort } from '../logs/archive/log-archive.ts'
import { FRAME_RAW_BYTES } from '../logs/archive/frames.ts'
import { checkQuery } from '../logs/scan/log-scans.ts'
import type { LogFile } from '../logs/scan/log-file.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { ThreadPool } from '../../runtime/thread-pool.ts'
import type { Candidates } from '../../storage/log-blocks.ts'
import type { KeptLog, KeptLogFilter, LogKey, LogPage, UnarchivedRun, OnlyProjects } from '../../model/records.ts'
import type { KeptLogReader } from '../../storage/store.ts'
import type { LogIndex } from './log-index.ts'
import { createQueryPlan, isEverything } from './query/query-plan.ts'
import { bytesOf, piecesOf, type Piece, type ScanOrder, type ScannedLog } from './scan/scan-logs.ts'

interface FleetSearchParts {
  store: KeptLogReader
  archive: Pick<LogArchivePort, 'fileOf'> & { copies: Pick<LogArchivePort['copies'], 'list'> }
  liveFileOf: (run: UnarchivedRun) => Promise<{ file: LogFile; sizeBytes: number } | null>
  index: Pick<LogIndex, 'probe'>
  /** The threads of search-worker.ts. */
  threads: Pick<ThreadPool, 'run'>
  clock: Clock
}

/** How many logs the store checks per page. */
const PAGE = 2_000
/** The first tasks are small, so that the first lines arrive soon. */
const FIRST_TASK_BYTES = FRAME_RAW_BYTES
const TASK_BYTES = 16 * FRAME_RAW_BYTES
const TASK_LOGS = 64
/** The maximum number of tasks at once. Keeps all threads busy, but loses little work when the search ends. */
const TASKS_AT_ONCE = 6
/** The base time limit for one task. A second is added for every 20 MB. A slower expression would take hours. */
const TASK_MS = 3_000
const SLOWEST_BYTES_PER_MS = 20_000
/** If an expression times out on more logs than this, the cause is the expression and not a very long line. */
const MOST_SLOW_LOGS = 2
const REPORT_EVERY_MS = 200

/**
 * How far back unarchived runs are searched. Local logs are archived within half an hour, or a little later after a
 * restart.
 */
const UNARCHIVED_MS = 3_600_000
const MOST_UNARCHIVED = 2_000

type SearchedRun = Omit<KeptLog, 'log' | 'endedAtMs'>

interface Target {
  run: SearchedRun
  isArchived: boolean
  file: LogFile
  pieces: Piece[] | null
  bytes: number
}

/** A batch of logs, in order. `results` grows during the search. */
interface Task {
  targets: Target[]
  ruledOut: LogPage['ruledOut']
  unreadable: number
  results: ScannedLog[]
  isDone: boolean
}

/**
 * Searches the logs of all jobs: first those that are live or ended recently and are not archived, then the archive,
 * newest jobs first. The store filters by facts about the runs, the index rules out archived blocks, and threads search
 * what remains. For logs on other machines, searches only the part that was copied so far.
 */
export class FleetSearch {
  readonly #parts: FleetSearchParts

  constructor(parts: FleetSearchParts) {
    this.#parts = parts
  }

  /** Rejects with BAD_INPUT for an expression that is invalid or takes too long. */
  async *run(
    input: FleetLogSearchInput & OnlyProjects,
    signal?: AbortSignal
  ): AsyncGenerator<FleetLogSearchProgress, void> {
    checkQuery(input)
    const place = input.cursor === undefined ? null : decodeCursor(input.cursor)
    yield* new OneSearch(this.#parts, input, place).run(signal)
  }
}

class OneSearch {
  readonly #parts: FleetSearchParts
  readonly #input: FleetLogSearchInput & OnlyProjects
  readonly #stopping = new AbortController()
  readonly #tasks: Task[] = []
  #place: SearchPlace | null
  #producing: 'on' | 'bytes' | 'end' = 'on'
  #failure: { error: unknown } | null = null
  #isOutOfTime = false
  #wake: () => void = () => {}
  readonly #onSlot: (() => void)[] = []
  #scheduledBytes = 0
  /** Logs that were searched before they were archived. They are skipped in the archive. */
  readonly #unarchived = new Set<string>()
  #hits = 0
  #slowLogs = 0
  readonly #counts = { ruledOut: { logs: 0, bytes: 0 }, scanned: { logs: 0, bytes: 0 }, unreadable: 0 }

  constructor(parts: FleetSearchParts, input: FleetLogSearchInput & OnlyProjects, place: SearchPlace | null) {
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

  #takeResults(): FleetLogHit[] {
    const hits: FleetLogHit[] = []
    for (let task = this.#tasks[0]; task !== undefined; task = this.#tasks[0]) {
      for (const result of task.results.splice(0)) {
        const { run, isArchived } = task.targets[result.index]!
        const left = this.#input.mostHits - this.#hits
        const taken = result.hits.slice(0, left)
        hits.push(...taken.map((hit) => hitOf(run, hit)))
        this.#hits += taken.length
        this.#counts.scanned.logs += 1
        this.#counts.scanned.bytes += result.scannedBytes
        if (result.error !== null) this.#counts.unreadable += 1
        const isCut = taken.length === left && (result.hits.length > left || result.endedAt !== null)
        const offset = isCut ? taken.at(-1)!.offset + 1 : null
        this.#place = { isArchived, jobId: run.jobId, number: run.number, offset }
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

  async #produce(): Promise<void> {
    const { store } = this.#parts
    const { signal } = this.#stopping
    const filter = filterOf(this.#input)
    if (this.#place?.isArchived !== true && !(await this.#searchUnarchived(filter, this.#place))) {
      this.#producing = 'bytes'
      this.#wake()
      return
    }
    const candidates = await this.#findCandidates()
    const start = this.#place?.isArchived === true ? this.#place : null
    // If the last search stopped inside a log, searches that log again.
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

  async #searchUnarchived(filter: KeptLogFilter, start: SearchPlace | null): Promise<boolean> {
    const { store, archive, clock, liveFileOf } = this.#parts
    const { signal } = this.#stopping
    const endedSinceMs = clock.nowMs() - UNARCHIVED_MS
    // While the node of a lost run is unreachable, the copy is all that is left of the log.
    const copied = await archive.copies.list()
    const runs = await store.listUnarchivedRuns(filter, { endedSinceMs, copied, limit: MOST_UNARCHIVED })
    const targets = async function* (): AsyncGenerator<Target> {
      for (const run of runs) {
        const isStart = start?.jobId === run.jobId && start.number === run.number
        if (start !== null && (isStart ? start.offset === null : !isBefore(run, start))) continue
        const found = await liveFileOf(run)
        if (found === null) continue
        const { file, sizeBytes } = found
        const pieces = isStart ? piecesOf(null, null, start.offset) : null
        yield { run, isArchived: false, file, pieces, bytes: pieces === null ? sizeBytes : bytesOf(pieces, sizeBytes) }
      }
    }
    let task = newTask({ logs: 0, bytes: 0 })
    let bytes = 0
    for await (const target of targets()) {
      if (signal.aborted) return true
      if (this.#scheduledBytes >= this.#input.maxBytes) {
        await this.#submit(task)
        return false
      }
      this.#unarchived.add(keyOf(target.run))
      task.targets.push(target)
      bytes += target.bytes
      this.#scheduledBytes += target.bytes
      if (!this.#isFull(task, bytes)) continue
      await this.#submit(task)
      task = newTask({ logs: 0, bytes: 0 })
      bytes = 0
    }
    await this.#submit(task)
    return true
  }

  #isFull({ targets }: Task, bytes: number): boolean {
    const isFirst = this.#scheduledBytes <= 4 * FIRST_TASK_BYTES
    return bytes >= (isFirst ? FIRST_TASK_BYTES : TASK_BYTES) || targets.length >= TASK_LOGS
  }

  async #submit(task: Task): Promise<void> {
    this.#scan(task)
    while (this.#tasks.length >= TASKS_AT_ONCE && !this.#stopping.signal.aborted) await this.#slot()
  }

  #findCandidates(): Promise<Candidates | null> {
    const term = createQueryPlan(this.#input)
    // Without the index, the search reads everything, which is slower but has the same results.
    return isEverything(term)
      ? Promise.resolve(null)
      : this.#parts.index.probe(term, this.#stopping.signal).catch((error: unknown) => {
          if (this.#stopping.signal.aborted || isScrapdeckError(error, 'STOPPING')) throw error
          return null
        })
  }

  async #search(
    { logs, ruledOut }: LogPage,
    candidates: Candidates | null,
    start: SearchPlace | null
  ): Promise<boolean> {
    const { signal } = this.#stopping
    let task = newTask(ruledOut)
    let bytes = 0
    const submit = async () => {
      const full = task
      task = newTask({ logs: 0, bytes: 0 })
      bytes = 0
      await this.#submit(full)
    }
    for (let at = 0; at < logs.length && !signal.aborted; at += TASK_LOGS) {
      const some = logs.slice(at, at + TASK_LOGS)
      const kept = new Map((await this.#parts.store.readKeptLogs(some)).map((log) => [keyOf(log), log]))
      for (const log of some) {
        const known = kept.get(keyOf(log))
        if (known === undefined || this.#unarchived.has(keyOf(known))) continue
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
        if (this.#isFull(task, bytes)) await submit()
        if (signal.aborted) return true
      }
    }
    await submit()
    return true
  }

  async #targetOf(kept: KeptLog, pieces: Piece[] | null, rawBytes: number | undefined): Promise<Target | null> {
    const size = rawBytes ?? kept.log.sizes?.rawBytes ?? FRAME_RAW_BYTES
    try {
      const file = await this.#parts.archive.fileOf(kept.jobId, kept.number, kept.log)
      return { run: kept, isArchived: true, file, pieces, bytes: pieces === null ? size : bytesOf(pieces, size) }
    } catch {
      return null
    }
  }

  #slot(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#onSlot.push(resolve)
    return promise
  }

  #offerSlots(): void {
    for (const resolve of this.#onSlot.splice(0)) resolve()
  }

  #scan(task: Task): void {
    this.#tasks.push(task)
    this.#scanFrom(task, 0)
  }

  /** Scans the logs from `first` on. A log that takes too long counts as unreadable and does not block the others. */
  #scanFrom(task: Task, first: number): void {
    const { threads } = this.#parts
    const query = this.#input
    const targets = task.targets.slice(first)
    const finish = () => {
      task.isDone = true
      this.#wake()
    }
    if (targets.length === 0) return finish()
    const { text, isRegex, matchesCase, minLevel, sinceMs, untilMs } = query
    const input: ScanOrder = {
      query: { text, isRegex, matchesCase },
      records: { minLevel: minLevel ?? null, sinceMs: sinceMs ?? null, untilMs: untilMs ?? null },
      mostHits: query.mostHits - this.#hits,
      logs: targets.map(({ file, pieces, run: { startedAtMs } }) => ({ file, pieces, startedAtMs }))
    }
    let next = first
    const onPart = (part: ScannedLog[]) => {
      next = first + part.at(-1)!.index + 1
      task.results.push(...part.map((log) => ({ ...log, index: first + log.index })))
      this.#wake()
    }
    const bytes = targets.reduce((sum, target) => sum + target.bytes, 0)
    const slow = tooSlow()
    const options = { signal: this.#stopping.signal, timeoutMs: TASK_MS + bytes / SLOWEST_BYTES_PER_MS }
    threads
      .run<void, ScannedLog[]>({ task: 'scan', input, onPart, tooSlow: () => slow, ...options })
      .then(finish, (error: unknown) => {
        this.#slowLogs += 1
        if (error !== slow || this.#slowLogs > MOST_SLOW_LOGS) return this.#fail(error)
        task.results.push({ index: next, hits: [], scannedBytes: 0, endedAt: null, error: slow.message })
        this.#scanFrom(task, next + 1)
      })
  }
}

const newTask = (ruledOut: LogPage['ruledOut']): Task => ({
  targets: [],
  ruledOut,
  unreadable: 0,
  results: [],
  isDone: false
})

const keyOf = ({ jobId, number }: LogKey): string => `${jobId} ${number}`

const isBefore = (one: LogKey, other: LogKey): boolean =>
  one.jobId === other.jobId ? one.number < other.number : one.jobId < other.jobId

function hitOf({ jobId, number, project, spider, nodeId }: SearchedRun, hit: ScannedLog['hits'][number]): FleetLogHit {
  return { ...hit, jobId, attemptNumber: number, project, spider, nodeId }
}

function filterOf(input: FleetLogSearchInput & OnlyProjects): KeptLogFilter {
  const { project, spider, nodeId, outcome, sinceMs, untilMs, onlyProjects } = input
  return { project, spider, nodeId, outcome, sinceMs, untilMs, onlyProjects }
}

const tooSlow = () => new ScrapdeckError('BAD_INPUT', sentence('runs.expression_too_slow_for_logs'))

/**
 * Where to continue: before this log or, if `offset` is set, at this byte of the log and then before the log.
 * Unarchived logs are searched first. If `isArchived` is true, they are done.
 */
interface SearchPlace extends LogKey {
  isArchived: boolean
  offset: number | null
}

const encodeCursor = ({ isArchived, jobId, number, offset }: SearchPlace): string =>
  `${isArchived ? '' : 'live.'}${jobId}.${number}${offset === null ? '' : `.${offset}`}`

/** Throws BAD_INPUT. */
function decodeCursor(text: string): SearchPlace {
  const [, live, jobId, number, offset] = /^(live\.)?([0-9a-f]{1,64})\.(\d{1,6})(?:\.(\d{1,15}))?$/.exec(text) ?? []
  if (jobId === undefined) throw new ScrapdeckError('BAD_INPUT', sentence('runs.cursor_invalid', { text }))
  return {
    isArchived: live === undefined,
    jobId: jobId as JobId,
    number: Number(number) as AttemptNumber,
    offset: offset === undefined ? null : Number(offset)
  }
}
