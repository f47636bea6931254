import { join } from 'node:path'
import type { SealedBlobStore } from '../storage/blobs/sealed/sealed-blob-store.ts'
import type { BlobStore } from '../storage/blobs/blob-store.ts'
import type { Store } from '../storage/store.ts'
import type { EncryptionKeys } from '../runtime/encryption-keys.ts'
import { stop, type Tools } from '../runtime/tools.ts'
import { LogCache } from './logs/archive/log-cache.ts'
import { LogArchive, type LogArchivePort } from './logs/archive/log-archive.ts'
import { LogScans } from './logs/scan/log-scans.ts'
import { openLogThreads } from './logs/scan/log-scans.ts'
import { LogIndex } from './search/log-index.ts'
import { openSearchThreads } from './search/log-index.ts'

interface ArchivesParts extends Tools {
  dataDirectory: string
  store: Store
  blobs: BlobStore
  keys: EncryptionKeys
  /** Null: encryption is off. */
  sealedBlobs: SealedBlobStore | null
  ownArchive: LogArchivePort | undefined
}

export type Archives = Awaited<ReturnType<typeof openArchives>>

/** Opens the archives of logs and items, and the search index. All of them work without nodes. */
export async function openArchives(opened: AsyncDisposableStack, parts: ArchivesParts) {
  const { dataDirectory, store, blobs, keys, sealedBlobs, clock, random, logger } = parts
  const open = (pool: typeof openLogThreads, count: number) =>
    opened.adopt(pool(clock, count), (threads) => threads.close())
  // Archiving has its own thread, because users' expressions can occupy the search threads for a long time.
  const [archiving, scanning] = [open(openLogThreads, 1), open(openLogThreads, 2)]
  const [indexing, searchThreads] = [open(openSearchThreads, 1), open(openSearchThreads, 2)]
  const cache = LogCache.open(join(dataDirectory, 'log-cache'), { isSealed: keys.newest !== null })
  const shared = { blobs, threads: archiving, random, keys, cache }
  const archive: LogArchivePort =
    parts.ownArchive ?? new LogArchive({ ...shared, directory: join(dataDirectory, 'log-copies') })
  const logIndex = new LogIndex({
    directory: join(dataDirectory, 'log-index'),
    store,
    archive,
    indexing,
    searching: searchThreads,
    clock,
    logger
  })
  opened.adopt(logIndex, stop)
  return {
    archive,
    itemBlobs: new LogArchive({ ...shared, tree: 'items', directory: join(dataDirectory, 'items-copies') }),
    logScans: new LogScans(scanning),
    logIndex,
    searchThreads,
    reEncryption: opened.adopt(sealedBlobs && (await openReEncryption(sealedBlobs, { ...parts, archive })), stop)
  }
}

/** Loaded only if there is a key, to keep the default start fast. */
async function openReEncryption(blobs: SealedBlobStore, parts: ArchivesParts & { archive: LogArchivePort }) {
  const { ReEncryption } = await import('./logs/archive/re-encryption.ts')
  return new ReEncryption({ ...parts, blobs })
}
