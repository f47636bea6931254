import { statfs } from 'node:fs/promises'
import type { Clock } from '../../../runtime/clock.ts'
import type { Logger } from '../../../runtime/logger.ts'
import type { Random } from '../../../runtime/random.ts'
import type { SharedBlobs, SharedBlobsState } from '../shared-blobs.ts'
import { DirectoryBlobStore } from './directory-blob-store.ts'
import { describeFailure, takeDirectory } from './shared-directory.ts'

export interface DirectoryBlobsOptions {
  path: string
  knownMark: string | null
  clock: Clock
  random: Random
  logger: Logger
  graceMs?: number
  serverTimeMs?: () => Promise<number>
}

export interface DirectoryBlobs extends SharedBlobs {
  store: DirectoryBlobStore
  mark: string
}

const CHECKED_EVERY_MS = 30_000

/** Rejects with BLOBS_UNUSABLE if an operator must act. */
export async function openDirectoryBlobs(options: DirectoryBlobsOptions): Promise<DirectoryBlobs> {
  const { path, clock, random, graceMs, serverTimeMs } = options
  const mark = await takeDirectory(path, options)
  const store = new DirectoryBlobStore({ path, mark, random, graceMs, serverTimeMs })
  let disk: SharedBlobsState['disk'] = null
  async function look(): Promise<void> {
    await store.probe()
    const { bsize, blocks, bavail } = await statfs(path)
    disk = blocks === 0 ? null : { totalBytes: bsize * blocks, freeBytes: bsize * bavail }
  }
  await look()
  let checkedAtMs = clock.monotonicMs()
  let looking: Promise<void> | null = null
  return {
    name: path,
    ifForeign: 'Name another directory. If that store no longer exists, delete the file owner/store in it.',
    store,
    mark,
    async check() {
      if (clock.monotonicMs() - checkedAtMs >= CHECKED_EVERY_MS || store.problem !== null) {
        checkedAtMs = clock.monotonicMs()
        // Run one check at a time, so that a share that hangs blocks only one thread of Node's pool.
        looking ??= look()
          .catch(() => {})
          .finally(() => {
            looking = null
          })
        await looking
      }
      return describeFailure(store.problem)
    },
    state: () => ({ problem: store.problem, disk }),
    figures: () => null,
    cacheFigures: () => null,
    async stop() {}
  }
}
