import { join } from 'node:path'
import { knownMarkOf } from './blobs-place.ts'
import { openDirectoryBlobs } from './directory/open-directory-blobs.ts'
import { type SharedBlobs, claimBlobs } from './shared-blobs.ts'
import type { Base } from '../../runtime/tools.ts'
import type { EngineOptions } from '../../assembly/engine-options.ts'

/** Blobs outside the data directory; this store claims them. Rejects with BLOBS_UNUSABLE. */
export async function openSharedPlace(
  { dataDirectory, s3 = null, blobsDirectory = null }: Pick<EngineOptions, 'dataDirectory' | 's3' | 'blobsDirectory'>,
  base: Pick<Base, 'store' | 'clock' | 'random' | 'logger'>
): Promise<SharedBlobs> {
  if (s3 === null) return openDirectory(blobsDirectory!, base)
  const { openS3Blobs } = await import('./s3/open-s3-blobs.ts')
  const blobs = await openS3Blobs({ ...s3, ...base, cacheDirectory: join(dataDirectory, 'blob-cache') })
  try {
    await claimBlobs(blobs, base.store, base.random)
  } catch (error) {
    await blobs.stop()
    throw error
  }
  return blobs
}

/** An unmounted share must not be taken for a new directory, so the store remembers its mark. */
async function openDirectory(
  path: string,
  base: Pick<Base, 'store' | 'clock' | 'random' | 'logger'>
): Promise<SharedBlobs> {
  const { store, random } = base
  const before = await store.getSetting('blobs.directory')
  const blobs = await openDirectoryBlobs({ ...base, path, knownMark: knownMarkOf(before, path) })
  await claimBlobs(blobs, store, random)
  const now = `${blobs.mark} ${path}`
  if (now !== before) await store.putSetting('blobs.directory', now)
  return blobs
}
