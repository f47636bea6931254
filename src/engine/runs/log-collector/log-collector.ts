import { EventEmitter } from 'node:events'
import type { JobId, NodeId, RunLimits } from '../../../shared/contract/index.ts'
import { isScrapdeckError } from '../../../shared/errors.ts'
import type { HeadFormat } from '../../../shared/log-record.ts'
import type { LogArchivePort } from '../logs/archive/log-archive.ts'
import type { LogBytes } from '../../runtime/byte-window.ts'
import type { Fleet, FleetNode } from '../../nodes/fleet.ts'
import type { Clock, Timer } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { ReadingStore } from '../../storage/store.ts'
import type { LogFigures } from '../log-parser/figures.ts'
import { LogReading, type RunOfLog, errorsOf, recordOf } from './log-reading.ts'
import { firstReadMs, mostMsFor, nextReadMs, readsPerSecond, THREATENED_FROM_RUNS } from './read-plan.ts'

export interface GrowingRun extends RunOfLog {
  readonly nodeId: NodeId
  readonly startedAtMs: number | null
  readonly runLimits: RunLimits | null
}

export interface LiveFigures {
  pages: number | null
  items: number | null
  errors: number
  pagesPerMinute: number | null
  itemsPerMinute: number | null
}

export interface LogProgress {
  pages: number | null
  items: number | null
  errors: number
  responses: Readonly<Record<string, number>>
  /**
   * The time since pages or items last grew, as of the last read that reached the end of the log. Null: the log counts
   * neither, or the spider is closing.
   */
  stillMs: number | null
}

interface CollectorParts {
  store: Pick<ReadingStore, 'recordReadings'>
  archive: Pick<LogArchivePort, 'copies'>
  fleet: Fleet
  clock: Clock
  logger: Logger
  runLimitsOf: (run: GrowingRun) => RunLimits | null
  /** The busy share of the event loop since the last call, 0 to 1. Absent: idle. */
  loopShare?: () => number
}

interface Followed {
  run: GrowingRun
  reading: LogReading
  intervalMs: number
  dueAtMs: number
  isReading: boolean
  live: LiveFigures | null
  /** Monotonic time when pages or items last grew, or when the run started. */
  progressedAtMs: number
  /** The monotonic start time of the last read that reached the end of the log. Null: no such read. */
  readAtMs: number | null
  /** The monotonic time after which the log is known to have grown. Null: no growth observed yet. */
  writtenSinceMs: number | null
  mostMs: number | null
  siblings: Set<Followed>
}

interface CollectorEvents {
  progressed: [jobIds: JobId[]]
  recorded: []
  /** The log of this job was read. It may not have grown. */
  read: [jobId: JobId]
}

const TICK_MS = 250
const READS_AT_ONCE = 32
const READS_AT_ONCE_PER_NODE = 2
const MOST_BYTES_AT_ONCE = 1_048_576
/** How often the errors of all running jobs are recorded, in one write. They are recorded again when the run ends. */
const RECORD_EVERY_MS = 30_000
/** The maximum number of bytes read per second from all logs together. The rest is read later. */
const BYTES_PER_SECOND = 20_000_000

/**
 * Reads the logs of running jobs as they grow, to collect figures and errors and to copy remote logs before the nodes
 * delete them. The requests, the bytes and the load per node are limited. A log that could not be read in time is read
 * when its run has ended.
 */
export class LogCollector {
  readonly events = new EventEmitter<CollectorEvents>()
  readonly #parts: CollectorParts
  /** By job, because at most one attempt of a job is live. */
  readonly #followed = new Map<JobId, Followed>()
  readonly #siblings = new Map<string, Set<Followed>>()
  readonly #stopping = new AbortController()
  #timer: Timer | null = null
  /** Logs to read as soon as the limits allow, longest waiting first. Entries before `#dueAt` are done. */
  #due: Followed[] = []
  #dueAt = 0
  /** Due logs that wait until their node has responded to another request. */
  readonly #heldOn = new Map<NodeId, Followed[]>()
  #reads = 0
  readonly #readsOn = new Map<NodeId, number>()
  #readsLeft = 0
  #bytesLeft = 0
  #refilledAtMs = Number.NEGATIVE_INFINITY
  #recordDueAtMs = 0
  readonly #unrecorded = new Set<Followed>()
  #recording: Promise<void> | null = null

  constructor(parts: CollectorParts) {
    this.#parts = parts
  }

  /** Call this when the spider is running. Repeated calls are allowed. */
  follow(run: GrowingRun): void {
    if (this.#find(run) !== undefined || this.#stopping.signal.aborted) return
    const earlier = this.#followed.get(run.jobId)
    if (earlier !== undefined) this.forget(earlier.run)
    const { clock, fleet, archive } = this.#parts
    const nowMs = clock.monotonicMs()
    const isLocal = fleet.get(run.nodeId)?.client.traits.keepsLogs ?? false
    const intervalMs = firstReadMs({ isLocal })
    const mostMs = mostMsFor(this.#parts.runLimitsOf(run))
    const followed: Followed = {
      run,
      intervalMs,
      dueAtMs: nowMs + intervalMs,
      isReading: false,
      live: null,
      progressedAtMs: nowMs,
      readAtMs: null,
      writtenSinceMs: null,
      mostMs,
      siblings: this.#siblings.get(spiderKey(run)) ?? new Set(),
      reading: new LogReading(run, archive.copies)
    }
    if (!isLocal) for (const other of followed.siblings) other.dueAtMs = Math.min(other.dueAtMs, nowMs)
    this.#followed.set(run.jobId, followed)
    this.#siblings.set(spiderKey(run), followed.siblings.add(followed))
    this.#schedule()
  }

  /** Call this when the run's job is back in the queue, or the run no longer belongs to us. */
  forget(run: RunOfLog): void {
    const followed = this.#find(run)
    if (followed === undefined) return
    this.#followed.delete(run.jobId)
    this.#unrecorded.delete(followed)
    followed.siblings.delete(followed)
    if (followed.siblings.size === 0) this.#siblings.delete(spiderKey(followed.run))
  }

  liveOf(jobId: JobId): LiveFigures | null {
    return this.#followed.get(jobId)?.live ?? null
  }

  *allLive(): Generator<{ run: GrowingRun; live: LiveFigures }, void> {
    for (const { run, live } of this.#followed.values()) if (live !== null) yield { run, live }
  }

  /** The monotonic time after which the log of a running job is known to have grown. Null: no growth observed. */
  writtenSinceMs(jobId: JobId): number | null {
    return this.#followed.get(jobId)?.writtenSinceMs ?? null
  }

  /** Null: the job's log has not been read yet. */
  progressOf(jobId: JobId): LogProgress | null {
    const followed = this.#followed.get(jobId)
    if (followed === undefined || followed.reading.parsedBytes === 0) return null
    const { progressedAtMs, readAtMs } = followed
    const { pages, items, records, responses, closingReason } = followed.reading.parser.figures()
    const isCounted = (pages !== null || items !== null) && closingReason === null
    const stillMs = isCounted && readAtMs !== null ? Math.max(0, readAtMs - progressedAtMs) : null
    return { pages, items, errors: records.ERROR + records.CRITICAL, responses, stillMs }
  }

  formatOf(jobId: JobId): HeadFormat | null {
    return this.figuresOf(jobId)?.format ?? null
  }

  figuresOf(jobId: JobId): LogFigures | null {
    const followed = this.#followed.get(jobId)
    return followed === undefined || followed.reading.parsedBytes === 0 ? null : followed.reading.parser.figures()
  }

  /**
   * Call this after the run has ended. `tail` is the end of its log. Null: only the copy is left. Resolves to null if
   * there is no log. Rejects as NodeClient.readLog does, and then continues to follow the run.
   */
  async finish(run: GrowingRun, node: FleetNode, tail: LogBytes | null, signal: AbortSignal) {
    const followed = this.#find(run)
    if (followed !== undefined) followed.dueAtMs = Number.POSITIVE_INFINITY
    const reading = followed?.reading ?? new LogReading(run, this.#parts.archive.copies)
    await reading.finish(node, tail, signal)
    this.forget(run)
    return tail === null && reading.parsedBytes === 0 ? null : reading
  }

  /** Records the figures and errors of an ended run. `isStopped`: we stopped it, so an interruption is not an error. */
  async record(reading: LogReading, startedAtMs: number | null, { isStopped }: { isStopped: boolean }): Promise<void> {
    if (!isStopped) reading.errors.addInterruptions()
    // Waits for the records of running jobs, because they must not overwrite this record.
    await this.#recording
    const record = recordOf(reading, { startedAtMs, nowMs: this.#parts.clock.nowMs() })
    await this.#parts.store.recordReadings([record])
    if (record.errors.length > 0) this.events.emit('recorded')
  }

  stop(): void {
    this.#stopping.abort()
    this.#timer?.cancel()
  }

  #find({ jobId, number }: RunOfLog): Followed | undefined {
    const followed = this.#followed.get(jobId)
    return followed?.run.number === number ? followed : undefined
  }

  #schedule(): void {
    if (this.#followed.size === 0 || this.#timer !== null || this.#stopping.signal.aborted) return
    this.#timer = this.#parts.clock.setTimer(TICK_MS, () => {
      this.#timer = null
      this.#readDue()
      this.#recordDue()
      this.#schedule()
    })
  }

  #readDue(): void {
    const nowMs = this.#parts.clock.monotonicMs()
    const seconds = (nowMs - this.#refilledAtMs) / 1_000
    // Unused budget does not accumulate beyond a burst of two ticks.
    const perSecond = readsPerSecond(this.#parts.loopShare?.() ?? 0)
    this.#readsLeft = Math.min(perSecond / 2, this.#readsLeft + seconds * perSecond)
    this.#bytesLeft = Math.min(BYTES_PER_SECOND, this.#bytesLeft + seconds * BYTES_PER_SECOND)
    this.#refilledAtMs = nowMs
    if (this.#due.length - this.#dueAt < perSecond) {
      this.#due = [...this.#followed.values()].filter(({ isReading, dueAtMs }) => !isReading && dueAtMs <= nowMs)
      this.#due.sort((one, other) => one.dueAtMs - other.dueAtMs)
      this.#dueAt = 0
      this.#heldOn.clear()
    }
    for (const nodeId of this.#heldOn.keys()) this.#readHeld(nodeId)
    this.#readNext()
  }

  #readNext(): void {
    if (this.#stopping.signal.aborted) return
    while (this.#dueAt < this.#due.length && this.#mayRead()) this.#readOrHold(this.#due[this.#dueAt++]!)
  }

  #readOrHold(followed: Followed): void {
    const { run, isReading, dueAtMs } = followed
    if (this.#find(run) !== followed || isReading || dueAtMs === Number.POSITIVE_INFINITY) return
    const node = this.#parts.fleet.get(run.nodeId)
    if (node?.status.health !== 'up') return
    if ((this.#readsOn.get(run.nodeId) ?? 0) < READS_AT_ONCE_PER_NODE) return this.#beginRead(followed, node)
    const held = this.#heldOn.get(run.nodeId)
    if (held === undefined) this.#heldOn.set(run.nodeId, [followed])
    else held.push(followed)
  }

  #readHeld(nodeId: NodeId): void {
    const held = this.#heldOn.get(nodeId)
    while (held !== undefined && held.length > 0 && this.#mayRead() && !this.#stopping.signal.aborted) {
      if ((this.#readsOn.get(nodeId) ?? 0) >= READS_AT_ONCE_PER_NODE) return
      this.#readOrHold(held.shift()!)
    }
    if (held?.length === 0) this.#heldOn.delete(nodeId)
  }

  #mayRead(): boolean {
    return this.#reads < READS_AT_ONCE && this.#readsLeft >= 1 && this.#bytesLeft > 0
  }

  #beginRead(followed: Followed, node: FleetNode): void {
    const { nodeId } = followed.run
    this.#readsLeft -= 1
    this.#countRead(nodeId, 1)
    followed.isReading = true
    void this.#read(followed, node).then(() => {
      followed.isReading = false
      this.#countRead(nodeId, -1)
      this.#readHeld(nodeId)
      this.#readNext()
    })
  }

  #countRead(nodeId: NodeId, change: 1 | -1): void {
    this.#reads += change
    const onNode = (this.#readsOn.get(nodeId) ?? 0) + change
    if (onNode === 0) this.#readsOn.delete(nodeId)
    else this.#readsOn.set(nodeId, onNode)
  }

  #recordDue(): void {
    const nowMs = this.#parts.clock.monotonicMs()
    if (nowMs < this.#recordDueAtMs || this.#recording !== null || this.#unrecorded.size === 0) return
    const changed = [...this.#unrecorded]
    this.#unrecorded.clear()
    this.#recordDueAtMs = nowMs + RECORD_EVERY_MS
    this.#recording = this.#recordErrors(changed).finally(() => {
      this.#recording = null
    })
  }

  async #recordErrors(changed: readonly Followed[]): Promise<void> {
    const nowMs = this.#parts.clock.nowMs()
    const records = changed.map((followed) => ({
      followed,
      record: errorsOf(followed.reading, { startedAtMs: followed.run.startedAtMs, nowMs })
    }))
    try {
      await this.#parts.store.recordReadings(records.map(({ record }) => record))
      this.events.emit('recorded')
    } catch (error) {
      for (const { followed, record } of records) {
        followed.reading.errors.giveBack(record.errors.map(({ fingerprint }) => fingerprint))
        if (this.#find(followed.run) === followed) this.#unrecorded.add(followed)
      }
      if (this.#stopping.signal.aborted) return
      this.#parts.logger.warn({ error }, 'the errors of running jobs could not be recorded; trying again')
    }
  }

  async #read(followed: Followed, node: FleetNode): Promise<void> {
    const { run, reading } = followed
    const { clock, logger } = this.#parts
    const begunAtMs = clock.monotonicMs()
    let newBytes = 0
    let isRead = false
    try {
      newBytes = await reading.readOn(node, MOST_BYTES_AT_ONCE, this.#stopping.signal)
      this.#bytesLeft -= newBytes
      // The new bytes were written after the last read that reached the end.
      if (newBytes > 0) followed.writtenSinceMs = followed.readAtMs
      if (newBytes > 0) this.#update(followed)
      if (reading.errors.hasChanged && this.#find(run) === followed) this.#unrecorded.add(followed)
      if (newBytes < MOST_BYTES_AT_ONCE && !reading.isCapped) followed.readAtMs = begunAtMs
      isRead = true
    } catch (error) {
      // Reads the log again later. The observer reports a node that does not respond.
      if (!this.#stopping.signal.aborted && !isScrapdeckError(error, 'LOG_NOT_FOUND')) {
        logger.debug({ error, jobId: run.jobId }, 'the log of a running job could not be read')
      }
    }
    const isLocal = node.client.traits.keepsLogs
    followed.intervalMs = nextReadMs({
      isLocal,
      newBytes,
      intervalMs: followed.intervalMs,
      hasMore: newBytes >= MOST_BYTES_AT_ONCE,
      mostMs: followed.mostMs,
      isThreatened: !isLocal && followed.siblings.size >= THREATENED_FROM_RUNS
    })
    // Counted from the start of the read, so that slow reads do not make the figures older.
    const nextAtMs = Math.max(begunAtMs + followed.intervalMs, clock.monotonicMs() + TICK_MS)
    if (followed.dueAtMs !== Number.POSITIVE_INFINITY) followed.dueAtMs = nextAtMs
    if (isRead && this.#find(run) === followed) this.events.emit('read', run.jobId)
  }

  #update(followed: Followed): void {
    const { pages, items, records, pagesPerMinute, itemsPerMinute } = followed.reading.parser.figures()
    const live = { pages, items, errors: records.ERROR + records.CRITICAL, pagesPerMinute, itemsPerMinute }
    const before = followed.live
    if (before?.pages !== pages || before?.items !== items) followed.progressedAtMs = this.#parts.clock.monotonicMs()
    followed.live = live
    if (JSON.stringify(before) !== JSON.stringify(live)) this.events.emit('progressed', [followed.run.jobId])
  }
}

const spiderKey = ({ nodeId, project, spider }: GrowingRun): string => `${nodeId}\n${project}\n${spider}`
