import { join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/storage.ts'
import { readOrCreateCredentials } from '../runtime/credentials-file.ts'
import { type EncryptionKeys, type EncryptionOptions, openEncryptionKeys } from '../runtime/encryption-keys.ts'
import { openSecretKey } from '../runtime/file-secret-box.ts'
import type { PostgresAddress } from '../runtime/postgres-address.ts'
import { openDataDirectory } from '../runtime/private-directory.ts'
import type { SecretBox } from '../runtime/secret-box.ts'
import { stop, type Tools } from '../runtime/tools.ts'
import { recordKeys } from '../runtime/encryption-keys.ts'
import { auditedStore } from './audit/audited-store.ts'
import type { BlobStore } from './blobs/blob-store.ts'
import { openFilesystemBlobStore } from './blobs/filesystem/filesystem-blob-store.ts'
import { IncomingFiles } from './blobs/incoming-files.ts'
import type { SharedBlobsOptions } from './blobs/open-shared-blobs.ts'
import type { SharedBlobs } from './blobs/shared-blobs.ts'
import { openSqliteStore } from './sqlite/open-sqlite-store.ts'
import type { Store } from './store.ts'
import { openStoreInWorker } from './thread/store-thread.ts'

export interface StorageOptions extends SharedBlobsOptions {
  postgres?: PostgresAddress | null
  secretBox?: SecretBox
  /** The key file for stored secrets. Engines on one database need the same key. Default: in the data directory. */
  secretKeyFile?: string | null
  /** Encrypts eggs, archived logs, items and caches. Default: no encryption. */
  encryption?: EncryptionOptions | null
  /** `--username`/`--password`. Default: credentials that the first start creates and keeps. */
  credentials?: { username: string; password: string }
}

interface StorageParts extends Tools {
  ownStore: Store | undefined
  ownBlobs: BlobStore | undefined
  pluginBlobs: BlobStore | null
  /** A thread that is already running; null: the store has no thread. */
  storeThread: Worker | null
  auditTicket: Parameters<typeof auditedStore>[1]
  onUnknownCommit: () => void
}

export type Storage = Awaited<ReturnType<typeof openStorage>>

/**
 * Rejects with DATA_DIRECTORY_UNUSABLE, DATA_DIRECTORY_IN_USE, DATA_FROM_NEWER_VERSION or DATA_TOO_OLD. With
 * PostgreSQL, also with DATABASE_UNUSABLE or DATABASE_IN_USE. With blobs elsewhere, also with BLOBS_UNUSABLE. With
 * encryption, also with ENCRYPTION_KEYS_UNUSABLE or ENCRYPTION_KEY_MISSING.
 */
export async function openStorage(opened: AsyncDisposableStack, options: StorageOptions, parts: StorageParts) {
  const { dataDirectory, postgres = null } = options
  const { clock, random, logger, pluginBlobs, onUnknownCommit } = parts
  openDataDirectory(dataDirectory)
  let isDead = false
  const onDeath = () => {
    isDead = true
  }
  const path = join(dataDirectory, 'scrapdeck.sqlite')
  const opening = { clock, random, logger, path, onDeath, onUnknownCommit, thread: parts.storeThread }
  const open = () => (postgres === null ? openSqliteStore(opening) : openStoreInWorker({ ...opening, postgres }))
  const store = auditedStore(parts.ownStore ?? (await open()), parts.auditTicket)
  opened.adopt(store, () => store.close())
  const keys = await openKeys(options, store)
  const sharedBlobs = opened.adopt(await openSharedBlobs(options, { clock, random, logger, pluginBlobs, store }), stop)
  const filesHere = () => openFilesystemBlobStore(join(dataDirectory, 'blobs'))
  const stored = parts.ownBlobs ?? pluginBlobs ?? sharedBlobs?.store ?? (await filesHere())
  const sealedBlobs = keys.newest === null ? null : await sealBlobs(stored, keys)
  return {
    store,
    isStoreDead: () => isDead,
    keys,
    blobs: sealedBlobs ?? stored,
    sealedBlobs,
    /** null: the blobs are files in the data directory, or a plugin stores them. */
    sharedBlobs,
    incoming: IncomingFiles.open(join(dataDirectory, 'incoming')),
    credentials: readOrCreateCredentials(dataDirectory, random, options.credentials),
    secretBox: options.secretBox ?? (await openSecretKey(dataDirectory, options.secretKeyFile))
  }
}

/** Rejects with ENCRYPTION_KEY_MISSING if a previously used key is missing. */
async function openKeys({ encryption }: StorageOptions, store: Store): Promise<EncryptionKeys> {
  const keys = await openEncryptionKeys(encryption)
  const before = await store.getSetting('encryption.keys')
  const record = recordKeys(before, keys)
  if (record !== null && record !== before) await store.putSetting('encryption.keys', record)
  return keys
}

/** Imports the module only when needed, because it would slow down startup and most services do not use it. */
async function sealBlobs(blobs: BlobStore, keys: EncryptionKeys) {
  const { SealedBlobStore } = await import('./blobs/sealed/sealed-blob-store.ts')
  return new SealedBlobStore(blobs, keys)
}

async function openSharedBlobs(
  options: StorageOptions,
  { pluginBlobs, ...parts }: Tools & { store: Store; pluginBlobs: BlobStore | null }
): Promise<SharedBlobs | null> {
  if ((options.s3 ?? options.blobsDirectory ?? null) === null) return null
  if (pluginBlobs !== null) {
    const text = sentence('storage.blobs_twice')
    throw new ScrapdeckError('BAD_INPUT', text)
  }
  const { openSharedPlace } = await import('./blobs/open-shared-blobs.ts')
  return openSharedPlace(options, parts)
}
