import { join } from 'node:path'
import { knownMarkOf } from './blobs-place.ts'
import { openDirectoryBlobs } from './directory/open-directory-blobs.ts'
import { type SharedBlobs, claimBlobs } from './shared-blobs.ts'
import type { S3Address } from '../../runtime/s3-address.ts'
import type { Tools } from '../../runtime/tools.ts'
import type { Store } from '../store.ts'

export interface SharedBlobsOptions {
  dataDirectory: string
  blobsDirectory?: string | null
  /** Cannot be combined with `blobsDirectory`. */
  s3?: { address: S3Address; credentialsFile: string | null; cacheBytes: number } | null
}

/** Opens blobs outside the data directory and claims them for this store. Rejects with BLOBS_UNUSABLE. */
export async function openSharedPlace(
  { dataDirectory, s3 = null, blobsDirectory = null }: SharedBlobsOptions,
  parts: Tools & { store: Store }
): Promise<SharedBlobs> {
  if (s3 === null) return openDirectory(blobsDirectory!, parts)
  const { openS3Blobs } = await import('./s3/open-s3-blobs.ts')
  const blobs = await openS3Blobs({ ...s3, ...parts, cacheDirectory: join(dataDirectory, 'blob-cache') })
  try {
    await claimBlobs(blobs, parts.store, parts.random)
  } catch (error) {
    await blobs.stop()
    throw error
  }
  return blobs
}

/** The store remembers the mark, so that the mount point of an unmounted share is not mistaken for a new directory. */
async function openDirectory(path: string, parts: Tools & { store: Store }): Promise<SharedBlobs> {
  const { store, random } = parts
  const before = await store.getSetting('blobs.directory')
  const blobs = await openDirectoryBlobs({ ...parts, path, knownMark: knownMarkOf(before, path) })
  await claimBlobs(blobs, store, random)
  const now = `${blobs.mark} ${path}`
  if (now !== before) await store.putSetting('blobs.directory', now)
  return blobs
}
