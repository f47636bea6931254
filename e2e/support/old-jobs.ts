import { join } from 'node:path'
import { openFilesystemBlobStore } from '../../src/engine/storage/blobs/filesystem/filesystem-blob-store.ts'
import { cutBytes } from '../../src/engine/runtime/byte-window.ts'
import { LogArchive } from '../../src/engine/runs/logs/archive/log-archive.ts'
import { packSmallLog } from '../../src/engine/runs/logs/archive/small-log.ts'
import { openLogThreads } from '../../src/engine/runs/logs/scan/log-scans.ts'
import { systemClock } from '../../src/engine/runtime/clock.ts'
import { silentLogger } from '../../src/engine/runtime/logger.ts'
import { systemRandom } from '../../src/engine/runtime/random.ts'
import { openSqliteStoreHere } from '../../src/engine/storage/sqlite/sqlite-store.ts'
import { aNewJob, anAttemptStart, aStoredNode, entry } from '../../src/engine/testing/builders.ts'
import type { AttemptState, JobId, Outcome } from '../../src/shared/contract/index.ts'
import { anAttemptNumber } from '../../src/shared/testing/ids.ts'
import { plain } from '../../src/shared/texts/message.ts'

export interface OldJob {
  project: string
  spider: string
  endedAtMs: number
  outcome?: Extract<Outcome, 'succeeded' | 'failed'>
  counts?: { pages: number; items: number; errors: number }
  /** The content of the archived log. The log on the node is gone. */
  log: string
}

const FIRST = anAttemptNumber(1)
const RUN_MS = 90_000

/**
 * Writes jobs that ended long ago, and their archived logs, into the data directory of a stopped service, because
 * retention deletes no job that ended within a day. Their node, `eu-9`, no longer responds.
 */
export async function fillOldJobs(dataDirectory: string, jobs: readonly OldJob[]): Promise<JobId[]> {
  const path = join(dataDirectory, 'scrapdeck.sqlite')
  const store = await openSqliteStoreHere({ path, clock: systemClock, logger: silentLogger })
  const blobs = await openFilesystemBlobStore(join(dataDirectory, 'blobs'))
  const threads = openLogThreads(systemClock, 1)
  const directory = join(dataDirectory, 'log-copies')
  // The cache is only for logs of earlier versions.
  const archive = new LogArchive({ blobs, random: systemRandom, threads, cache: null as never, directory })
  try {
    const node = aStoredNode({ id: 'a'.repeat(32), name: 'eu-9', url: 'http://127.0.0.1:9/', addedAtMs: 1 })
    await store.putNode(node)
    const ids: JobId[] = []
    for (const [index, { project, spider, endedAtMs, outcome = 'succeeded', counts, log }] of jobs.entries()) {
      const startedAtMs = endedAtMs - RUN_MS
      const id = startedAtMs.toString(16).padStart(12, '0') + index.toString(16).padStart(20, '0')
      const at = (atMs: number, text: string) => entry(text, { atMs })
      const job = aNewJob({ id, project, spider, entry: at(startedAtMs, 'Queued via API') })
      await store.enqueueJobs([job])
      await store.beginAttempts([anAttemptStart(job, { nodeId: node.id, entry: at(startedAtMs, 'Sent to eu-9') })])
      const change = { jobId: job.id, attemptNumber: FIRST }
      const move = async (from: AttemptState, to: AttemptState, atMs: number, over: object = {}) =>
        store.applyChanges([{ ...change, from: [from], to, kind: to, entry: at(atMs, to), ...over } as never])
      await move('sending', 'accepted', startedAtMs)
      await move('accepted', 'running', startedAtMs, { details: { startedAtMs } })
      await move('running', 'finishing', endedAtMs)
      await move('finishing', 'ended', endedAtMs, {
        result: outcome,
        jobOutcome: outcome,
        reason: plain(outcome === 'succeeded' ? 'finished' : 'exit code 1'),
        counts: counts ?? { pages: 10, items: 10, errors: 0 }
      })
      const bytes = Buffer.from(log)
      const packed = await packSmallLog(cutBytes(bytes, { offset: 0, limitBytes: bytes.length }))
      const sealed = packed === null ? await archive.copy(job.id, FIRST, async (range) => cutBytes(bytes, range)) : null
      await store.markLogArchived(job.id, FIRST, {
        packed,
        sizes: { rawBytes: bytes.length, storedBytes: packed?.length ?? sealed!.packedBytes }
      })
      ids.push(job.id)
    }
    return ids
  } finally {
    await threads.close()
    await store.close()
  }
}
