import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/storage.ts'
import type { CacheFigures } from '../../runtime/cache-figures.ts'
import type { BlobStore } from './blob-store.ts'
import type { S3Figures } from './s3/s3-client.ts'
import type { Random } from '../../runtime/random.ts'
import type { Store } from '../store.ts'

/**
 * The minimum age for deleting unused blobs and aborting uploads. It is much longer than any upload takes, including
 * the write of the row that refers to the blob.
 */
export const GRACE_MS = 24 * 3_600_000

export interface SharedBlobs {
  name: string
  ifForeign: string
  store: SharedBlobStore
  /**
   * Describes the problem without names; null: none. Sends a request if the last response is older than half a minute.
   */
  check(): Promise<string | null>
  state(): SharedBlobsState
  /** null: the storage is not used over HTTP. */
  figures(): S3Figures | null
  cacheFigures(): CacheFigures | null
  stop(): Promise<void>
}

export interface SharedBlobStore extends BlobStore {
  /** Returns the store that owns these blobs: the one that was recorded first, or else `owner`. */
  claim(owner: string): Promise<string>
  /** Aborts uploads that killed engines left behind, after the grace period. Returns their number. */
  abortLeftUploads(): Promise<number>
}

export interface SharedBlobsState {
  problem: ScrapdeckError | null
  /** null: the space is unknown or unlimited. */
  disk: { totalBytes: number; freeBytes: number } | null
}

/** Two stores must not share blobs, because each would delete the eggs that only the other store uses. */
export async function claimBlobs(
  {
    store: blobs,
    name,
    ifForeign
  }: { store: Pick<SharedBlobs['store'], 'claim'> } & Pick<SharedBlobs, 'name' | 'ifForeign'>,
  store: Pick<Store, 'keepSetting'>,
  random: Pick<Random, 'hex'>
): Promise<void> {
  // Another engine may open this store at the same time. The first one sets the value for both.
  const own = await store.keepSetting('blobs.owner', random.hex(16))
  if ((await blobs.claim(own)) === own) return
  throw new ScrapdeckError('BLOBS_UNUSABLE', sentence('storage.blobs_of_another_store', { name, ifForeign }))
}
