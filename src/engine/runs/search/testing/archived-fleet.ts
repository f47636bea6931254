import { existsSync } from 'node:fs'
import { readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { FleetLogSearchInput, type FleetLogSearchProgress, type JobId } from '../../../../shared/contract/index.ts'
import { anAttemptNumber } from '../../../../shared/testing/ids.ts'
import { openFilesystemBlobStore } from '../../../storage/blobs/filesystem/filesystem-blob-store.ts'
import { LogCache } from '../../logs/archive/log-cache.ts'
import { LogArchive } from '../../logs/archive/log-archive.ts'
import { packSmallLog } from '../../logs/archive/small-log.ts'
import { cutBytes } from '../../../runtime/byte-window.ts'
import { openLogThreads } from '../../logs/scan/log-scans.ts'
import { systemClock } from '../../../runtime/clock.ts'
import { silentLogger } from '../../../runtime/logger.ts'
import type { ThreadPool } from '../../../runtime/thread-pool.ts'
import { systemRandom } from '../../../runtime/random.ts'
import { aNewJob, anAttemptStart, entry } from '../../../testing/builders.ts'
import type { LogKey } from '../../../model/records.ts'
import { openTemporaryStore } from '../../../testing/temporary-store.ts'
import { FleetSearch } from '../fleet-search.ts'
import { LogIndex, openSearchThreads } from '../log-index.ts'

const FIRST = anAttemptNumber(1)

export async function openArchivedFleet() {
  await using opened = new AsyncDisposableStack()
  const { store, directory } = opened.use(await openTemporaryStore({ inMemory: true }))
  const blobs = await openFilesystemBlobStore(join(directory, 'blobs'))
  const [archiving, indexing, searching] = [
    openLogThreads(systemClock, 1),
    openSearchThreads(systemClock, 1),
    openSearchThreads(systemClock, 2)
  ]
  for (const threads of [archiving, indexing, searching]) opened.adopt(threads, () => threads.close())
  const archive = new LogArchive({
    blobs,
    threads: archiving,
    random: systemRandom,
    directory,
    cache: LogCache.open(join(directory, 'cache'))
  })
  const indexDirectory = join(directory, 'log-index')
  const liveFiles = new Map<JobId, string>()
  const movedWhenRead = new Map<JobId, () => Promise<void>>()
  const openIndex = () =>
    new LogIndex({
      store,
      archive,
      indexing,
      searching,
      directory: indexDirectory,
      clock: systemClock,
      logger: silentLogger
    })
  let index = openIndex()
  const searchThreads: Pick<ThreadPool, 'run'> = searching
  const owned = opened.move()

  return {
    store,
    blobs,
    archive,
    indexDirectory,
    get index() {
      return index
    },

    /** Reopens the index as after a restart. `isDeleted`: whether its files are deleted first. */
    async reopenIndex({ isDeleted = false } = {}): Promise<void> {
      await index.stop()
      if (isDeleted && existsSync(indexDirectory)) await rm(indexDirectory, { recursive: true })
      index = openIndex()
    },

    async add(text: string | Buffer, over: Parameters<typeof aNewJob>[0] = {}): Promise<JobId> {
      const log = Buffer.from(text)
      const job = aNewJob(over)
      await store.enqueueJobs([job])
      await store.beginAttempts([anAttemptStart(job, { nodeId: over.placement?.nodeId ?? 'node-1' })])
      const packed = await packSmallLog({ offset: 0, sizeBytes: log.length, bytes: log })
      if (packed !== null) {
        const sizes = { rawBytes: log.length, storedBytes: packed.length }
        await store.markLogArchived(job.id, FIRST, { packed, sizes })
      } else {
        const { rawBytes, packedBytes } = await archive.copy(job.id, FIRST, async (range) => cutBytes(log, range))
        await store.markLogArchived(job.id, FIRST, { packed: null, sizes: { rawBytes, storedBytes: packedBytes } })
      }
      const result = { from: ['sending' as const], to: 'ended' as const, result: 'succeeded' as const }
      const change = { jobId: job.id, attemptNumber: FIRST, kind: 'ended' as const, entry: entry(), ...result }
      await store.applyChanges([change])
      return job.id
    },

    /** Adds the log of a live run, or of one that ended without being archived. */
    async addUnarchived(
      text: string,
      { isOver = false, ...over }: Parameters<typeof aNewJob>[0] & { isOver?: boolean } = {}
    ) {
      const job = aNewJob(over)
      await store.enqueueJobs([job])
      await store.beginAttempts([anAttemptStart(job)])
      const path = join(directory, `${job.id}.log`)
      await writeFile(path, text)
      liveFiles.set(job.id, path)
      const change = {
        jobId: job.id,
        attemptNumber: FIRST,
        from: ['sending' as const],
        entry: entry(undefined, { atMs: systemClock.nowMs() })
      }
      if (isOver) await store.applyChanges([{ ...change, kind: 'ended', to: 'ended', result: 'succeeded' }])
      return job.id
    },

    /** The next search finds the log live. A moment later, it is in the archive. */
    archiveWhenRead(jobId: JobId): void {
      movedWhenRead.set(jobId, async () => {
        const bytes = await readFile(liveFiles.get(jobId)!)
        const packed = (await packSmallLog({ offset: 0, sizeBytes: bytes.length, bytes }))!
        await store.markLogArchived(jobId, FIRST, {
          packed,
          sizes: { rawBytes: bytes.length, storedBytes: packed.length }
        })
      })
    },

    search(input: { text: string } & Partial<FleetLogSearchInput>, signal?: AbortSignal, threads = searchThreads) {
      const liveFileOf = async ({ jobId }: LogKey) => {
        const path = liveFiles.get(jobId)
        await movedWhenRead.get(jobId)?.()
        return path === undefined
          ? null
          : { file: { kind: 'plain', path } as const, sizeBytes: (await stat(path)).size }
      }
      const search = new FleetSearch({ store, archive, liveFileOf, index, threads, clock: systemClock })
      return search.run(FleetLogSearchInput.parse(input), signal)
    },

    async searchAll(input: { text: string } & Partial<FleetLogSearchInput>) {
      const hits: FleetLogSearchProgress['hits'] = []
      let last: FleetLogSearchProgress | null = null
      for await (const progress of this.search(input)) {
        hits.push(...progress.hits)
        last = progress
      }
      return { ...last!, hits }
    },

    async [Symbol.asyncDispose]() {
      await index.stop()
      await owned.disposeAsync()
    }
  }
}

export type ArchivedFleet = Awaited<ReturnType<typeof openArchivedFleet>>
