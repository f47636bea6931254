import { existsSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { isScrapdeckError } from '../../../shared/errors.ts'
import type { LogArchivePort } from '../logs/archive/log-archive.ts'
import { FRAME_RAW_BYTES } from '../logs/archive/frames.ts'
import type { LogFile } from '../logs/scan/log-file.ts'
import { Alarm, type Clock, sleep } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import { ThreadPool } from '../../runtime/thread-pool.ts'
import type { Candidates } from '../../storage/log-blocks.ts'
import type { IndexedLogBlocks, LogKey, LogPage, UnindexedLog } from '../../model/records.ts'
import type { ChangeNotifier, LogBlockStore } from '../../storage/store.ts'
import {
  type BitTerm,
  formatDirectory,
  hasBlockIn,
  listSegments,
  SEGMENT_BLOCKS,
  UsedBlocks
} from './index/index-files.ts'
import type { IndexOrder, IndexResult, OpenBlock } from './index/index-logs.ts'
import { threadFile } from '../../runtime/thread-task.ts'

interface LogIndexParts {
  store: LogBlockStore & ChangeNotifier
  archive: Pick<LogArchivePort, 'fileOf'>
  /** Threads of search-worker.ts: one for the index, others for searches. */
  indexing: ThreadPool
  searching: ThreadPool
  /** Used only by the index. Its content can be deleted at any time. */
  directory: string
  clock: Clock
  logger: Logger
}

/** The delay after a change. Runs end in bursts, and new logs need not be indexed immediately. */
const WAIT_MS = 2_000
const LISTED = 500
const MAX_TASK_BYTES = 64 * FRAME_RAW_BYTES
const PAUSE_MS = 20
const PAGED = 2_000
/** If a segment has fewer used blocks than this, moving its logs is worthwhile. */
const SPARSE_BLOCKS = SEGMENT_BLOCKS / 4

interface OpenMember extends LogKey {
  blocks: IndexedLogBlocks
  storedBytes: number | null
}

/**
 * Adds archived logs to the index in steps, in a separate thread, so that indexing never delays the end of a run. Logs
 * that are not in the index yet are always searched.
 *
 *     archived ──(a step)──▶ in blocks, its end in the open block ──(the block is full)──▶ in the index
 *
 * The open block exists only in memory, so its logs are indexed again after a restart.
 */
export class LogIndex {
  readonly #parts: LogIndexParts
  readonly #directory: string
  readonly #stopping = new AbortController()
  #stopListening: (() => void) | null = null
  #running: Promise<void> | null = null
  readonly #alarm: Alarm
  #nextBlock: number | null = null
  /** The lowest number for new blocks. A failed task may have written blocks with lower numbers. */
  #lowestBlock = 0
  #openBlock: OpenBlock | null = null
  #members: OpenMember[] = []
  #lastId: number | null = null

  constructor(parts: LogIndexParts) {
    this.#parts = parts
    this.#alarm = new Alarm(parts.clock, () => {
      if (this.#running === null) this.#startRun()
      else this.#alarm.set(WAIT_MS)
    })
    this.#directory = formatDirectory(parts.directory)
  }

  /** Waits first, because the leftovers of an earlier engine can be indexed after startup. */
  start(): void {
    this.#stopListening = this.#parts.store.onChange(() => this.#alarm.set(WAIT_MS))
    this.#alarm.set(WAIT_MS)
  }

  async stop(): Promise<void> {
    this.#stopListening?.()
    this.#alarm.stop()
    this.#stopping.abort()
    await this.#running
  }

  probe(term: BitTerm, signal?: AbortSignal): Promise<Candidates> {
    const input = { directory: this.#directory, term }
    return this.#parts.searching.run<Candidates>({ task: 'probe', input, signal })
  }

  async sizeBytes(): Promise<number> {
    return (await listSegments(this.#directory)).reduce((sum, { bytes }) => sum + bytes, 0)
  }

  /**
   * Deletes segments without logs, except the newest. Empties one sparse segment per call by indexing its logs again,
   * so that a later call deletes that segment. Returns the bytes freed.
   */
  async reclaim(): Promise<number> {
    while (this.#running !== null) await this.#running
    if (this.#stopping.signal.aborted) return 0
    let freedBytes = 0
    await this.#runAlone(async () => {
      freedBytes = await this.#reclaim()
    })
    return freedBytes
  }

  /** Resolves when all logs archived so far are in the index, except the open block. */
  async whenCaughtUp(): Promise<void> {
    await this.#running
    this.#startRun()
    await this.#running
  }

  #startRun(): void {
    if (!this.#stopping.signal.aborted && this.#running === null) void this.#runAlone(() => this.#run())
  }

  #runAlone(work: () => Promise<void>): Promise<void> {
    this.#running = work()
      .catch((error: unknown) => {
        if (this.#stopping.signal.aborted || isScrapdeckError(error, 'STOPPING')) return
        this.#parts.logger.warn({ error }, 'the search index could not be updated; retrying later')
      })
      .finally(() => {
        this.#running = null
      })
    return this.#running
  }

  async #reclaim(): Promise<number> {
    const { store, clock } = this.#parts
    const { signal } = this.#stopping
    const segments = await listSegments(this.#directory)
    // Excludes the newest segment, because new blocks may be written to it.
    const newest = Math.max(...segments.map(({ segment }) => segment))
    const older = segments.filter(({ segment }) => segment < newest)
    if (older.length === 0) return 0
    const used = new UsedBlocks()
    for await (const { blocks } of this.#listLogs()) if (blocks !== null) used.add(blocks)
    let freedBytes = 0
    for (const { segment, path, bytes } of older) {
      if (signal.aborted) return freedBytes
      if (used.countIn(segment) > 0) continue
      await rm(path, { force: true })
      freedBytes += bytes
    }
    const sparse = older.map(({ segment }) => ({ segment, count: used.countIn(segment) }))
    const emptied = sparse.find(({ count }) => count > 0 && count < SPARSE_BLOCKS)
    if (emptied === undefined) return freedBytes
    const moved: LogKey[] = []
    for await (const { blocks, jobId, number } of this.#listLogs())
      if (blocks !== null && hasBlockIn(blocks, emptied.segment)) moved.push({ jobId, number })
    for (let at = 0; at < moved.length && !signal.aborted; at += LISTED) {
      await store.forgetLogBlocks(moved.slice(at, at + LISTED))
      await sleep(clock, PAUSE_MS, signal)
    }
    // The next run finds the logs to move, like the leftovers of an earlier engine.
    this.#lastId = null
    this.#alarm.set(WAIT_MS)
    return freedBytes
  }

  async *#listLogs() {
    const { store, clock } = this.#parts
    const { signal } = this.#stopping
    for (let before: LogKey | null = null; !signal.aborted; ) {
      const page: LogPage = await store.pageKeptLogs({}, { before, limit: PAGED, candidates: null })
      yield* page.logs
      if (page.next === null) return
      before = page.next
      await sleep(clock, PAUSE_MS, signal)
    }
  }

  async #run(): Promise<void> {
    const { store } = this.#parts
    const { signal } = this.#stopping
    if (this.#lastId === null) await this.#catchUp()
    while (!signal.aborted) {
      const { logs, lastId } = await store.listAddedLogs(this.#lastId, LISTED)
      if (lastId === this.#lastId || signal.aborted) return
      await this.#add(logs)
      this.#lastId = lastId
    }
  }

  async #catchUp(): Promise<void> {
    const { store, clock } = this.#parts
    const { signal } = this.#stopping
    const directory = this.#directory
    if (!existsSync(directory)) {
      // Also deletes indexes in older formats.
      await rm(dirname(directory), { recursive: true, force: true })
      await store.forgetLogBlocks(null)
      await mkdir(directory, { recursive: true, mode: 0o700 })
    }
    this.#openBlock = null
    this.#members = []
    const { lastId } = await store.listAddedLogs(null, 0)
    for (let before: LogKey | null = null; ; ) {
      const { logs, next } = await store.listUnindexedLogs(before, LISTED)
      await this.#add(logs)
      if (next === null || signal.aborted) break
      before = next
      await sleep(clock, PAUSE_MS, signal)
    }
    if (!signal.aborted) this.#lastId = lastId
  }

  /**
   * Either the written or the referenced blocks can be from an older backup, so the higher number counts. Starts a
   * thread.
   */
  async #findNextBlock(): Promise<number> {
    const { store, indexing } = this.#parts
    const input = { directory: this.#directory }
    const written = await indexing.run<number>({ task: 'endOfBlocks', input, signal: this.#stopping.signal })
    return Math.max(written, await store.endOfLogBlocks())
  }

  async #add(logs: UnindexedLog[]): Promise<void> {
    let task: { log: UnindexedLog; file: LogFile }[] = []
    let bytes = 0
    for (const log of logs) {
      const file = await this.#fileOf(log)
      if (file === null) continue
      task.push({ log, file })
      bytes += log.log.sizes?.rawBytes ?? FRAME_RAW_BYTES
      if (bytes < MAX_TASK_BYTES) continue
      await this.#index(task)
      task = []
      bytes = 0
    }
    if (task.length > 0) await this.#index(task)
  }

  async #fileOf({ jobId, number, log }: UnindexedLog): Promise<LogFile | null> {
    try {
      return await this.#parts.archive.fileOf(jobId, number, log)
    } catch (error) {
      this.#parts.logger.warn({ error, jobId }, 'an archived log could not be added to the search index')
      return null
    }
  }

  async #index(logs: { log: UnindexedLog; file: LogFile }[]): Promise<void> {
    const { store, indexing } = this.#parts
    const { signal } = this.#stopping
    if (signal.aborted) return
    this.#nextBlock ??= Math.max(this.#lowestBlock, await this.#findNextBlock())
    const input: IndexOrder = {
      directory: this.#directory,
      nextBlock: this.#nextBlock,
      openBlock: this.#openBlock,
      logs: logs.map(({ file, log: { isTailOnly } }) => ({ file, isTailOnly }))
    }
    // A failed task may have written blocks, so their numbers must not be reused.
    this.#lowestBlock = this.#nextBlock
    this.#nextBlock = null
    const result = await indexing.run<IndexResult>({ task: 'index', input, signal })
    this.#nextBlock = result.nextBlock
    this.#openBlock = result.openBlock
    const done: OpenMember[] = []
    if (result.closedBlock !== null) {
      for (const member of this.#members)
        done.push({ ...member, blocks: { ...member.blocks, tailBlock: result.closedBlock } })
      this.#members = []
    }
    for (const [index, indexed] of result.logs.entries()) {
      if (indexed === null) continue
      const { jobId, number, log } = logs[index]!.log
      const member = { jobId, number, blocks: indexed, storedBytes: log.sizes?.storedBytes ?? null }
      if (indexed.tailBlock === 'open') this.#members.push(member)
      // A large log whose end is in the open block is recorded without that end, so that its other blocks can be ruled
      // out.
      if (indexed.tailBlock !== 'open' || indexed.wholeBlocks > 0) done.push(member)
    }
    await store.recordLogBlocks(done.map(({ storedBytes, ...each }) => ({ ...each, log: { storedBytes } })))
  }
}

const MEMORY_MB = 256
const IDLE_MS = 30_000

export function openSearchThreads(clock: Clock, threads: number): ThreadPool {
  const file = threadFile(import.meta.url, 'search-worker')
  return new ThreadPool({ file, name: 'scrapdeck-search', threads, memoryMb: MEMORY_MB, idleMs: IDLE_MS, clock })
}
