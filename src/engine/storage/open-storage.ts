import { join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import { ScrapdeckError } from '../../shared/errors.ts'
import { auditTicket } from '../access/acting.ts'
import type { BlobStore } from './blobs/blob-store.ts'
import type { SharedBlobs } from './blobs/shared-blobs.ts'
import { IncomingFiles } from './blobs/incoming-files.ts'
import { openFilesystemBlobStore } from './blobs/filesystem/filesystem-blob-store.ts'
import type { Base } from '../runtime/tools.ts'
import type { EngineOptions } from '../assembly/engine-options.ts'
import { readOrCreateCredentials } from '../runtime/credentials-file.ts'
import { LogArchive, type LogArchivePort } from '../runs/logs/archive/log-archive.ts'
import type { Resealing } from '../runs/logs/archive/resealing.ts'
import { LogCache } from '../runs/logs/archive/gzip-cache.ts'
import { LogScans } from '../runs/logs/scan/log-scans.ts'
import { openLogThreads } from '../runs/logs/scan/log-threads.ts'
import { LogIndex } from '../runs/search/log-index.ts'
import { openSearchThreads } from '../runs/search/search-threads.ts'
import type { ThreadPool } from '../runtime/thread-pool.ts'
import { type EncryptionKeys, openEncryptionKeys } from '../runtime/encryption-keys.ts'
import { openSecretKey } from '../runtime/file-secret-box.ts'
import { openDataDirectory } from '../runtime/private-directory.ts'
import type { SecretBox } from '../runtime/secret-box.ts'
import { recordKeys } from '../runtime/used-keys.ts'
import { openSqliteStore } from './sqlite/open-sqlite-store.ts'
import { auditedStore } from './audit/audited-store.ts'
import { openStoreInWorker } from './thread/store-thread.ts'
import type { Store } from './store.ts'

/** The engine's persistent data: in the data directory, unless the options replace a part. */
export interface EngineData {
  store: Store
  /** The store cannot read or write any more, until another process opens it. */
  isStoreDead(): boolean
  blobs: BlobStore
  /** null: blobs are files in the data directory, or a plugin's. */
  sharedBlobs: SharedBlobs | null
  incoming: IncomingFiles
  logScans: LogScans
  logIndex: LogIndex
  indexesLogs: boolean
  /** Of search-worker.ts. */
  searchThreads: ThreadPool
  archive: LogArchivePort
  /** Of items files: the same frames and threads. */
  itemBlobs: LogArchivePort
  credentials: { username: string; password: string }
  secretBox: SecretBox
  /** null: nothing is sealed. */
  resealing: Resealing | null
}

/**
 * Closed with the stack. Throws DATA_DIRECTORY_UNUSABLE, DATA_DIRECTORY_IN_USE, DATA_FROM_NEWER_VERSION, DATA_TOO_OLD,
 * or with PostgreSQL DATABASE_UNUSABLE or DATABASE_IN_USE, with blobs elsewhere BLOBS_UNUSABLE, with encryption
 * ENCRYPTION_KEYS_UNUSABLE or ENCRYPTION_KEY_MISSING.
 */
export async function openData(
  { dataDirectory, seams = {}, ...options }: EngineOptions,
  parts: Pick<Base, 'clock' | 'random' | 'logger'> & { pluginBlobs: BlobStore | null; storeThread: Worker | null },
  opened: AsyncDisposableStack
): Promise<EngineData> {
  openDataDirectory(dataDirectory)
  let isDead = false
  const onDeath = () => {
    isDead = true
  }
  const path = join(dataDirectory, 'scrapdeck.sqlite')
  const { postgres = null } = options
  const onUnknownCommit = () => options.leadership?.stepDown()
  const opening = { ...parts, path, onDeath, onUnknownCommit, thread: parts.storeThread }
  const open = () => (postgres === null ? openSqliteStore(opening) : openStoreInWorker({ ...opening, postgres }))
  const store = auditedStore(seams.store ?? (await open()), auditTicket)
  opened.adopt(store, () => store.close())
  const keys = await openKeys(options, store)
  const sharedBlobs = await openSharedBlobs(dataDirectory, options, { ...parts, store })
  opened.adopt(sharedBlobs, (one) => one?.stop())
  const ownBlobs = () => openFilesystemBlobStore(join(dataDirectory, 'blobs'))
  const stored = seams.blobs ?? parts.pluginBlobs ?? sharedBlobs?.store ?? (await ownBlobs())
  const sealing = keys.newest === null ? null : await import('../assembly/open-sealing.ts')
  const sealedBlobs = sealing && new sealing.SealedBlobStore(stored, keys)
  const blobs = sealedBlobs ?? stored
  // A pool of its own: users' expressions may occupy the threads that search.
  const [archiving, searching] = [openLogThreads(parts.clock, 1), openLogThreads(parts.clock, 2)]
  for (const threads of [archiving, searching]) opened.adopt(threads, () => threads.close())
  const archives = { blobs, threads: archiving, random: parts.random, keys }
  const cache = LogCache.open(join(dataDirectory, 'log-cache'), { isSealed: keys.newest !== null })
  const archive =
    seams.logArchive ?? new LogArchive({ ...archives, cache, directory: join(dataDirectory, 'log-copies') })
  const itemBlobs = new LogArchive({
    ...{ ...archives, cache, tree: 'items' },
    directory: join(dataDirectory, 'items-copies')
  })
  const [indexing, searchThreads] = [openSearchThreads(parts.clock, 1), openSearchThreads(parts.clock, 2)]
  for (const threads of [indexing, searchThreads]) opened.adopt(threads, () => threads.close())
  const logIndex = new LogIndex({
    ...{ store, archive, indexing, searching: searchThreads, clock: parts.clock, logger: parts.logger },
    directory: join(dataDirectory, 'log-index')
  })
  opened.adopt(logIndex, (index) => index.stop())
  const resealing = sealing && new sealing.Resealing({ ...parts, store, blobs: sealedBlobs!, archive, keys })
  opened.adopt(resealing, (one) => one?.stop())
  return {
    store,
    resealing,
    isStoreDead: () => isDead,
    credentials: readOrCreateCredentials(dataDirectory, parts.random, options.credentials),
    blobs,
    sharedBlobs,
    logScans: new LogScans(searching),
    logIndex,
    indexesLogs: seams.logIndex !== null,
    searchThreads,
    archive,
    itemBlobs,
    incoming: IncomingFiles.open(join(dataDirectory, 'incoming')),
    secretBox: options.secretBox ?? (await openSecretKey(dataDirectory, options.secretKeyFile))
  }
}

/** Rejects with ENCRYPTION_KEY_MISSING if a key that was used before is missing. */
async function openKeys({ encryption }: Pick<EngineOptions, 'encryption'>, store: Store): Promise<EncryptionKeys> {
  const keys = await openEncryptionKeys(encryption)
  const before = await store.getSetting('encryption.keys')
  const record = recordKeys(before, keys)
  if (record !== null && record !== before) await store.putSetting('encryption.keys', record)
  return keys
}

/** Loaded only when used: it must not slow the default start. */
async function openSharedBlobs(
  dataDirectory: string,
  { s3 = null, blobsDirectory = null }: Pick<EngineOptions, 's3' | 'blobsDirectory'>,
  {
    store,
    pluginBlobs,
    ...base
  }: Pick<Base, 'store' | 'clock' | 'random' | 'logger'> & { pluginBlobs: BlobStore | null }
): Promise<SharedBlobs | null> {
  if (s3 === null && blobsDirectory === null) return null
  if (pluginBlobs !== null) {
    const text = 'A plugin keeps blobs, and so does the option blobs: only one of them can. Remove one of them.'
    throw new ScrapdeckError('BAD_INPUT', text)
  }
  const { openSharedPlace } = await import('./blobs/open-shared-blobs.ts')
  return openSharedPlace({ dataDirectory, s3, blobsDirectory }, { ...base, store })
}
