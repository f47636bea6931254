import { ScrapdeckError } from '../../../shared/errors.ts'
import type { CacheFigures } from '../../runtime/cache-figures.ts'
import type { BlobStore } from './blob-store.ts'
import type { S3Figures } from './s3/s3-client.ts'
import type { Random } from '../../runtime/random.ts'
import type { Store } from '../store.ts'

/**
 * What is younger is never deleted as unused, nor an unfinished upload as abandoned: longer than any upload, by far
 * more than the wait for a row that refers to it.
 */
export const GRACE_MS = 24 * 3_600_000

/** Blobs outside the data directory, where other engines may read and write them too. */
export interface SharedBlobs {
  /** For messages. */
  name: string
  /** What to do if they belong to another store. */
  ifForeign: string
  store: SharedBlobStore
  /** Without names: why the storage cannot be used now. Asks it if the last answer is older than half a minute. */
  check(): Promise<string | null>
  /** As last known. */
  state(): SharedBlobsState
  /** null: it has no requests of its own. */
  figures(): S3Figures | null
  /** Of copies on this machine; null: there are none. */
  cacheFigures(): CacheFigures | null
  stop(): Promise<void>
}

export interface SharedBlobStore extends BlobStore {
  /** Which store these blobs belong to: `owner`, unless another was recorded before. */
  claim(owner: string): Promise<string>
  /** Removes what engines that were killed left of unfinished uploads, once the grace is over; returns how many. */
  abortLeftUploads(): Promise<number>
}

export interface SharedBlobsState {
  /** Why the storage cannot be used now; null: it can. */
  problem: ScrapdeckError | null
  /** null: not known, or without a limit. */
  disk: { totalBytes: number; freeBytes: number } | null
}

/** Two stores must not share blobs: each would delete the eggs known only to the other. */
export async function claimBlobs(
  {
    store: blobs,
    name,
    ifForeign
  }: { store: Pick<SharedBlobs['store'], 'claim'> } & Pick<SharedBlobs, 'name' | 'ifForeign'>,
  store: Pick<Store, 'keepSetting'>,
  random: Pick<Random, 'hex'>
): Promise<void> {
  // Another engine may start on this store at the same moment: the first one chooses for both.
  const own = await store.keepSetting('blobs.owner', random.hex(16))
  if ((await blobs.claim(own)) === own) return
  throw new ScrapdeckError(
    'BLOBS_UNUSABLE',
    `The blobs at ${name} belong to the store of another Scrapdeck. ${ifForeign}`
  )
}
