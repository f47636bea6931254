import { EventEmitter } from 'node:events'
import {
  type JobId,
  type PreviewRow,
  type ProjectName,
  type ProjectUsage,
  RECOMMENDED_POLICY,
  type StoragePolicy,
  type StoragePreview,
  type EncryptionState,
  type StorageUsage,
  type VersionName
} from '../../../shared/contract/index.ts'
import { isScrapdeckError } from '../../../shared/errors.ts'
import type { LogArchivePort } from '../../runs/logs/archive/log-archive.ts'
import type { LogIndex } from '../../runs/search/log-index.ts'
import { type Clock, sleep, type Timer } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import { newRetentionPass, type RetentionBounds, type StorageSums } from '../../model/records.ts'
import type { JobRetentionStore } from '../../storage/store.ts'
import { boundsOf, policyOf, type RunFile, type RunFiles } from './old-files.ts'
import type { DiskState } from './disk.ts'
import { type KeptEgg, oldEggs } from './eggs.ts'

const ROWS_AT_ONCE = 400
const PREVIEW_ROWS = 2_000
/** The target duration of a step, which a claim may have to wait for. Determines how many jobs a step deletes. */
const STEP_MS = 4
const JOBS_AT_ONCE = { min: 4, start: 20, max: 150 }
/** Pauses between steps last several times as long as a step. They are longer if the step had to wait. */
const PAUSE_FACTOR = 5
const PAUSE_MIN_MS = 20
/** The longest pause under load. Deletion must keep up with the jobs that end. */
const PAUSE_FOR_OTHERS_MAX_MS = 100
const PUBLISH_EVERY_MS = 5_000
const BLOBS_AT_ONCE = 50
const PAGES_AT_ONCE = 200
const FREE_BYTES_KEPT = 16_000_000
const EVERY_MS = 3_600_000
const FIRST_AFTER_MS = 120_000
const PREVIEW_LIMIT_MS = 8_000
const FILES_MEASURED_EVERY_MS = 600_000
/** Databases in an earlier format up to this size are converted when idle. This takes about a second. */
const COMPACT_BY_ITSELF_BYTES = 100_000_000

export interface RetentionParts {
  store: JobRetentionStore
  archive: Pick<LogArchivePort, 'delete' | 'cacheFigures'>
  searchIndex: Pick<LogIndex, 'sizeBytes' | 'reclaim'>
  logs: RunFiles
  items: RunFiles
  listEggs: () => Promise<KeptEgg[]>
  /** Rejects if a job needs the egg or a node cannot delete it. */
  deleteEgg: (project: ProjectName, version: VersionName) => Promise<unknown>
  disk: () => DiskState | null
  encryption: () => EncryptionState | null
  clock: Clock
  logger: Logger
}

export interface StorageState {
  encryption: EncryptionState | null
  disk: DiskState | null
  totalBytes: number
  budgetBytes: number | null
  isPolicySet: boolean
}

type Run = StorageUsage['retention']
const NO_RUN: Run = {
  state: 'not_set',
  startedAtMs: null,
  endedAtMs: null,
  problem: null,
  jobs: 0,
  logs: 0,
  items: 0,
  eggs: 0,
  freedBytes: 0
}

interface Files {
  logs: RunFile[]
  items: RunFile[]
  searchIndexBytes: number
  atMs: number
}

/**
 * Deletes what the policy allows, in small steps:
 *
 *   jobs with their attempts, timelines and small logs → blobs of deleted logs → their part of the search index
 *   → files of the local node and archived items → eggs → free pages at the end of the database
 *
 * Rows are deleted before blobs, so after a crash, the store remembers the remaining blob. Nothing else is kept between
 * runs, so an interrupted run starts again.
 */
export class Retention {
  readonly events = new EventEmitter<{ changed: [] }>()
  readonly #parts: RetentionParts
  readonly #stopping = new AbortController()
  #policy: { revision: number; policy: StoragePolicy } = { revision: 0, policy: RECOMMENDED_POLICY }
  #run: Run = NO_RUN
  #running: Promise<void> | null = null
  #pausing = new AbortController()
  #files: Promise<Files> | null = null
  #totalBytes = 0
  #timer: Timer | null = null
  #jobsAtOnce = JOBS_AT_ONCE.start
  #publishedAtMs = Number.NEGATIVE_INFINITY

  constructor(parts: RetentionParts) {
    this.#parts = parts
  }

  async start(): Promise<void> {
    this.#policy = (await this.#parts.store.getStoragePolicy()) ?? this.#policy
    this.#schedule(FIRST_AFTER_MS)
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    this.#pausing.abort()
    this.#timer?.cancel()
    await this.#running
  }

  policy(): { revision: number; policy: StoragePolicy } {
    return this.#policy
  }

  /** The new policy applies immediately. Rejects with CHANGED_MEANWHILE. */
  async setPolicy(edited: { revision: number; policy: StoragePolicy }) {
    const stored = { revision: edited.revision + 1, policy: edited.policy }
    await this.#parts.store.putStoragePolicy(stored)
    this.#policy = stored
    this.#pausing.abort()
    await this.#running
    this.run()
    this.events.emit('changed')
    return stored
  }

  /** Returns false if a run is in progress, retention is paused, or there is no policy. */
  run(): boolean {
    const { revision, policy } = this.#policy
    if (this.#running !== null || revision === 0 || policy.paused || this.#stopping.signal.aborted) return false
    this.#pausing = new AbortController()
    this.#running = this.#work(policy).finally(() => {
      this.#running = null
      this.events.emit('changed')
    })
    this.events.emit('changed')
    return true
  }

  /** `totalBytes` is from the last call to `usage`. */
  state(): StorageState {
    const { revision, policy } = this.#policy
    return {
      encryption: this.#parts.encryption(),
      disk: this.#parts.disk(),
      totalBytes: this.#totalBytes,
      budgetBytes: policy.budgetBytes,
      isPolicySet: revision > 0
    }
  }

  /** Measures the files at most once every ten minutes. */
  async usage(): Promise<StorageUsage> {
    const { store, archive, listEggs, disk } = this.#parts
    const [sums, files, eggs] = await Promise.all([store.storageSums(), this.#measureFiles(), listEggs()])
    const jobBytes = jobBytesOf(sums)
    const byProject = new Map<string, ProjectUsage>()
    const add = (project: string, kind: Exclude<keyof ProjectUsage, 'project'>, count: number, bytes: number) => {
      const none = () => ({ count: 0, bytes: 0 })
      const one = byProject.get(project) ?? {
        project: project as ProjectName,
        jobs: none(),
        logs: none(),
        items: none(),
        eggs: none()
      }
      one[kind].count += count
      one[kind].bytes += bytes
      byProject.set(project, one)
    }
    for (const { project, jobs } of sums.jobs) add(project, 'jobs', jobs, Math.round(jobs * jobBytes))
    for (const { project, logs, bytes } of sums.logs) add(project, 'logs', logs, bytes)
    for (const { project, sizeBytes } of files.logs) add(project, 'logs', 1, sizeBytes)
    for (const { project, sizeBytes } of files.items) add(project, 'items', 1, sizeBytes)
    for (const { project, sizeBytes } of eggs) add(project, 'eggs', 1, sizeBytes)
    const projects = [...byProject.values()].sort((one, other) => totalOf(other) - totalOf(one))
    const cacheBytes = archive.cacheFigures().bytes ?? 0
    const inDatabase = sums.logs.reduce((sum, { packed }) => sum + packed, 0)
    const jobsBytes = projects.reduce((sum, { jobs }) => sum + jobs.bytes, 0)
    const outside = projects.reduce((sum, one) => sum + totalOf(one), 0) - jobsBytes - inDatabase
    const { searchIndexBytes } = files
    this.#totalBytes = sums.database.bytes + outside + searchIndexBytes + cacheBytes
    const free = disk()
    return {
      projects,
      database: sums.database,
      cacheBytes,
      searchIndexBytes,
      totalBytes: this.#totalBytes,
      measuredAtMs: files.atMs,
      disk: free && { totalBytes: free.totalBytes, freeBytes: free.freeBytes, fullAtMs: free.fullAtMs },
      encryption: this.#parts.encryption(),
      retention: { ...this.#run, state: this.#stateOfRun() }
    }
  }

  /** Returns what a run with this policy would delete, and what it would keep although it exceeds a limit, and why. */
  async preview(policy: StoragePolicy = this.#policy.policy): Promise<StoragePreview> {
    const { store, clock } = this.#parts
    const startedMs = clock.monotonicMs()
    const rows = new Map<string, StoragePreview['protected'][number] & { isGoing: boolean }>()
    const add = (row: PreviewRow, reason: StoragePreview['protected'][number]['reason'] | null) => {
      const key = `${row.project}\0${row.kind}\0${reason}`
      const one = rows.get(key)
      if (one === undefined) return void rows.set(key, { ...row, reason: reason ?? 'kept', isGoing: reason === null })
      one.count += row.count
      one.bytes += row.bytes
      if (row.oldestMs !== null) one.oldestMs = Math.min(one.oldestMs ?? row.oldestMs, row.oldestMs)
      if (row.newestMs !== null) one.newestMs = Math.max(one.newestMs ?? row.newestMs, row.newestMs)
    }
    const jobBytes = jobBytesOf(await store.storageSums())
    const bounds = boundsOf(policy, clock.nowMs(), jobBytes)
    const gone = new Set<JobId>()
    let pass: ReturnType<typeof newRetentionPass> | null = newRetentionPass()
    while (pass !== null && clock.monotonicMs() - startedMs < PREVIEW_LIMIT_MS) {
      const step = await store.previewRetention(pass, bounds, PREVIEW_ROWS)
      for (const { protection, ...counts } of step.counts) {
        const bytes = counts.kind === 'jobs' ? Math.round(counts.count * jobBytes) : counts.bytes
        add({ ...counts, bytes }, protection)
      }
      for (const id of step.withItems) gone.add(id)
      pass = step.pass
    }
    for (const kind of ['logs', 'items'] as const) {
      for (const file of await this.#listOldFiles(kind, policy, gone)) {
        const { project, sizeBytes, changedAtMs } = file
        const counts = { count: 1, bytes: sizeBytes, oldestMs: changedAtMs, newestMs: changedAtMs }
        add({ project: project as ProjectName, kind, ...counts }, null)
      }
    }
    for (const { project, sizeBytes, createdAtMs } of await this.#listOldEggs(policy)) {
      add({ project, kind: 'eggs', count: 1, bytes: sizeBytes, oldestMs: createdAtMs, newestMs: createdAtMs }, null)
    }
    const all = [...rows.values()].sort((one, other) => other.bytes - one.bytes)
    const goes = all.filter(({ isGoing }) => isGoing).map(({ isGoing: _, reason: __, ...row }) => row)
    return {
      goes,
      protected: all.filter(({ isGoing }) => !isGoing).map(({ isGoing: _, ...row }) => row),
      freesBytes: goes.reduce((sum, { bytes }) => sum + bytes, 0),
      isCut: pass !== null
    }
  }

  /** Blocks the store. See JobRetentionStore.compact. */
  async compact(): Promise<{ freedBytes: number }> {
    const { store } = this.#parts
    const before = (await store.storageSums()).database.bytes
    await store.compact()
    this.events.emit('changed')
    return { freedBytes: Math.max(0, before - (await store.storageSums()).database.bytes) }
  }

  #schedule(afterMs: number): void {
    this.#timer = this.#parts.clock.setTimer(afterMs, () => {
      this.run()
      this.usage().catch((error: unknown) => this.#complain(error))
      this.#schedule(EVERY_MS)
    })
  }

  #stateOfRun(): Run['state'] {
    const { revision, policy } = this.#policy
    if (this.#running !== null) return 'running'
    return revision === 0 ? 'not_set' : policy.paused ? 'paused' : 'idle'
  }

  async #work(policy: StoragePolicy): Promise<void> {
    const { store, clock } = this.#parts
    this.#run = { ...NO_RUN, startedAtMs: clock.nowMs() }
    try {
      const sums = await store.storageSums()
      const jobBytes = jobBytesOf(sums)
      await this.#deleteJobs(boundsOf(policy, clock.nowMs(), jobBytes), jobBytes)
      await this.#deleteBlobs()
      this.#run.freedBytes += await this.#parts.searchIndex.reclaim()
      await this.#deleteFiles(policy)
      await this.#deleteEggs(policy)
      await this.#shrink()
    } catch (error) {
      this.#complain(error)
    }
    this.#run = { ...this.#run, endedAtMs: clock.nowMs() }
  }

  async #deleteJobs(bounds: RetentionBounds, jobBytes: number): Promise<void> {
    const { store, clock } = this.#parts
    let pass: ReturnType<typeof newRetentionPass> | null = newRetentionPass()
    while (pass !== null && !this.#isInterrupted()) {
      const startedMs = clock.monotonicMs()
      const publish = startedMs - this.#publishedAtMs >= PUBLISH_EVERY_MS
      const step = await store.applyRetention(pass, bounds, { rows: ROWS_AT_ONCE, jobs: this.#jobsAtOnce, publish })
      const { tookMs } = step
      const waitedMs = clock.monotonicMs() - startedMs - tookMs
      let deleted = 0
      for (const { kind, protection, count, bytes } of step.counts) {
        if (protection !== null) continue
        this.#run[kind] += count
        this.#run.freedBytes += kind === 'jobs' ? Math.round(count * jobBytes) : bytes
        deleted += count
      }
      if (publish) {
        this.#publishedAtMs = startedMs
        this.events.emit('changed')
      }
      pass = step.pass
      if (deleted > 0) {
        const factor = tookMs > STEP_MS ? 0.7 : 1.2
        const wanted = Math.round(this.#jobsAtOnce * factor)
        this.#jobsAtOnce = Math.min(JOBS_AT_ONCE.max, Math.max(JOBS_AT_ONCE.min, wanted))
        if (this.#run.logs > 0 && publish) await this.#deleteBlobs()
      }
      if (pass !== null) await this.#pause(tookMs, waitedMs)
    }
  }

  async #deleteBlobs(): Promise<void> {
    const { store, archive, clock } = this.#parts
    while (!this.#isInterrupted()) {
      const startedMs = clock.monotonicMs()
      const logs = await store.listDeletedLogs(BLOBS_AT_ONCE)
      if (logs.length === 0) return
      for (const { jobId, attemptNumber } of logs) await archive.delete(jobId, attemptNumber)
      await store.forgetDeletedLogs(logs)
      await this.#pause(clock.monotonicMs() - startedMs)
    }
  }

  async #deleteFiles(policy: StoragePolicy): Promise<void> {
    this.#files = null
    for (const kind of ['logs', 'items'] as const) {
      for (const file of await this.#listOldFiles(kind, policy)) {
        if (this.#isInterrupted()) return
        await this.#parts[kind].delete(file)
        this.#run[kind] += 1
        this.#run.freedBytes += file.sizeBytes
        this.#files = null
      }
    }
  }

  async #deleteEggs(policy: StoragePolicy): Promise<void> {
    for (const { project, version, sizeBytes } of await this.#listOldEggs(policy)) {
      if (this.#isInterrupted()) return
      try {
        await this.#parts.deleteEgg(project, version)
        this.#run.eggs += 1
        this.#run.freedBytes += sizeBytes
      } catch (error) {
        // A later run tries again. A job can need the version, or a node can be unreachable.
        this.#parts.logger.info({ project, version, error: String(error) }, 'an old version was not deleted')
      }
    }
  }

  async #shrink(): Promise<void> {
    const { store, clock } = this.#parts
    const { bytes, freeBytes, canShrink } = (await store.storageSums()).database
    if (!canShrink && bytes <= COMPACT_BY_ITSELF_BYTES) return store.compact()
    const pageBytes = 4_096
    let left = canShrink ? Math.floor((freeBytes - FREE_BYTES_KEPT) / pageBytes) : 0
    while (left > 0 && !this.#isInterrupted()) {
      const startedMs = clock.monotonicMs()
      const free = await store.shrink(Math.min(left, PAGES_AT_ONCE))
      left = Math.min(left - PAGES_AT_ONCE, free - FREE_BYTES_KEPT / pageBytes)
      await this.#pause(clock.monotonicMs() - startedMs)
    }
  }

  async #listOldFiles(kind: 'logs' | 'items', policy: StoragePolicy, gone = new Set<JobId>()): Promise<RunFile[]> {
    const files = (await this.#measureFiles())[kind].map((file) => {
      const { blobOf } = file
      return blobOf === undefined || !gone.has(blobOf.jobId) ? file : { ...file, blobOf: { ...blobOf, job: null } }
    })
    const old: RunFile[] = []
    for (const [project, own] of Map.groupBy(files, (file) => file.project)) {
      const keep = policyOf(policy, project)[kind]
      old.push(...(await this.#parts[kind].listOld(own, keep, this.#parts.clock.nowMs())))
    }
    return old
  }

  async #listOldEggs(policy: StoragePolicy): Promise<KeptEgg[]> {
    const byProject = Map.groupBy(await this.#parts.listEggs(), ({ project }) => project)
    const nowMs = this.#parts.clock.nowMs()
    return [...byProject].flatMap(([project, eggs]) => oldEggs(eggs, policyOf(policy, project).eggs, nowMs))
  }

  async #measureFiles(): Promise<Files> {
    const { logs, items, searchIndex, clock } = this.#parts
    const known = await this.#files?.catch(() => null)
    if (known != null && clock.nowMs() - known.atMs < FILES_MEASURED_EVERY_MS) return known
    const measure = async () => {
      const atMs = clock.nowMs()
      const [listedLogs, listedItems, searchIndexBytes] = await Promise.all([
        logs.list(),
        items.list(),
        searchIndex.sizeBytes()
      ])
      return { logs: listedLogs, items: listedItems, searchIndexBytes, atMs }
    }
    return (this.#files = measure())
  }

  #isInterrupted(): boolean {
    return this.#pausing.signal.aborted || this.#stopping.signal.aborted
  }

  async #pause(tookMs: number, waitedMs = 0): Promise<void> {
    const pauseMs = Math.max(PAUSE_MIN_MS, tookMs * PAUSE_FACTOR, Math.min(waitedMs, PAUSE_FOR_OTHERS_MAX_MS))
    await sleep(this.#parts.clock, pauseMs, this.#pausing.signal).catch(() => {})
  }

  #complain(error: unknown): void {
    if (this.#stopping.signal.aborted || isScrapdeckError(error, 'STOPPING')) return
    this.#parts.logger.error({ error }, 'deleting what retention lets go failed; retrying later')
    this.#run = { ...this.#run, problem: error instanceof Error ? error.message : String(error) }
  }
}

const totalOf = ({ jobs, logs, items, eggs }: ProjectUsage) => jobs.bytes + logs.bytes + items.bytes + eggs.bytes

function jobBytesOf({ jobs, logs, database }: StorageSums): number {
  const count = jobs.reduce((sum, one) => sum + one.jobs, 0)
  const packed = logs.reduce((sum, one) => sum + one.packed, 0)
  return count === 0 ? 0 : Math.max(0, database.bytes - database.freeBytes - packed) / count
}
