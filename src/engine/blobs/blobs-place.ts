import { join } from 'node:path'
import type { Logger } from '../runtime/logger.ts'
import type { Random } from '../runtime/random.ts'
import type { S3Address } from '../runtime/s3-address.ts'
import { takeDirectory } from './directory/shared-directory.ts'

export interface BlobsOptions {
  s3: { address: S3Address } | null
  directory: string | null
}

const OWN = 'the data directory'

/**
 * Tells one place for blobs from another: what it is, a space, and its name for people. A directory is known by its
 * mark, because each machine may have it mounted somewhere else. Rejects with BLOBS_UNUSABLE.
 */
export async function placeOfBlobs(
  { s3, directory }: BlobsOptions,
  dataDirectory: string,
  parts: { random: Pick<Random, 'hex'>; logger: Logger }
): Promise<string> {
  if (s3 !== null) {
    const { bucket, prefix, endpoint } = s3.address
    return `s3:${endpoint ?? ''}/${bucket}/${prefix} ${s3.address.name}`
  }
  // The data directory is private, and so is what is in it; only a link leads to other engines' blobs.
  const path = directory ?? join(dataDirectory, 'blobs')
  return `directory:${await takeDirectory(path, { ...parts, knownMark: null })} ${directory ?? OWN}`
}

/** Without a word from one of them, nothing is said against it. Pure. */
export const isSamePlace = (one: string, other: string): boolean =>
  one === '' || other === '' || one.split(' ', 1)[0] === other.split(' ', 1)[0]

export const nameOfPlace = (place: string): string => place.slice(place.indexOf(' ') + 1)

/** In its data directory: nothing was chosen that another engine could have too. */
export const isOwnPlace = (place: string): boolean => nameOfPlace(place) === OWN

/** Of the setting blobs.directory (store/settings.ts): the mark of the directory that was at this path; null: none. */
export function knownMarkOf(setting: string | null, path: string): string | null {
  const [mark = '', ...rest] = (setting ?? '').split(' ')
  return rest.join(' ') === path ? mark : null
}
